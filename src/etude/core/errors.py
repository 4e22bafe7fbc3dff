"""The failures a user can cause or meet, and the exit code each one ends with.

* EtudeError            1  the run failed
  + ConfigError         2  a setting is unknown, of the wrong type, or contradicts another
  + StateError          2  a run folder cannot be used as asked
  + DataError           4  a dataset file is missing, torn, or not what its metadata says
  + MissingToolError    4  a program or a package that the command needs is not installed
  + PolicyError         1  a policy cannot be loaded, or returns the wrong shape
    + PolicyUnavailable 1  a policy does not answer now; asking again may help
  + SimulatorError      1  an environment cannot be made or breaks its contract
  + TrainingError       1  training cannot go on, for example after a loss that is not finite
  + ScanError           1  the results of a scan do not add up
  + StorageError        1  a file cannot be written, for example on a full disk
  + Interrupted        75  a signal asked the run to stop; it was saved and can be resumed

Anything else that escapes is a bug of ours and keeps its traceback.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    FINDINGS = 3
    DATA = 4
    TARGET_NOT_MET = 5
    RESUMABLE = 75


class EtudeError(Exception):
    """Base of every expected failure.

    Attributes:
        hint: What to do next, as one imperative sentence, or "" when nothing helps.
    """

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the hint when the error travels between processes."""
        return (_rebuild, (type(self), str(self), self.hint))


def _rebuild(kind: type[EtudeError], message: str, hint: str) -> EtudeError:
    return kind(message, hint=hint)


class ConfigError(EtudeError, ValueError):
    """A setting is unknown, of the wrong type, or contradicts another.

    It is a ValueError too, so that validation collects it with the other faults of a file.
    """

    exit_code = ExitCode.USAGE


class StateError(EtudeError):
    """A run folder cannot be used as asked."""

    exit_code = ExitCode.USAGE


class DataError(EtudeError):
    """A dataset file is missing, torn, or not what its metadata says."""

    exit_code = ExitCode.DATA


class MissingToolError(EtudeError):
    """A program or a package that the command needs is not installed."""

    exit_code = ExitCode.DATA


class PolicyError(EtudeError):
    """A policy cannot be loaded, or returns the wrong shape."""


class PolicyUnavailable(PolicyError):
    """A policy does not answer now; asking again may help."""


class SimulatorError(EtudeError):
    """An environment cannot be made or breaks its contract."""


class TrainingError(EtudeError):
    """Training cannot go on, for example after a loss that is not finite."""


class ScanError(EtudeError):
    """The results of a scan do not add up, for example because two ranks did the same work."""


class StorageError(EtudeError):
    """A file cannot be written, for example on a full disk."""


class Interrupted(EtudeError):
    """A signal asked the run to stop; what was done is saved and can be resumed."""

    exit_code = ExitCode.RESUMABLE
