import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from etude.core.errors import DataError, StorageError
from etude.store.atomic import (
    read_json,
    storage_errors,
    write_bytes,
    write_json,
    write_text,
)

OVER_THE_LIMIT = """
import resource, sys
from pathlib import Path
from etude.core.errors import StorageError
from etude.store.atomic import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_bytes(Path(sys.argv[1]), bytes(10_000))
except StorageError as error:
    print(error)
"""


def strict(text: str) -> Any:
    """Parse as a reader does who knows nothing but the standard."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_file_is_replaced_whole_and_no_draft_stays(tmp_path: Path):
    path = tmp_path / "state.json"
    write_bytes(path, b"old")

    write_bytes(path, b"new and longer")

    assert path.read_bytes() == b"new and longer"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_who_has_the_file_open_keeps_the_old_bytes(tmp_path: Path):
    path = tmp_path / "state.json"
    write_text(path, "old")

    with path.open() as reader:
        write_text(path, "new")

        assert reader.read() == "old"


def test_a_write_that_fails_half_way_leaves_the_old_content_and_no_draft(tmp_path: Path):
    path = tmp_path / "state.json"
    write_text(path, "old")

    done = subprocess.run(
        [sys.executable, "-c", OVER_THE_LIMIT, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == (
        f"{path} cannot be written: over the largest size of a file, 10,000 bytes needed"
    )
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_place_of_the_file_is_a_storage_error(tmp_path: Path):
    (tmp_path / "state.json").mkdir()

    with pytest.raises(StorageError, match=r"state\.json cannot be written: Is a directory"):
        write_text(tmp_path / "state.json", "new")

    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_full_disk_is_named_with_path_bytes_and_what_to_do(tmp_path: Path):
    with (
        pytest.raises(StorageError) as caught,
        storage_errors(tmp_path / "x", needed_bytes=1_234_567),
        open("/dev/full", "wb", buffering=0) as full,  # noqa: PTH123 - a device, not a file
    ):
        full.write(b"x")

    assert str(caught.value) == (
        f"{tmp_path / 'x'} cannot be written: no space left on the disk, 1,234,567 bytes needed"
    )
    assert caught.value.hint == "Free some space, then run the same command with --resume."


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR])
def test_a_place_that_cannot_be_used_asks_for_another(tmp_path: Path, number: int):
    with pytest.raises(StorageError) as caught, storage_errors(tmp_path):
        raise OSError(number, os.strerror(number))

    assert str(caught.value) == f"{tmp_path} cannot be written: {os.strerror(number)}"
    assert caught.value.hint == "Choose another folder or change its permissions."


def test_an_error_that_no_setting_explains_keeps_its_traceback(tmp_path: Path):
    with pytest.raises(FileNotFoundError), storage_errors(tmp_path):
        (tmp_path / "missing").read_bytes()


def test_json_keeps_order_and_letters_and_is_strict(tmp_path: Path):
    path = tmp_path / "run.json"
    value = {"b": 1, "a": "打开门", "list": [0.1, None, True]}

    write_json(path, value)

    assert "打开门" in path.read_text(encoding="utf-8")
    assert list(strict(path.read_text(encoding="utf-8"))) == ["b", "a", "list"]
    assert read_json(path) == value


def test_a_file_name_that_is_no_utf_8_can_be_recorded(tmp_path: Path):
    path = tmp_path / "run.json"
    name = os.fsdecode(b"caf\xe9")

    write_json(path, {"argument": name})

    assert strict(path.read_bytes().decode("utf-8"))["argument"] == name


def test_a_number_that_is_not_finite_is_refused_before_the_file_is_touched(tmp_path: Path):
    path = tmp_path / "run.json"
    write_json(path, {"loss": 1.0})

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"loss": float("nan")})

    assert read_json(path) == {"loss": 1.0}


def test_a_new_file_can_be_read_by_whom_the_umask_allows(tmp_path: Path):
    write_text(tmp_path / "shared", "x")
    (tmp_path / "plain").write_text("x")

    modes = {stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("shared", "plain")}

    assert len(modes) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is not JSON: Expecting value"),
        (b'{"step": 1', "is not JSON: Expecting ',' delimiter"),
        (b"\xff\xfe\xff", "is not JSON: 'utf-8' codec can't decode"),
        (b"[1, 2]", "holds list, not a JSON object"),
    ],
    ids=["missing", "empty", "torn", "binary", "list"],
)
def test_a_file_that_holds_no_object_is_named(tmp_path: Path, content: bytes | None, said: str):
    path = tmp_path / "run.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(DataError) as caught:
        read_json(path)

    assert str(caught.value).startswith(f"{path} {said}")
