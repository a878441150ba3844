"""Bytes come by client, uses by client and topic: which use moved what. Pure.

Kafka's quota sensors know no topics. What a client moved is divided among the topics that it wrote or read in the
slice, by its requests to each. That is exact for a client with one topic, a share otherwise, and the row says so. What
belongs to no topic that was seen keeps its client, with an empty topic, so that no byte is lost from the sums.

A quota's tags name user and client, one of them, or neither: of each kind, amounts and uses are joined by these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from guardian.activity.rules.joining import joined
from guardian.activity.rules.slices import Counts, Floats, Ints, Slices, Texts

TOPIC = "TOPIC"
_WRITE, _READ = "WRITE", "READ"
_NO_TAG = 0  # the code of the empty text
_KINDS = ((True, True), (True, False), (False, True), (False, False))


@dataclass(frozen=True, slots=True)
class WithoutTopic:
    """What a client moved in a slice, and no topic is known of. Texts are codes."""

    slice: int
    operation: int
    principal: int
    client_id: int
    produced: int = 0
    fetched: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Of each use its bytes, and whether they are a share; and what belongs to no use."""

    produced: Counts
    fetched: Counts
    is_shared: npt.NDArray[np.bool_]
    without_topic: list[WithoutTopic] = field(default_factory=list)


def share(slices: Slices) -> Shares:
    """Find out who moved what. Gives codes to the texts that only rows without a topic have."""
    count = len(slices.uses.slices)
    shares = Shares(np.zeros(count, np.uint64), np.zeros(count, np.uint64), np.zeros(count, np.bool_))
    if not len(slices.moved.slices):
        return shares
    clients = _Clients(slices)
    for operation, amounts, into in (
        (_WRITE, slices.moved.produced, shares.produced),
        (_READ, slices.moved.fetched, shares.fetched),
    ):
        for moves in clients.divided(operation, amounts, into, shares.is_shared):
            shares.without_topic.extend(_without_topic(slices, operation, moves))
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Moves:
    """What clients moved in one direction: who is entry `at` of the slices' `moved`."""

    at: Ints
    amounts: Floats


class _Clients:
    """Uses and amounts, by what a quota's tags may name."""

    def __init__(self, slices: Slices) -> None:
        self._uses = uses = slices.uses
        self._moved = moved = slices.moved
        self._texts = slices.texts
        self._users = _changed(slices.texts, uses.principals, lambda principal: principal.partition(":")[2])
        # A quota's user is escaped as in a URL.
        self._moving_users = _changed(slices.texts, moved.users, unquote)
        self._is_topic = (uses.resource_types == slices.texts[TOPIC]) & (uses.allowed > 0)
        self._has_user, self._has_client = moved.users != _NO_TAG, moved.client_ids != _NO_TAG

    def divided(
        self, operation: str, amounts: Floats, into: Counts, is_shared: npt.NDArray[np.bool_]
    ) -> Iterator[_Moves]:
        """Adds the amounts to the uses that they belong to, and tells those that belong to none."""
        rows = np.flatnonzero(self._is_topic & (self._uses.operations == self._texts[operation]))
        for has_user, has_client in _KINDS:
            of_kind = (self._has_user == has_user) & (self._has_client == has_client) & (amounts > 0)
            at = np.flatnonzero(of_kind)
            if not len(at):
                continue
            wanted = self._keys(self._moved.slices, self._moving_users, self._moved.client_ids)[at]
            # A client that is there twice would otherwise make as many pairs as there are of both.
            keys, first, positions = np.unique(wanted, return_index=True, return_inverse=True)
            moves = _Moves(at[first], np.bincount(positions, amounts[at]).astype(np.float64))
            joined = _join(
                keys, self._keys(self._uses.slices, self._users * has_user, self._uses.client_ids * has_client)[rows]
            )
            self._add(joined, moves.amounts, rows, into, is_shared)
            homeless = joined.counts == 0
            yield _Moves(moves.at[homeless], moves.amounts[homeless])

    def _keys(self, slices: Ints, users: Ints, clients: Ints) -> Ints:
        many = len(self._texts)
        return (slices * many + users) * many + clients

    def _add(
        self, joined: _Joined, amounts: Floats, rows: Ints, into: Counts, is_shared: npt.NDArray[np.bool_]
    ) -> None:
        """Add the amounts in proportion to the requests of each row; a row that is alone gets all of it as it is."""
        to = rows[joined.right]
        if not len(to):
            return
        counts = joined.counts[joined.counts > 0]
        first = np.cumsum(counts) - counts
        amount, requests = amounts[joined.left], self._uses.allowed[to].astype(np.float64)
        divided = amount * requests / np.add.reduceat(requests, first).repeat(counts)
        # Each row is in one pair at most.
        into[to] += np.rint(np.where(counts.repeat(counts) == 1, amount, divided)).astype(np.uint64)
        topics = self._uses.resources[to]
        has_several = np.minimum.reduceat(topics, first) != np.maximum.reduceat(topics, first)
        is_shared[to[has_several.repeat(counts)]] = True


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Pairs of positions with the same key, by `left`; `counts` says in how many pairs each left one is."""

    left: Ints
    right: Ints
    counts: Ints


def _join(left: Ints, right: Ints) -> _Joined:
    order = np.argsort(right, kind="stable")
    pairs, at = joined(left, right[order])
    return _Joined(pairs, order[at], np.bincount(pairs, minlength=len(left)))


def _changed(texts: Texts, codes: Ints, change: Callable[[str], str]) -> Ints:
    """The codes of the changed texts; each text is changed once."""
    distinct, positions = np.unique(codes, return_inverse=True)
    known = list(texts)
    return np.array([texts[change(known[code])] for code in distinct], np.int64)[positions]


def _without_topic(slices: Slices, operation: str, moves: _Moves) -> Iterator[WithoutTopic]:
    texts, moved = slices.texts, slices.moved
    column = "produced" if operation == _WRITE else "fetched"
    users = _changed(texts, moved.users[moves.at], lambda user: f"User:{unquote(user)}" if user else "")
    for at, user, amount in zip(moves.at, users, moves.amounts, strict=True):
        what = {column: round(float(amount))}
        yield WithoutTopic(int(moved.slices[at]), texts[operation], int(user), int(moved.client_ids[at]), **what)
