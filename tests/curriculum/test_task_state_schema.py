"""Older documents are brought up to date; newer ones are refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from etude.core.errors import StateError
from etude.curriculum.task_state_schema import MIGRATIONS, VERSION, migrate


def to_2(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "steps": [document["step"]]}


def to_3(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "steps": [*document["steps"], 3]}


def test_every_older_version_has_a_migration():
    assert sorted(MIGRATIONS) == list(range(1, VERSION))


def test_a_document_of_today_is_left_as_it_is():
    value = {"schema": "task-state/1", "step": 1}

    assert migrate(value, source="s.json") is value


def test_migrations_follow_each_other_and_leave_the_old_document_alone():
    value = {"schema": "task-state/1", "step": 7, "strange": True}

    migrated = migrate(value, source="s.json", migrations={1: to_2, 2: to_3}, version=3)

    assert migrated == {"schema": "task-state/3", "step": 7, "strange": True, "steps": [7, 3]}
    assert value == {"schema": "task-state/1", "step": 7, "strange": True}


def test_a_newer_document_is_refused():
    with pytest.raises(StateError, match="has schema 'task-state/2', newer than") as caught:
        migrate({"schema": "task-state/2"}, source="s.json")

    assert caught.value.hint == "Update Etude: pip install --upgrade etude"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "s.json has no schema, not 'task-state/1'"),
        ({"schema": "train/1"}, "s.json has schema 'train/1', not 'task-state/1'"),
        ({"schema": "task-state/0"}, "s.json has schema 'task-state/0', not 'task-state/1'"),
        ({"schema": "task-state/1.5"}, "s.json has schema 'task-state/1.5', not 'task-state/1'"),
        ({"schema": 1}, "s.json has schema 1, not 'task-state/1'"),
    ],
)
def test_what_is_no_task_state_document_is_refused(value: dict[str, object], message: str):
    with pytest.raises(StateError) as caught:
        migrate(value, source="s.json")

    assert str(caught.value) == message
    assert "etude tasks export" in caught.value.hint
