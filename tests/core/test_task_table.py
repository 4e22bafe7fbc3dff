import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.task_table import tasks_from_json, tasks_to_json
from etude.core.types import EpisodeSpan, Task, TaskId

tasks = st.builds(
    Task, id=st.text().map(TaskId), index=st.integers(), name=st.text(), text=st.text()
)


@given(st.lists(tasks, max_size=4))
def test_tasks_come_back_from_a_file_byte_for_byte(drawn: list[Task]):
    text = json.dumps(tasks_to_json(drawn))

    assert tasks_from_json(json.loads(text)) == tuple(drawn)


def test_a_row_that_lacks_a_field_names_it():
    with pytest.raises(KeyError, match="text"):
        tasks_from_json([{"id": "toy/0", "index": 0, "name": "reach"}])


def test_an_episode_is_as_long_as_its_rows():
    assert EpisodeSpan(index=0, task=TaskId("toy/0"), start=5, stop=8).length == 3
