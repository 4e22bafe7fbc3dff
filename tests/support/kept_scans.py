"""A scan of made-up results, in this process and in others."""

import os
import subprocess
import sys
from pathlib import Path

from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.segments import Subject, list_segments

SUBJECT = Subject(logic="task-scan@1", weights=ContentKey("w1"), inference={"dtype": "float32"})

WRITER = """
import sys, time
from pathlib import Path
from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.segments import Subject

root, start, stop, batch = Path(sys.argv[1]), *map(int, sys.argv[2:5])
subject = Subject(logic="task-scan@1", weights=ContentKey("w1"), inference={"dtype": "float32"})
computed = 0
with SegmentCache(root, subject, batch_entries=batch, warn=lambda text: print(text)) as cache:
    for frame in range(start, stop):
        key = cache.key(episode=ContentKey("e"), draw={"frame": frame})
        if cache.get(key) is None:
            computed += 1
            cache.put(key, {"squared": [frame / 7]})
    total = sum(cache.get(cache.key(episode=ContentKey("e"), draw={"frame": f}))["squared"][0]
                for f in range(start, stop))
print(f"computed {computed} total {total}")
"""


def open_cache(root: Path, *, batch: int = 256, said: list[str] | None = None) -> SegmentCache:
    warn = (lambda _: None) if said is None else said.append
    return SegmentCache(root, SUBJECT, batch_entries=batch, warn=warn)


def key_of(cache: SegmentCache, frame: int) -> ContentKey:
    return cache.key(episode=ContentKey("e"), draw={"frame": frame})


def fill(root: Path, frames: range, *, batch: int = 256) -> int:
    """Scan `frames` as a scan would, and return how many had to be computed."""
    computed = 0
    with open_cache(root, batch=batch) as cache:
        for frame in frames:
            key = key_of(cache, frame)
            if cache.get(key) is None:
                computed += 1
                cache.put(key, {"squared": [frame / 7]})
    return computed


def scan_elsewhere(
    root: Path, *arguments: int, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WRITER, str(root), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


def segments(root: Path) -> list[Path]:
    return list_segments(root / "task-scan" / SUBJECT.group)


def everything(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]
