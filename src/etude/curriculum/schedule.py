"""Settings that change at known steps."""

from typing import Generic, TypeVar

from etude.core.errors import StateError

T = TypeVar("T")


class Schedule(Generic[T]):
    """What holds from which step on; only what can still be needed is kept."""

    def __init__(self, first: T) -> None:
        self._entries: list[tuple[int, T]] = [(0, first)]

    def at(self, step: int) -> T:
        """Return what holds at `step`, which must not be one that was forgotten."""
        return next(value for begins, value in reversed(self._entries) if begins <= step)

    def change_after(self, step: int) -> int | None:
        """Return the first step after `step` at which something else holds, or None."""
        return next((begins for begins, _ in self._entries if begins > step), None)

    def put(self, value: T, *, from_step: int, earliest: int, what: str) -> None:
        """Let `value` hold from a step on, until something later does.

        Raises:
            StateError: That step may have been drawn, or lies before one that has its value.
        """
        if from_step < earliest:
            raise StateError(
                f"{what} for step {from_step} comes too late: "
                f"batches below {earliest} may be drawn already",
                hint=f"Let it take effect at step {earliest} or later.",
            )
        last = self._entries[-1][0]
        if from_step < last:
            raise StateError(
                f"{what} for step {from_step} comes behind one for step {last}",
                hint="Set them in the order of their steps.",
            )
        if from_step == last:
            self._entries.pop()
        self._entries.append((from_step, value))

    def forget_before(self, step: int) -> None:
        """Drop what no batch from `step` on needs."""
        self._entries = self.live(step)

    def live(self, step: int) -> list[tuple[int, T]]:
        """Return what batches from `step` on need, each with the step from which it holds."""
        places = [place for place, entry in enumerate(self._entries) if entry[0] <= step]
        return self._entries[max(places, default=0) :]

    def restore(self, entries: list[tuple[int, T]]) -> None:
        """Put back what `live` returned."""
        self._entries = list(entries)
