"""Versions of the logic of scans, and a lock that notices when the logic changes without one.

A key of the scan cache holds the version, not the code, so an edit elsewhere changes no key. The
lock holds a hash of the code that decides results: a test fails when that changes and neither the
version was raised nor the change was declared equivalent. `python -m etude.scan.logic` locks.
"""

import argparse
import ast
import io
import keyword
import sys
import token
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etude.core.errors import ConfigError, EtudeError
from etude.store.atomic import write_text
from etude.store.content import bytes_digest, content_key

PACKAGE = Path(__file__).parent.parent
LOCK = "scan/logic.lock"

_COMMAND = "python -m etude.scan.logic"
_HEAD = f"# Hash of the code behind each version of the scan logic; written by `{_COMMAND}`.\n"
_LAYOUT = {
    token.NEWLINE: "newline",
    token.INDENT: "indent",
    token.DEDENT: "dedent",
}
_IGNORED = {token.COMMENT, token.NL, token.ENCODING, token.ENDMARKER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic:
    """The code that decides the results of one kind of scan."""

    namespace: str
    """Of the scan cache."""
    version: int
    """To be raised when results can differ from those of the version before."""
    closure: tuple[str, ...]
    """Files of the package that decide the result of a given window with given noise. How windows
    are chosen is none of it: which one it is, and its seed, are inputs that stand in the key."""

    @property
    def name(self) -> str:
        """What stands in the keys, e.g. "task-scan@1"."""
        return f"{self.namespace}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockLine:
    """One line of the lock."""

    name: str
    digest: str
    equivalent: str = ""
    """Why the code gives the same results as that of the line before."""

    def __str__(self) -> str:
        return " ".join([self.name, self.digest, self.equivalent]).rstrip()


_WINDOWS = ("scan/open_loop.py", "scan/metric.py", "datasets/windows.py")


TASK_SCAN = Logic(namespace="task-scan", version=1, closure=_WINDOWS)
SAMPLE_SCAN = Logic(namespace="sample-scan", version=1, closure=_WINDOWS)
LOGICS = (TASK_SCAN, SAMPLE_SCAN)


def logic_digest(logic: Logic, *, package: Path = PACKAGE) -> str:
    """Return the hash of a closure's tokens; comments, docstrings and layout are not part of it."""
    return content_key(
        "scan-logic/1", [[name, source_digest(_read(package / name))] for name in logic.closure]
    )


def source_digest(source: str) -> str:
    """Return the hash of the tokens of a module."""
    return bytes_digest("\0".join(significant_tokens(source)).encode())


def significant_tokens(source: str) -> list[str]:
    """Return what a module says, without comments, docstrings, blank lines and trailing commas.

    Texts are compared by value, and f-strings as they are written, because tokenize splits those
    from Python 3.12 on and did not before.
    """
    words: list[str] = []
    for statement in _statements(list(_words(source))):
        if not all(word[:1] in "'\"" for word in statement):
            words += [*_without_trailing_commas(statement), "newline"]
    return words


def lock_faults(*, package: Path = PACKAGE, logics: Sequence[Logic] = LOGICS) -> list[str]:
    """Return which versions have other code than the lock says; none if all is well."""
    locked = {line.name: line.digest for line in read_lock(package / LOCK)}
    faults: list[str] = []
    for logic in logics:
        if logic.name not in locked:
            faults.append(f"{logic.name} is not in {LOCK}; run `{_COMMAND}`")
        elif locked[logic.name] != logic_digest(logic, package=package):
            faults.append(
                f"the code of {logic.name} is not what {LOCK} says; raise the version in "
                f"scan/logic.py and run `{_COMMAND}`, or, if no result can differ, run "
                f"`{_COMMAND} --equivalent REASON`"
            )
    return faults


def read_lock(path: Path) -> list[LockLine]:
    """Return the lines of a lock, oldest first."""
    lines = _read(path).splitlines() if path.exists() else []
    parts = [line.split(" ", 2) for line in lines if line and not line.startswith("#")]
    return [
        LockLine(name=words[0], digest=words[1], equivalent=" ".join(words[2:])) for words in parts
    ]


def update_lock(
    *, equivalent: str = "", package: Path = PACKAGE, logics: Sequence[Logic] = LOGICS
) -> list[LockLine]:
    """Lock what is new, and return the lines that were added.

    Raises:
        ConfigError: The code of a version that is locked has changed, and it is not said why its
            results are the same.
    """
    path = package / LOCK
    lines = read_lock(path)
    locked = {line.name: line.digest for line in lines}
    added: list[LockLine] = []
    for logic in logics:
        digest = logic_digest(logic, package=package)
        if locked.get(logic.name) == digest:
            continue
        reason = " ".join(equivalent.split()) if logic.name in locked else ""
        if logic.name in locked and not reason:
            raise ConfigError(
                f"the code of {logic.name} has changed since it was locked",
                hint="Raise the version in scan/logic.py, or add --equivalent REASON if no result "
                "can differ.",
            )
        added.append(LockLine(name=logic.name, digest=digest, equivalent=reason))
    if added:
        write_text(path, _HEAD + "".join(f"{line}\n" for line in [*lines, *added]))
    return added


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the lock up to date."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description="Lock the logic of scans.")
    parser.add_argument("--equivalent", default="", metavar="REASON", help="why results are equal")
    given: Mapping[str, str] = vars(parser.parse_args(arguments))
    try:
        added = update_lock(equivalent=given["equivalent"])
    except EtudeError as error:
        sys.stderr.write(f"error: {error}\nhint: {error.hint}\n")
        return int(error.exit_code)
    sys.stdout.write("".join(f"locked {line}\n" for line in added) or "nothing to lock\n")
    return 0


def _words(source: str) -> Iterator[str]:
    """Yield the tokens that mean something; a text as the repr of its value."""
    lines = source.splitlines(keepends=True)
    depth = 0
    begin = (0, 0)
    # By name, because Python 3.11 does not know these kinds.
    opening = getattr(token, "FSTRING_START", -1)
    closing = getattr(token, "FSTRING_END", -1)
    for found in tokenize.generate_tokens(io.StringIO(source).readline):
        if found.type == opening:
            begin = begin if depth else found.start
            depth += 1
        elif found.type == closing:
            depth -= 1
            if not depth:
                yield f"f{_between(lines, begin, found.end)}"
        elif depth or found.type in _IGNORED:
            continue
        elif found.type == token.STRING:
            yield _text(found.string)
        else:
            yield _LAYOUT.get(found.type, found.string)


def _text(written: str) -> str:
    prefix = written[: min(written.index(quote) for quote in "'\"" if quote in written)].lower()
    return f"f{written}" if "f" in prefix else repr(ast.literal_eval(written))


def _between(lines: Sequence[str], begin: tuple[int, int], end: tuple[int, int]) -> str:
    if begin[0] == end[0]:
        return lines[begin[0] - 1][begin[1] : end[1]]
    first, last = lines[begin[0] - 1][begin[1] :], lines[end[0] - 1][: end[1]]
    return "".join([first, *lines[begin[0] : end[0] - 1], last])


def _statements(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of words up to the end of a line, with the indents before them apart."""
    statement: list[str] = []
    for word in words:
        if word in ("indent", "dedent"):
            yield [word]
        elif word == "newline":
            yield statement
            statement = []
        else:
            statement.append(word)


def _without_trailing_commas(statement: Sequence[str]) -> list[str]:
    """Drop commas before a closing bracket that only layout asks for: not that of (a,)."""
    kept: list[str] = []
    open_at: list[tuple[bool, int]] = []
    """For each open bracket, whether one comma alone means nothing, and how many there were."""
    for place, word in enumerate(statement):
        if word in ("(", "[", "{"):
            before = statement[place - 1] if place else ""
            follows = before in (")", "]") or (
                before.isidentifier() and not keyword.iskeyword(before)
            )
            # A call takes one argument with a comma or without; a subscript becomes a tuple.
            idle = word == "{" or (word == "(") == follows
            open_at.append((idle, 0))
        elif word in (")", "]", "}") and open_at:
            idle, commas = open_at.pop()
            if kept[-1] == "," and (idle or commas > 1):
                kept.pop()
        elif word == "," and open_at:
            open_at[-1] = (open_at[-1][0], open_at[-1][1] + 1)
        kept.append(word)
    return kept


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
