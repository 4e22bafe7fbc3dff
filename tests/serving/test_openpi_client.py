"""The client that openpi publishes, in an environment of its own: it wants an older numpy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from etude.runs.serving import describe
from etude.testing.fakes import ToyPolicy
from loopback import served

pytestmark = pytest.mark.slow

CLIENT = """
import json, sys
import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

client = WebsocketClientPolicy(host=sys.argv[1], api_key=sys.argv[2])
seen = {
    "state": np.array([1.0, 2.0], np.float32),
    "images": {"top": np.zeros((3, 4, 5), np.uint8)},
    "prompt": "do it",
}
answers = [client.infer(seen) for _ in range(2)]
client.reset()
said = client.get_server_metadata()
timing = sorted(answers[1]["server_timing"])
print(json.dumps({
    "numpy": np.__version__, "horizon": said["horizon"], "timing": timing,
    "actions": answers[1]["actions"].tolist(), "dtype": str(answers[1]["actions"].dtype),
}))
"""
FAILING = """
import sys
from openpi_client.websocket_client_policy import WebsocketClientPolicy

client = WebsocketClientPolicy(host=sys.argv[1], api_key=sys.argv[2])
try:
    client.infer({"prompt": "do it"})
except RuntimeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with openpi-client, if it can be installed."""
    folder = tmp_path_factory.mktemp("openpi")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
    # The client imports the second package, and does not say that it needs it.
    wanted = ["openpi-client==0.1.2", "typing_extensions"]
    done = subprocess.run([*pip, *wanted], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip did not say why"]
        pytest.skip(f"openpi-client cannot be installed: {lines[-1]}")
    return folder / "bin/python"


def test_openpis_client_gets_its_actions(python: Path):
    policy = ToyPolicy()
    with served(
        policy, metadata=describe(policy, step=3), api_key="secret", cameras=("top",)
    ) as server:
        command = [str(python), "-c", CLIENT, server.done.address, "secret"]
        done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.pop("numpy").startswith("1.")
    assert said == {
        "horizon": 4,
        "timing": ["infer_ms"],
        "actions": [[1.5, 1.5]] * 4,
        "dtype": "float32",
    }
    assert server.done.windows == 2


def test_openpis_client_is_told_why_it_gets_none(python: Path):
    with served(ToyPolicy(), api_key="secret") as server:
        command = [str(python), "-c", FAILING, server.done.address, "secret"]
        done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "an observation has no 'state'; its keys are prompt" in done.stdout
