from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.store.content import bytes_digest, content_key, file_digest

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Panel:
    frames: int
    groups: Mapping[str, float]


def test_keys_never_change_silently():
    key = content_key("policy/1", Panel(frames=3, groups={"a": 0.5}), ["x", None, True, 2], "打开")

    assert key == "a2d030fc86778c900b7ef6b68b874e3cd7154d6e920fff9846fa2850e3b22e0c"
    assert key == bytes_digest(
        b'["policy/1", {"frames": 3, "groups": {"a": 0.5}, "type": "Panel"}, '
        b'["x", null, true, 2], "\\u6253\\u5f00"]'
    )


@given(st.dictionaries(st.text(), plain, max_size=5), st.randoms())
def test_the_order_of_mapping_keys_does_not_matter(drawn: dict[str, object], random: object):
    shuffled = list(drawn.items())
    random.shuffle(shuffled)

    assert content_key("x/1", dict(shuffled)) == content_key("x/1", drawn)


@given(plain, plain)
def test_other_parts_have_another_key(one: object, two: object):
    same = content_key("x/1", one) == content_key("x/1", two)

    assert same == (repr_of(one) == repr_of(two))


def repr_of(value: object) -> str:
    """Tell 1 from True and from 1.0, but not two orders of one mapping."""
    match value:
        case dict():
            return "{" + ",".join(f"{k!r}:{repr_of(v)}" for k, v in sorted(value.items())) + "}"
        case list():
            return "[" + ",".join(map(repr_of, value)) + "]"
        case _:
            return repr(value)


def test_lists_and_tuples_are_alike_but_their_order_counts():
    assert content_key("x/1", (1, 2)) == content_key("x/1", [1, 2])
    assert content_key("x/1", (1, 2)) != content_key("x/1", (2, 1))
    assert content_key("x/1", (1, 2)) != content_key("x/1", 1, 2)


def test_a_renamed_field_a_renamed_class_or_another_version_is_another_key():
    keys = {
        content_key(kind, make_dataclass(name, [field])(3))
        for kind, name, field in (
            ("x/1", "Scan", "frames"),
            ("x/1", "Scan", "windows"),
            ("x/1", "Look", "frames"),
            ("x/2", "Scan", "frames"),
        )
    }

    assert len(keys) == 4


@pytest.mark.parametrize(
    "part", [{1, 2}, b"x", Path("x"), object(), Panel, {1: "x"}, {None: 1}, [{"a": {2: 1}}]]
)
def test_what_is_not_plain_data_is_refused(part: object):
    with pytest.raises(TypeError, match="content key"):
        content_key("x/1", part)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(number: float):
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_key("x/1", {"loss": number})


def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path):
    # The BLAKE3 digests of nothing and of "abc": the reference test vectors of BLAKE3.
    empty, abc = tmp_path / "empty", tmp_path / "abc"
    empty.touch()
    abc.write_bytes(b"abc")

    assert (
        file_digest(empty)
        == bytes_digest(b"")
        == ("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262")
    )
    assert (
        file_digest(abc)
        == bytes_digest(memoryview(b"abc"))
        == ("6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")
    )
