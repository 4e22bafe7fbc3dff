"""The headline and the key figures of a report, as sentences and tiles."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from etude.core.types import Interval
from etude.observe.evaluations import (
    Evaluation,
    TaskRate,
    by_rate,
    mean_of_groups,
    mean_over,
    newest,
    same_episodes,
)
from etude.observe.run_files import RunFiles
from etude.observe.texts import Text, counts, duration, interval, percent, text

LOWEST = 5
"""How many of the lowest tasks are averaged and listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One tile: a number, what it is, and what is needed to judge it."""

    label: Text
    value: Text | str
    note: Text | str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which evaluations a report speaks of, and what it says first."""

    shown: Evaluation | None
    """The newest finished evaluation of a policy; of the experts where no policy was tried."""
    expert: Evaluation | None
    """The experts on the same episodes, where that is not what is shown."""
    headline: Text
    remarks: tuple[Text, ...]


def verdict(files: RunFiles) -> Verdict:
    """Choose what to show and say it in one sentence."""
    shown = newest(files.evaluations, expert=False)
    expert = newest(files.evaluations, expert=True)
    if shown is None:
        return Verdict(
            shown=expert, expert=None, headline=_headline(expert, None), remarks=_remarks(files)
        )
    matching = [e for e in files.evaluations if e.finished and e.expert and same_episodes(e, shown)]
    compared = matching[-1] if matching else None
    remarks = list(_remarks(files))
    looks = sum(1 for e in files.evaluations if e.finished and not e.expert)
    if looks > 1:
        remarks.append(text("newest_of", n=looks))
    if expert is not None and compared is None:
        remarks.append(text("expert_not_compared", id=expert.id))
    return Verdict(
        shown=shown, expert=compared, headline=_headline(shown, compared), remarks=tuple(remarks)
    )


def _headline(shown: Evaluation | None, expert: Evaluation | None) -> Text:
    if shown is None:
        return text("headline_none")
    whole = mean_over(shown.tasks)
    if whole.rate is None:
        return text("headline_nothing_tried")
    even = math.isclose(whole.rate, whole.successes / whole.trials, abs_tol=1e-12)
    said = text(
        "headline" if even else "headline_uneven",
        who=text("experts" if shown.expert else "policy"),
        rate=percent(whole.rate),
        k=whole.successes,
        episodes=text("n_held_out", n=whole.trials),
        tasks=text("n_tasks", n=len(shown.tasks)),
        interval=interval(whole),
    )
    if expert is not None:
        other = mean_over(expert.tasks)
        said += text(
            "headline_expert",
            rate=percent(other.rate),
            counts=counts(other),
            interval=interval(other),
        )
    return said + text("full_stop")


def _remarks(files: RunFiles) -> tuple[Text, ...]:
    remarks: list[Text] = []
    if files.summary.step and newest(files.evaluations, expert=False) is None:
        remarks.append(text("trained_so_far", step=files.summary.step))
    remarks += [
        text(
            "evaluation_under_way",
            id=evaluation.id,
            done=evaluation.episodes_played,
            planned=evaluation.n_episodes * len(evaluation.task_ids),
        )
        for evaluation in files.evaluations
        if not evaluation.finished
    ]
    return tuple(remarks)


def key_figures(files: RunFiles, said: Verdict) -> list[Figure]:
    """Return the tiles at the top of the page; what is not known yet has none."""
    figures = _rates(said.shown, said.expert) if said.shown is not None else []
    if files.summary.step:
        figures.append(_training(files))
    if "episodes" in files.data:
        figures.append(_demonstrations(files.data))
    return figures


def _rates(shown: Evaluation, expert: Evaluation | None) -> list[Figure]:
    tasks = shown.tasks
    figures = [_rate("figure_mean", mean_over(tasks))]
    if expert is not None:
        figures.append(_rate("figure_expert", mean_over(expert.tasks)))
    grouped = mean_of_groups(shown)
    if grouped is not None:
        figures.append(_rate("figure_groups", grouped))
    if len(tasks) > LOWEST:
        lowest = by_rate(tasks)[:LOWEST]
        figure = _rate("figure_lowest", mean_over(lowest), n=LOWEST)
        note = Text(en="; ", zh="；") + text("figure_lowest_note")
        figures.append(Figure(label=figure.label, value=figure.value, note=_join(figure, note)))
    always = sum(1 for task in tasks if task.success.rate == 1)
    value = text("figure_always_value", k=always, n=len(tasks))
    figures.append(Figure(label=text("figure_always"), value=value))
    at_end = _at_end(tasks)
    return [*figures, _rate("figure_at_end", at_end)] if at_end else figures


def _join(figure: Figure, note: Text) -> Text | str:
    return figure.note + note if isinstance(figure.note, Text) else figure.note


def _rate(key: str, value: Interval, **values: object) -> Figure:
    note = text("rate_note", counts=counts(value), interval=interval(value))
    return Figure(label=text(key, **values), value=percent(value.rate), note=note)


def _at_end(tasks: tuple[TaskRate, ...]) -> Interval | None:
    """Return the mean rate of success at the last step, where episodes were played to the end."""
    ends = [task.at_the_end() for task in tasks if task.at_end is not None]
    return mean_over(ends) if ends else None


def _training(files: RunFiles) -> Figure:
    time = files.summary.phases.get("train")
    note = text("attempts_note", n=files.summary.attempts) if files.summary.attempts else ""
    if time is not None:
        note = duration(time) if note == "" else duration(time) + Text(en=" ", zh="，") + note
    return Figure(label=text("figure_steps"), value=f"{files.summary.step:,}", note=note)


def _demonstrations(data: Mapping[str, object]) -> Figure:
    note = text(
        "figure_demos_note",
        frames=data.get("frames", text("unknown")),
        held_out=data.get("held_out_episodes", 0),
    )
    episodes = data["episodes"]
    shown = f"{episodes:,}" if isinstance(episodes, int) else str(episodes)
    return Figure(label=text("figure_demos"), value=shown, note=note)
