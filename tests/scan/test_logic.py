"""A change of what decides results is noticed; any other change keeps every key."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from etude.core.errors import ConfigError
from etude.core.types import ContentKey
from etude.scan.logic import (
    LOCK,
    LOGICS,
    PACKAGE,
    TASK_SCAN,
    Logic,
    lock_faults,
    logic_digest,
    read_lock,
    significant_tokens,
    update_lock,
)
from etude.store.segments import NAMESPACES, Subject

KEY = """
from etude.core.types import ContentKey
from etude.scan.logic import TASK_SCAN, lock_faults
from etude.store.segments import Subject
subject = Subject(logic=TASK_SCAN.name, weights=ContentKey("w"), inference={"dtype": "float32"})
print(subject.key(episode=ContentKey("e"), draw={"frame": 3}))
print(lock_faults())
"""

ONE = Logic(namespace="task-scan", version=1, closure=("scan/metric.py",))
TWO = Logic(namespace="task-scan", version=2, closure=("scan/metric.py",))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Copy the sources, so that they can be edited."""
    ignore = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, tmp_path / "etude", ignore=ignore)


def key_and_faults(package: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", KEY],
        env={"PYTHONPATH": str(package.parent), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_code_of_every_version_is_what_the_lock_says() -> None:
    assert lock_faults() == []


def test_every_namespace_of_the_cache_has_a_version() -> None:
    assert tuple(logic.namespace for logic in LOGICS) == NAMESPACES
    for logic in LOGICS:
        Subject(logic=logic.name, weights=ContentKey("w"), inference={})


@pytest.mark.parametrize("logic", LOGICS, ids=lambda logic: logic.name)
def test_what_the_closure_imports_is_in_it_or_decides_no_kept_result(logic: Logic) -> None:
    imported = {
        f"{node.module.removeprefix('etude.').replace('.', '/')}.py"
        for name in logic.closure
        for node in ast.walk(ast.parse((PACKAGE / name).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("etude.")
        if node.module is not None and not node.module.startswith("etude.core.")
    }

    assert imported - set(logic.closure) == set()


def test_whoever_asks_the_policy_or_measures_its_error_is_in_the_closure() -> None:
    asking = {
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "scan").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr == "act")
            or (isinstance(node.func, ast.Name) and node.func.id == "dimension_errors")
        )
    }

    assert asking - set(TASK_SCAN.closure) == set()


def test_an_edit_elsewhere_changes_no_key(package: Path) -> None:
    before = key_and_faults(package)
    outside = [
        path
        for path in sorted(package.rglob("*.py"))
        if str(path.relative_to(package)) not in TASK_SCAN.closure
        and path.parent.name in ("train", "datasets", "scan", "curriculum", "cli")
    ]
    for path in outside:
        path.write_text(f"{path.read_text()}\n_ADDED = 1\n")

    assert len(outside) > 10
    assert key_and_faults(package) == before
    assert before[1] == "[]"


@pytest.mark.parametrize("name", TASK_SCAN.closure)
def test_an_edit_inside_the_closure_is_noticed(package: Path, name: str) -> None:
    path = package / name
    path.write_text(f"{path.read_text()}\n_ADDED = 1\n")

    faults = lock_faults(package=package)

    assert [fault.split(" is not what ")[0] for fault in faults] == [
        f"the code of {logic.name}" for logic in LOGICS if name in logic.closure
    ]


def test_comments_docstrings_and_layout_are_not_part_of_the_logic(package: Path) -> None:
    path = package / "scan/metric.py"
    edit(path, "from collections.abc", "# A remark.\n\n\nfrom collections.abc")
    path.write_text(f"{path.read_text()}\n\n# The end.\n")
    edit(path, '"""The errors', '"""What is GMSE')

    assert lock_faults(package=package) == []


def test_a_raised_version_is_locked_beside_the_older_ones(package: Path) -> None:
    (package / LOCK).unlink()
    update_lock(package=package, logics=[ONE])
    edit(package / "scan/metric.py", "import", "import os\nimport")
    assert len(lock_faults(package=package, logics=[ONE])) == 1
    assert lock_faults(package=package, logics=[TWO])[0].startswith("task-scan@2 is not in")

    added = update_lock(package=package, logics=[TWO])

    assert [line.name for line in added] == ["task-scan@2"]
    assert [line.name for line in read_lock(package / LOCK)] == ["task-scan@1", "task-scan@2"]
    assert lock_faults(package=package, logics=[TWO]) == []


def test_a_change_without_a_new_version_needs_a_reason(package: Path) -> None:
    (package / LOCK).unlink()
    update_lock(package=package, logics=[ONE])
    before = (package / LOCK).read_bytes()
    edit(package / "scan/metric.py", "import", "import os\nimport")

    with pytest.raises(ConfigError, match="the code of task-scan@1 has changed") as caught:
        update_lock(package=package, logics=[ONE])

    assert "--equivalent REASON" in caught.value.hint
    assert (package / LOCK).read_bytes() == before


def test_an_equivalent_change_keeps_the_version_and_its_reason(package: Path) -> None:
    (package / LOCK).unlink()
    update_lock(package=package, logics=[ONE])
    edit(package / "scan/metric.py", "import", "import os\nimport")

    update_lock(package=package, logics=[ONE], equivalent="an import\nonly")

    lines = read_lock(package / LOCK)
    assert [(line.name, line.equivalent) for line in lines] == [
        ("task-scan@1", ""),
        ("task-scan@1", "an import only"),
    ]
    assert lock_faults(package=package, logics=[ONE]) == []


def test_locking_again_changes_nothing(package: Path) -> None:
    before = (package / LOCK).read_bytes()

    assert update_lock(package=package) == []
    assert (package / LOCK).read_bytes() == before


def test_the_name_of_a_file_is_part_of_the_logic(package: Path) -> None:
    shutil.copy(package / "scan/metric.py", package / "scan/other.py")
    other = Logic(namespace="task-scan", version=1, closure=("scan/other.py",))

    assert logic_digest(ONE, package=package) != logic_digest(other, package=package)


def test_the_command_says_that_there_is_nothing_to_lock() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "etude.scan.logic"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "nothing to lock\n"), done.stderr


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = 1  # one\n", "x = 1\n"),
        ("x = 1\n\n\n\ny = 2\n", "x = 1\ny = 2"),
        ('"""A."""\nx = 1\n', "x = 1\n"),
        ('def f():\n    """A."""\n    return 1\n', "def f():\n  return 1\n"),
        ('class A:\n    x: int\n    """A."""\n', "class A:\n    x: int\n"),
        ('"a" "b"\nx = 1\n', "x = 1\n"),
        ("x = 'a'\n", 'x = "a"\n'),
        ("x = 'a'\n", 'x = """a"""\n'),
        ("f(a, b)\n", "f(\n    a,\n    b,\n)\n"),
        ("f(a)\n", "f(\n    a,\n)\n"),
        ("x = [a]\n", "x = [\n    a,\n]\n"),
        ("x = {a: 1}\n", "x = {\n    a: 1,\n}\n"),
        ("x = (a, b)\n", "x = (\n    a,\n    b,\n)\n"),
        ("def f(a):\n    pass\n", "def f(\n    a,\n):\n    pass\n"),
    ],
)
def test_sources_that_mean_the_same_have_the_same_tokens(one: str, two: str) -> None:
    assert significant_tokens(one) == significant_tokens(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = 1\n", "x = 2\n"),
        ("x = (a,)\n", "x = (a)\n"),
        ("return_((a,))\n", "return_((a))\n"),
        ("def f():\n    return (a,)\n", "def f():\n    return (a)\n"),
        ("x[a,]\n", "x[a]\n"),
        ("x = 'a'\n", "x = b'a'\n"),
        ("x = 'a '\n", "x = 'a'\n"),
        ("x = f'{a}'\n", "x = f'{b}'\n"),
        ("x = f'{a}'\n", "x = '{a}'\n"),
        ("x = f'a{b:.3f}c' + d\n", "x = f'a{b:.4f}c' + d\n"),
        ("x = f'''\n{a}\n'''\n", "x = f'''\n{b}\n'''\n"),
        ("if a:\n    b\nc\n", "if a:\n    b\n    c\n"),
        ("f(a, b)\n", "f(b, a)\n"),
        ("a\nb\n", "a, b\n"),
    ],
)
def test_sources_that_mean_something_else_have_other_tokens(one: str, two: str) -> None:
    assert significant_tokens(one) != significant_tokens(two)


def test_an_f_string_is_one_token_whatever_the_version_of_python() -> None:
    assert significant_tokens("x = f'{a!r:>{w}}' 'b'\n") == [
        "x",
        "=",
        "f f'{a!r:>{w}}'".replace(" ", ""),
        "'b'",
        "newline",
    ]
