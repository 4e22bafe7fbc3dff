import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from etude.core.errors import PolicyError, PolicyUnavailable
from etude.scan.patience import Patience


class Answers:
    """Fails with what it is given, then answers 7."""

    def __init__(self, *errors: PolicyError) -> None:
        self._errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return 7


def patience(
    *, retries: int, limit_s: float = 0.0, wait: Callable[[float], None] = lambda _: None
) -> Patience:
    return Patience(retries=retries, limit_s=limit_s, wait=wait)


@pytest.mark.parametrize("limit_s", [0.0, 60.0])
def test_what_did_not_answer_is_asked_again_after_longer_and_longer_waits(limit_s: float):
    waits: list[float] = []
    policy = Answers(*[PolicyUnavailable("busy")] * 3)

    found = patience(retries=3, limit_s=limit_s, wait=waits.append).ask(policy)

    assert (found, policy.calls, waits) == (7, 4, [1.0, 2.0, 4.0])


def test_after_the_last_try_the_reason_is_told():
    policy = Answers(*[PolicyUnavailable("busy")] * 3)

    with pytest.raises(PolicyUnavailable, match="busy"):
        patience(retries=2).ask(policy)

    assert policy.calls == 3


@pytest.mark.parametrize("limit_s", [0.0, 60.0])
def test_a_wrong_answer_is_not_asked_for_again(limit_s: float):
    policy = Answers(PolicyError("actions of 3 numbers"))

    with pytest.raises(PolicyError, match="actions of 3 numbers"):
        patience(retries=5, limit_s=limit_s).ask(policy)

    assert policy.calls == 1


def test_a_call_that_hangs_is_given_up_and_the_next_one_counts():
    never, turns = threading.Event(), [0]

    def call() -> int:
        turns[0] += 1
        if turns[0] == 1:
            never.wait()
        return 7

    assert patience(retries=1, limit_s=0.05).ask(call) == 7
    never.set()


def test_a_call_that_always_hangs_is_told_with_the_limit():
    never = threading.Event()

    with pytest.raises(PolicyUnavailable) as told:
        patience(retries=1, limit_s=0.05).ask(never.wait)
    never.set()

    assert str(told.value) == "the policy did not answer in 0.05 s"
    assert "scan.call_limit_s" in told.value.hint


def test_a_call_that_hangs_does_not_keep_the_program_alive():
    program = (
        "import threading\n"
        "from etude.core.errors import PolicyUnavailable\n"
        "from etude.scan.patience import Patience\n"
        "try:\n"
        "    Patience(retries=0, limit_s=0.05).ask(threading.Event().wait)\n"
        "except PolicyUnavailable:\n"
        "    print('given up')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "given up\n"
