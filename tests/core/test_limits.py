import math
from collections.abc import Callable

import pytest

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between, require_over


def test_values_at_the_limits_pass_where_the_limit_belongs_to_the_range():
    require_at_least("steps", 1, 1)
    require_over("lr", 1e-12, 0)
    require_between("floor", 0, 0, 1)
    require_between("floor", 1, 0, 1)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: require_at_least("steps", -5, 1), "steps is -5, not at least 1"),
        (lambda: require_over("lr", 0, 0), "lr is 0, not over 0"),
        (lambda: require_between("floor", 1.5, 0, 1), "floor is 1.5, not between 0 and 1"),
        (lambda: require_at_least("steps", math.inf, 1), "steps is inf, not at least 1"),
        (lambda: require_at_least("steps", math.nan, 1), "steps is nan, not at least 1"),
        (lambda: require_over("lr", math.nan, 0), "lr is nan, not over 0"),
        (lambda: require_between("floor", math.nan, 0, 1), "floor is nan, not between 0 and 1"),
    ],
)
def test_a_value_out_of_range_is_named_with_the_range(check: Callable[[], None], said: str):
    with pytest.raises(ConfigError) as caught:
        check()

    assert str(caught.value) == said
