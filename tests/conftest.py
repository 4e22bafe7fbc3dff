"""Shapes are checked while tests run; golden files are compared or rewritten."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("etude", "shape_checker.check")

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file under tests/golden, or rewrite it with --update-golden."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        kept = path.read_text(encoding="utf-8")
        assert text == kept, f"{path} differs; read the difference, then `make golden`"

    return check
