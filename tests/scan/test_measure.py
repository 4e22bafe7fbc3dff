import dataclasses

from etude.core.types import ContentKey
from etude.scan.measure import Measure, measure_of, told, units_of
from etude.scan.scan_config import ScanConfig
from etude.scan.subject import ScanSubject
from toy_scan import copied

DATA = copied()
SUBJECT = ScanSubject(
    dataset=DATA,
    train=DATA.episodes[1:],
    held_out=DATA.episodes[:1],
    weights=ContentKey("w"),
    horizon=2,
)


def test_a_measure_names_the_data_the_groups_and_the_training_episodes():
    config = ScanConfig(groups=("x=0", "gripper=1"), actions="relative")

    assert measure_of(SUBJECT, config) == Measure(
        dataset="memory/toy",
        horizon=2,
        groups={"x": (0,), "gripper": (1,)},
        actions="relative",
        units=units_of(DATA, DATA.episodes[1:]),
    )


def test_weights_and_held_out_episodes_are_none_of_it():
    other = dataclasses.replace(SUBJECT, weights=ContentKey("v"), held_out=())

    assert measure_of(other, ScanConfig()) == measure_of(SUBJECT, ScanConfig())


def test_units_are_those_of_the_training_episodes_wherever_they_stand():
    episodes = DATA.episodes

    assert units_of(DATA, episodes[::-1]) == units_of(DATA, episodes)
    assert units_of(DATA, episodes[1:]) != units_of(DATA, episodes)


def test_a_byte_that_is_no_utf_8_is_told_as_an_escape():
    assert told("caf\udce9 开") == "caf\\udce9 开"
