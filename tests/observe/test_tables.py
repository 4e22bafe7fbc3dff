"""The rows of tables and plots."""

from typing import Any

from etude.events.schema import HeldOutErrors, SinkFailed, StepsFinished, Warned
from etude.observe import tables
from etude.observe.charts import Point
from etude.observe.figures import verdict
from etude.observe.run_files import read_run
from etude.observe.texts import Text


def held_out(step: int, *errors: float | None) -> HeldOutErrors:
    return HeldOutErrors(step=step, errors=list(errors), episodes=4)


def test_rows_go_from_the_lowest_rate_up_and_carry_the_experts(run: Any) -> None:
    run.begin(["open", "push"])
    run.emit(held_out(10, 0.5, 0.25), held_out(20, 0.125, float("nan")))
    run.evaluate("x", {"open": (19, 20), "push": (20, 20)}, use="expert")
    run.evaluate("a", {"open": (20, 20), "push": (10, 20)}, groups={"very_hard": ["push"]})
    files = read_run(run.folder)
    said = verdict(files)
    assert said.shown is not None
    push, reach = tables.task_rows(files, said.shown, said.expert)
    assert (push.name, push.success.successes, push.error) == ("push", 10, "▽")
    assert push.group == Text(en="very hard", zh="极难")
    assert (reach.name, reach.error) == ("open", "0.125")
    assert reach.expert is not None
    assert reach.expert.successes == 19


def test_groups_keep_the_order_of_the_benchmark_and_unknown_ones_their_name(run: Any) -> None:
    groups = {"easy": ["c"], "very_hard": ["b"], "odd": ["a"]}
    counts = {"a": (1, 20), "b": (2, 20), "c": (3, 20)}
    run.evaluate("x", counts, use="expert")
    run.evaluate("e", counts, groups=groups)
    said = verdict(read_run(run.folder))
    assert said.shown is not None
    rows = tables.group_rows(said.shown, said.expert)
    assert [row.success.successes for row in rows] == [3, 2, 1]
    assert rows[2].name == "odd"
    assert rows[0].expert is not None
    assert rows[0].expert.successes == 3


def test_losses_that_json_cannot_say_are_not_finite_points(run: Any) -> None:
    losses = (1.0, float("nan"), float("inf"), 0.5)
    run.emit(
        *(
            StepsFinished(step=i, steps=1, loss=loss, grad_norm=1.0, lr=0.1)
            for i, loss in enumerate(losses, start=1)
        )
    )
    assert tables.loss_points(read_run(run.folder)) == [
        Point(step=1, value=1.0),
        Point(step=2, value=None),
        Point(step=3, value=None),
        Point(step=4, value=0.5),
    ]


def test_a_mean_error_skips_tasks_without_episodes_but_not_broken_ones(run: Any) -> None:
    run.emit(held_out(1, 0.5, None, 0.25), held_out(2, 0.5, float("inf")), held_out(3, None, None))
    assert tables.held_out_points(read_run(run.folder)) == [
        Point(step=1, value=0.375),
        Point(step=2, value=None),
    ]


def test_repeated_warnings_are_one_row_with_their_number(run: Any) -> None:
    again = Warned(message="slow disk")
    run.emit(again, again, Warned(message="once"), SinkFailed(sink="Console", reason="gone"))
    (run.root / "data.json").write_text("{")
    damaged, failed, slow, once = tables.warning_rows(read_run(run.folder))
    assert isinstance(damaged, Text)
    assert damaged.en.startswith("Not readable: ")
    assert failed == Text(
        en="A view of the events failed: Console: gone", zh="一个事件视图出错：Console: gone"
    )
    assert slow == Text(en="slow disk (2 times)", zh="slow disk（2 次）")
    assert once == "once"


def test_phases_share_the_timed_whole() -> None:
    train, odd = tables.phase_rows({"train": 90.0, "polish": 30.0})
    assert train.name == Text(en="training", zh="训练")
    assert (train.share, odd.share) == (75.0, 25.0)
    assert odd.name == "polish"


def test_demonstrations_are_listed_as_far_as_they_are_known() -> None:
    data = {"tasks": [{"id": "toy/0", "episodes": 50, "frames": 4500}, {"id": "1", "name": "push"}]}
    first, second = tables.recorded_rows(data)
    assert (first.name, first.episodes, first.frames) == ("toy/0", "50", "4500")
    assert (second.name, second.episodes, second.frames) == ("push", "–", "–")
    assert tables.recorded_rows({}) == []
