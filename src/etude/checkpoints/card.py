"""The model card beside exported weights."""

from collections.abc import Mapping
from typing import Any

from etude.core.types import ContentKey


def model_card(config: Mapping[str, Any], *, step: int, weights: ContentKey) -> str:
    """Return a Hugging Face model card that claims nothing that has not been measured.

    Source: hub-docs/modelcard.md for the front matter.
    """
    tasks = config["tasks"]
    rows = "\n".join(
        f"| {' | '.join(_cell(str(task[name])) for name in ('id', 'name', 'text'))} |"
        for task in tasks
    )
    return f"""---
license: apache-2.0
library_name: etude
pipeline_tag: robotics
tags:
- robotics
- etude
datasets:
- {config["dataset"]}
---

# {config["type"]} policy, step {step}

A policy for {len(tasks)} tasks, trained with Etude on `{config["dataset"]}`.
Weights id: `{weights}`. Success rates are measured by `etude eval`, not stated here.

Evaluate it: `etude eval --policy.path PATH_OF_THIS_FOLDER`

| id | task | instruction |
|---|---|---|
{rows}
"""


def _cell(text: str) -> str:
    """Return `text` so that it stays in one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
