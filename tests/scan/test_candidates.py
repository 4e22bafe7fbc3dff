import numpy as np
import pytest

from etude.core.types import EpisodeSpan, TaskId
from etude.scan.candidates import candidates_of
from etude.scan.strata import STRATA

EPISODE = EpisodeSpan(index=3, task=TaskId("toy/0"), start=10, stop=15)
SLOW, TRANSIT = STRATA.index("slow"), STRATA.index("transit")
LABELS = np.array([SLOW, TRANSIT, SLOW, SLOW, TRANSIT], np.int8)
EXPECTED = np.array([0.2, 0.4, 0.6, 1.0, 0.8])


def test_strata_are_counted_with_the_error_to_expect_in_them():
    found = candidates_of(EPISODE, np.arange(5), LABELS, EXPECTED)

    assert found.sizes == {"slow": 3, "transit": 2}
    assert found.means == {"slow": pytest.approx(0.6), "transit": pytest.approx(0.6)}


def test_only_frames_that_may_be_chosen_count():
    found = candidates_of(EPISODE, np.array([0, 2]), LABELS, EXPECTED)

    assert found.labels.tolist() == [SLOW, SLOW]
    assert found.expected.tolist() == [0.2, 0.6]
    assert (found.sizes, found.means) == ({"slow": 2}, {"slow": pytest.approx(0.4)})
