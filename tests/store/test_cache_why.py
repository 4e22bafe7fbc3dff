"""A miss is explained by the input that differs."""

from pathlib import Path

import pytest

from etude.core.errors import StateError
from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.cache_why import Difference, explain_inputs, explain_key, flatten
from etude.store.segments import Subject


def keep(
    root: Path,
    *,
    logic: str = "task-scan@1",
    weights: str = "w1",
    steps: int = 10,
    episode: str = "e1",
    frame: int = 0,
    seed: int = 7,
) -> ContentKey:
    subject = Subject(
        logic=logic, weights=ContentKey(weights), inference={"steps": steps, "norm": {"clip": 10}}
    )
    with SegmentCache(root, subject) as cache:
        key = cache.key(episode=ContentKey(episode), draw={"frame": frame, "seed": seed})
        cache.put(key, {"squared": [0.5]})
    return key


@pytest.mark.parametrize(
    ("change", "name", "before", "after"),
    [
        ({"logic": "task-scan@2"}, "logic", "task-scan@1", "task-scan@2"),
        ({"weights": "w2"}, "weights", "w1", "w2"),
        ({"steps": 5}, "inference.steps", 10, 5),
        ({"episode": "e2"}, "episode", "e1", "e2"),
        ({"seed": 8}, "draw.seed", 7, 8),
    ],
)
def test_the_input_that_differs_is_named(
    tmp_path: Path, change: dict[str, object], name: str, before: object, after: object
) -> None:
    old = keep(tmp_path)
    new = keep(tmp_path, **change)  # type: ignore[arg-type]

    found = explain_key(tmp_path, new)

    assert (found.key, found.nearest, found.equal) == (new, old, 6)
    assert found.differences == (Difference(input=name, wanted=after, kept=before),)


def test_the_nearest_is_that_with_the_fewest_differences(tmp_path: Path) -> None:
    keep(tmp_path, weights="w0", steps=1)
    near = keep(tmp_path, weights="w1")
    new = keep(tmp_path, weights="w2")

    assert explain_key(tmp_path, new).nearest == near


def test_among_equals_the_same_moment_is_nearest(tmp_path: Path) -> None:
    edited = keep(tmp_path, episode="e1", frame=3)
    for frame in (0, 1, 2, 4):
        keep(tmp_path, episode="e2", frame=frame)
    new = keep(tmp_path, episode="e2", frame=3)

    assert explain_key(tmp_path, new).nearest == edited


def test_the_beginning_of_a_key_is_enough(tmp_path: Path) -> None:
    key = keep(tmp_path)

    found = explain_key(tmp_path, key[:10])

    assert (found.key, found.nearest, found.differences) == (key, None, ())


def test_a_key_that_is_not_kept_is_refused_with_the_way_to_ask(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"no key in .* begins with 'abc'") as caught:
        explain_key(tmp_path, "abc")

    assert "--like" in caught.value.hint


def test_a_beginning_of_several_keys_is_refused(tmp_path: Path) -> None:
    keys = [keep(tmp_path, frame=frame) for frame in range(40)]
    first = next(k[0] for k in keys if sum(o[0] == k[0] for o in keys) > 1)

    with pytest.raises(StateError, match=r"\d+ keys in .* begin with"):
        explain_key(tmp_path, first)


def test_inputs_may_be_given_in_part_and_nested_or_by_dotted_name(tmp_path: Path) -> None:
    key = keep(tmp_path)
    keep(tmp_path, weights="w9", steps=3)

    found = explain_inputs(
        tmp_path, {"weights": "w1", "inference": {"steps": 5}, "inference.norm.clip": 10}
    )

    assert (found.key, found.nearest, found.equal) == (None, key, 2)
    assert found.differences == (Difference(input="inference.steps", wanted=5, kept=10),)


def test_an_input_that_the_cache_has_never_seen_is_named(tmp_path: Path) -> None:
    keep(tmp_path)

    found = explain_inputs(tmp_path, {"weights": "w1", "inference.attn": "flash"})

    assert found.differences == (
        Difference(input="inference.attn", wanted="flash", kept="(absent)"),
    )


def test_nested_inputs_are_flattened_by_name() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": [2]}}, "e": None}) == {
        "a.b": 1,
        "a.c.d": [2],
        "e": None,
    }
