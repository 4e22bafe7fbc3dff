"""The `etude` program: finds the command, and turns what goes wrong into an exit code.

`etude --help` answers at once, so this module imports nothing heavier than the error types; a
command's own modules are imported when it is chosen.
"""

import difflib
import json
import os
import sys
from collections.abc import Sequence

from etude import __version__
from etude.cli.texts import CATALOGUES, COMMANDS, LANGUAGES, overview, preferred_language
from etude.compute.ending import end_after
from etude.core.errors import ConfigError, EtudeError

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Expected failures print two lines on stderr and no traceback; bugs keep theirs. Without `argv`
    this process is the program itself, and one of several ranks also ends as a rank must.
    """
    if argv is not None:
        return _answer(list(argv))
    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    return _answer(sys.argv[1:]) if alone else end_after(lambda: _answer(sys.argv[1:]))


def _answer(arguments: Sequence[str]) -> int:
    """Do what one command asks for, and say on stderr what prevents it."""
    language = preferred_language(os.environ)
    try:
        language, words = _take_language(arguments, language)
        return _dispatch(words, language)
    except EtudeError as error:
        _print_error(error, as_json="--json" in arguments)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print(CATALOGUES[language]["interrupted"], file=sys.stderr)
        return INTERRUPTED


def _dispatch(words: Sequence[str], language: str) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview(language))
        return 0
    if words[0] == "--version":
        print(f"etude {__version__}")
        return 0
    command, rest = _find_command(words)
    from etude.cli.commands import perform

    return perform(command, rest, language=language)


def _find_command(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the command that `words` begin with, and what follows it."""
    for length in (1, 2):
        name = " ".join(words[:length])
        if name in COMMANDS:
            return name, words[length:]
    families = {name.split()[0] for name in COMMANDS if " " in name}
    said = " ".join(words[: 2 if words[0] in families else 1])
    close = difflib.get_close_matches(said, COMMANDS, n=1)
    hint = f"The nearest is `etude {close[0]}`." if close else "Run `etude --help`."
    raise ConfigError(f"{said!r} is no command of etude", hint=hint)


def _take_language(arguments: Sequence[str], automatic: str) -> tuple[str, list[str]]:
    """Return the language to speak, and the arguments without `--lang`."""
    wanted = "auto"
    words: list[str] = []
    remaining = iter(arguments)
    for word in remaining:
        if word == "--lang":
            wanted = next(remaining, "")
        elif word.startswith("--lang="):
            wanted = word.partition("=")[2]
        else:
            words.append(word)
    if wanted == "auto":
        return automatic, words
    if wanted not in LANGUAGES:
        raise ConfigError(f"--lang is {wanted!r}, not en, zh or auto")
    return wanted, words


def _print_error(error: EtudeError, *, as_json: bool) -> None:
    print(f"error: {error}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    if as_json:
        failure = {"error": str(error), "hint": error.hint, "exit_code": int(error.exit_code)}
        print(json.dumps({"schema_version": 1, **failure}, ensure_ascii=False))
