"""Rows of two tables that have a key in common, as positions. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def joined(keys: Numbers, ascending: Numbers) -> tuple[Numbers, Numbers]:
    """The positions of all pairs that are equal, by the first: (in `keys`, in `ascending`)."""
    begins = np.searchsorted(ascending, keys, "left")
    counts = np.searchsorted(ascending, keys, "right") - begins
    left = np.repeat(np.arange(len(keys)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + begins[left]
    return left, right
