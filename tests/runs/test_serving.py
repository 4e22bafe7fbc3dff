"""`etude serve`, and scans of what it serves, as a user starts them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etude.core.errors import ConfigError, PolicyError
from etude.core.types import Observation, TaskId
from etude.runs.saved_policy import read_saved_policy
from etude.runs.task_scans import scan
from loopback import remote
from served_run import SCAN, scan_config, scores, serving, train_walks
from training_run import quiet

WITHOUT_TORCH = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch is not here", name="torch")

sys.meta_path.insert(0, Refuse())
from etude.cli.main import main
code = main()
import etude.runs.evaluation, etude.runs.sample_scans
assert "torch" not in sys.modules
sys.exit(code)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("walks")


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Path:
    return train_walks(folder)


@pytest.fixture(scope="module")
def address(checkpoint: Path) -> Iterator[str]:
    """A server of the default dialect that several tests share."""
    with serving(checkpoint) as (address, _):
        yield address


@pytest.fixture(scope="module")
def local(folder: Path, checkpoint: Path) -> dict[str, Any]:
    """What a scan without a server says."""
    config = scan_config(folder, "--policy.path", str(checkpoint))
    return scan(config, progress=quiet, warn=print).to_json()


def remote_scan(
    folder: Path, address: str, *flags: str, said: list[str] | None = None
) -> dict[str, Any]:
    words = ["--policy.use", "remote", "--policy.address", address, *flags]
    warn = print if said is None else said.append
    return scan(scan_config(folder, *words), progress=quiet, warn=warn).to_json()


@pytest.mark.parametrize("dialect", ["openpi", "lingbot", "xpolicylab"])
def test_a_scan_through_a_server_finds_what_a_local_one_does(
    folder: Path, checkpoint: Path, local: dict[str, Any], dialect: str
):
    with serving(checkpoint, "--dialect", dialect) as (address, _):
        first = remote_scan(folder, address, "--policy.dialect", dialect)
        again = remote_scan(folder, address, "--policy.dialect", dialect)

    assert first["inferences"] == local["inferences"] > 0
    assert scores(first).keys() == scores(local).keys() == {"walks/0", "walks/1"}
    for task, figures in scores(local).items():
        np.testing.assert_allclose(scores(first)[task], figures, rtol=1e-5, atol=1e-5)
    assert (again["inferences"], again["recalled"]) == (0, first["inferences"])
    assert scores(again) == scores(first)


def test_a_client_needs_no_torch(folder: Path, address: str, local: dict[str, Any]):
    words = ["scan", "tasks", *SCAN, "--json", "--cache.root", "torchless"]
    there = ["--policy.use", "remote", "--policy.address", address]

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words, *there],
        cwd=folder,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    for task, figures in scores(local).items():
        found = scores(json.loads(done.stdout))[task]
        np.testing.assert_allclose(found, figures, rtol=1e-5, atol=1e-5)


def test_results_of_a_policy_without_a_name_are_not_kept_and_that_is_said(
    folder: Path, address: str
):
    said: list[str] = []
    nameless = ["--policy.identity_key", "nothing", "--cache.root", str(folder / "nameless")]

    found = [remote_scan(folder, address, *nameless, said=said) for _ in range(2)]

    assert [each["recalled"] for each in found] == [0, 0]
    assert said[0] == (
        f"{address} does not say which weights it serves, so no result is kept; name them, and "
        "change the name with them: --policy.name NAME"
    )
    assert not (folder / "nameless").exists()


def test_results_of_a_named_policy_are_recalled_without_its_server(folder: Path, address: str):
    named = ["--policy.name", "walker-6", "--policy.execute", "4"]
    first = remote_scan(folder, address, *named)

    again = remote_scan(folder, "ws://127.0.0.1:1", *named)

    assert (again["inferences"], again["recalled"]) == (0, first["inferences"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_cleanly_and_says_what_it_did(checkpoint: Path, number: int):
    with serving(checkpoint, "--lang", "en") as (address, process):
        client = remote(address)
        state = np.zeros(4, np.float32)
        client.act([Observation(task=TaskId("walks/1"), state=state)] * 2, seed=0)
        process.send_signal(number)
        _, told = process.communicate()

    assert process.returncode == 0
    assert told == "Served 2 windows to 1 clients, 0 failures\n"


def test_what_is_served_is_the_policy_of_the_runs_newest_checkpoint(folder: Path, checkpoint: Path):
    config = scan_config(folder, "--policy.path", str(checkpoint))
    policy = read_saved_policy(config).load()
    seen = [
        Observation(task=TaskId(f"walks/{i % 2}"), state=np.full(4, i, np.float32), instruction="x")
        for i in range(5)
    ]

    with serving(folder / "run") as (address, _):
        client = remote(address, execute=0)
        chunks = client.act(seen, seed=3)
        played = (client.horizon, client.execute)
        tasks = client.tasks
        client.close()

    for chunk, wanted in zip(chunks, policy.act(seen, seed=3), strict=True):
        np.testing.assert_allclose(chunk.actions, wanted.actions, rtol=1e-5, atol=1e-6)
    assert played == (policy.horizon, policy.execute)
    assert tasks == getattr(policy, "tasks")  # noqa: B009


def test_a_task_that_was_not_trained_is_refused_in_one_line(address: str):
    client = remote(address)
    with pytest.raises(PolicyError) as caught:
        client.act([Observation(task=TaskId("walks/7"), state=np.zeros(4, np.float32))], seed=0)

    assert str(caught.value) == (
        f"{address} failed: PolicyError: task walks/7 is none of the 2 tasks of this policy. "
        "Evaluate the tasks that it was trained on, or train it on this one."
    )


def test_a_port_that_is_taken_is_said(checkpoint: Path, address: str):
    port = address.rpartition(":")[2]

    done = subprocess.run(
        [sys.executable, "-m", "etude", "serve", str(checkpoint), "--port", port],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )

    assert done.returncode == 2
    assert done.stderr == (
        f"error: port is {port} and host 127.0.0.1: in use\n"
        "hint: Choose another port, or let one be found: --port 0\n"
    )


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "etude", "serve", str(tmp_path)], capture_output=True, text=True
    )

    assert done.returncode == 4
    assert "is no whole checkpoint" in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--policy.address", "http://robot:8000"], "is 'http://robot:8000', not ws://HOST:PORT"),
        (["--policy.address", "ws://me:secret@robot"], "holds a user name or a password"),
        (["--policy.execute", "9", "--policy.horizon", "8"], "execute is 9, over horizon (8)"),
        (["--policy.reset_each", "true"], "dialect openpi has no message for a reset"),
        (["--policy.dialect", "grpc"], "'openpi', 'lingbot' or 'xpolicylab'"),
        (["--policy.state_keys", "state=0-x"], "'0-x' names no dimensions"),
        (["--policy.cameras", "top", "top"], "cameras has 'top' 2 times, not once"),
        (["--policy.prompt_key", "state"], "has 'state' 2 times, not once"),
        (["--policy.max_message_mb", "0"], "max_message_mb is 0, not between 1 and 2000"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, flags: list[str], said: str):
    with pytest.raises(ConfigError) as caught:
        scan_config(tmp_path, "--policy.use", "remote", *flags)

    assert said in str(caught.value)
