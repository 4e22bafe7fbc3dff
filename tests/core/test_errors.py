import pickle

import pytest

from etude.core.errors import (
    ConfigError,
    DataError,
    EtudeError,
    ExitCode,
    Interrupted,
    MissingToolError,
    PolicyError,
    ScanError,
    SimulatorError,
    StateError,
    StorageError,
    TrainingError,
)

EXIT_CODES = {
    EtudeError: 1,
    ConfigError: 2,
    StateError: 2,
    DataError: 4,
    MissingToolError: 4,
    PolicyError: 1,
    SimulatorError: 1,
    TrainingError: 1,
    ScanError: 1,
    StorageError: 1,
    Interrupted: 75,
}


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES.items())
def test_every_failure_ends_with_its_own_exit_code(kind: type[EtudeError], code: int):
    assert kind("x").exit_code == code


def test_the_table_above_holds_every_failure():
    assert set(EXIT_CODES) == {EtudeError, *EtudeError.__subclasses__()}


def test_the_exit_codes_keep_their_numbers():
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "USAGE": 2,
        "FINDINGS": 3,
        "DATA": 4,
        "TARGET_NOT_MET": 5,
        "RESUMABLE": 75,
    }


@pytest.mark.parametrize("kind", EXIT_CODES)
def test_a_failure_that_travels_between_processes_keeps_its_hint(kind: type[EtudeError]):
    sent = kind("steps is -5, not over 0", hint="Set --steps.")

    arrived = pickle.loads(pickle.dumps(sent))

    assert type(arrived) is kind
    assert str(arrived) == "steps is -5, not over 0"
    assert arrived.hint == "Set --steps."


def test_a_setting_error_is_a_value_error_so_that_validation_collects_it():
    assert isinstance(ConfigError("x"), ValueError)
    assert not isinstance(StateError("x"), ValueError)
