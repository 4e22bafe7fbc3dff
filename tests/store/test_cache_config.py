"""Where the cache lies when nobody says."""

from pathlib import Path

import pytest

from etude.store.cache_config import CacheConfig


@pytest.mark.parametrize(
    ("root", "variable", "folder"),
    [
        ("/data/cache", "/x", "/data/cache"),
        ("~/scans", "", "/home/me/scans"),
        ("", "/x", "/x/etude"),
        ("", "", "/home/me/.cache/etude"),
        ("", "not/absolute", "/home/me/.cache/etude"),
    ],
)
def test_the_folder_is_the_setting_or_that_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, root: str, variable: str, folder: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", variable)

    assert CacheConfig(root=root).folder == Path(folder)
