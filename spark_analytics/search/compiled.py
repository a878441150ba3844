"""How kernels are compiled: by numba at first use, into a cache on disk, so that the next process starts at once.

No fastmath and no threads: the same input gives the same answer, to the byte. numba's cache looks at the file of a
function and not at those that it calls, so kernels that call one another stand in one file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item", bound=np.generic)

# Not in numba's stubs. What only kernels call needs no way in from Python, which unpacks a state of forty arrays: that
# took longer to compile than most kernels. Those that make no arrays need no reference counts.
_ENTRY: dict[str, Any] = {"no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, **_ENTRY}
_UNCOUNTED: dict[str, Any] = {"_nrt": False, **_INNER}


def fixed(value: int) -> int:
    """A constant that numba takes for any other integer, where it would compile what is called with -1 once more."""
    return cast(int, np.int64(value))


def plain(array: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """A writable, contiguous copy: another layout would be another signature, and compiled anew."""
    return np.array(array, order="C")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls."""
    kernel: Callable[P, R] = njit(cache=True, **_ENTRY)(function)
    return kernel


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call: it is cached as a part of these."""
    kernel: Callable[P, R] = njit(**_INNER)(function)
    return kernel


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile the smallest functions: a call that hands over a state of forty arrays costs more than what these do."""
    kernel: Callable[P, R] = njit(forceinline=True, **_UNCOUNTED)(function)
    return kernel


def lean(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes no arrays: without reference counts of the forty that it is handed."""
    kernel: Callable[P, R] = njit(**_UNCOUNTED)(function)
    return kernel
