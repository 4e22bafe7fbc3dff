"""Getting the errors of windows: from the cache, or from the policy, each by exactly one rank."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from etude.core.errors import PolicyUnavailable
from etude.core.protocols import Dataset, Policy, Progress, Ranks, ScanCache, WorkQueue
from etude.core.ranks import by_rank_0, together
from etude.core.types import ContentKey, WindowChoice, WorkItem
from etude.scan.fold import merge
from etude.scan.open_loop import SEED, OpenLoop
from etude.scan.patience import Patience
from etude.scan.scan_config import ScanConfig
from etude.store.content import content_key

PHASE = "scan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What is kept of one window: its errors by action dimension, in the dataset's own units."""

    squared: tuple[float, ...]
    absolute: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """Return what the cache keeps."""
        return {"squared": list(self.squared), "absolute": list(self.absolute)}


def errors_from_json(kept: Mapping[str, object] | None, *, size: int) -> Errors | None:
    """Return what the cache kept, or None where that is nothing of `size` dimensions."""
    rows = [_numbers(kept.get(name)) for name in ("squared", "absolute")] if kept else []
    if not rows or any(len(row) != size for row in rows):
        return None
    return Errors(squared=rows[0], absolute=rows[1])


def _numbers(kept: object) -> tuple[float, ...]:
    if not isinstance(kept, list):
        return ()
    row = cast("list[object]", kept)
    return tuple(float(each) for each in row if isinstance(each, float | int))


def _unheard(windows: int, seconds: float) -> None:
    del windows, seconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoringParts:
    """What a scan works with on one rank."""

    dataset: Dataset
    load: Callable[[], Policy]
    """Loads the policy; called once, and only where a window is missing."""
    cache: ScanCache
    ranks: Ranks
    queue: WorkQueue
    progress: Progress
    horizon: int
    """Actions of a chunk that are judged."""
    cameras: tuple[str, ...] = ()
    """Cameras whose pictures the policy sees."""
    asked: Callable[[int, float], None] = _unheard
    """Told after each call of the policy how many windows it was about and what it took."""
    clock: Callable[[], float] = time.monotonic


class Scorer:
    """Scores windows round by round. All ranks call `score` with the same windows."""

    def __init__(self, parts: ScoringParts, config: ScanConfig) -> None:
        self.inferences = 0
        """Windows that the policy was asked about, on all ranks together."""
        self.recalled = 0
        """Windows that the cache knew."""
        self.budget = 0
        """Most windows that the scan will look at, for progress."""
        self.unavailable: PolicyUnavailable | None = None
        """Why the policy is asked no more, on whichever rank that was."""
        self._parts = parts
        self._batch_size = config.batch_size
        self._limit_s = config.time_limit_s
        self._patience = Patience(retries=config.retries, limit_s=config.call_limit_s)
        self._begun_s = parts.clock()
        self._mine = 0
        self._open_loop: OpenLoop | None = None
        self._episodes = {span.index: span for span in parts.dataset.episodes}
        self._identities: dict[int, ContentKey] = {}

    def score(
        self, choices: Sequence[WindowChoice], *, limited: bool
    ) -> list[tuple[WindowChoice, Errors | None]]:
        """Return the errors of each window, or None where the time was up before.

        They are None as well where the policy did not answer; `unavailable` then says why.

        Args:
            choices: The windows, equal on every rank.
            limited: Whether the time limit counts.

        Raises:
            ScanError: A window was scored twice or not at all.
            PolicyError: The policy cannot be loaded, or answers what cannot be judged.
        """
        keys = [self._key(choice) for choice in choices]
        # Episodes of equal content share their windows' keys, so a key can have several choices.
        windows = dict(zip(keys, choices, strict=True))
        known = self._recall(list(windows))
        missing = {key: choice for key, choice in windows.items() if key not in known}
        self.recalled += len(known)
        found = self._ask(missing, limited=limited) if missing else {}
        self.inferences += sum(errors is not None for errors in found.values())
        self._mine = 0
        self._report()
        results = {**known, **found}
        return [(choice, results[key]) for key, choice in zip(keys, choices, strict=True)]

    def finish(self) -> None:
        """Say that no more windows will come."""
        done = self.inferences + self.recalled
        self._parts.progress(PHASE, done, done)

    def _key(self, choice: WindowChoice) -> ContentKey:
        if choice.episode not in self._identities:
            span = self._episodes[choice.episode]
            cameras = self._parts.cameras
            self._identities[choice.episode] = self._parts.dataset.identity(span, cameras=cameras)
        return self._parts.cache.key(
            episode=self._identities[choice.episode],
            draw={"task": choice.task, "frame": choice.frame, "seed": SEED},
        )

    def _recall(self, keys: Sequence[ContentKey]) -> dict[ContentKey, Errors]:
        """Return what rank 0 knows: caches of other ranks may have seen more or less by now."""
        size = self._parts.dataset.spec.action_dim

        def look_up() -> dict[ContentKey, Errors]:
            kept = {key: errors_from_json(self._parts.cache.get(key), size=size) for key in keys}
            return {key: errors for key, errors in kept.items() if errors is not None}

        return by_rank_0(self._parts.ranks, look_up)

    def _ask(
        self, missing: Mapping[ContentKey, WindowChoice], *, limited: bool
    ) -> dict[ContentKey, Errors | None]:
        found = together(
            self._parts.ranks,
            lambda: (list(self._share(missing, limited=limited)), self.unavailable),
        )
        shares = [share for share, _ in found]
        self.unavailable = next((why for _, why in found if why is not None), None)
        names = {
            key: f"{choice.task} episode {choice.episode} frame {choice.frame}"
            for key, choice in missing.items()
        }
        return merge(shares, list(missing), names=names)

    def _share(
        self, missing: Mapping[ContentKey, WindowChoice], *, limited: bool
    ) -> Iterator[tuple[ContentKey, Errors | None]]:
        """Yield the errors of the windows that this rank is dealt."""
        items = self._items(missing)
        for item in self._parts.queue.items(list(items)):
            yield from self._batch(items[item], missing, limited=limited)

    def _batch(
        self,
        keys: Sequence[ContentKey],
        missing: Mapping[ContentKey, WindowChoice],
        *,
        limited: bool,
    ) -> list[tuple[ContentKey, Errors | None]]:
        if self.unavailable is not None or (limited and self._late()):
            return [(key, None) for key in keys]
        begun_s = self._parts.clock()
        try:
            open_loop = self._policy()
            found = self._patience.ask(lambda: open_loop.errors([missing[key] for key in keys]))
        except PolicyUnavailable as error:
            self.unavailable = error
            return [(key, None) for key in keys]
        results = [
            Errors(squared=tuple(squared), absolute=tuple(absolute))
            for squared, absolute in zip(
                found.squared.tolist(), found.absolute.tolist(), strict=True
            )
        ]
        for key, errors in zip(keys, results, strict=True):
            self._parts.cache.put(key, errors.to_json())
        self._parts.asked(len(keys), self._parts.clock() - begun_s)
        self._mine += len(keys)
        self._report()
        return list(zip(keys, results, strict=True))

    def _items(
        self, missing: Mapping[ContentKey, WindowChoice]
    ) -> dict[WorkItem, list[ContentKey]]:
        """Return the missing windows by item of work: those of one call, episode by episode.

        So which windows share a call is the same on any number of ranks, and so are results, even
        of a policy whose last bits depend on a row's place. A call that is not full costs as much
        as one that is, so smaller items would not end sooner.
        """
        ordered = sorted(missing, key=lambda key: missing[key].place)
        calls = [
            ordered[begin : begin + self._batch_size]
            for begin in range(0, len(ordered), self._batch_size)
        ]
        return {
            WorkItem(
                key=content_key("scan-item/1", keys), task=missing[keys[0]].task, cost=len(keys)
            ): keys
            for keys in calls
        }

    def _policy(self) -> OpenLoop:
        if self._open_loop is None:
            self._open_loop = OpenLoop(
                self._parts.load(),
                self._parts.dataset,
                horizon=self._parts.horizon,
                batch_size=self._batch_size,
                cameras=self._parts.cameras,
            )
        return self._open_loop

    def _late(self) -> bool:
        return 0 < self._limit_s <= self._parts.clock() - self._begun_s

    def _report(self) -> None:
        """Report the windows of all finished rounds, and this rank's own of the current one."""
        done = self.inferences + self.recalled + self._mine
        self._parts.progress(PHASE, min(done, self.budget), self.budget)
