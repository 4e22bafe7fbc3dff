import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.distributed as dist

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LINE = re.compile(r"^rank (\d) of \d: (.*)$", re.MULTILINE)


def test_etude_takes_about_ten_lines_of_a_plain_loop():
    text = (EXAMPLES / "plain_loop.py").read_text(encoding="utf-8")

    assert text.count("# etude\n") <= 10


@pytest.mark.parametrize("workers", [0, 2])
def test_a_plain_loop_goes_on_where_it_was_stopped(tmp_path: Path, workers: int):
    train = runpy.run_path(str(EXAMPLES / "plain_loop.py"))["train"]
    for folder in ("straight", "stopped"):
        (tmp_path / folder).mkdir()

    straight = train(tmp_path / "straight", steps=70, workers=workers)
    parts = [train(tmp_path / "stopped", steps=steps, workers=workers) for steps in (25, 38, 70)]

    assert [len(part) for part in parts] == [25, 13, 32]
    assert parts[0] + parts[1] + parts[2] == straight


def on_two_ranks(folder: Path, *, steps: int) -> list[list[int]]:
    """Return the global batches that the distributed example draws."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    # Each rank has its own file, because lines of two ranks on one pipe can run into each other.
    logs = folder.with_name(f"{folder.name}-logs")
    command += ["--nproc-per-node", "2", "--redirects", "3", "--log-dir", str(logs)]
    command += [str(EXAMPLES / "distributed_loop.py"), str(folder), str(steps)]
    subprocess.run(command, check=True)
    said = [path.read_text(encoding="utf-8") for path in logs.rglob("stdout.log")]
    shares = {int(rank): json.loads(rows) for text in said for rank, rows in LINE.findall(text)}
    return [
        [shares[slot % 2][step][slot // 2] for slot in range(8)] for step in range(len(shares[0]))
    ]


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1
    )
    yield
    dist.destroy_process_group()


def test_a_distributed_loop_goes_on_with_another_number_of_ranks(tmp_path: Path, one_rank: None):
    train = runpy.run_path(str(EXAMPLES / "distributed_loop.py"))["train"]
    straight = train(tmp_path / "straight", steps=24, workers=0)

    first = on_two_ranks(tmp_path / "moved", steps=11)
    second = train(tmp_path / "moved", steps=24)

    assert [len(first), len(second)] == [11, 13]
    assert first + second == straight
