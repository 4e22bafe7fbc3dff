"""The page as a whole: self-contained, escaped, in both languages, in every state of a run."""

import html
import re
import subprocess
from html.parser import HTMLParser
from typing import Any

import pytest

from etude.events.schema import (
    AttemptStarted,
    HeldOutErrors,
    PhaseFinished,
    PlanChosen,
    StepsFinished,
    TaskTransition,
    Warned,
)
from etude.observe.report import write_report

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """A parsed page: its tags with attributes, its text, and whether every tag is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {"en": [], "zh-CN": [], "": []}
        self.languages: list[str] = [""]
        self.faults: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            own = dict(attrs).get("lang") if tag == "span" else None
            self.languages.append(own or self.languages[-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)
        self.languages.pop()

    def handle_data(self, data: str) -> None:
        self.words[self.languages[-1]].append(data)

    def text(self, language: str) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words[language]))


def page_of(run: Any) -> Page:
    path = write_report(run.folder)
    assert path == run.root / "report.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert page.faults == []
    assert page.open == []
    return page


def whole_run(run: Any) -> None:
    run.begin(["open", "push"])
    run.folder.config.write_text("seed = 7\n[train]\nlr = 0.001\n")
    run.write_json("env.json", {"python": "3.11.9", "packages": {"numpy": "2.3.1"}})
    run.write_json("data.json", {"repo_id": "me/toy", "fps": 80, "episodes": 100, "frames": 9000,
        "held_out_episodes": 4, "recorded": None,
        "tasks": [{"id": "toy/0", "name": "open", "episodes": 50, "frames": 4500}]})  # fmt: skip
    losses = [StepsFinished(step=s, steps=1, loss=1 / s, grad_norm=1.0, lr=0.1) for s in (1, 2, 3)]
    run.emit(
        AttemptStarted(command="etude run 'my recipe.toml'", step=0),
        *losses,
        HeldOutErrors(step=3, errors=[0.5, 0.25], episodes=4),
        PlanChosen(step=0, from_step=0, rule="learnability", weights=[0.5, 0.5]),
        PlanChosen(step=3, from_step=4, rule="learnability", weights=[0.75, 0.25]),
        TaskTransition(
            step=3,
            task="toy/0",
            before="training",
            after="passed",
            proxy=True,
            reason="26.8 of 26.9 windows passed: a rate of at least 0.85 has chance 0.987",
        ),
        PhaseFinished(phase="train", seconds=423.9),
        Warned(message="look here"),
    )
    run.evaluate("x", {"open": (20, 20), "push": (20, 20)}, use="expert")
    run.evaluate(
        "a", {"open": (18, 20), "push": (20, 20)}, groups={"easy": ["push"], "hard": ["open"]}
    )


def test_a_whole_run_is_told_in_both_languages(run: Any) -> None:
    whole_run(run)
    page = page_of(run)
    english, chinese, plain = page.text("en"), page.text("zh-CN"), page.text("")
    assert "The policy solved 95.0" in english
    assert "Held-out open-loop error (proxy)" in english
    assert "2 tasks: 1 passed, 0 in training, 0 exhausted, 1 untried." in english
    assert "From 1 at step 1 to 0.3333 at step 3; lowest 0.3333 at step 3." in english
    for said in ("策略在 2 个任务、40 个留出回合中的成功率为 95.0%", "难度分组", "代理指标"):
        assert said in chinese
    for said in (
        "18/20 ·",
        "look here",
        "etude run 'my recipe.toml'",
        "lr = 0.001",
        "numpy==2.3.1",
    ):
        assert said in plain
    assert f"etude report {run.root}" in plain
    assert f"etude run {run.root}/config.resolved.toml --output_dir {run.root}-again" in plain


def test_the_page_asks_nothing_of_the_network(run: Any) -> None:
    whole_run(run)
    page = page_of(run)
    source = run.folder.report.read_text(encoding="utf-8")
    assert "http://" not in source
    assert "https://" not in source
    assert "@import" not in source
    assert "url(" not in source
    names = {name for _, attributes in page.tags for name in attributes}
    assert names.isdisjoint({"src", "href", "action", "data", "srcset", "poster"})
    policies = [a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]


def test_names_warnings_and_commands_are_data_not_markup(run: Any) -> None:
    evil = "<script>alert('1')</script>"
    run.begin([evil], run_id=evil, command=["etude", "run", evil])
    run.folder.config.write_text(f'x = "{evil}</pre>"')
    run.emit(Warned(message=evil))
    run.evaluate(evil.replace("/", "-"), {evil: (1, 2)}, groups={evil: [evil]})
    page = page_of(run)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert evil in page.text("")


@pytest.mark.parametrize("state", ["missing", "empty journal", "torn journal"])
def test_a_run_just_begun_has_a_report_that_says_not_yet(run: Any, state: str) -> None:
    if state != "missing":
        run.folder.events.mkdir()
        torn = b"" if state == "empty journal" else b'{"kind": "attempt_st'
        (run.folder.events / "rank-00000.0001.jsonl").write_bytes(torn)
    page = page_of(run)
    assert "Not yet evaluated" in page.text("en")
    assert "Not yet: no training step has been logged." in page.text("en")
    assert "暂无评测结果" in page.text("zh-CN")
    assert run.root.name in page.text("")


def test_values_that_are_not_finite_are_marked_and_never_drawn(run: Any) -> None:
    losses = (1.0, float("nan"), float("inf"), 0.5)
    run.emit(
        *(
            StepsFinished(step=i, steps=1, loss=loss, grad_norm=1.0, lr=0.1)
            for i, loss in enumerate(losses, start=1)
        )
    )
    page = page_of(run)
    assert page.text("").count("▽") == 2
    assert [tag for tag, _ in page.tags].count("polyline") == 2
    assert [tag for tag, a in page.tags if a.get("class") == "point"] == ["circle", "circle"]
    assert "2 values are not finite" in page.text("en")


def test_steps_repeated_after_a_resume_show_the_later_values(run: Any) -> None:
    def steps(first: int, last: int, loss: float) -> list[StepsFinished]:
        return [
            StepsFinished(step=s, steps=1, loss=loss, grad_norm=1.0, lr=0.1)
            for s in range(first, last + 1)
        ]

    run.emit(AttemptStarted(command="etude run", step=0), *steps(1, 10, 2.0))
    run.emit(AttemptStarted(command="etude run --resume", step=6), *steps(7, 12, 4.0))
    english = page_of(run).text("en")
    assert "From 2 at step 1 to 4 at step 12; lowest 2 at step 1." in english
    assert "12 logged points." in english


def test_every_rate_in_a_table_stands_beside_counts_and_an_interval(run: Any) -> None:
    whole_run(run)
    run.evaluate("zero", {"open": (0, 0), "push": (1, 20)}, summary={"errors": 20})
    source = write_report(run.folder).read_text(encoding="utf-8")
    cell = r'<td class="right">(.*?)</td>'
    rows = re.findall(rf"(?={cell}{cell}{cell})", source)
    rated = [row for row in rows if re.fullmatch(r"[\d,]+/[\d,]+", row[0])]
    assert len(rated) >= 6
    assert all(("%" in row[1]) == (" to " in row[2]) for row in rated)
    assert "no rate" in source


def test_equal_files_give_equal_bytes(run: Any) -> None:
    whole_run(run)
    first = write_report(run.folder).read_bytes()
    assert write_report(run.folder).read_bytes() == first
    assert [path.name for path in run.root.glob(".report*")] == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "language, seen, hidden",
    [("en", "Key figures", "关键数字"), ("zh", "关键数字", "Key figures")],
)
def test_a_phone_shows_one_language_without_scrolling_sideways(
    run: Any, language: str, seen: str, hidden: str
) -> None:
    whole_run(run)
    page = write_report(run.folder).read_text(encoding="utf-8").replace("<details", "<details open")
    probe = run.root / "probe.html"
    probe.write_text(
        f"""<iframe style="width:360px" srcdoc="{html.escape(page)}"></iframe><p></p><script>
        onload = () => {{
          const inside = document.querySelector("iframe").contentDocument;
          inside.getElementById("lang-{language}").checked = true;
          document.querySelector("p").textContent =
            inside.documentElement.scrollWidth + "|" + inside.body.innerText;
        }}</script>""",
        encoding="utf-8",
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--hide-scrollbars", "--disable-background-networking", "--dump-dom",
               f"--user-data-dir={run.root / 'profile'}", f"file://{probe}"]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    width, _, words = dom.rpartition("<p>")[2].partition("|")
    assert width == "360"
    assert seen in words
    assert hidden not in words
