"""The slices of a broker's batch as columns: checked, and each text once. Pure.

A first answer brings sixteen slices of a hundred uses, and a fleet a thousand such answers a minute. So numbers are
read into arrays, those of all slices one after the other, and no use is looked at alone. A text is a code, the same in
all slices, so that whoever compares texts compares numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2

Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

_LONGEST_MS = 3_600_000
_YEAR_2100_MS = 4_102_444_800_000  # ClickHouse's DateTime ends soon after
_MAX_BYTES = float(1 << 60)
_INT64_MAX = (1 << 63) - 1
_TEXTS = ("principals", "client_ids", "addresses", "resource_types", "resources", "operations")


class SliceName(NamedTuple):
    """What a slice is known by, everywhere and for ever."""

    cluster: str
    broker: int
    life_ms: int
    number: int


class Texts(dict[str, int]):
    """The codes of texts, counted up as texts are asked for: their positions here. That of the empty text is 0."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """Entry i of each is what one client did with one resource; `slices` says in which of them. Texts are codes."""

    slices: Ints
    principals: Ints
    client_ids: Ints
    addresses: Ints
    resource_types: Ints
    resources: Ints
    operations: Ints
    allowed: Counts
    denied: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Entry i of each is what one client moved; `slices` says in which of them. Texts are codes."""

    slices: Ints
    users: Ints
    client_ids: Ints
    produced: Floats
    fetched: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Slices of one broker, in their order; `from_ms` is corrected already."""

    names: Sequence[SliceName]
    from_ms: Ints
    duration_ms: Ints
    dropped: Counts
    lost: Counts
    texts: Texts
    uses: Uses
    moved: Moved


def read(names: Sequence[SliceName], found: Sequence[reporter_pb2.ActivitySlice], correction_ms: int) -> Slices:
    """`names[i]` is that of `found[i]`; `correction_ms` is what the broker's clock lacks.

    Raises InvalidInput when a slice contradicts itself.
    """
    for name, each in zip(names, found, strict=True):
        _check_shape(name, each, correction_ms)
    reading = _Reading(names, found)
    return Slices(
        names,
        np.array([each.from_ms + correction_ms for each in found], np.int64),
        np.array([each.to_ms - each.from_ms for each in found], np.int64),
        np.array([each.dropped for each in found], np.uint64),
        np.array([each.lost_slices for each in found], np.uint64),
        reading.texts,
        reading.uses(),
        reading.moved(),
    )


class _Reading:
    """What is under way: the slices' strings have codes, their columns are read one by one."""

    def __init__(self, names: Sequence[SliceName], found: Sequence[reporter_pb2.ActivitySlice]) -> None:
        self._names = names
        self._found = found
        self.texts = Texts()
        strings = [each.strings for each in found]
        codes = map(self.texts.__getitem__, chain.from_iterable(strings))
        self._strings = np.array([len(each) for each in strings], np.int64)
        self._codes = np.fromiter(codes, np.int64, self._strings.sum())
        self._first_string = np.cumsum(self._strings) - self._strings

    def uses(self) -> Uses:
        slices = self._slices("principals")
        principals, client_ids, addresses, types, resources, operations = (self._texts(each, slices) for each in _TEXTS)
        allowed, denied = self._counts("allowed", slices), self._counts("denied", slices)
        return Uses(slices, principals, client_ids, addresses, types, resources, operations, allowed, denied)

    def moved(self) -> Moved:
        slices = self._slices("byte_users")
        users, client_ids = self._texts("byte_users", slices), self._texts("byte_client_ids", slices)
        produced, fetched = self._bytes("bytes_produced", slices), self._bytes("bytes_fetched", slices)
        return Moved(slices, users, client_ids, produced, fetched)

    def _slices(self, field: str) -> Ints:
        slices: Ints = np.repeat(np.arange(len(self._found)), [len(getattr(each, field)) for each in self._found])
        return slices

    def _texts(self, field: str, slices: Ints) -> Ints:
        positions: Ints = self._column(field, np.int64)
        self._refuse_any(
            positions >= self._strings[slices],
            slices,
            lambda at: f"{field} of {{}} points outside its {self._strings[slices[at]]} strings",
        )
        codes: Ints = self._codes[positions + self._first_string[slices]]
        return codes

    def _counts(self, field: str, slices: Ints) -> Counts:
        values: Counts = self._column(field, np.uint64)
        self._refuse_any(
            values > _INT64_MAX, slices, lambda _: f"{field} of {{}} is beyond {_INT64_MAX}: use what was counted"
        )
        return values

    def _bytes(self, field: str, slices: Ints) -> Floats:
        values: Floats = self._column(field, np.float64)
        # NaN is neither.
        self._refuse_any(
            ~((values >= 0) & (values < _MAX_BYTES)),
            slices,
            lambda at: f"{field} of {{}} has {values[at]}: use bytes, from 0",
        )
        # What one client moved is added up, and has to fit as well.
        sums = np.bincount(slices, values, len(self._found))
        self._refuse_any(
            sums >= _MAX_BYTES,
            np.arange(len(sums)),
            lambda at: f"{field} of {{}} has {sums[at]} in all: use bytes, from 0",
        )
        return values

    def _column(self, field: str, kind: type[np.generic]) -> Any:
        return np.concatenate([np.array(getattr(each, field), kind) for each in self._found])

    def _refuse_any(self, wrong: npt.NDArray[np.bool_], slices: Ints, sentence: Any) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInput(sentence(at).format(_title(self._names[slices[at]])))


def _check_shape(name: SliceName, found: reporter_pb2.ActivitySlice, correction_ms: int) -> None:
    """Check a slice before any of its numbers is looked at. Raises InvalidInput."""
    from_ms = found.from_ms + correction_ms
    if not (0 <= found.to_ms - found.from_ms <= _LONGEST_MS and 0 < from_ms < _YEAR_2100_MS):
        raise InvalidInput(
            f"{_title(name)} lasts from {found.from_ms} to {found.to_ms}: use ms since the epoch, up to an hour"
        )
    for field, expected, given in _lengths(found):
        if given != expected:
            raise InvalidInput(f"{field} of {_title(name)} has {given} entries: give {expected}")


def _lengths(found: reporter_pb2.ActivitySlice) -> Iterator[tuple[str, int, int]]:
    """Field, the entries that the first field of its kind has, and its own."""
    for field in (*_TEXTS, "allowed", "denied"):
        yield field, len(found.principals), len(getattr(found, field))
    for field in ("byte_client_ids", "bytes_produced", "bytes_fetched"):
        yield field, len(found.byte_users), len(getattr(found, field))


def _title(name: SliceName) -> str:
    return f"slice {name.number} of broker {name.broker} of cluster {name.cluster}"
