"""Recipes and flags become one configuration, or one list of everything that is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etude.core.errors import ConfigError
from etude.runs.config import Component, load, load_with_sources

MANY_FAULTS = """\
stepz = 5
steps = 1e3
batch_size = "64"

[train]
lr = "1e-4"
warmup_steps = true
log_every = 0
ema_decay = 3.0
warmup_step = 3

[policy]
use = "chunkk"
width = 3

[simulator]
tasks = ["on", false]

[trian]
lr = 3

[eval]
n_episodes = 0
every = 5

[dataset]
hold_out_episodes = 2
on_bad = "skp"

[demos]
tries = 10
episodes = 1_000_000

[score]
kind = "none"
"""


def write(folder: Path, text: str) -> Path:
    recipe = folder / "recipe.toml"
    recipe.write_text(text, encoding="utf-8")
    return recipe


def failure(recipe: Path | None, *flags: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(recipe, flags)
    return caught.value


def test_every_fault_is_told_at_once_with_value_place_and_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    write(tmp_path, MANY_FAULTS)
    monkeypatch.chdir(tmp_path)

    error = failure(Path("recipe.toml"), "--train.held-out-every", "0", "--save", "3")

    golden("config_faults.txt", f"error: {error}\nhint: {error.hint}\n")


def test_without_a_recipe_everything_has_a_default() -> None:
    config = load(None)

    assert config.seed == 0
    assert (config.dataset.use, config.simulator.use) == ("lerobot_v3", "metaworld")
    assert config.policy.use == "chunk"
    assert config.output_dir == "runs/unnamed"


def test_the_run_folder_is_named_after_the_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "my-run.toml"
    recipe.write_text("steps = 5_000", encoding="utf-8")

    assert load(recipe).output_dir == "runs/my-run"


def test_a_flag_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    recipe = write(tmp_path, "steps = 5_000\nseed = 7\n")

    loaded = load_with_sources(recipe, ["--steps", "3_000", "--train.lr=1e-4"])

    assert (loaded.config.steps, loaded.config.seed, loaded.config.batch_size) == (3000, 7, 512)
    assert loaded.config.train.lr == 0.0001
    assert loaded.sources == {
        "steps": "--steps",
        "seed": f"{recipe}:2",
        "train.lr": "--train.lr",
    }


def test_a_flag_repairs_a_value_that_is_wrong_in_the_file(tmp_path: Path) -> None:
    recipe = write(tmp_path, "[train]\nlr = 'fast'\n")

    assert load(recipe, ["--train.lr", "0.01"]).train.lr == 0.01


@pytest.mark.parametrize("flag", ["--batch-size", "--batch_size"])
def test_hyphen_and_underscore_are_the_same(flag: str) -> None:
    assert load(None, [flag, "16"]).batch_size == 16


def test_a_whole_number_is_a_number() -> None:
    assert load(None, ["--train.lr", "1"]).train.lr == 1.0


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("steps = 1e3", "steps is 1000.0, not a whole number", "Write 1000."),
        ("steps = true", "steps is true, not a whole number", ""),
        ("steps = -5", "steps is -5, not at least 1", ""),
        ("steps = '20'", 'steps is "20", not a whole number', "Write it without quotes."),
        ("batch_size = 0", "batch_size is 0, not at least 1", ""),
        ("output_dir = 3", "output_dir is 3, not text", 'Write it in quotes: "3".'),
        ("train.lr = '1e-4'", 'train.lr is "1e-4", not a number', "Write it without quotes."),
        ("train.lr = nan", "train.lr is nan, not over 0", ""),
        (
            "simulator.tasks = 'reach-v3'",
            'simulator.tasks is "reach-v3", not a list',
            'Write it in brackets: ["reach-v3"].',
        ),
        ("policy.use = 3", "policy.use is 3, not text", 'Write it in quotes: "3".'),
        (
            "eval.episodes = 3",
            "eval.episodes is 3, but there is no such setting",
            "The nearest is eval.n_episodes or demos.episodes or score.episodes.",
        ),
        (
            "lr = 3",
            "lr is 3, but there is no such setting",
            "The nearest is train.lr.",
        ),
        (
            "policy.horizon = 2",
            "policy.execute is 4, over horizon (2)",
            "Play at most as many actions as are predicted.",
        ),
    ],
)
def test_one_fault_says_what_is_where_and_what_to_do(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    recipe = write(tmp_path, text)

    error = failure(recipe)

    assert str(error) == f"{message} ({recipe}:1)"
    assert error.hint == hint


def test_words_stay_words(tmp_path: Path) -> None:
    recipe = write(tmp_path, 'output_dir = "no"\n[simulator]\ntasks = ["on", "off", "push"]\n')

    assert load(recipe).simulator.config.tasks == ("on", "off", "push")
    assert load(recipe).output_dir == "no"
    flags = ["--simulator.tasks", "off", "1e3", "2024-01-01", "--output_dir", "2024"]
    assert load(None, flags).simulator.config.tasks == ("off", "1e3", "2024-01-01")
    assert load(None, flags).output_dir == "2024"


def test_an_unquoted_word_is_refused_with_its_line(tmp_path: Path) -> None:
    recipe = write(tmp_path, "seed = 3\noutput_dir = no\n")

    error = failure(recipe)

    assert str(error) == f"{recipe}:2:14 is not TOML: Invalid value"
    assert "in quotes" in error.hint


def test_a_range_fault_that_may_come_from_another_fault_is_not_told() -> None:
    error = failure(None, "--policy.horizon", "16.0", "--policy.execute", "9")

    assert str(error) == "policy.horizon is 16.0, not a whole number (--policy.horizon)"


def test_held_out_episodes_that_nobody_uses_are_refused() -> None:
    flags = ("--dataset.hold_out_episodes", "2", "--train.held_out_every", "0")
    error = failure(None, *flags, "--score.kind", "none")

    assert str(error) == (
        "dataset.hold_out_episodes is 2, but nothing uses them: train.held_out_every is 0 and "
        'score.kind is "none" '
        "(--dataset.hold_out_episodes, --train.held_out_every, --score.kind)"
    )


def test_seeds_of_demonstrations_stay_below_those_of_the_evaluation() -> None:
    flags = ["--demos.seed", "900", "--demos.tries", "2", "--demos.episodes", "50"]

    assert load(None, [*flags, "--eval.first_seed", "1000"]).eval.first_seed == 1000
    error = failure(None, *flags, "--eval.first_seed", "999")

    assert "eval.first_seed is 999, inside the seeds of demonstrations" in str(error)
    assert error.hint == "Set eval.first_seed to 1000 or more."


def test_a_warm_up_longer_than_the_run_is_refused() -> None:
    error = failure(None, "--steps", "5", "--train.warmup_steps", "6")

    assert str(error) == "train.warmup_steps is 6, over steps (5) (--train.warmup_steps, --steps)"


def test_a_policy_is_a_plug_in_with_its_own_settings() -> None:
    config = load(None, ["--policy.use", "expert", "--policy.path", "runs/a/checkpoints"])

    assert isinstance(config.policy, Component)
    assert (config.policy.use, config.policy.path) == ("expert", "runs/a/checkpoints")
    error = failure(None, "--policy.use", "expert", "--policy.width", "8")
    assert "policy.width is 8, but there is no such setting" in str(error)


def test_a_flag_that_chooses_another_plug_in_leaves_the_settings_of_the_first_behind(
    tmp_path: Path,
) -> None:
    recipe = write(tmp_path, "[policy]\nwidth = 64\n")

    assert load(recipe, ["--policy.use", "expert"]).policy.use == "expert"
    assert load(recipe, ["--policy.use", "chunk"]).policy.config.width == 64


def test_a_path_is_a_setting_of_policies_only() -> None:
    assert "dataset.path" in str(failure(None, "--dataset.path", "x"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"steps = 5\nsteps = 6\n", ":2:10 is not TOML: Cannot overwrite a value"),
        (b"[train\n", ":1:7 is not TOML: Expected ']' at the end of a table declaration"),
        (b"\xff\xfe", " is not text in UTF-8: invalid start byte at byte 0"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused_with_its_place(
    tmp_path: Path, content: bytes, told: str
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_bytes(content)

    assert str(failure(recipe)) == f"{recipe}{told}"


def test_a_recipe_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert str(failure(tmp_path / "no.toml")) == f"{tmp_path / 'no.toml'} does not exist"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("steps = 5_000", encoding="utf-8-sig")

    assert load(recipe).steps == 5000


@pytest.mark.parametrize("recipe", sorted(Path(__file__).parents[2].glob("recipes/*.toml")))
def test_every_recipe_of_the_project_loads(recipe: Path) -> None:
    assert load(recipe).output_dir == f"runs/{recipe.stem}"


def test_recipes_that_record_differently_use_different_datasets() -> None:
    recipes = Path(__file__).parents[2] / "recipes"

    whole, quick = load(recipes / "mt50.toml"), load(recipes / "mt50-quick.toml")

    assert whole.demos != quick.demos
    assert whole.dataset.config.folder != quick.dataset.config.folder
