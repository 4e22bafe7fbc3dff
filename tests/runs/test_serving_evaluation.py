"""Closed-loop evaluations of a policy behind a server."""

from pathlib import Path

import pytest

from etude.core.errors import PolicyError
from etude.runs.build import load_policy
from etude.runs.config import load
from etude.runs.serving import describe
from etude.store.layout import RunFolder
from etude.testing.fakes import ToyPolicy
from etude.testing.toy_benchmark import ToyBenchmark, ToyBenchmarkConfig
from evaluation_run import TASKS, rows, run
from loopback import served

BENCHMARK = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS))


@pytest.mark.parametrize("dialect", ["openpi", "lingbot", "xpolicylab"])
def test_an_evaluation_through_a_server_plays_what_a_local_one_does(tmp_path: Path, dialect: str):
    policy = ToyPolicy(horizon=4, execute=3)
    run(tmp_path / "local", policy=policy)

    with served(policy, metadata=describe(policy, step=0), dialect=dialect) as server:
        flags = ["--policy.address", server.done.address, "--policy.dialect", dialect]
        config = load(None, ["--policy.use", "remote", *flags])
        loaded = load_policy(config, RunFolder(tmp_path), BENCHMARK)
        run(tmp_path / "remote", policy=loaded.policy)

    assert (loaded.use, loaded.checkpoint, loaded.step) == ("remote", None, None)
    assert rows(tmp_path / "remote") == rows(tmp_path / "local")
    assert len(rows(tmp_path / "local")) == 20


def test_actions_that_do_not_fit_the_benchmark_are_refused(tmp_path: Path):
    policy = ToyPolicy(action_dim=7)

    with served(policy, metadata=describe(policy, step=0)) as server:
        config = load(None, ["--policy.use", "remote", "--policy.address", server.done.address])
        loaded = load_policy(config, RunFolder(tmp_path), BENCHMARK)
        with pytest.raises(PolicyError) as caught:
            run(tmp_path / "remote", policy=loaded.policy)

    assert "answered with actions of 7 numbers, not 2" in str(caught.value)
