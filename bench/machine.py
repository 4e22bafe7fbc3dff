"""The machine that a figure was measured on, without anything that identifies it."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def describe_machine() -> dict[str, object]:
    """Return what a reader needs to judge a figure: no host name, no user, no path."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "os": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "torch", "pyarrow")},
    }


def _cpu_model() -> str:
    table = Path("/proc/cpuinfo")
    text = table.read_text(encoding="utf-8") if table.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
