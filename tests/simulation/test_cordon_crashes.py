"""The leader dies before and after each of its calls while a broker is excluded and back in use: nothing is left.

One broker has a cordon of its own, one is down when its exclusion is lifted, and a replica strays meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from guardian.cordons.loop import Cordoner
from guardian.healing.loop.straying import StrayGuard
from guardian.healing.rules.straying import KIND
from guardian.kafka.admin import BROKER
from guardian.kafka.fake import FakeKafka
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import records_pb2
from raft.inmem import InMemoryReplica

OWN = "/d2"
STRAY = TopicPartition("stray", 0)
_COUNTED = (
    "read", "propose", "add_ticket", "put_plan", "list_reassignments", "describe_cluster", "describe_partitions",
    "describe_configs", "effective_configs", "alter_configs", "alter_configs_through_controller", "describe_log_dirs",
)  # fmt: skip


class Crash(BaseException):
    """Not an Exception: nothing on the way may take it for an error that it can deal with."""


class Deadly:
    """Counts the calls of store and Kafka; dies before or after the one of its number, once."""

    def __init__(self, number: int, *, after: bool) -> None:
        self.calls = 0
        self._number = number
        self._after = after

    def wrap(self, inner: Any) -> Any:
        deadly = self

        class Wrapped:
            def __getattr__(self, name: str) -> Any:
                found = getattr(inner, name)
                return deadly.guarded(found) if name in _COUNTED else found

        return Wrapped()

    def guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            dies = self.calls == self._number
            if dies and not self._after:
                raise Crash
            answer = call(*arguments, **named)
            if dies:
                raise Crash
            return answer

        return guarded


class World:
    def __init__(self, deadly: Deadly) -> None:
        machine = MetastoreStateMachine(MemoryStore())
        self.now_ms = 1_000_000
        self.store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: self.now_ms)
        self.kafka = FakeKafka({n: f"r{n}" for n in range(1, 6)}, dict.fromkeys(range(1, 6), ("/d1", "/d2")))
        self.kafka.create_topic("old", {0: (1, 3), 1: (2, 4)})
        self.kafka.create_topic("stray", {0: (1, 2)})
        self.kafka.set_config((BROKER, "3"), "cordoned.log.dirs", OWN)
        brokers = tuple(Broker(number) for number in range(1, 6))
        self.store.put_cluster(cluster_to_proto(Cluster("live", "h:1", "id-1", brokers=brokers)))
        self.deadly = deadly
        self.leader = self.elect()

    def elect(self) -> Cordoner:
        store, kafka = self.deadly.wrap(self.store), self.deadly.wrap(self.kafka)
        guard = StrayGuard(store, PlannerSettings(), 1_000_000, lambda: self.now_ms)
        return Cordoner(store, lambda _: kafka, lambda: self.now_ms, guard)

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.now_ms += 2000
            try:
                self.leader.tick()
            except Crash:
                self.leader = self.elect()

    def change(self, *changes: pb.FederationChange) -> None:
        request = pb.ChangeFederationRequest(changes=changes)
        self.store.propose(records_pb2.Command(change_federation=request))

    def exclude(self, *brokers: int) -> None:
        entries = [pb.Exclusion(cluster="live", broker_id=number, who="anna", why="swap") for number in brokers]
        self.change(*(pb.FederationChange(put=pb.FederationEntry(exclusion=entry)) for entry in entries))

    def lift(self, *brokers: int) -> None:
        entries = [pb.ExclusionKey(cluster="live", broker_id=number) for number in brokers]
        self.change(*(pb.FederationChange(drop=pb.FederationKey(exclusion=entry)) for entry in entries))

    def cordon(self, broker: int) -> str | None:
        return self.kafka.peek().configs[BROKER, str(broker)].get("cordoned.log.dirs")


def play(deadly: Deadly) -> World:
    world = World(deadly)
    world.exclude(3, 4)
    world.tick(3)
    assert (world.cordon(3), world.cordon(4)) == ("*", "*")
    assert world.kafka.alter_reassignments({STRAY: (1, 3)}) == {}
    while world.kafka.list_reassignments():
        world.kafka.advance()
    world.tick(2)
    world.kafka.kill_broker(4)
    world.lift(3, 4)
    world.tick(5)
    return world


CALLS = play(Deadly(0, after=False)).deadly.calls


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_nothing_is_left_whenever_the_leader_dies(number: int, after: bool) -> None:
    world = play(Deadly(number, after=after))
    assert world.cordon(3) == OWN
    assert world.cordon(4) is None
    assert world.store.read().cordons() == ()
    strays = [ticket for ticket in world.store.read().walk_tickets() if ticket.kind == KIND]
    assert len(strays) == 1, "a stray gets one ticket, whoever made it"
    plan = world.store.read().plan(strays[0].plan_hash)
    assert plan is not None
    assert [move.partition for move in plan.moves] == [STRAY]
