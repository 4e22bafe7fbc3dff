"""A run folder built file by file, as the parts of a real run write them."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from etude.events.recorder import Recorder
from etude.events.schema import Event
from etude.store.layout import RunFolder


class RunUnderTest:
    """Writes the files of one run; nothing is there until it is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = RunFolder(root)
        self._order = itertools.count()

    def begin(self, names: Sequence[str], **manifest: Any) -> None:
        """Write run.json with one task for each name."""
        self.write_json("run.json", {
            "schema_version": 1, "run_id": "demo", "created_at": "2026-11-30T16:03:24+00:00",
            "command": ["etude", "run", "my recipe.toml"], "version": "0.1.0",
            "tasks": tasks(names)} | manifest)  # fmt: skip

    def emit(self, *events: Event) -> None:
        """Record one attempt, one second between two events."""
        clock = itertools.count(1_790_000_000)
        recorder = Recorder(self.folder.events, clock=lambda: float(next(clock)))
        for event in events:
            recorder.emit(event)
        recorder.close()

    def evaluate(
        self,
        eval_id: str,
        counts: Mapping[str, tuple[int, int]],
        *,
        use: str = "chunk",
        groups: Mapping[str, Sequence[str]] | None = None,
        finished: bool = True,
        manifest: Mapping[str, Any] | None = None,
        summary: Mapping[str, Any] | None = None,
        rows: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Write one evaluation with (successes, trials) by task name."""
        step = None if use == "expert" else 3000
        self.write_json(f"eval/{eval_id}/manifest.json", {
            "schema_version": 1, "eval_id": eval_id,
            "created_at": f"2026-11-30T17:{next(self._order):02d}:00+00:00",
            "policy": {"use": use, "key": "k", "checkpoint": None, "step": step},
            "simulator": {"use": "toy", "options": {}},
            "tasks": tasks(list(counts)), "groups": groups or {},
            "n_episodes": 20, "first_seed": 1000000, "max_steps": 500,
            "versions": {"toy": "1.2"}} | dict(manifest or {}))  # fmt: skip
        if not finished:
            return
        rows = rows or {}
        group_of = {name: group for group, names in (groups or {}).items() for name in names}
        per_task = [
            {"id": task["id"], "name": task["name"], "group": group_of.get(task["name"]),
             "successes": counts[task["name"]][0], "trials": counts[task["name"]][1],
             "at_end": None, "mean_steps_to_success": None} | dict(rows.get(task["name"], {}))
            for task in tasks(list(counts))
        ]  # fmt: skip
        self.write_json(f"eval/{eval_id}/summary.json", {
            "schema_version": 1, "eval_id": eval_id, "errors": 0, "reseeded": 0, "steps": 4000,
            "seconds": 65.0, "per_task": per_task} | dict(summary or {}))  # fmt: skip

    def write_json(self, name: str, value: object) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")


def tasks(names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": f"toy/{place}", "index": place, "name": name, "text": f"do {name}"}
        for place, name in enumerate(names)
    ]


@pytest.fixture
def run(tmp_path: Path) -> RunUnderTest:
    return RunUnderTest(tmp_path)
