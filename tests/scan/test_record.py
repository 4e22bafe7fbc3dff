"""The record of a scan is a pure function of the scan, and is read whole or not at all."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import ContentKey, WindowChoice, WindowScore
from etude.scan.measure import Measure
from etude.scan.record import (
    RecordedTask,
    RecordedWindow,
    RecordHead,
    ScanRecord,
    record_id,
    scan_record,
)
from etude.store.packed import pack_lines, unpack_lines
from etude.testing.fakes import MemoryDataset, MemoryEpisode
from toy_scan import TASKS, copied

texts = st.text(max_size=20)
numbers = st.floats(0, 1e30)
counts = st.integers(0, 2**40)


@st.composite
def parts(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Draw the fields of a head and of its windows."""
    ids = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    names = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    at = st.tuples(st.integers(0, len(ids) - 1), counts, counts)
    places = sorted(draw(st.sets(at, max_size=12)))
    fields = {"content": texts, "stratum": texts, "seed": counts}
    fields |= dict.fromkeys(("weight", "mse", "mae"), numbers)
    windows = [
        {
            "task": ids[place],
            "episode": episode,
            "frame": frame,
            "groups": {name: draw(numbers) for name in names},
            **draw(st.fixed_dictionaries(fields)),
        }
        for place, episode, frame in places
    ]
    settings = st.dictionaries(texts, st.booleans() | counts | numbers | texts, max_size=4)
    head = {
        "kind": draw(st.sampled_from(["tasks", "samples"])),
        "groups": {name: tuple(draw(st.lists(counts, max_size=3))) for name in names},
        "settings": draw(settings),
        "complete": draw(st.booleans()),
        "windows": len(windows),
        **{name: draw(texts) for name in ("dataset", "policy", "units")},
        **{name: draw(counts) for name in ("step", "horizon")},
    }
    totals = [sum(at == place for at, _, _ in places) for place in range(len(ids))]
    tasks = [
        {"id": task, "name": draw(texts), "windows": total, "of": draw(counts)}
        for task, total in zip(ids, totals, strict=True)
    ]
    return {**head, "tasks": tasks}, windows


def built(drawn: tuple[dict[str, Any], list[dict[str, Any]]]) -> ScanRecord:
    head, windows = drawn
    return ScanRecord(
        head=RecordHead(**{**head, "tasks": tuple(RecordedTask(**task) for task in head["tasks"])}),
        windows=tuple(RecordedWindow(**window) for window in windows),
    )


@given(parts())
def test_what_is_recorded_is_read_whatever_it_is(drawn: Any):
    record = built(drawn)
    packed = pack_lines(record.to_lines())

    assert ScanRecord.from_lines(unpack_lines(packed)) == record
    assert pack_lines(ScanRecord.from_lines(unpack_lines(packed)).to_lines()) == packed


@given(parts(), st.data())
def test_a_record_cut_at_any_byte_is_refused(drawn: Any, data: st.DataObject):
    packed = pack_lines(built(drawn).to_lines())
    kept = data.draw(st.integers(0, len(packed) - 1))

    with pytest.raises(ValueError):  # noqa: PT011
        ScanRecord.from_lines(unpack_lines(packed[:kept]))


@given(parts(), st.data())
def test_a_record_that_lacks_a_line_is_refused(drawn: Any, data: st.DataObject):
    lines = built(drawn).to_lines()
    del lines[data.draw(st.integers(0, len(lines) - 1))]

    with pytest.raises(ValueError):  # noqa: PT011
        ScanRecord.from_lines(lines)


def score(place: int, episode: int, frame: int, *, arm: float = 0.5) -> WindowScore:
    choice = WindowChoice(
        task=TASKS[place].id, episode=episode, frame=frame, stratum="slow", weight=2.0, seed=7
    )
    return WindowScore(choice=choice, groups={"arm": arm, "gripper": 0.25}, mse=3.0, mae=1.5)


SCORES = (score(0, 0, 3), score(0, 1, 0), score(1, 5, 2), score(1, 5, 20))
MEASURE = Measure(
    dataset="memory/toy",
    horizon=1,
    groups={"arm": (0,), "gripper": (1,)},
    actions="auto",
    units=ContentKey("u"),
)
DATA = copied()


def recorded(
    scores: Sequence[WindowScore] = SCORES,
    *,
    dataset: MemoryDataset = DATA,
    step: int = 1000,
    complete: bool = True,
    **settings: float,
) -> ScanRecord:
    return scan_record(
        scores,
        kind="tasks",
        dataset=dataset,
        policy=ContentKey("w"),
        step=step,
        measure=MEASURE,
        settings={"tau": 0.25, **settings},
        of={TASKS[0].id: 200, TASKS[1].id: 200},
        complete=complete,
    )


def test_the_lines_say_what_was_scanned_and_what_came_out():
    head, window, *_ = map(json.loads, recorded().to_lines())

    assert head == {
        "schema": "scan-record/1",
        "kind": "tasks",
        "dataset": "memory/toy",
        "policy": "w",
        "step": 1000,
        "horizon": 1,
        "groups": {"arm": [0], "gripper": [1]},
        "units": "u",
        "settings": {"tau": 0.25},
        "complete": True,
        "windows": 4,
        "tasks": [
            {"id": "toy/0", "name": "task-0", "windows": 2, "of": 200},
            {"id": "toy/1", "name": "task-1", "windows": 2, "of": 200},
        ],
    }
    assert window == {
        "task": "toy/0",
        "episode": 0,
        "content": DATA.identity(DATA.episodes[0]),
        "frame": 3,
        "stratum": "slow",
        "weight": 2.0,
        "seed": 7,
        "groups": {"arm": 0.5, "gripper": 0.25},
        "mse": 3.0,
        "mae": 1.5,
    }
    assert recorded().windows[0].gmse == 0.375


def test_the_order_in_which_scores_come_changes_no_byte():
    assert recorded(SCORES[::-1]).to_lines() == recorded().to_lines()


def test_a_record_is_named_by_the_scan_and_not_by_what_came_out():
    name = record_id(recorded())

    assert name.startswith("tasks-step-00001000-")
    assert len(name) == len("tasks-step-00001000-") + 10
    assert record_id(recorded([score(0, 0, 3, arm=0.9)], complete=False)) == name
    assert record_id(recorded(tau=0.5)) != name
    assert record_id(recorded(step=2000)) != name
    assert record_id(recorded(round=1)) != name


def test_a_group_that_is_not_judged_stands_in_the_head_only():
    still = dataclasses.replace(score(0, 0, 3), groups={"arm": 0.5})

    record = recorded([still])

    assert list(record.head.groups) == ["arm", "gripper"]
    assert record.windows[0].groups == {"arm": 0.5}
    assert record.windows[0].gmse == 0.5
    assert ScanRecord.from_lines(record.to_lines()) == record


def test_a_head_says_what_the_scan_measured_errors_by():
    assert recorded().head.measure == MEASURE
    relative = dataclasses.replace(recorded().head, settings={"actions": "relative"})
    assert relative.measure == dataclasses.replace(MEASURE, actions="relative")


def test_a_name_that_is_no_utf_8_is_told_with_escapes():
    odd = dataclasses.replace(TASKS[0], name="caf\udce9")
    zeros = np.zeros((40, 2), np.float32)
    episode = MemoryEpisode(task=odd.id, states=zeros, actions=zeros)
    dataset = MemoryDataset([episode], tasks=(odd, TASKS[1]))

    record = recorded([score(0, 0, 3)], dataset=dataset)

    assert record.head.tasks[0].name == "caf\\udce9"
    assert ScanRecord.from_lines(record.to_lines()) == record


def line(place: int, **changes: object) -> list[bytes]:
    """Return the lines of a record with fields of one changed; None leaves a field out."""
    lines = [json.loads(each) for each in recorded().to_lines()]
    changed = {**lines[place], **changes}
    lines[place] = {name: value for name, value in changed.items() if value is not None}
    return [json.dumps(each).encode() for each in lines]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "it has no line"),
        ([b"[1]"], "Input should be an object"),
        ([b"\xff"], "Invalid JSON"),
        (line(0, schema="scan-record/9"), "schema is 'scan-record/9'"),
        (line(0, horizon="8"), "horizon is '8'"),
        (line(0, host="h"), "host is 'h'"),
        (line(0, units=None), "units is"),
        (line(0, groups={}), "an action group that its head does not name"),
        (line(1, groups={}), "other action groups than the first one, or none"),
        (line(0, windows=5), "it has 4 of 5 windows"),
        (line(1, task="toy/1"), "not those that the tasks of its head count"),
        (line(1, task="toy/9"), "not those that the tasks of its head count"),
        (line(1, episode=4), "out of order"),
        (line(4, frame=2), "or one comes twice"),
        (line(1, mse=True), "mse is True"),
        (line(1, groups={"arm": 0.5}), "other action groups"),
        (line(1, mae=float("nan")), "mae is nan"),
    ],
)
def test_lines_that_are_no_record_are_refused_with_the_reason(lines: list[bytes], reason: str):
    with pytest.raises(ValueError, match=r".*") as caught:
        ScanRecord.from_lines(lines)

    assert reason in str(caught.value)
