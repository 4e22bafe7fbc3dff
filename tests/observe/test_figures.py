"""What a report says first."""

from typing import Any

from etude.events.schema import AttemptStarted, PhaseFinished, StepsFinished
from etude.observe.figures import key_figures, verdict
from etude.observe.run_files import read_run

NBSP = "\u00a0"


def step(number: int) -> StepsFinished:
    return StepsFinished(step=number, steps=1, loss=0.5, grad_norm=1.0, lr=0.1)


def headline(run: Any) -> Any:
    return verdict(read_run(run.folder)).headline


def test_the_headline_gives_rate_episodes_tasks_and_interval(run: Any) -> None:
    run.evaluate("a", {"open": (18, 20), "push": (20, 20)})
    assert headline(run).en.replace(NBSP, " ") == (
        "The policy solved 95.0 % of 40 held-out episodes over 2 tasks "
        "(95 % interval 85.8 to 100.0 %)."
    )
    assert headline(run).zh == (
        "策略在 2 个任务、40 个留出回合中的成功率为 95.0%（95% 置信区间 85.8–100.0%）。"
    )


def test_the_experts_are_named_when_they_played_the_same_seeds(run: Any) -> None:
    run.evaluate("x", {"open": (20, 20), "push": (19, 20)}, use="expert")
    run.evaluate("a", {"open": (18, 20), "push": (20, 20)})
    _, _, experts = headline(run).en.replace(NBSP, " ").partition("; ")
    assert experts == (
        "the scripted experts 97.5 % on the same seeds (39/40; 95 % interval 88.9 to 100.0 %)."
    )
    assert "脚本专家在相同种子上为 97.5%" in headline(run).zh


def test_experts_on_other_seeds_are_not_compared(run: Any) -> None:
    run.evaluate("x", {"open": (20, 20)}, use="expert", manifest={"first_seed": 0})
    run.evaluate("a", {"open": (18, 20)})
    said = verdict(read_run(run.folder))
    assert said.expert is None
    assert "expert" not in said.headline.en
    assert said.remarks[-1].en.startswith("The experts' evaluation x played other tasks")


def test_uneven_counts_are_said_apart_from_the_mean_over_tasks(run: Any) -> None:
    run.evaluate("a", {"open": (5, 10), "push": (20, 20)})
    assert (
        headline(run)
        .en.replace(NBSP, " ")
        .startswith(
            "The policy solved 25 of 30 held-out episodes over 2 tasks; "
            "the mean of the tasks' rates is 75.0 % (95 % interval "
        )
    )


def test_an_experts_evaluation_alone_is_about_the_experts(run: Any) -> None:
    run.evaluate("x", {"open": (19, 20)}, use="expert")
    assert headline(run).en.startswith("The scripted experts solved 95.0")
    assert verdict(read_run(run.folder)).expert is None


def test_without_an_evaluation_the_headline_says_not_yet(run: Any) -> None:
    run.emit(AttemptStarted(command="etude train", step=0), step(1500))
    said = verdict(read_run(run.folder))
    assert said.headline.en.startswith("Not yet evaluated")
    assert [remark.en for remark in said.remarks] == ["Training has reached step 1,500."]
    assert said.shown is None


def test_an_evaluation_without_a_valid_episode_has_no_rate(run: Any) -> None:
    run.evaluate("a", {"open": (0, 0)}, summary={"errors": 20})
    assert "no success rate" in headline(run).en
    figures = key_figures(files := read_run(run.folder), verdict(files))
    assert str(figures[0].value) != "0.0 %"
    assert "no rate" in figures[0].value.en  # type: ignore[union-attr]


def test_an_evaluation_under_way_is_mentioned_beside_a_finished_one(run: Any) -> None:
    run.evaluate("a", {"open": (18, 20)})
    run.evaluate("b", {"open": (0, 0)}, finished=False)
    said = verdict(read_run(run.folder))
    assert said.headline.en.startswith("The policy solved 90.0")
    assert said.remarks[0].en == (
        "Evaluation b was begun and is not finished: 0 of 20 episodes are played."
    )


def test_the_newest_policy_evaluation_is_quoted_not_the_best(run: Any) -> None:
    run.evaluate("a", {"open": (20, 20)})
    run.evaluate("b", {"open": (10, 20)})
    said = verdict(read_run(run.folder))
    assert said.headline.en.startswith("The policy solved 50.0")
    assert said.remarks[0].en.startswith("The newest of 2 finished evaluations")


def test_key_figures_are_counted_not_written_down(run: Any) -> None:
    counts = {f"t{i}": (20 - i, 20) for i in range(7)}
    run.evaluate("a", counts, groups={"easy": ["t0"], "hard": ["t1"]})
    run.write_json("data.json", {"episodes": 2500, "frames": 241234, "held_out_episodes": 100})
    run.emit(step(3000), PhaseFinished(phase="train", seconds=423.0))
    files = read_run(run.folder)
    shown = {figure.label.en: figure for figure in key_figures(files, verdict(files))}
    value = {label: getattr(f.value, "en", f.value) for label, f in shown.items()}
    assert value["Mean success over tasks"] == f"85.0{NBSP}%"
    assert value["Mean of the difficulty groups"] == f"97.5{NBSP}%"
    assert value["Mean of the 5 lowest tasks"] == f"80.0{NBSP}%"
    assert value["Tasks solved every time"] == "1 of 7"
    assert value["Training steps"] == "3,000"
    assert value["Demonstrations"] == "2,500"
    note = shown["Mean of the 5 lowest tasks"].note
    assert getattr(note, "en", "").startswith("80/100; 95")
    assert getattr(note, "en", "").endswith("picked after the fact, so it leans low")


def test_success_at_the_last_step_is_a_figure_of_its_own(run: Any) -> None:
    rows = {"open": {"at_end": 0.5}, "push": {"at_end": 1.0}}
    run.evaluate("a", {"open": (18, 20), "push": (20, 20)}, rows=rows)
    files = read_run(run.folder)
    last = key_figures(files, verdict(files))[-1]
    assert last.label.en == "Solved at the last step"
    assert getattr(last.value, "en", "") == f"75.0{NBSP}%"
    assert getattr(last.note, "en", "").startswith("30/40; 95")
