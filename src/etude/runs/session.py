"""One attempt at a run on one rank: what all parts of its training are made from."""

from dataclasses import dataclass

from etude.core.protocols import Dataset, Ranks
from etude.curriculum.sampler import CurriculumSampler
from etude.datasets.split import Split
from etude.events.recorder import Recorder
from etude.runs.adaptive_config import StartConfig
from etude.runs.guidance import Guidance
from etude.runs.loss_watch import LossWatch
from etude.runs.run_config import RunConfig
from etude.store.layout import RunFolder
from etude.train.trainable import Trainable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Session:
    """What is there before anything is trained or looked at."""

    config: RunConfig
    folder: RunFolder
    """Claimed, and begun."""
    ranks: Ranks
    dataset: Dataset
    split: Split
    module: Trainable
    sampler: CurriculumSampler
    recorder: Recorder
    """Of this rank; only rank 0 says what all ranks know."""
    guidance: Guidance
    losses: LossWatch
    """Sees what is recorded."""
    start: StartConfig
