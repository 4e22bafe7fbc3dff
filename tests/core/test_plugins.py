import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from etude.core.errors import ConfigError, MissingToolError
from etude.core.plugins import Plugin, find, named_function

GROUP = "etude.test_toys"

MODULE = """
from dataclasses import dataclass
from etude.core.plugins import Plugin

@dataclass(frozen=True)
class YoyoConfig:
    length: int = 3

def build(config):
    return "yoyo" * config.length

PLUGIN = Plugin(config=YoyoConfig, build="etude_test_yoyo:build")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    """Install a real distribution that provides three toys; two lack what they need."""
    (tmp_path / "etude_test_yoyo.py").write_text(MODULE)
    (tmp_path / "etude_test_kite.py").write_text("import no_such_wind.gust\n")
    (tmp_path / "etude_test_drum.py").write_text(
        MODULE.replace("etude_test_yoyo:build", "etude_test_kite:build")
    )
    info = tmp_path / "etude_test_toys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: etude-test-toys\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{GROUP}]\n"
        "yoyo = etude_test_yoyo:PLUGIN\nkite = etude_test_kite:PLUGIN\n"
        "drum = etude_test_drum:PLUGIN\n"
    )
    sys.path.insert(0, str(tmp_path))
    yield
    sys.path.remove(str(tmp_path))
    for name in ("yoyo", "kite", "drum"):
        sys.modules.pop(f"etude_test_{name}", None)


@pytest.mark.usefixtures("installed")
def test_a_plugin_is_found_by_name_and_builds_from_its_own_config():
    plugin = find(GROUP, "yoyo")

    assert plugin.builder()(plugin.config(length=2)) == "yoyoyoyo"


@pytest.mark.usefixtures("installed")
def test_only_the_named_plugin_is_imported():
    find(GROUP, "yoyo")

    assert "etude_test_drum" not in sys.modules


@pytest.mark.usefixtures("installed")
def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ConfigError) as caught:
        find(GROUP, "yoyos")

    assert str(caught.value) == f"'yoyos' is no plugin of {GROUP}"
    assert caught.value.hint == "Use 'yoyo'."


@pytest.mark.usefixtures("installed")
def test_a_name_near_to_none_is_answered_with_all():
    with pytest.raises(ConfigError) as caught:
        find(GROUP, "zzz")

    assert caught.value.hint == "Use one of: drum, kite, yoyo."


def test_a_group_without_plugins_says_what_to_install():
    with pytest.raises(ConfigError) as caught:
        find("etude.no_such_group", "zzz")

    assert caught.value.hint == "Install a package with one."


@pytest.mark.usefixtures("installed")
def test_a_plugin_that_needs_a_missing_package_names_what_to_install():
    with pytest.raises(MissingToolError) as caught:
        find(GROUP, "kite")

    assert str(caught.value) == f"{GROUP} plugin 'kite' needs the package 'no_such_wind'"
    assert caught.value.hint == "Install it: pip install no_such_wind"


@pytest.mark.usefixtures("installed")
def test_a_config_can_be_read_where_the_builder_cannot():
    plugin = find(GROUP, "drum")

    assert plugin.config().length == 3
    with pytest.raises(MissingToolError, match="no_such_wind"):
        plugin.builder()


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("etude.policies", "chunk"),
        ("etude.policies", "expert"),
        ("etude.datasets", "lerobot_v3"),
        ("etude.simulators", "metaworld"),
    ],
)
def test_the_built_in_parts_are_plugins(group: str, name: str):
    assert isinstance(find(group, name), Plugin)


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


def test_a_function_is_named_by_module_and_name():
    assert named_function("etude.core.statistics:mean")([1.0, 3.0]) == 2.0
    assert Plugin(config=Nothing, build="etude.core.statistics:mean").trainable == ""
