import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etude.core.errors import DataError, StateError
from etude.core.types import EpisodeEnd, EpisodeResult, TaskId
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.results import Results, manifest_of, read_episodes
from etude.evaluate.rollout import PlayedEpisode
from etude.testing.fakes import toy_tasks

TASKS = toy_tasks(2)
CONFIG = EvalConfig(n_episodes=3, first_seed=100, max_steps=5)


def manifest(*, key: str = "abc", config: EvalConfig = CONFIG, **changes: Any) -> dict[str, Any]:
    made = manifest_of(
        eval_id="final",
        policy={"use": "toy", "key": key, "checkpoint": "checkpoints/step-00000010", "step": 10},
        simulator={"use": "toy", "options": {}, "version": "1.0"},
        tasks=TASKS,
        groups={},
        config=config,
    )
    return {**made, **changes}


def episode(task: int = 0, number: int = 0, *, wall_s: float = 0.5) -> PlayedEpisode:
    return PlayedEpisode(
        episode=number,
        first_success=2,
        wall_s=wall_s,
        result=EpisodeResult(
            task=TASKS[task].id,
            name=TASKS[task].name,
            seed=100 + number,
            end=EpisodeEnd.SUCCESS,
            success=True,
            success_at_end=True,
            steps=2,
            sum_reward=1.5,
            max_reward=1.0,
            instruction=TASKS[task].text,
        ),
    )


def write_rows(folder: Path, *episodes: PlayedEpisode) -> Path:
    results = Results(folder, manifest())
    results.append(episodes)
    results.close()
    return results.path


def test_the_manifest_is_there_before_the_first_row(tmp_path: Path):
    results = Results(tmp_path / "eval" / "final", manifest())
    results.close()

    written = json.loads((tmp_path / "eval" / "final" / "manifest.json").read_text())

    assert written["policy"] == {
        "use": "toy", "key": "abc", "checkpoint": "checkpoints/step-00000010", "step": 10
    }  # fmt: skip
    assert written["tasks"][1] == {
        "id": "toy/1", "index": 1, "name": "task-1", "text": "do task 1"
    }  # fmt: skip
    assert (written["schema_version"], written["eval_id"]) == (1, "final")
    assert (written["n_episodes"], written["first_seed"], written["max_steps"]) == (3, 100, 5)
    assert set(written["versions"]) == {"etude", "numpy", "python"}


def test_a_row_says_all_there_is_to_say_about_an_episode(tmp_path: Path):
    row = json.loads(write_rows(tmp_path, episode(1, 2)).read_text())

    assert row.pop("t") > 1.7e9
    assert row == {
        "schema": 1, "eval_id": "final", "task": "task-1", "task_id": "toy/1", "split": None,
        "episode": 2, "seed": 102, "end": "success", "success": True, "success_at_end": True,
        "steps": 2, "sum_reward": 1.5, "max_reward": 1.0, "instruction": "do task 1",
        "reseeded": 0, "error": "", "first_success": 2, "wall_s": 0.5, "video": None,
        "ckpt": "checkpoints/step-00000010", "env_commit": "1.0",
    }  # fmt: skip


def test_rows_come_back_as_they_were_written(tmp_path: Path):
    broken = replace(
        episode(1, 1),
        first_success=None,
        result=replace(
            episode(1, 1).result, end=EpisodeEnd.ERROR, success=False, error="the arm fell off"
        ),
    )
    path = write_rows(tmp_path, episode(0, 2), broken)

    assert read_episodes(path, manifest()) == [episode(0, 2), broken]


def test_an_evaluation_goes_on_after_the_rows_that_are_there(tmp_path: Path):
    path = write_rows(tmp_path, episode(0, 0), episode(1, 1))
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "eval_')

    results = Results(tmp_path, manifest())
    results.append([episode(0, 1)])
    results.close()

    assert results.played == {(TASKS[0].id, 0), (TASKS[1].id, 1), (TASKS[0].id, 1)}
    assert read_episodes(path, manifest()) == results.episodes


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (manifest(key="def"), 'policy key "abc", not "def"'),
        (manifest(config=replace(CONFIG, first_seed=7)), "first_seed 100, not 7"),
        (manifest(config=replace(CONFIG, max_steps=9)), "max_steps 5, not 9"),
        (manifest(config=replace(CONFIG, to_the_end=True)), "to_the_end false, not true"),
        (
            manifest(config=replace(CONFIG, n_episodes=4, lanes=2)),
            "n_episodes 3, not 4; lanes 64, not 2",
        ),
        (manifest(groups={"easy": ["task-0"]}), 'groups {}, not {"easy": ["task-0"]}'),
    ],
)
def test_other_settings_are_refused_and_all_of_them_are_named(
    other: dict[str, Any], difference: str, tmp_path: Path
):
    path = write_rows(tmp_path, episode())
    before = path.read_bytes()

    with pytest.raises(StateError) as caught:
        Results(tmp_path, other)

    assert str(caught.value) == f"{tmp_path} was begun with {difference}"
    assert path.read_bytes() == before


def test_the_number_of_processes_may_change(tmp_path: Path):
    write_rows(tmp_path, episode())

    results = Results(tmp_path, manifest(config=replace(CONFIG, processes=7)))
    results.close()

    assert results.played == {(TASKS[0].id, 0)}


def test_a_row_that_is_there_twice_is_named(tmp_path: Path):
    path = write_rows(tmp_path, episode(0, 1), episode(1, 1), episode(0, 1))

    with pytest.raises(DataError, match=r"results.jsonl:3 holds toy/0 episode 1 a second time"):
        read_episodes(path, manifest())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"task_id": "toy/9"}, "toy/9 episode 0, a task that was not asked for"),
        ({"episode": 3}, "toy/0 episode 3, which is not one of 3"),
        ({"seed": 5}, "toy/0 episode 0, with seed 5, not 100"),
        ({"eval_id": "other"}, "toy/0 episode 0, a row of the evaluation 'other'"),
    ],
)
def test_a_row_of_something_else_is_named(
    change: dict[str, object], complaint: str, tmp_path: Path
):
    path = write_rows(tmp_path, episode())
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}) + "\n")

    with pytest.raises(DataError) as caught:
        Results(tmp_path, manifest())

    assert str(caught.value) == f"{path}:1 holds {complaint}"


@pytest.mark.parametrize("row", [{}, {"end": "bored"}], ids=["empty", "unknown end"])
def test_what_is_no_row_at_all_is_named(row: dict[str, object], tmp_path: Path):
    path = write_rows(tmp_path, episode())
    whole = json.loads(path.read_text()) if row else {}
    path.write_text(json.dumps({**whole, **row}) + "\n")

    with pytest.raises(DataError, match=r"results.jsonl:1 is no row of an evaluation"):
        read_episodes(path, manifest())


def test_a_reseeded_episode_has_a_seed_of_its_own(tmp_path: Path):
    moved = replace(episode(), result=replace(episode().result, seed=2_000_100, reseeded=2))

    assert read_episodes(write_rows(tmp_path, moved), manifest()) == [moved]


def test_time_counts_once_where_episodes_overlap(tmp_path: Path):
    path = write_rows(tmp_path, episode(0, 0), episode(0, 1), episode(0, 2))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, (end, wall_s) in zip(rows, [(10.0, 4.0), (12.0, 4.0), (110.0, 5.0)], strict=True):
        row.update(t=end, wall_s=wall_s)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    results = Results(tmp_path, manifest())
    results.close()

    assert results.busy_s() == 6.0 + 5.0


def test_nothing_played_took_no_time(tmp_path: Path):
    results = Results(tmp_path, manifest())
    results.close()

    assert (results.busy_s(), results.played) == (0.0, set[tuple[TaskId, int]]())
