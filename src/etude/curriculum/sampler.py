"""Which frames are trained on, as a pure function of the seed and the history of plans.

Every rank computes the rows of the whole global batch and takes its own slots, so that the stream
is the same for any number of ranks and workers, and ranks are disjoint by construction.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import ConfigError, StateError
from etude.core.limits import require_at_least
from etude.core.types import EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.draws import Material, Position, draw, steps_at_once
from etude.curriculum.frame_layout import FrameLayout, plan_weights
from etude.curriculum.sampler_state import Differences, Hundredths, SavedSampler
from etude.curriculum.schedule import Schedule
from etude.curriculum.window_weights import (
    FrameStrata,
    Multipliers,
    StratumIndex,
    stratum_edges,
    to_hundredths,
)


class CurriculumSampler:
    """Draws the rows of one global batch after another.

    Each task's frames are visited in a keyed random order, all of them once before any of them
    again. Its share of a batch is the plan's weight, rounded so that the error never accumulates.
    With window weights, that holds for each stratum of a task instead.

    A loader takes it as its `batch_sampler`: an iteration yields this rank's rows, batch by batch,
    to the end of the epoch that the stream has come to, and `len` says how many batches that is.

    Limit: what a loader with workers has drawn ahead counts as drawn, also if it is thrown away.
    `feeds.CountedBatches` begins behind what was trained on instead.
    """

    def __init__(
        self,
        episodes: Sequence[EpisodeSpan],
        plan: SamplingPlan,
        *,
        batch_size: int,
        seed: int,
        rank: int = 0,
        ranks: int = 1,
        epoch_batches: int | None = None,
        lag: int = 0,
        strata: FrameStrata | None = None,
    ) -> None:
        """Prepare to draw from `episodes`.

        Args:
            episodes: Their frames are drawn, as far as `plan` names their tasks.
            plan: Holds from step 0 on.
            batch_size: Rows of a global batch, over all ranks.
            seed: Names the stream.
            rank: Whose slots iterations yield.
            ranks: How many share a batch.
            epoch_batches: Batches of an epoch; None for as many as it takes to draw as many rows
                as there are frames.
            lag: Batches that may be drawn but not yet trained on, as loaders with workers have.
                Plans take effect so much later, and the state of so many steps back is at hand.
            strata: What window weights can tell apart.

        Raises:
            ConfigError: The plan is no distribution, or a number is out of range.
            DataError: A task that the plan draws has no frames.
        """
        require_at_least("ranks", ranks, 1)
        require_at_least("batch_size", batch_size, ranks)
        require_at_least("lag", lag, 0)
        if not 0 <= rank < ranks:
            raise ConfigError(f"rank is {rank}, not below ranks ({ranks})")
        self.tasks: tuple[TaskId, ...] = tuple(plan.weights)
        layout = FrameLayout(self.tasks, episodes)
        index = None if strata is None else StratumIndex(layout, strata)
        self._material = Material(seed=seed, layout=layout, index=index)
        self.batch_size = batch_size
        self.rank, self.ranks, self.lag = rank, ranks, lag
        frames = int(layout.sizes.sum())
        whole = max(1, -(-frames // batch_size))
        self.epoch_batches = whole if epoch_batches is None else epoch_batches
        require_at_least("epoch_batches", self.epoch_batches, 1)
        self._plans = Schedule(plan_weights(plan, self._material.layout))
        self._windows: Schedule[Hundredths] = Schedule([])
        self._weighed: Hundredths | None = None
        self._edges: Float64[np.ndarray, "tasks strata"] | None = None
        zeros = np.zeros((len(self.tasks), self._material.cells))
        self._begin(Position(step=0, residuals=zeros[:, 0], cursors=zeros.astype(np.int64)))

    @property
    def step(self) -> int:
        """Number of batches drawn so far."""
        return self._past[-1].step

    @property
    def frames(self) -> dict[TaskId, int]:
        """Number of frames of each task."""
        return dict(zip(self.tasks, self._material.layout.sizes.tolist(), strict=True))

    def draws(self, *, step: int | None = None) -> dict[TaskId, int]:
        """Return how often each task was drawn, in all batches or in those before `step`.

        Raises:
            StateError: That is further back than `lag`.
        """
        position = self._past[-1] if step is None else self._position(step)
        return dict(zip(self.tasks, position.cursors.sum(axis=1).tolist(), strict=True))

    def next_rows(self) -> Int64[np.ndarray, " batch"]:
        """Return the anchor rows of the next global batch, grouped by task."""
        if not self._ahead:
            self._draw_ahead()
        rows, behind = self._ahead.popleft()
        self._past.append(behind)
        return rows

    def slots(
        self, rows: Int64[np.ndarray, " batch"], *, rank: int, size: int
    ) -> Int64[np.ndarray, " share"]:
        """Return the part of a global batch that belongs to one of `size` ranks."""
        return rows[rank::size]

    def set_plan(self, plan: SamplingPlan, *, from_step: int, trained: int | None = None) -> None:
        """Draw by another plan from a step on; what tasks are owed is carried over.

        Every rank has to be told the same, and at the same step.

        Args:
            plan: A task whose weight is 0 pauses, and goes on where it stood when it has one.
            from_step: At least `lag` steps later than now.
            trained: Batches that were trained on, where a loader has drawn more of them: the
                same on every rank, while the batches drawn ahead may differ.

        Raises:
            ConfigError: The plan is no distribution, or is for other tasks.
            DataError: A task that the plan draws has no frames.
            StateError: Batches of that step may be drawn already.
        """
        weights = plan_weights(plan, self._material.layout)
        self._plans.put(
            weights, from_step=from_step, earliest=self._earliest(trained), what="a plan"
        )
        self._forget_ahead()

    def set_window_weights(
        self, weights: Multipliers, *, from_step: int | None = None, trained: int | None = None
    ) -> bool:
        """Draw frames inside tasks by other multipliers of their strata from a step on.

        A task that is not named draws all its frames alike. How often tasks are drawn stays. With
        `from_step` None that is as soon as it can be, and False is returned if nothing changes.

        Raises:
            ConfigError: A task or stratum is unknown, or nothing is left of a task.
            StateError: Batches of that step may be drawn already, or no strata are known.
        """
        index = self._material.index
        if index is None:
            raise StateError(
                "window weights need to know the strata of frames",
                hint="Give the sampler `strata`.",
            )
        hundredths = to_hundredths(weights, self.tasks, index.names) if weights else []
        stratum_edges(hundredths, index.sizes, self.tasks)
        earliest = self._earliest(trained)
        if from_step is None:
            if hundredths == self._windows.live(self.step)[-1][1]:
                return False
            from_step = earliest
        self._windows.put(hundredths, from_step=from_step, earliest=earliest, what="window weights")
        self._forget_ahead()
        return True

    def rewind(self, step: int) -> None:
        """Go back to where `step` batches were drawn, at most `lag` steps ago.

        Raises:
            StateError: The stream has not come to that step, or has left it further behind.
        """
        self._begin(self._position(step))

    def __iter__(self) -> Iterator[list[int]]:
        """Yield this rank's rows of each batch, to the end of the epoch."""
        for _ in range(len(self)):
            yield self.slots(self.next_rows(), rank=self.rank, size=self.ranks).tolist()

    def __len__(self) -> int:
        """Return how many batches an iteration that begins now yields."""
        return self.epoch_batches - self.step % self.epoch_batches

    def state_dict(self, *, step: int | None = None) -> dict[str, Any]:
        """Return what `load_state_dict` needs to continue; its size grows with the tasks only.

        Args:
            step: Batches that were trained on, where a loader has drawn more of them.

        Raises:
            StateError: That is further back than `lag`.
        """
        position = self._past[-1] if step is None else self._position(step)
        return self._saved(position).to_dict()

    def load_state_dict(
        self, state: Mapping[str, Any], *, accept_data_change: bool = False
    ) -> None:
        """Continue behind the last batch that was drawn before `state` was taken.

        Args:
            state: What `state_dict` returned, of this version or an older one.
            accept_data_change: Go on although tasks or frames differ: changed tasks begin a new
                pass, all frames of a task count alike, and unless the tasks are the same and none
                is empty, the plan that the sampler was made with holds again.

        Raises:
            StateError: The state belongs to other tasks, frames, seed or batch size.
        """
        saved = SavedSampler.from_dict(state)
        differences = Differences.between(saved, self._saved(self._past[-1]))
        differences.refuse(accept_data_change=accept_data_change)
        if differences.data:
            position = saved.moved_to(self._material)
            if saved.plans_fit(self._material):
                self._plans.restore(saved.plans())
        else:
            position = saved.position(self._material)
            self._plans.restore(saved.plans())
            self._windows.restore(list(saved.windows))
        self._begin(position)

    def _begin(self, position: Position) -> None:
        self._past: deque[Position] = deque([position], maxlen=self.lag + 1)
        self._ahead: deque[tuple[Int64[np.ndarray, " batch"], Position]] = deque()
        self._weigh_windows()

    def _forget_ahead(self) -> None:
        self._ahead.clear()
        self._weigh_windows()

    def _weigh_windows(self) -> None:
        hundredths, index = self._windows.at(self.step), self._material.index
        if hundredths is self._weighed:
            return
        self._weighed, self._edges = hundredths, None
        if index is not None and hundredths:
            self._edges = stratum_edges(hundredths, index.sizes, self.tasks)

    def _draw_ahead(self) -> None:
        """Compute some batches at once, up to where another plan begins."""
        step = self.step
        self._plans.forget_before(step - self.lag)
        self._windows.forget_before(step - self.lag)
        self._weigh_windows()
        changes = (self._plans.change_after(step), self._windows.change_after(step))
        weights = self._plans.at(step)
        rows, behind = draw(
            self._material,
            self._past[-1],
            weights,
            self._edges,
            steps=steps_at_once(self.batch_size, step, changes),
            batch_size=self.batch_size,
        )
        self._ahead.extend(zip(rows, behind, strict=True))

    def _earliest(self, trained: int | None) -> int:
        """Return the first step at which something else can hold; any, before the first batch."""
        if self.step == 0:
            return 0
        return max(self.step, (self.step if trained is None else trained) + self.lag)

    def _position(self, step: int) -> Position:
        for position in self._past:
            if position.step == step:
                return position
        raise StateError(
            f"step {step} is not among {self._past[0].step} to {self.step}, "
            "which can be gone back to",
            hint="Give the sampler a `lag` of at least as many steps as the loader draws ahead.",
        )

    def _saved(self, position: Position) -> SavedSampler:
        return SavedSampler.of(
            position,
            self._material,
            batch_size=self.batch_size,
            plans=self._plans.live(position.step),
            windows=self._windows.live(position.step),
        )
