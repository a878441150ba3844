"""Who leads a partition, as brokers say that do not claim it: for claims in verified mode.

    claim ─▶ the cluster with this cluster.id ─▶ some of its brokers, never the claimant ─▶ judge ─▶ leader epochs
                                                    ▲                                         │
                                                    └── a pause, while some are not verified ─┘

The highest leader epoch that any of them names wins, and two of them must say that the claimant has it. A broker may be
behind the controller, never ahead of it: so an epoch that is verified was the claimant's own. If it is not any longer,
because all who were asked are cut off from the controller, the new leader's epoch is higher. So its claim fences the
old one (metastore.tables.claims).

One is enough only while it says itself that all brokers but the claimant and itself are fenced. Else a cluster of three
would verify nobody while one broker is down. Worse, an old leader that is cut off from the controller could not be
fenced, since it is one of the two that its successor needs. A broker that knows others to be fenced has heard from the
controller since; one that is cut off itself still counts them. A cluster that has fewer than three brokers when all are
well can't use this mode and is told to claim in order. There, one broker's word would always be the fence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog

from guardian.errors import ClusterUnavailable, InvalidInput, NotFound
from guardian.federation.rules.recognizing import require_registered
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import BrokerView, Leadership, PartitionOfId
from guardian.model.topology import Cluster

NOT_VERIFIED = -1
_NEEDED = 2  # other brokers that must say the same, or all that are not fenced
_ASKED = 4  # at a time: two more than are needed, for some may be slow, behind or down
_FIRST_PAUSE_S = 0.05
_MAX_PAUSE_S = 0.5

_log = structlog.get_logger(__name__)


def judge(seen: Mapping[int, BrokerView], claimant: int, partitions: Sequence[PartitionOfId]) -> list[int]:
    """Judge for each partition the claimant's leader epoch, or NOT_VERIFIED. `seen` is what each broker said last."""
    others = [view for broker, view in seen.items() if broker != claimant]
    return [_epoch([view for view in others if each in view.leaders], each, claimant) for each in partitions]


def _epoch(views: Sequence[BrokerView], partition: PartitionOfId, claimant: int) -> int:
    highest = max((view.leaders[partition].epoch for view in views), default=NOT_VERIFIED)
    witnesses = [view for view in views if view.leaders[partition] == Leadership(claimant, highest)]
    alive = max((len(view.brokers - {claimant}) for view in witnesses), default=_NEEDED)
    return highest if len(witnesses) >= max(1, min(_NEEDED, alive)) else NOT_VERIFIED


def whom_to_ask(others: Collection[int], silent: Collection[int], turn: int) -> list[int]:
    """A few of them, other ones each turn; those that were silent come last."""
    order = sorted(others)
    start = turn * _ASKED % max(1, len(order))
    return sorted(order[start:] + order[:start], key=lambda broker: broker in silent)[:_ASKED]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is known of one claim so far. `seen` is what each broker said last; `silent` are those that gave no answer
    when they were last asked; `epochs` is what follows."""

    claimant: int
    partitions: Sequence[PartitionOfId]
    epochs: Sequence[int]
    seen: Mapping[int, BrokerView] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()
    turn: int = 0

    @classmethod
    def of(cls, claimant: int, partitions: Sequence[PartitionOfId]) -> Inquiry:
        return cls(claimant, partitions, [NOT_VERIFIED] * len(partitions))

    def open_topics(self) -> set[bytes]:
        """Those of which a partition is not verified."""
        pairs = zip(self.partitions, self.epochs, strict=True)
        return {topic for (topic, _), epoch in pairs if epoch == NOT_VERIFIED}

    def whom_to_ask(self, brokers: Collection[int]) -> list[int]:
        return whom_to_ask(set(brokers) - {self.claimant}, self.silent, self.claimant + self.turn)

    def learned(self, asked: Collection[int], answers: Mapping[int, BrokerView]) -> Inquiry:
        seen = dict(self.seen)
        for broker, view in answers.items():
            before = seen[broker].leaders if broker in seen else {}
            seen[broker] = BrokerView(view.brokers, {**before, **view.leaders})
        return Inquiry(
            self.claimant,
            self.partitions,
            judge(seen, self.claimant, self.partitions),
            seen,
            (self.silent | set(asked)) - set(answers),
            self.turn + 1,
        )


class _Retired(Exception):
    """The cluster was registered anew: there is another connection."""


class _Connection:
    """To one cluster. A KafkaAdmin serves one thread at a time, so it has a thread of its own, which has a queue."""

    def __init__(self, cluster: Cluster, admin: KafkaAdmin) -> None:
        self.cluster = cluster
        self._admin = admin
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="leaders")
        self._is_retired = False

    async def ask(self, inquiry: Inquiry) -> Inquiry:
        """Knows more, or not. Raises ClusterUnavailable, InvalidInput when the cluster is too small, and _Retired."""
        if self._is_retired:
            raise _Retired
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, inquiry)

    def _ask(self, inquiry: Inquiry) -> Inquiry:
        # Brokers are weighed against one another by their epochs: whether all of them live need not be known.
        cluster, view = self.cluster, self._admin.view(())
        require_registered(cluster, view.cluster_id)
        known = {broker.id for broker in cluster.brokers} | view.brokers.keys()
        require_enough(cluster.name, len(known - {inquiry.claimant}))
        asked = inquiry.whom_to_ask(view.brokers.keys())
        return inquiry.learned(asked, self._admin.seen_by(asked, inquiry.open_topics()))

    def retire(self) -> None:
        """Retire on the event loop; nobody asks here afterwards. `close` has to follow."""
        self._is_retired = True

    def close(self) -> None:
        """Close the connection. What is under way ends within its own time-outs. Call on any thread but the loop's."""
        self._thread.shutdown(wait=True)
        self._admin.close()


def require_enough(cluster: str, others: int) -> None:
    """Raises InvalidInput when a claim never could be verified."""
    if others < _NEEDED:
        raise InvalidInput(
            f"mode is VERIFIED, which takes the word of {_NEEDED} brokers but the claimant, and cluster {cluster} has "
            f"{others}: use CLAIM_ORDER (in its brokers: guardian.fence=claim-order)"
        )


class LeaderFinder:
    """A LeaderEpochs, used on one event loop. `cluster` finds a registered cluster by its cluster.id and may block;
    `connect` opens an admin connection, which is kept until the registration changes or `close`."""

    def __init__(
        self, cluster: Callable[[str, float], Cluster | None], connect: Callable[[Cluster], KafkaAdmin]
    ) -> None:
        self._cluster = cluster
        self._connect = connect
        self._connections: dict[str, _Connection] = {}

    async def verified(
        self, cluster_id: str, broker_id: int, partitions: Sequence[PartitionOfId], timeout_s: float
    ) -> list[int]:
        """See LeaderEpochs."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        connection = await self._connection(cluster_id, timeout_s)
        inquiry = Inquiry.of(broker_id, partitions)
        failure = ClusterUnavailable(
            f"no broker of cluster {connection.cluster.name} but broker {broker_id} itself said within {timeout_s:g} s "
            "who leads: claim again when they answer"
        )
        try:
            async with asyncio.timeout_at(deadline):
                pause_s = _FIRST_PAUSE_S
                while True:
                    try:
                        inquiry = await connection.ask(inquiry)
                    except ClusterUnavailable as error:
                        failure = error
                    except _Retired:
                        connection = await self._connection(cluster_id, timeout_s)
                        continue
                    if NOT_VERIFIED not in inquiry.epochs:
                        break
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        except TimeoutError:
            if not inquiry.seen:
                raise failure from None
            _log_refusals(connection.cluster, inquiry)
        return list(inquiry.epochs)

    async def _connection(self, cluster_id: str, timeout_s: float) -> _Connection:
        cluster = await asyncio.to_thread(self._cluster, cluster_id, timeout_s)
        if cluster is None:
            await _end(self._connections.pop(cluster_id, None))
            raise NotFound(
                f"mode is VERIFIED, but no cluster with cluster.id {cluster_id} is registered, so nobody can be asked "
                "who leads: register it with `guardian cluster add`, or use CLAIM_ORDER "
                "(in its brokers: guardian.fence=claim-order)"
            )
        known = self._connections.get(cluster_id)
        if known is not None and known.cluster == cluster:
            return known
        connection = self._connections[cluster_id] = _Connection(cluster, self._connect(cluster))
        await _end(known)
        return connection

    def close(self) -> None:
        """Close all connections, when the loop has stopped."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()


async def _end(known: _Connection | None) -> None:
    """Nobody else finds it any longer."""
    if known is not None:
        known.retire()
        await asyncio.to_thread(known.close)


def _log_refusals(cluster: Cluster, inquiry: Inquiry) -> None:
    _log.info(
        "claims not verified",
        cluster=cluster.name,
        broker=inquiry.claimant,
        refused=inquiry.epochs.count(NOT_VERIFIED),
        claimed=len(inquiry.partitions),
        answered=sorted(inquiry.seen),
        silent=sorted(inquiry.silent),
    )
