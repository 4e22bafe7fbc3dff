import pytest

from etude.core.closing import Closing


class Door(Closing):
    def __init__(self) -> None:
        self.closings = 0

    def close(self) -> None:
        self.closings += 1


def test_a_block_is_lent_the_very_object_and_closes_it_at_its_end():
    door = Door()

    with door as lent:
        assert lent is door
        assert door.closings == 0

    assert door.closings == 1


def test_an_error_in_the_block_closes_and_goes_on():
    door = Door()

    with pytest.raises(ValueError, match="stuck"), door:
        raise ValueError("stuck")

    assert door.closings == 1
