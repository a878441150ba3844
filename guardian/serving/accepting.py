"""A listening socket that takes only so many connections, of all and of one address; for one asyncio event loop.

Who comes over his share replaces the oldest of his own connections that gets no answer. An address that holds the port
by connections that say nothing, or say it slowly, is still answered when it asks. Each has a moment to say something,
unless who comes has few connections beside his whose place he takes, so that a flood is mostly refused, which costs
little. Where all of his get answers he is refused too. A port that is full makes room at whoever holds most of it
(guardian.serving.rules.shares).

The system hands connections over in the order in which they came: who asks waits behind all of a flood. What is over a
share is therefore mostly refused, at the cost of a close. Few are replaced at a time, and the work of taking one does
not grow with the number of addresses. While thousands come in a second most are not even accepted
(guardian.serving.keeping_out).

    accept ─▶ idle ─ a whole request ─▶ answered ─ the answer ─▶ idle ─▶ closed
"""

from __future__ import annotations

import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from guardian.serving.counting import PortCounters
from guardian.serving.keeping_out import KeepingOut
from guardian.serving.rules.shares import Held, PortShare, holder_of, who_makes_room

_MOMENT_S = 0.25
_AT_ONCE = 64  # taken in a turn, or cut off and not closed yet, before others on the loop have theirs
_OWN_AT_ONCE = 8  # cut off and not closed yet, beyond which nobody replaces his own
_FEW = 8  # times as many has he who makes room for one with few connections
_REFUSED_AT_ONCE = 512  # in a turn: who waits behind a flood in the system's queue is reached by refusing it


class Taken(socket.socket):
    """A connection that was taken; it gives its place back when it is closed."""

    on_closed: Callable[[Taken], None] | None = None

    def close(self) -> None:
        super().close()
        on_closed, self.on_closed = self.on_closed, None
        if on_closed is not None:
            on_closed(self)


class LimitedListener(socket.socket):
    """Listen; `bound` is taken over. Raises OSError from `accept` as any socket does."""

    def __init__(self, bound: socket.socket, share: PortShare, counters: PortCounters) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self._counters = counters
        self._share = share
        self._held = Held()
        self._idle: dict[str, OrderedDict[Taken, float]] = {}  # by holder, the oldest first; since when
        self._holders: dict[Taken, str] = {}
        self._peers: dict[Any, Taken] = {}
        self._leaving: set[Taken] = set()  # cut off: no longer counted, not closed yet
        self._taken = self._refused = 0  # in this turn of the loop, which ends when there is no more to accept
        self._keeping_out = KeepingOut(lambda: [self], share)

    def tend(self) -> None:
        """Keep out who floods the port, for as long as he does; to be called every `keeping_out.EVERY_S`."""
        self._keeping_out.look(self._counters.refused, self._held.counts, time.monotonic())

    def accept(self) -> tuple[Taken, Any]:
        try:
            while self._taken < _AT_ONCE > len(self._leaving) and self._refused < _REFUSED_AT_ONCE:
                descriptor, address = self._accept()  # type: ignore[attr-defined]  # typeshed leaves it out
                if self._make_room(holder_of(str(address[0]))):
                    connection = Taken(self.family, self.type, self.proto, fileno=descriptor)
                    self._take(connection, address)
                    self._taken += 1
                    return connection, address
                self._counters.refused += 1
                self._refused += 1
                os.close(descriptor)
            raise BlockingIOError("others have their turn")
        except OSError:
            self._taken = self._refused = 0
            raise

    def set_answered(self, peer: Any, *, is_answered: bool) -> None:
        """Say whether the connection from `peer`, an address as `accept` returned it, is getting an answer now."""
        connection = self._peers.get(peer)
        holder = self._holders.get(connection) if connection is not None else None
        if connection is None or holder is None:
            return  # it has gone, or has to
        idle = self._idle[holder]
        if is_answered:
            idle.pop(connection, None)
        else:
            idle[connection] = time.monotonic()

    def _take(self, connection: Taken, peer: Any) -> None:
        holder = holder_of(str(peer[0]))
        self._counters.connections += 1
        self._holders[connection] = holder
        self._held.take(holder)
        self._idle.setdefault(holder, OrderedDict())[connection] = time.monotonic()
        self._peers[peer] = connection
        connection.on_closed = lambda closed: self._give_back(closed, peer)

    def _make_room(self, newcomer: str) -> bool:
        holder = who_makes_room(newcomer, self._held, self._share)
        if holder is None:
            return True
        idle = self._idle.get(holder)
        if not idle or (holder == newcomer and len(self._leaving) >= _OWN_AT_ONCE):
            return False
        oldest, since_s = next(iter(idle.items()))
        has_few = self._held.of(newcomer) * _FEW < self._held.of(holder)
        if not has_few and time.monotonic() - since_s < _MOMENT_S:
            return False
        self._forget(oldest)
        self._leaving.add(oldest)
        self._counters.refused += 1
        with suppress(OSError):  # it may be at its end already
            oldest.shutdown(socket.SHUT_RDWR)  # its transport hears of the end, and closes it
        return True

    def _give_back(self, connection: Taken, peer: Any) -> None:
        self._leaving.discard(connection)
        self._forget(connection)
        if self._peers.get(peer) is connection:
            del self._peers[peer]

    def _forget(self, connection: Taken) -> None:
        holder = self._holders.pop(connection, None)
        if holder is None:
            return
        self._counters.connections -= 1
        self._idle[holder].pop(connection, None)
        self._held.give_back(holder)
        if not self._held.of(holder):
            del self._idle[holder]
