"""Which libraries the simulators stand on, for files that must say so."""

from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = ("gymnasium", "metaworld", "mujoco", "numpy")


def simulator_versions() -> dict[str, str]:
    """Return the installed version of each library that can change what an episode looks like."""
    return {name: found for name in _LIBRARIES if (found := _version(name))}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
