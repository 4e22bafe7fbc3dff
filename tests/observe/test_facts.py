"""What ran."""

from typing import Any

from etude.events.schema import AttemptStarted, CheckpointCommitted, StepSkipped
from etude.observe import facts
from etude.observe.evaluations import read_evaluation
from etude.observe.facts import Fact
from etude.observe.run_files import read_run


def english(rows: list[Fact]) -> dict[str, str]:
    return {
        getattr(fact.label, "en", str(fact.label)): getattr(fact.value, "en", str(fact.value))
        for fact in rows
    }


def test_the_protocol_names_seeds_limits_and_what_was_left_out(run: Any) -> None:
    run.evaluate("e", {"open": (17, 19)}, summary={"errors": 1, "reseeded": 2})
    told = english(facts.protocol(read_evaluation(run.root / "eval" / "e")))
    assert told["Episodes"] == "20 for each of 1 task"
    assert told["Seeds"] == "1000000 to 1000019, the same for every task"
    assert told["Step limit"] == "500 steps"
    assert told["Success rule"] == "solved at any step; an episode ends at its first success"
    assert told["Simulator errors"].startswith("1 episode broke; it counts neither as success")
    assert told["Re-seeded"] == "2 times, because the task was already solved at reset"
    assert told["Played"] == "4,000 environment steps in 1 min 5 s"
    assert told["Versions"] == "toy 1.2"
    assert "Checkpoint" not in told


def test_playing_to_the_end_is_another_rule(run: Any) -> None:
    run.evaluate("e", {"open": (17, 20)}, manifest={"to_the_end": True})
    told = english(facts.protocol(read_evaluation(run.root / "eval" / "e")))
    assert told["Success rule"] == "solved at any step; every episode is played to the step limit"
    assert told["Simulator errors"] == "none"


def test_training_is_told_from_events_and_configuration(run: Any) -> None:
    run.folder.config.write_text("seed = 7\nbatch_size = 1024\n")
    run.emit(
        AttemptStarted(command="etude run", step=0),
        StepSkipped(step=3, rows=[1]),
        CheckpointCommitted(step=1000, folder="checkpoints/step-00001000", weights="ab"),
    )
    assert english(facts.training(read_run(run.folder))) == {
        "Seed": "7",
        "Batch size": "1,024",
        "Attempts": "1",
        "Skipped steps": "1, because the loss was not finite",
        "Checkpoints": "1 committed, the last at step 1,000: checkpoints/step-00001000",
    }


def test_a_configuration_that_is_no_toml_tells_no_settings(run: Any) -> None:
    run.folder.config.write_text("seed == 7")
    assert facts.training(read_run(run.folder)) == []


def test_demonstrations_are_told_with_their_recording() -> None:
    data = {
        "repo_id": "me/toy",
        "episodes": 2500,
        "frames": 241234,
        "fps": 80,
        "held_out_episodes": 1,
        "recorded": {"simulator": {"use": "toy"}, "noise": 0.3, "seeds": list(range(2500))},
    }
    assert english(facts.demonstrations(data)) == {
        "Dataset": "me/toy",
        "Demonstrations": "2,500 episodes, 241,234 frames, 80 frames per second",
        "Held out of training": "1 episode",
        "Recording": "simulator.use toy, noise 0.3, seeds [2500]",
    }
    assert facts.demonstrations({}) == []


def test_the_machine_is_told_as_far_as_it_is_known(run: Any) -> None:
    run.begin(["open"])
    run.write_json("env.json", {"python": "3.11.9", "cpu": "EPYC", "cores": 8, "commit": None})
    assert english(facts.machine(read_run(run.folder))) == {
        "Etude": "0.1.0",
        "Python": "3.11.9",
        "Processor": "EPYC, 8 cores, unknown GB memory",
    }
