"""Which task states a run begins with: four ways, and what is refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from adaptive_run import EASY, HARD, TASKS, TableLooks, make_run, rates, told, train
from etude.core.errors import StateError
from etude.core.types import TaskId
from etude.curriculum.task_state import TaskStateDocument
from etude.curriculum.task_state_changes import mark
from etude.runs.adaptive import Adaptive
from etude.runs.adaptive_config import StartConfig
from etude.runs.task_documents import read_document, write_document
from etude.testing.fakes import walk_dataset
from etude.train.loop import TrainingParts


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingParts, Adaptive]:
    folder = tmp_path_factory.mktemp("whole")
    return folder, *train(folder)


@pytest.fixture
def cut(tmp_path: Path, whole: tuple[Path, TrainingParts, Adaptive]) -> Path:
    """A run of which only the checkpoint of step 20 and what came before is left."""
    folder = tmp_path / "cut"
    shutil.copytree(whole[0], folder)
    shutil.rmtree(folder / "checkpoints/step-00000040")
    return folder


def document_of(whole: tuple[Path, TrainingParts, Adaptive], step: int) -> TaskStateDocument:
    return read_document(whole[0] / f"checkpoints/step-{step:08d}/task_state.json")


def test_auto_takes_the_states_beside_the_weights_and_looks_at_nothing_first(
    cut: Path, whole: tuple[Path, TrainingParts, Adaptive]
):
    looks = TableLooks(rates)

    _, adaptive = train(cut, looks=looks)

    assert adaptive.states == whole[2].states
    assert looks.looked[0][0] == 25


def test_none_knows_nothing_and_looks_at_every_task_before_the_first_step(cut: Path):
    looks = TableLooks(rates)

    _, adaptive = train(cut, looks=looks, start=StartConfig(task_state="none"))

    assert looks.looked[0] == (20, tuple(task.id for task in TASKS))
    # One passing look at step 20 and one at 25.
    assert told(cut, "task_transition")[25, EASY]["after"] == "passed"
    assert adaptive.states[EASY].history[0].step == 20


def test_a_document_of_these_weights_is_taken_over_and_planned_for_at_once(
    cut: Path, whole: tuple[Path, TrainingParts, Adaptive], tmp_path: Path
):
    edited = tmp_path / "edited.json"
    write_document(edited, mark(document_of(whole, 20), HARD, "exhausted"))

    _, adaptive = train(cut, start=StartConfig(task_state=str(edited)))

    assert adaptive.states[HARD].since_step == 20
    plans = told(cut, "plan_chosen")
    assert plans[20, None]["from_step"] == 25
    assert plans[20, None]["weights"][1] < 0.2


def test_a_document_of_later_weights_is_refused(
    cut: Path, whole: tuple[Path, TrainingParts, Adaptive], tmp_path: Path
):
    later = tmp_path / "later.json"
    write_document(later, document_of(whole, 40))

    with pytest.raises(StateError, match=r"weights is .* but the loaded weights are") as caught:
        train(cut, start=StartConfig(task_state=str(later)))

    assert "--accept-weights-mismatch" in str(caught.value) + caught.value.hint


def test_an_accepted_document_of_other_weights_is_stale_and_looked_at_first(
    cut: Path, whole: tuple[Path, TrainingParts, Adaptive], tmp_path: Path
):
    later, looks = tmp_path / "later.json", TableLooks(rates)
    write_document(later, document_of(whole, 40))
    start = StartConfig(task_state=str(later), accept_weights_mismatch=True)

    _, adaptive = train(cut, looks=looks, start=start)

    # The task that never had a score comes first.
    assert looks.looked[0] == (20, (TASKS[2].id, EASY, HARD))
    stale = [each.stale for each in adaptive.states[EASY].history]
    # The 8 looks of the document, the one before the first step, and those that came after.
    assert stale == sorted(stale, reverse=True)
    assert stale.count(True) >= 4
    assert not stale[-1]


def test_a_new_run_from_a_document_alone_asks_to_accept_its_other_weights(
    whole: tuple[Path, TrainingParts, Adaptive], tmp_path: Path
):
    path = tmp_path / "states.json"
    write_document(path, document_of(whole, 40))

    with pytest.raises(StateError, match="the loaded weights are"):
        train(tmp_path / "new", start=StartConfig(task_state=str(path)))

    accepted = StartConfig(task_state=str(path), accept_weights_mismatch=True)
    _, adaptive = train(tmp_path / "other", start=accepted)
    assert adaptive.states[EASY].history[0].step < 0
    assert told(tmp_path / "other", "plan_chosen")[0, None]["from_step"] == 0


def test_without_a_document_a_new_run_knows_nothing(tmp_path: Path):
    looks = TableLooks(rates)

    train(tmp_path, looks=looks)

    assert looks.looked[0][0] == 5
    assert told(tmp_path, "plan_chosen")[0, None]["weights"] == pytest.approx([1 / 3] * 3)


def test_other_episodes_are_refused_with_the_difference_unless_accepted(cut: Path):
    lengths = {TASKS[0].id: [20, 9], TASKS[1].id: [7, 12], TASKS[2].id: [15, 3, 4, 4]}
    more = walk_dataset(lengths, tasks=TASKS)

    with pytest.raises(StateError, match=r"toy/2 had 15 frames, now 19"):
        train(cut, data=more)

    loop, parts, adaptive = make_run(
        cut, data=more, start=StartConfig(accept_data_change=True), looks=TableLooks(rates)
    )
    ref = parts.store.latest()
    assert ref is not None
    loop.resume(ref, accept_data_change=True)
    adaptive.begin(parts.optimisation.average, step=20)
    assert adaptive.states[EASY].status == "passed"
    assert told(cut, "plan_chosen")[20, None]["from_step"] == 25


def test_an_edited_copy_inside_a_checkpoint_is_refused(cut: Path):
    sealed = cut / "checkpoints/step-00000020/task_state.json"
    text = sealed.read_text()
    sealed.write_text(text.replace('"boost": 1.0', '"boost": 4.0', 1))

    with pytest.raises(StateError, match="was edited, but it is sealed") as caught:
        train(cut)

    assert sealed.read_text() != text
    assert "--task-state FILE" in caught.value.hint


def test_a_task_of_the_document_that_is_not_there_any_more_is_named(
    cut: Path, whole: tuple[Path, TrainingParts, Adaptive], tmp_path: Path
):
    path = tmp_path / "more.json"
    document = document_of(whole, 20)
    extra = replace(document.tasks[0], state=replace(document.tasks[0].state, task=TaskId("x/9")))
    write_document(path, replace(document, tasks=(*document.tasks, extra)))

    with pytest.raises(StateError, match='is "x/9", which is none of the 3 tasks of this run'):
        train(cut, start=StartConfig(task_state=str(path)))
