"""Recording the demonstrations that a configuration asks for."""

from etude.core.protocols import Progress
from etude.runs.build import benchmark_builder, dataset_folder
from etude.runs.demos import DemosOutcome, record_demos
from etude.runs.run_config import RunConfig
from etude.train.stop import stop_on_signals


def record(config: RunConfig, *, progress: Progress) -> DemosOutcome:
    """Record the scripted experts, or find them recorded.

    Raises:
        StateError: The folder holds something else.
        SimulatorError: Tasks missed their quota.
        Interrupted: A signal came; finished tasks are kept.
    """
    with stop_on_signals() as stop:
        return record_demos(
            config.demos,
            simulator=config.simulator.use,
            builder=benchmark_builder(config),
            folder=dataset_folder(config),
            progress=progress,
            stopping=lambda: stop.asked,
        )
