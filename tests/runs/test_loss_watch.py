"""A task whose training loss rises is noticed, however the rows of events are cut."""

from etude.core.types import TaskId
from etude.curriculum.lifecycle_config import DriftConfig
from etude.events.recorder import Sink
from etude.runs.loss_watch import LossWatch

A, B = TaskId("d/a"), TaskId("d/b")
CONFIG = DriftConfig(warm_up=4)


def row(a: float | None, b: object, samples: tuple[int, int] = (4, 4)) -> dict[str, object]:
    return {"kind": "task_losses", "losses": [a, b], "samples": list(samples)}


def watch(losses: list[tuple[float, float]]) -> list[list[TaskId]]:
    """Return what has risen at each look, with one row of events before each."""
    view = LossWatch([A, B], CONFIG)
    risen: list[list[TaskId]] = []
    for a, b in losses:
        view.write(row(a, b))
        risen.append(view.drifted())
    return risen


def test_it_is_a_view_of_the_events():
    assert isinstance(LossWatch([A], CONFIG), Sink)


def test_a_loss_that_rises_is_told_once_and_one_that_falls_never():
    quiet = [(1.0, 1.0), (1.1, 0.9), (0.9, 0.8), (1.0, 0.7)]

    risen = watch([*quiet, (3.0, 0.6), (3.0, 0.5)])

    assert risen == [[], [], [], [], [A], []]


def test_rows_between_two_looks_are_weighed_by_their_samples():
    one, several = LossWatch([A, B], CONFIG), LossWatch([A, B], CONFIG)
    for number in range(6):
        loss = 1.0 + number % 2
        one.write(row(loss, 1.0, samples=(8, 4)))
        several.write(row(loss - 0.5, 1.0, samples=(6, 4)))
        several.write(row(loss + 1.5, None, samples=(2, 0)))
        assert one.drifted() == several.drifted()

    assert one.to_dict() == several.to_dict()


def test_losses_that_are_not_there_or_not_finite_tell_nothing():
    view = LossWatch([A, B], CONFIG)
    before = view.to_dict()

    view.write(row(None, "NaN", samples=(0, 4)))
    view.write({"kind": "steps_finished", "loss": 3.0})

    assert view.drifted() == []
    assert view.to_dict() == before


def test_what_was_seen_is_kept_over_a_resume():
    straight, cut = LossWatch([A, B], CONFIG), LossWatch([A, B], CONFIG)
    for number in range(5):
        for view in (straight, cut):
            view.write(row(1.0 + 0.1 * (number % 2), 1.0))
            if number < 4:
                view.drifted()

    resumed = LossWatch([A, B], CONFIG)
    resumed.restore(cut.to_dict())

    assert resumed.to_dict() == straight.to_dict()
    assert resumed.drifted() == straight.drifted()


def test_losses_since_the_last_plan_are_apart_from_those_since_the_last_look():
    view = LossWatch([A, B], CONFIG)
    view.write(row(1.0, None, samples=(4, 0)))
    view.drifted()
    view.write(row(4.0, None, samples=(8, 0)))
    again = LossWatch([A, B], CONFIG)
    again.restore(view.to_dict())

    assert view.since_plan() == again.since_plan() == {A: 3.0}
    assert view.since_plan() == {}


def test_what_an_earlier_version_saved_can_be_gone_on_with():
    saved = LossWatch([A, B], CONFIG).to_dict()
    view = LossWatch([A, B], CONFIG)

    view.restore({name: saved[name] for name in ("sums", "samples", "drifts")})

    assert view.since_plan() == {}
