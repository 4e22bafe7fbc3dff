"""Shuffling without a list: a keyed bijection of [0, size) that is computed where it is needed.

A round adds a key, multiplies by an odd number modulo 2^b and folds the high half onto the low
one; each of the three is a bijection of b-bit numbers, so any number of rounds is one too. Values
outside [0, size) are sent through again until they fall inside (cycle walking); since 2^b is below
2 * size, that takes less than one extra round trip on average.

Source: cycle walking after Black and Rogaway, "Ciphers with arbitrary finite domains", 2002.
"""

import numpy as np
from jaxtyping import Int64, UInt64

ROUNDS = 6

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)


def mix(values: UInt64[np.ndarray, "*shape"]) -> UInt64[np.ndarray, "*shape"]:
    """Return a well-spread 64-bit hash of each value.

    Source: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def combine(*parts: UInt64[np.ndarray, "*shape"] | int) -> UInt64[np.ndarray, "*shape"]:
    """Return one hash of several numbers, in order."""
    key = np.zeros(1, dtype=np.uint64)
    for part in parts:
        key = mix(key + _GOLDEN + np.asarray(part).astype(np.uint64))
    return key


def permute(
    positions: Int64[np.ndarray, " draws"],
    sizes: Int64[np.ndarray, " draws"],
    keys: UInt64[np.ndarray, " draws"],
) -> Int64[np.ndarray, " draws"]:
    """Return where each position of [0, size) goes under the permutation that its key names.

    Args:
        positions: Each in [0, size) of its own entry.
        sizes: At least 1.
        keys: Entries with equal key and size belong to one permutation.
    """
    bits = np.frexp((sizes - 1).astype(np.float64))[1].astype(np.uint64)
    masks = (_ONE << bits) - _ONE
    shifts = np.maximum((bits + _ONE) >> _ONE, _ONE)
    round_keys = [combine(keys, number) for number in range(ROUNDS)]
    values = _scramble(positions.astype(np.uint64), masks, shifts, round_keys)
    limits = sizes.astype(np.uint64)
    while True:
        outside = np.flatnonzero(values >= limits)
        if not len(outside):
            return values.astype(np.int64)
        values[outside] = _scramble(
            values[outside],
            masks[outside],
            shifts[outside],
            [round_key[outside] for round_key in round_keys],
        )


def _scramble(
    values: UInt64[np.ndarray, " draws"],
    masks: UInt64[np.ndarray, " draws"],
    shifts: UInt64[np.ndarray, " draws"],
    round_keys: list[UInt64[np.ndarray, " draws"]],
) -> UInt64[np.ndarray, " draws"]:
    for key in round_keys:
        values = ((values + key) * (key | _ONE)) & masks
        values = values ^ (values >> shifts)
    return values
