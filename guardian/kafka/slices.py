"""Requests that name much are sent in slices: the one place that says how large a slice is.

A KRaft controller carries a request out in one atomic batch of at most 10,000 records, and refuses what makes more
(QuorumController.MAX_RECORDS_PER_USER_OP). Brokers and Guardian hold a whole answer at once. What is named once makes a
record or two, so a slice is well below that. Each slice is a request of its own: proven again before it is sent, and
taken up by the next tick where the call ends before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

MAX_NAMED = 2000  # partitions, topics or keys that one request changes
MAX_DESCRIBED = 10_000  # partitions, topics or groups that one request asks about

K = TypeVar("K")
V = TypeVar("V")


def slices(
    items: Iterable[K], most: int = MAX_NAMED, weight: Callable[[K], int] = lambda _item: 1
) -> Iterator[list[K]]:
    """Yield the items in their order, by lists that weigh at most `most`; one that weighs more comes alone."""
    part: list[K] = []
    left = most
    for item in items:
        size = weight(item)
        if part and size > left:
            yield part
            part, left = [], most
        part.append(item)
        left -= size
    if part:
        yield part


def mapping_slices(
    items: Mapping[K, V], most: int = MAX_NAMED, weight: Callable[[V], int] = lambda _value: 1
) -> Iterator[dict[K, V]]:
    """Yield a mapping in parts, as `slices`, by the weight of its values."""
    for keys in slices(items, most, lambda key: weight(items[key])):
        yield {key: items[key] for key in keys}
