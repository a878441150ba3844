"""Small helps for arrays of a model, whose indices are -1 where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from spark_analytics.model.cluster_model import Bools, Ints

_Item = TypeVar("_Item", bound=np.generic)


def nothing(size: int) -> Bools:
    """Flags that name none."""
    return np.zeros(size, dtype=np.bool_)


def flags(size: int, indices: Sequence[int] | Ints) -> Bools:
    """[size] True at these indices."""
    named = nothing(size)
    named[np.asarray(indices, dtype=np.int64)] = True
    return named


def at(values: npt.NDArray[_Item], index: Ints, otherwise: bool | int) -> npt.NDArray[_Item]:
    """The value at each index, `otherwise` where the index is -1."""
    padded: npt.NDArray[_Item] = np.append(values, np.array([otherwise], dtype=values.dtype))
    return padded[index]


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The values from 0 up, ascending, and which of them each is; -1 for one below 0."""
    found: Ints
    found, which = np.unique(values, return_inverse=True)
    below = int(np.count_nonzero(found < 0))
    return found[below:], np.maximum(which - below, -1)


def unique_rows(key: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows, and which of them each row is; faster than numpy's, which compares rows as bytes."""
    if not len(key):
        return key, np.zeros(0, dtype=np.int64)
    packed = np.zeros(len(key), dtype=np.int64)
    for column in key.T:
        values, code = np.unique(column, return_inverse=True)
        _, packed = np.unique(packed * len(values) + code, return_inverse=True)
    _, first = np.unique(packed, return_index=True)
    return key[first], packed
