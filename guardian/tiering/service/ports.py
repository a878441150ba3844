"""What the tiering service needs of the rest of the member, and what it allows its clients to hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.protobuf.message import Message

from guardian.errors import GuardianError
from guardian.model.actor import Actor
from metastore.changes import Subscriber
from metastore.commands import SessionUse
from metastore.views import Look, Views


class Group(Protocol):
    """The replicated store, on the event loop. Raises Unavailable, OutcomeUnknown, Overloaded and commands' errors."""

    def submit(self, command: bytes, timeout_s: float, done: Callable[[bytes | GuardianError], None]) -> None:
        """Proposes a serialised command; `done` is called with the serialised CommandReply, or why there is none.

        Kept in the order of the calls. Raises Overloaded and InvalidInput at once.
        """

    async def propose(self, command: bytes, timeout_s: float) -> bytes:
        """The same for one who waits."""

    async def look(self, timeout_s: float, max_staleness_s: float | None = None) -> Look:
        """All that was acknowledged before the call, or, where a staleness is allowed, before that."""

    def read_local(self) -> Views:
        """This member as it is, possibly behind."""


class Callers(Protocol):
    """Tells who makes a call (guardian.serving.requests)."""

    def actor_of(self, context: Any) -> Actor:
        """Return who asks, for the audit. Raises InvalidInput."""

    def user_of(self, context: Any) -> bytes:
        """Return whose sessions the call may use."""

    def session_of(self, context: Any, request: Message) -> SessionUse | None:
        """Return the place in a session that the call names, if any. Raises InvalidInput."""


class Feed(Protocol):
    """Tells on the event loop what changed in this member's store, after it did."""

    def subscribe(self, subscriber: Subscriber) -> None: ...

    def unsubscribe(self, subscriber: Subscriber) -> None: ...


class LeaderEpochs(Protocol):
    """Finds out who leads partitions, for claims in verified mode."""

    async def verified(
        self, cluster_id: str, broker_id: int, partitions: Sequence[tuple[bytes, int]], timeout_s: float
    ) -> list[int]:
        """Return for each (topic id, partition) its leader epoch, where enough other brokers say that `broker_id` leads
        it; -1 where they do not within the time.

        Raises NotFound when the cluster is not registered, InvalidInput when it has too few brokers, ClusterUnavailable
        and Unavailable.
        """


@dataclass(frozen=True, slots=True)
class TieringLimits:
    """`stream_requests` and `stream_bytes` are what one append stream may have under way: the server reads no more from
    it until an answer is written. A client that does not read for `stall_s` loses its stream. Brokers are asked who
    leads for `verify_s` at most, and for less where the claimant waits for less."""

    timeout_s: float = 10.0
    streams: int = 1024
    stream_requests: int = 64
    stream_bytes: int = 8 << 20
    stall_s: float = 60.0
    pull_events: int = 10_000
    default_pull_events: int = 1_000
    pull_bytes: int = 3 << 20  # below gRPC's default limit of 4 MiB a message
    verify_s: float = 5.0
    page_segments: int = 5_000
    page_partitions: int = 2_000
    page_bytes: int = 1 << 20
    follow_events: int = 1_000
    follow_bytes: int = 1 << 20
    followed_partitions: int = 50_000
