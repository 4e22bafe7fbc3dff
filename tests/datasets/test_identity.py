"""An episode is what was recorded in it, wherever it lies and beside whatever."""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import ContentKey, TaskId
from etude.datasets.identity import FileStamp, IdentityMemo, take_stamp
from etude.datasets.recorded import RecordedDataset
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks
from tiny_dataset import DATA, TASKS, change, change_info, read, set_value, write_tiny

LENGTHS = [5, 3, 4]
TEXTS = ("open it", "close it")


def tiny(folder: Path, lengths: list[int] | None = None) -> Path:
    return write_tiny(folder, LENGTHS if lengths is None else lengths, texts=TEXTS)


def identities(folder: Path) -> list[ContentKey]:
    return identities_of(read(folder))


def identities_of(dataset: RecordedDataset | MemoryDataset) -> list[ContentKey]:
    return [dataset.identity(episode) for episode in dataset.episodes]


def age(folder: Path) -> None:
    """Make every file old enough to be trusted by its time stamp."""
    for path in folder.rglob("*.parquet"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def test_every_episode_has_an_identity_of_its_own(tmp_path: Path) -> None:
    assert len(set(identities(tiny(tmp_path / "data")))) == 3


def test_an_appended_episode_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "a"))
    after = identities(tiny(tmp_path / "b", [*LENGTHS, 7]))

    assert after[:3] == before
    assert after[3] not in before


def test_a_deleted_episode_is_missed_and_the_others_stay(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "a"))

    assert identities(tiny(tmp_path / "b", LENGTHS[:2])) == before[:2]


def test_a_moved_folder_has_the_same_episodes(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "a"))
    (tmp_path / "deep").mkdir()
    shutil.move(tmp_path / "a", tmp_path / "deep" / "b")

    assert identities(tmp_path / "deep" / "b") == before


@pytest.mark.parametrize(
    "settings",
    [
        {"row_group_size": 2},
        {"compression": "none"},
        {"use_dictionary": False, "data_page_version": "2.0"},
    ],
)
def test_how_a_file_is_cut_and_packed_does_not_matter(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    before = identities(tiny(tmp_path / "data"))
    pq.write_table(pq.read_table(tmp_path / "data" / DATA), tmp_path / "data" / DATA, **settings)

    assert identities(tmp_path / "data") == before


def test_the_type_in_which_a_file_keeps_numbers_does_not_matter(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "data"))
    rows = pq.read_table(tmp_path / "data" / DATA)["action"].to_pylist()
    change(tmp_path / "data" / DATA, action=pa.array(rows, pa.list_(pa.float64())))

    assert identities(tmp_path / "data") == before


@pytest.mark.parametrize("column", ["action", "observation.state"])
def test_one_changed_number_changes_its_episode_alone(tmp_path: Path, column: str) -> None:
    before = identities(tiny(tmp_path / "data"))
    set_value(tmp_path / "data" / DATA, column, 6, 1, 0.125)

    after = identities(tmp_path / "data")

    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]


def test_a_changed_timestamp_changes_its_episode_alone(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "data"))
    seconds = pq.read_table(tmp_path / "data" / DATA)["timestamp"].to_numpy().copy()
    seconds[0] = 0.05
    change(tmp_path / "data" / DATA, timestamp=pa.array(seconds))

    after = identities(tmp_path / "data")

    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, True]


def test_a_dataset_without_timestamps_has_identities_too(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "data"))
    change(tmp_path / "data" / DATA, timestamp=None)

    after = identities(tmp_path / "data")

    assert len(set(after)) == 3
    assert set(after).isdisjoint(before)


def test_a_changed_text_changes_the_episodes_of_its_task(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "data"))
    change(tmp_path / "data" / TASKS, task=pa.array(["open it!", "close it"]))

    after = identities(tmp_path / "data")

    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, False]


def test_another_frame_rate_changes_all_of_them(tmp_path: Path) -> None:
    before = identities(tiny(tmp_path / "data"))
    change_info(tmp_path / "data", fps=20)

    assert set(identities(tmp_path / "data")).isdisjoint(before)


numbers = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@given(st.lists(numbers, min_size=2, max_size=4))
def test_episodes_have_one_identity_exactly_if_they_hold_the_same(rows: list[list[int]]) -> None:
    episodes = [
        MemoryEpisode(
            task=TaskId("toy/0"),
            states=np.array(values, np.float32)[:, None],
            actions=np.zeros((len(values), 1), np.float32),
        )
        for values in rows
    ]

    found = identities_of(MemoryDataset(episodes, tasks=toy_tasks(1)))

    for one, mine in zip(rows, found, strict=True):
        for two, theirs in zip(rows, found, strict=True):
            assert (one == two) == (mine == theirs)


def test_what_is_state_and_what_is_action_is_told_apart() -> None:
    long, short = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
    pair = [
        MemoryEpisode(task=TaskId("toy/0"), states=long, actions=short),
        MemoryEpisode(task=TaskId("toy/0"), states=short, actions=long),
    ]

    assert len(set(identities_of(MemoryDataset(pair, tasks=toy_tasks(1))))) == 2


def test_a_memo_answers_for_files_that_have_not_changed(tmp_path: Path) -> None:
    age(tiny(tmp_path / "data"))
    memo = IdentityMemo(tmp_path / "memo")
    expected = identities(tmp_path / "data")
    assert read(tmp_path / "data").use_memo(memo) == 3

    dataset = read(tmp_path / "data")

    assert dataset.use_memo(memo) == 0
    assert identities_of(dataset) == expected


def test_a_file_of_the_last_two_seconds_is_hashed_again(tmp_path: Path) -> None:
    tiny(tmp_path / "data")
    memo = IdentityMemo(tmp_path / "memo")

    assert [read(tmp_path / "data").use_memo(memo) for _ in range(2)] == [3, 3]


def test_a_changed_file_is_hashed_again_and_a_new_episode_alone_is_missing(tmp_path: Path) -> None:
    age(tiny(tmp_path / "data"))
    memo = IdentityMemo(tmp_path / "memo")
    read(tmp_path / "data").use_memo(memo)
    set_value(tmp_path / "data" / DATA, "action", 6, 1, 0.125)
    os.utime(tmp_path / "data" / DATA, (1_700_000_009, 1_700_000_009))
    expected = identities(tmp_path / "data")

    dataset = read(tmp_path / "data")

    assert dataset.use_memo(memo) == 3
    assert identities_of(dataset) == expected


def test_verifying_trusts_no_memo_and_mends_it(tmp_path: Path) -> None:
    age(tiny(tmp_path / "data"))
    stamp = take_stamp(tmp_path / "data" / DATA)
    IdentityMemo(tmp_path / "memo").keep(stamp, {"0:5": "wrong", "5:8": "wrong", "8:12": "wrong"})
    expected = identities(tmp_path / "data")

    checked, after = read(tmp_path / "data"), read(tmp_path / "data")

    assert checked.use_memo(IdentityMemo(tmp_path / "memo", verify=True)) == 3
    assert after.use_memo(IdentityMemo(tmp_path / "memo")) == 0
    assert identities_of(checked) == identities_of(after) == expected


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "identity-memo/1", "rows": 5}'])
def test_a_memo_that_cannot_be_read_is_no_answer(tmp_path: Path, content: str) -> None:
    age(tiny(tmp_path / "data"))
    memo = IdentityMemo(tmp_path / "memo")
    read(tmp_path / "data").use_memo(memo)
    (kept,) = (tmp_path / "memo").iterdir()
    kept.write_text(content)

    assert [read(tmp_path / "data").use_memo(memo) for _ in range(2)] == [3, 0]


def test_a_memo_that_cannot_be_kept_stops_nothing(tmp_path: Path) -> None:
    age(tiny(tmp_path / "data"))
    (tmp_path / "memo").touch()

    assert read(tmp_path / "data").use_memo(IdentityMemo(tmp_path / "memo")) == 3


def test_a_stamp_is_settled_when_a_later_change_must_show() -> None:
    def stamp(age_ns: int) -> FileStamp:
        return FileStamp(path=Path("x"), size=1, mtime_ns=10**10, taken_ns=10**10 + age_ns)

    assert not stamp(1_999_999_999).settled
    assert stamp(2_000_000_000).settled
