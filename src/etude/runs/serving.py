"""Serving the policy of a checkpoint."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from etude import __version__
from etude.core.protocols import Policy
from etude.core.task_table import tasks_to_json
from etude.runs.config import load
from etude.runs.saved_policy import SavedPolicy, read_saved_policy
from etude.serving.serve_config import ServeConfig
from etude.serving.server import PolicyServer, Served
from etude.store.atomic import read_json
from etude.store.layout import RunFolder


def serve(checkpoint: Path, config: ServeConfig, *, ready: Callable[[str], None]) -> Served:
    """Serve the policy of a checkpoint, or of a run's newest, until SIGINT or SIGTERM.

    Args:
        checkpoint: A checkpoint's folder, or a run's.
        config: Where to listen and what to speak.
        ready: Told the address once clients can connect.

    Raises:
        PolicyError: There is no checkpoint, or it holds no policy.
        DataError: The checkpoint is damaged.
        ConfigError: The address is taken.
    """
    saved = _read(checkpoint)
    policy = saved.load()
    metadata = describe(policy, step=saved.step)

    async def live() -> Served:
        server = PolicyServer(policy, config, metadata=metadata, ready=ready)
        await server.run(signals=True)
        return server.done

    return asyncio.run(live())


def describe(policy: Policy, *, step: int) -> dict[str, Any]:
    """Return what a server says of its policy, ready for any dialect."""
    return {
        "etude": __version__,
        "policy_id": policy.key,
        "horizon": policy.horizon,
        "execute": policy.execute,
        "step": step,
        "tasks": tasks_to_json(getattr(policy, "tasks", ())),
        "batch": True,
    }


def _read(checkpoint: Path) -> SavedPolicy:
    """Return what a checkpoint says of its policy, whichever plug-in saved it."""
    folder = RunFolder(checkpoint)
    if folder.checkpoints.is_dir():
        flags = ["--output_dir", str(checkpoint)]
        exports = sorted(folder.checkpoints.glob("step-*/hf/config.json"))
        export = exports[-1] if exports else None
    else:
        flags = ["--policy.path", str(checkpoint)]
        export = next(
            (
                path
                for path in (checkpoint / "hf/config.json", checkpoint / "config.json")
                if path.is_file()
            ),
            None,
        )
    use = str(read_json(export).get("schema", "")).partition("/")[0] if export else ""
    if use:
        flags += ["--policy.use", use]
    return read_saved_policy(load(None, flags))
