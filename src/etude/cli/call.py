"""A command as it was typed."""

import contextlib
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from etude.cli.console import progress
from etude.core.protocols import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One command as it was typed."""

    command: str
    words: Sequence[str]
    """What stands behind the command's name."""
    language: str

    @property
    def argv(self) -> list[str]:
        """The whole command, for records that say how to repeat it."""
        return ["etude", *self.command.split(), *self.words]

    @contextlib.contextmanager
    def working(self) -> Generator[Progress, None, None]:
        """Show progress, and keep stdout for the result, whatever libraries print."""
        with contextlib.redirect_stdout(sys.stderr), progress(self.language, sys.stderr) as report:
            yield report
