"""What a run was made with: versions, machine, commit."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from etude import __version__


def describe_environment() -> dict[str, Any]:
    """Return the content of env.json; it names no host, user or path."""
    return {
        "schema_version": 1,
        "etude": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "packages": _versions(),
    }


def _versions() -> dict[str, str]:
    names = [_name(requirement) for requirement in _requirements()]
    found: dict[str, str] = {}
    for name in sorted({*names, "mujoco"}):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _requirements() -> Iterable[str]:
    return [line for line in requires("etude") or () if "extra ==" not in line]


def _name(requirement: str) -> str:
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _commit() -> str | None:
    """Return the commit of the source tree that runs, or None outside of one."""
    root, git = Path(__file__).parents[3], shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    asked = subprocess.run(
        [git, "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or None
