import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from etude.core.types import WindowSpec
from tiny_dataset import DATA, EPISODES, TASKS, change, read, refusal, snapshot, write_tiny


def test_a_path_with_spaces_and_chinese_changes_nothing(tmp_path: Path):
    plain = write_tiny(tmp_path / "plain", [4, 5])
    odd = tmp_path / "my data/机器人 α/ds 1"
    shutil.copytree(plain, odd)
    spec = WindowSpec(action_offsets=(0, 1, 2))

    one, two = (read(folder).windows(np.arange(9), spec) for folder in (plain, odd))

    assert one.actions.tobytes() == two.actions.tobytes()
    (odd / DATA).unlink()
    assert f"{odd / DATA} is not there" in str(refusal(odd))


@pytest.mark.parametrize("file", [DATA, EPISODES, TASKS, "meta/info.json"])
def test_a_missing_file_is_named_and_nothing_is_changed(tmp_path: Path, file: str):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / file).unlink()
    before = snapshot(folder)

    error = refusal(folder)

    assert file in str(error) or str(error).endswith("meta/episodes holds no file")
    assert snapshot(folder) == before


def test_a_missing_folder_says_which_setting_names_it(tmp_path: Path):
    error = refusal(tmp_path / "nowhere")

    assert str(error) == f"the folder {tmp_path}/nowhere of dataset me/tiny is not there"
    assert error.hint == "Set dataset.root to the folder that holds meta/info.json."


@pytest.mark.parametrize("file", [DATA, EPISODES, TASKS])
@pytest.mark.parametrize("kept", [0, 60], ids=["empty", "cut"])
def test_a_torn_file_is_named_with_its_size(tmp_path: Path, file: str, kept: int):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / file).write_bytes((folder / file).read_bytes()[:kept])

    message = str(refusal(folder))

    assert f"{folder / file} ({kept} bytes) is not a whole Parquet file" in message


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2, 2, 2])
    change(folder / EPISODES, **{"data/file_index": pa.array([0, 1, 2])})
    (folder / DATA).write_bytes(b"PAR1")

    lines = str(refusal(folder)).split("\n  ")

    assert lines[0] == "3 data files cannot be read:"
    assert "file-000.parquet (4 bytes) is not a whole Parquet file" in lines[1]
    assert lines[2:] == [
        f"{folder}/data/chunk-000/file-00{number}.parquet is not there" for number in (1, 2)
    ]


def test_damage_inside_a_file_is_named(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [400])
    content = bytearray((folder / DATA).read_bytes())
    content[4:200] = bytes(196)
    (folder / DATA).write_bytes(bytes(content))

    assert f"{folder / DATA} ({len(content):,} bytes)" in str(refusal(folder))


def link_root(folder: Path) -> Path:
    link = folder.with_name("link")
    link.symlink_to(folder)
    return link


def link_data(folder: Path) -> Path:
    (folder / "data").rename(folder.with_name("elsewhere"))
    (folder / "data").symlink_to("../elsewhere")
    return folder


def link_file(folder: Path) -> Path:
    (folder / DATA).rename(folder.with_name("blob"))
    (folder / DATA).symlink_to(folder.with_name("blob"))
    return folder


@pytest.mark.parametrize("link", [link_root, link_data, link_file])
def test_links_are_followed(tmp_path: Path, link: Callable[[Path], Path]):
    folder = link(write_tiny(tmp_path / "set", [4, 5]))

    dataset = read(folder)

    assert dataset.columns(dataset.episodes[1]).actions[:, 0].tolist() == [100, 101, 102, 103, 104]


@pytest.mark.parametrize("name", [DATA, "data", "meta"])
def test_a_dangling_link_is_named_with_its_target(tmp_path: Path, name: str):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / name).rename(tmp_path / "gone")
    (folder / name).symlink_to("/mnt/elsewhere/blob")

    message = str(refusal(folder))

    assert message == f"{folder / name} is a link to /mnt/elsewhere/blob, which is not there"


def test_reading_changes_nothing_in_a_read_only_dataset(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [4, 5])
    before = snapshot(folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)

    dataset = read(folder)
    dataset.windows(np.arange(9), WindowSpec(action_offsets=(0, 1)))

    assert snapshot(folder) == before
