"""How every script here says what it measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from machine import describe_machine

RESULTS = Path(__file__).parent / "results"


def publish(name: str, figures: Mapping[str, Any]) -> None:
    """Print one JSON object and keep it as bench/results/<name>.json."""
    result = {"schema_version": 1, "bench": name, **figures, "machine": describe_machine()}
    text = json.dumps(result, indent=1)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(text)
