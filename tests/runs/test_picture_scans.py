"""Scans of policies that see pictures, through a server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from etude.core.errors import DataError
from etude.core.types import ActionChunk, Observation
from etude.runs.config import load
from etude.runs.serving import describe
from etude.runs.task_scans import scan
from etude.testing.fakes import ToyPolicy
from filmed_dataset import CAMERA, VIDEO, grey, write_filmed
from loopback import served
from training_run import quiet


class Watcher(ToyPolicy):
    """A policy that remembers how far each picture is from the one painted for its frame."""

    def __init__(self) -> None:
        super().__init__()
        self.distances: list[float] = []

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        for seen in observations:
            episode, frame = divmod(int(seen.state[0]), 100)
            self.distances.append(abs(float(seen.images[CAMERA].mean()) - grey(episode, frame)))
        return super().act(observations, seed=seed)


def scan_pictures(folder: Path, policy: ToyPolicy, said: list[str], *flags: str) -> dict[str, Any]:
    metadata = describe(policy, step=1)
    with served(policy, metadata=metadata, cameras=(CAMERA,)) as server:
        words = [
            *("--policy.use", "remote", "--policy.address", server.done.address),
            *("--policy.cameras", CAMERA, "--dataset.repo_id", "me/tiny"),
            *("--dataset.root", str(folder / "set"), "--cache.root", str(folder / "kept")),
            *("--output_dir", str(folder / "out"), "--scan.batch_size", "4", *flags),
        ]
        return scan(load(None, words), progress=quiet, warn=said.append).to_json()


def test_a_policy_sees_the_picture_of_each_window(tmp_path: Path):
    write_filmed(tmp_path / "set", [8, 7])
    policy = Watcher()

    report = scan_pictures(tmp_path, policy, [])

    assert report["inferences"] > 0
    assert len(policy.distances) >= report["inferences"]
    assert max(policy.distances) <= 6


def test_results_are_kept_by_the_pictures_as_well(tmp_path: Path):
    write_filmed(tmp_path / "set", [8, 7])
    first = scan_pictures(tmp_path, Watcher(), [])

    again = scan_pictures(tmp_path, Watcher(), [])
    # Both episodes share a key frame, so the change shows in either.
    write_filmed(tmp_path / "other", [8, 7], swapped=((0, 1), (0, 2)))
    (tmp_path / "other" / VIDEO).replace(tmp_path / "set" / VIDEO)
    changed = scan_pictures(tmp_path, Watcher(), [])

    assert (again["inferences"], again["recalled"]) == (0, first["inferences"])
    assert (changed["inferences"], changed["recalled"]) == (first["inferences"], 0)


def test_a_missing_picture_stops_the_scan_before_the_policy_is_asked(tmp_path: Path):
    write_filmed(tmp_path / "set", [8, 7], without=[(0, 7), (1, 6)])
    policy = Watcher()

    with pytest.raises(DataError, match="8 rows, but 7 of their pictures"):
        scan_pictures(tmp_path, policy, [])
    assert policy.calls == 0

    said: list[str] = []
    scan_pictures(tmp_path, policy, said, "--dataset.video_tolerance_frames", "1")
    assert [message.partition(":")[0] for message in said] == [
        f"episode 0, {CAMERA}",
        f"episode 1, {CAMERA}",
    ]
