"""Settings of the scan cache."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """Where results of scans are kept for later scans."""

    root: str = ""
    """Folder of the cache, which machines may share; empty means $XDG_CACHE_HOME/etude or
    ~/.cache/etude."""

    @property
    def folder(self) -> Path:
        """Where the cache lies.

        Source: XDG Base Directory Specification 0.8, which has a path that is not absolute ignored.
        """
        if self.root:
            return Path(self.root).expanduser()
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (given if given.is_absolute() else Path.home() / ".cache") / "etude"
