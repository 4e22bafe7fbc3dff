"""Task states of a small run, as a document and inside a checkpoint."""

from pathlib import Path
from typing import Any

from etude.checkpoints.commit import CheckpointStore
from etude.core.types import ContentKey, SamplingPlan, Task, TaskId
from etude.curriculum.states import TaskEvidence, TaskState
from etude.curriculum.task_state import (
    FILE_NAME,
    DatasetMark,
    TaskStateDocument,
    make_document,
)
from etude.store.layout import RunFolder

NAMES = ("reach-v3", "push-v3", "door-open-v3", "disassemble-v3")
TASKS = tuple(
    Task(id=TaskId(f"mt50/{index}"), index=index, name=name, text=name)
    for index, name in enumerate(NAMES)
)
DATA = DatasetMark(repo_id="etude/mt50", identity="d1")


def evidence(step: int = 900, **fields: Any) -> TaskEvidence:
    given = {"passed": 17.5, "trials": 20.0, "episodes": 4, "score": 0.25, "spent": 6000.0}
    given |= {"weights": f"mt50-1a2b@{step}", "kind": "open_loop"}
    return TaskEvidence(step=step, **(given | fields))


def states() -> dict[TaskId, TaskState]:
    """One task of every status."""
    reach, push, door, disassemble = (task.id for task in TASKS)
    passed = TaskState(
        task=reach,
        status="passed",
        proxy=True,
        since_step=900,
        spent=6000.0,
        budget=12800.0,
        history=(evidence(850), evidence(900, passed=19.0)),
        streak=2,
        streak_step=900,
        recheck_in=2,
        recheck_every=2,
        reason="19.0 of 20.0 windows passed",
    )
    training = TaskState(
        task=push,
        status="training",
        since_step=50,
        spent=9000.5,
        budget=12800.0,
        history=(evidence(900, kind="rollout", passed=2.0, trials=5.0, score=0.6),),
        boost=1.6,
        failures=3,
        reason="first look at it: 0.0 of 20.0 passed",
    )
    exhausted = TaskState(
        task=disassemble,
        status="exhausted",
        since_step=800,
        spent=13000.0,
        budget=12800.0,
        history=(evidence(800, passed=0.0, score=None),),
        reason="spent 13000 of 12800 draws",
    )
    return {
        reach: passed,
        push: training,
        door: TaskState(task=door),
        disassemble: exhausted,
    }


def document(**fields: Any) -> TaskStateDocument:
    shares = dict(zip((task.id for task in TASKS), (0.125, 0.5, 0.25, 0.125), strict=True))
    given: dict[str, Any] = {"run_id": "mt50-1a2b", "step": 1000, "weights": "w1000"}
    given |= {"dataset": DATA, "rule": "learnability"}
    return make_document(states(), TASKS, SamplingPlan(weights=shares), **(given | fields))


def save_checkpoint(run: Path, step: int, *, states: TaskStateDocument | None) -> Path:
    """Commit a checkpoint of no weights, with states beside them if there are any."""

    def write(folder: Path) -> None:
        (folder / "hf").mkdir()
        for place in (folder, folder / "hf"):
            (place / "weights").write_text(f"w{step}")
            if states is not None:
                (place / FILE_NAME).write_text(states.to_text(), encoding="utf-8")

    store = CheckpointStore(RunFolder(run).checkpoints)
    return store.path(store.save(step, write, weights=ContentKey(f"w{step}")))
