import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from etude.core.errors import DataError
from etude.core.types import WindowSpec
from etude.datasets.recorded import RecordedDataset
from filmed_dataset import CAMERA, add_camera
from tiny_dataset import DATA, read, write_tiny


def png(value: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.full((32, 48, 3), (value, 0, 9), np.uint8)).save(out, "PNG")
    return out.getvalue()


def write_pictures(folder: Path, values: list[object], *, rows_in_a_group: int = 3) -> None:
    table = pq.read_table(folder / DATA)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    column = pa.array(values, kind)
    pq.write_table(
        table.append_column(CAMERA, column), folder / DATA, row_group_size=rows_in_a_group
    )
    add_camera(folder, dtype="image")


def reds(dataset: RecordedDataset, rows: list[int]) -> list[int]:
    spec = WindowSpec(action_offsets=(0,), cameras=(CAMERA,))
    pictures = dataset.windows(np.array(rows), spec).images[CAMERA]
    assert (pictures[..., 2] == 9).all()
    return pictures[:, 0, 0, 0, 0].tolist()


def test_pictures_in_the_rows_are_read_where_they_stand(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [4, 3, 5])
    write_pictures(folder, [{"bytes": png(10 * row), "path": None} for row in range(12)])

    assert reds(read(folder), [11, 0, 5, 5, 7]) == [110, 0, 50, 50, 70]


def test_a_path_in_a_row_is_followed(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / "images").mkdir()
    (folder / "images/1.png").write_bytes(png(77))
    write_pictures(
        folder, [{"bytes": png(5), "path": None}, {"bytes": None, "path": "images/1.png"}]
    )

    assert reds(read(folder), [0, 1]) == [5, 77]


def test_what_is_no_picture_is_named(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    write_pictures(folder, [{"bytes": png(5), "path": None}, {"bytes": b"none", "path": None}])

    with pytest.raises(DataError, match=rf"episode 0, frame 1 of {CAMERA} \(4 bytes\) is no whole"):
        reds(read(folder), [1])
