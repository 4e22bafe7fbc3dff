from pathlib import Path

import pytest

from etude.core.errors import DataError
from etude.datasets.info import dimension_names
from etude.datasets.json_lines import read_json_lines
from tiny_dataset import change_info, read, write_tiny


@pytest.mark.parametrize(
    ("names", "size", "expected"),
    [
        (["x", "y"], 2, ("x", "y")),
        ({"motors": ["x", "y"]}, 2, ("x", "y")),
        ({"left": ["x"], "right": ["y"]}, 2, ("x", "y")),
        ({"y": 1, "x": 0}, 2, ("x", "y")),
        ([["x", "y"]], 2, ("x", "y")),
        (None, 2, ()),
        (["x"], 2, ()),
        ({"motors": None}, 2, ()),
        ("x", 1, ("x",)),
    ],
)
def test_names_are_found_in_every_shape_that_they_come_in(
    names: object, size: int, expected: tuple[str, ...]
):
    assert dimension_names(names, size) == expected


def test_names_of_actions_are_those_of_the_dataset(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])

    assert read(folder).spec.action_names == ("x", "y")


def test_unknown_keys_are_passed_over(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    change_info(folder, tools=["grasp"], surprise={"a": 1})

    assert len(read(folder).episodes) == 1


def test_empty_lines_hold_nothing(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\n\n  \n{"a": 2}\n')

    assert list(read_json_lines(path)) == [(1, {"a": 1}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"a"', "line 2 is no whole JSON object"),
        (b'{"a": 1}\n[2]\n', r"line 2 is \[2\], not a JSON object"),
        (b'{"a": "\xff"}\n', "is not UTF-8"),
    ],
)
def test_a_line_that_holds_no_object_is_named(tmp_path: Path, content: bytes, said: str):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(content)

    with pytest.raises(DataError, match=said):
        list(read_json_lines(path))
