"""A configuration that is written down loads back as it was."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.checkpoints.save_config import SaveConfig
from etude.datasets.lerobot_config import LeRobotConfig
from etude.evaluate.eval_config import EvalConfig
from etude.policies.chunk_config import ChunkConfig
from etude.runs.config import Component, RunConfig, load, load_with_sources
from etude.runs.provenance import field_texts, to_toml
from etude.simulators.metaworld_config import MetaworldConfig
from etude.train.train_config import TrainConfig

texts = st.text(st.characters(codec="utf-8"), max_size=20)
names = texts.filter(lambda name: name.strip("/ ") != "")
rates = st.floats(min_value=0, exclude_min=True, allow_infinity=False)

configs = st.builds(
    RunConfig,
    output_dir=texts.filter(bool),
    seed=st.integers(min_value=0),
    steps=st.integers(min_value=10_000),
    batch_size=st.integers(min_value=1),
    dataset=st.builds(
        lambda config: Component(use="lerobot_v3", config=config),
        st.builds(LeRobotConfig, repo_id=names, root=texts),
    ),
    simulator=st.builds(
        lambda config: Component(use="metaworld", config=config),
        st.builds(MetaworldConfig, tasks=st.lists(texts).map(tuple)),
    ),
    policy=st.builds(
        lambda config, path: Component(use="chunk", config=config, path=path),
        st.builds(ChunkConfig, width=st.integers(min_value=1)),
        texts,
    ),
    train=st.builds(TrainConfig, lr=rates, weight_decay=rates, clip_norm=rates),
    save=st.builds(SaveConfig, every=st.integers(min_value=1)),
    eval=st.builds(EvalConfig, to_the_end=st.booleans()),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipes")


@given(configs, st.dictionaries(st.sampled_from(["steps", "train.lr", "policy.path"]), texts))
def test_a_written_configuration_loads_back_equal(
    folder: Path, config: RunConfig, sources: dict[str, str]
) -> None:
    recipe = folder / "config.resolved.toml"
    recipe.write_text(to_toml(config, sources), encoding="utf-8", newline="")

    assert load(recipe) == config


def test_every_value_says_where_it_comes_from_and_what_it_means(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("\n[save]\nevery = 7\n", encoding="utf-8")
    loaded = load_with_sources(recipe, ["--train.lr", "1e-4"])

    lines = to_toml(loaded.config, loaded.sources).splitlines()

    assert f"every = 7 # {recipe}:3" in lines
    assert "seed = 0 # default" in lines
    place = lines.index("lr = 0.0001 # --train.lr")
    assert lines[place - 1] == "# Peak learning rate of AdamW."


def test_texts_of_fields_are_read_from_the_source() -> None:
    assert field_texts(SaveConfig)["keep_last"] == "Newest checkpoints that stay; 0 keeps all."
