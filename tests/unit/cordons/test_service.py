"""What controllers are told, and the leader's loop over exclusions, on a cluster in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import grpc
import pytest

from guardian.cordons.loop import Cordoner
from guardian.cordons.service import PlacementServicer, rules_of
from guardian.errors import ClusterUnavailable
from guardian.execution.loop.proving import HOLDS_S
from guardian.healing.loop.straying import LOOK_MS, StrayGuard
from guardian.healing.rules.straying import KIND, RETRY_MS
from guardian.kafka.admin import BROKER, ConfigResource
from guardian.kafka.fake import FakeKafka
from guardian.model.actor import Agent
from guardian.model.cluster_state import LogDir
from guardian.model.cordon import Cordon
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Views
from protos.guardian.v1 import federation_pb2 as pb
from protos.guardian.v1 import placement_pb2, records_pb2
from raft.inmem import InMemoryReplica

NOW_MS = 1_000_000
CLUSTER = Cluster("live", "h:1", "id-1", brokers=tuple(Broker(n, label="gold" if n == 4 else "") for n in range(1, 5)))
STRAY = TopicPartition("stray", 0)


@pytest.fixture
def store() -> ReplicatedStore:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: NOW_MS)
    store.put_cluster(cluster_to_proto(CLUSTER))
    return store


@pytest.fixture
def kafka() -> FakeKafka:
    kafka = FakeKafka({n: f"r{n}" for n in range(1, 5)}, dict.fromkeys(range(1, 5), ("/d1",)))
    kafka.create_topic("old", {0: (1, 3)})
    kafka.create_topic("stray", {0: (1, 2)}, size_bytes=5000)
    return kafka


def change(store: ReplicatedStore, *changes: pb.FederationChange) -> None:
    store.propose(records_pb2.Command(change_federation=pb.ChangeFederationRequest(changes=changes)))


def exclude(store: ReplicatedStore, broker: int, until_ms: int = 0) -> None:
    entry = pb.Exclusion(cluster="live", broker_id=broker, who="anna", why="swap", until_ms=until_ms)
    change(store, pb.FederationChange(put=pb.FederationEntry(exclusion=entry)))


def lift(store: ReplicatedStore, broker: int) -> None:
    key = pb.FederationKey(exclusion=pb.ExclusionKey(cluster="live", broker_id=broker))
    change(store, pb.FederationChange(drop=key))


def put_machine(store: ReplicatedStore, broker: int, label: str) -> None:
    machine = pb.Machine(host=f"m{broker}", cluster="live", broker_id=broker, label=label)
    change(store, pb.FederationChange(put=pb.FederationEntry(machine=machine)))


def stray_to(kafka: FakeKafka, broker: int) -> None:
    assert kafka.alter_reassignments({STRAY: (1, broker)}) == {}
    while kafka.list_reassignments():
        kafka.advance()


def cordoner(store: ReplicatedStore, kafka: FakeKafka) -> Cordoner:
    guard = StrayGuard(store, PlannerSettings(), 1_000_000, lambda: NOW_MS)
    return Cordoner(store, lambda _: kafka, lambda: NOW_MS, guard)


def cordon(kafka: FakeKafka, broker: int) -> str | None:
    return kafka.peek().configs[BROKER, str(broker)].get("cordoned.log.dirs")


def test_the_rules_are_what_is_stored_and_their_version_changes_with_them(store: ReplicatedStore) -> None:
    before = rules_of(store.read(), CLUSTER, ("shared",), NOW_MS)
    assert dict(before.label_of_broker) == {4: "gold"}
    assert list(before.shared_labels) == ["shared"]
    assert before.version == rules_of(store.read(), CLUSTER, ("shared",), NOW_MS + 1).version
    exclude(store, 3, until_ms=NOW_MS + 10)
    change(store, pb.FederationChange(put=pb.FederationEntry(topic=pb.Topic(cluster="live", name="pay", label="gold"))))
    after = rules_of(store.read(), CLUSTER, ("shared",), NOW_MS)
    assert [(e.broker_id, e.who, e.why) for e in after.excluded] == [(3, "anna", "swap")]
    assert list(after.labels_of_topic["pay"].labels) == ["gold"]
    assert after.version != before.version
    assert not rules_of(store.read(), CLUSTER, (), NOW_MS + 10).excluded, "it is over"


def test_a_broker_without_a_label_is_for_the_topics_of_its_machines(store: ReplicatedStore) -> None:
    put_machine(store, 2, "silver")
    put_machine(store, 4, "silver")
    assert dict(rules_of(store.read(), CLUSTER, (), NOW_MS).label_of_broker) == {2: "silver", 4: "gold"}


def test_a_stray_goes_to_no_broker_whose_machine_has_a_foreign_label(store: ReplicatedStore, kafka: FakeKafka) -> None:
    loop = cordoner(store, kafka)
    put_machine(store, 2, "silver")
    exclude(store, 3)
    loop.tick()
    stray_to(kafka, 3)
    assert loop.tick() == ["stray-0 has strayed to broker 3, and no other broker may take it"]


def test_controllers_that_poll_read_their_own_cluster_once_a_second(
    store: ReplicatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [NOW_MS]
    store.put_cluster(cluster_to_proto(replace(CLUSTER, name="bulk", cluster_id="id-2")))
    change(store, pb.FederationChange(put=pb.FederationEntry(tenant=pb.Tenant(name="acme", labels=["gold"]))))
    for cluster in ("live", "bulk"):
        topic = pb.Topic(cluster=cluster, name="pay", tenant="acme")
        change(store, pb.FederationChange(put=pb.FederationEntry(topic=topic)))
    exclude(store, 3)
    read: list[tuple[int, str]] = []
    pages = Views.federation_page

    def page(views: Views, table: int, cluster: str, *rest: Any) -> Any:
        read.append((table, cluster))
        return pages(views, table, cluster, *rest)

    monkeypatch.setattr(Views, "federation_page", page)
    servicer = PlacementServicer(store, (), lambda: clock[0])

    def asked() -> placement_pb2.PlacementRules:
        request = placement_pb2.GetPlacementRequest(cluster_id="id-1")
        return servicer.GetPlacement(request, cast("grpc.ServicerContext", None))

    first = asked()
    assert list(first.labels_of_topic["pay"].labels) == ["gold"]
    assert sorted(read) == [(pb.TENANTS, ""), (pb.TOPICS, "live"), (pb.EXCLUSIONS, "live")]
    lift(store, 3)
    clock[0] += 999
    assert asked() == first
    assert len(read) == 3
    clock[0] += 1
    assert not asked().excluded
    clock[0] += 5000
    asked()
    assert len(read) == 6


@pytest.mark.parametrize(
    ("state", "is_told"), [(TicketState.PENDING, False), (TicketState.APPROVED, True), (TicketState.RUNNING, True)]
)
def test_topics_that_a_ticket_creates_are_told_from_its_approval_on(
    store: ReplicatedStore, state: TicketState, is_told: bool
) -> None:
    moves = tuple(
        PartitionMove(TopicPartition("new", n), (), (ReplicaPlacement(1), ReplicaPlacement(2)), is_new=True)
        for n in range(2)
    )
    plan_hash = store.put_plan(Plan("live", "create-topic", moves))
    history = (TicketTransition(TicketState.PENDING, 0, "anna", ""),)
    store.add_ticket(
        Ticket("t-1", "live", "create-topic", TicketState.PENDING, "anna", plan_hash, 1, 0, 0, history, "k")
    )
    path = {TicketState.APPROVED: [TicketState.APPROVED], TicketState.RUNNING: [TicketState.APPROVED, state]}
    now = TicketState.PENDING
    for then in path.get(state, []):
        store.advance("t-1", now, TicketTransition(then, 0, "ben", ""), None, 0)
        now = then
    expected = rules_of(store.read(), CLUSTER, (), NOW_MS).expected
    told = {name: {n: list(r.brokers) for n, r in topic.partitions.items()} for name, topic in expected.items()}
    assert told == ({"new": {0: [1, 2], 1: [1, 2]}} if is_told else {})


def test_cordons_follow_exclusions(store: ReplicatedStore, kafka: FakeKafka) -> None:
    loop = cordoner(store, kafka)
    assert loop.tick() == []
    exclude(store, 3)
    assert loop.tick() == ["broker 3 of cluster live: cordoned: Kafka puts no new replicas there"]
    assert cordon(kafka, 3) == "*"
    assert loop.tick() == []
    lift(store, 3)
    loop.tick()
    assert cordon(kafka, 3) is None
    loop.tick()
    assert store.read().cordons() == ()
    assert loop.tick() == []


def test_whoever_is_stopped_between_look_and_change_looks_at_the_cordons_again(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile another member has lifted the cordon, of which nobody would know any more."""
    clock = [0.0]
    other = cordoner(store, kafka)
    stopped = Cordoner(store, lambda _: kafka, lambda: NOW_MS, since_boot_s=lambda: clock[0])
    exclude(store, 3)
    describe = kafka.describe_configs
    stored: list[tuple[Cordon, ...]] = []

    def describe_and_stop(
        resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        found = describe(resources, keys)
        if store.read().cordons() and not stored:
            stored.append(store.read().cordons())
            clock[0] += 2 * HOLDS_S
            lift(store, 3)
            for _ in range(3):
                other.tick()
        return found

    monkeypatch.setattr(kafka, "describe_configs", describe_and_stop)
    assert stopped.tick() == [
        "the cordons of cluster live wait: the cordons of cluster live were changed meanwhile: the next tick goes on"
    ]
    assert (len(stored), cordon(kafka, 3), store.read().cordons()) == (1, None, ())


def test_an_exclusion_that_is_over_is_lifted_by_the_clock(store: ReplicatedStore, kafka: FakeKafka) -> None:
    exclude(store, 3, until_ms=NOW_MS + 10)
    cordoner(store, kafka).tick()
    assert cordon(kafka, 3) == "*"
    later = Cordoner(store, lambda _: kafka, lambda: NOW_MS + 10)
    later.tick()
    later.tick()
    assert cordon(kafka, 3) is None


def test_a_stray_gets_a_ticket_once(store: ReplicatedStore, kafka: FakeKafka) -> None:
    loop = cordoner(store, kafka)
    exclude(store, 3)
    loop.tick()
    stray_to(kafka, 3)
    [sentence] = loop.tick()
    [ticket] = store.read().walk_tickets()
    assert sentence == f"ticket {ticket.id} moves 1 partitions of cluster live that have strayed"
    assert (ticket.kind, ticket.state) == (KIND, TicketState.PENDING)
    assert ticket.author is Agent.HEALING
    plan = store.read().plan(ticket.plan_hash)
    assert plan is not None
    assert [(move.partition, move.target_brokers) for move in plan.moves] == [(STRAY, (1, 2))]
    assert f"ticket {ticket.id} (PENDING) moves strays already" in loop.tick()[0]

    rejected = TicketTransition(TicketState.REJECTED, NOW_MS, "ben", "leave it")
    store.advance(ticket.id, TicketState.PENDING, rejected, None, 0)
    assert f"ticket {ticket.id} is REJECTED since a short while" in loop.tick()[0]
    later = Cordoner(
        store,
        lambda _: kafka,
        lambda: NOW_MS,
        StrayGuard(store, PlannerSettings(), 1_000_000, lambda: NOW_MS + RETRY_MS),
    )
    assert later.tick() == [f"1 strays of cluster live stay: ticket {ticket.id} was REJECTED"]
    assert len(tuple(store.read().walk_tickets())) == 1


def test_tickets_are_read_as_often_for_one_excluded_broker_as_for_three(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = cordoner(store, kafka)
    read: list[str | None] = []
    recent_tickets = Views.recent_tickets

    def noted(views: Views, since_ms: int, by: tuple[str, Agent] | None = None) -> tuple[Ticket, ...]:
        read.append(by[0] if by is not None else None)
        return recent_tickets(views, since_ms, by)

    monkeypatch.setattr(Views, "recent_tickets", noted)
    counts = []
    for broker in (2, 3, 4):
        exclude(store, broker)
        loop.tick()
        read.clear()
        loop.tick()
        counts.append(len(read))
    assert counts == [counts[0]] * 3


@pytest.mark.parametrize(
    ("ask", "is_left"),
    [(Ask(AskKind.REMOVE, (3,)), True), (Ask(AskKind.RESTART, (1, 2, 3), hook="h"), False)],
    ids=["removal", "restart"],
)
def test_strays_are_left_to_a_removal_that_empties_their_broker_and_to_nothing_else(
    store: ReplicatedStore, kafka: FakeKafka, ask: Ask, is_left: bool
) -> None:
    loop = cordoner(store, kafka)
    exclude(store, 3)
    loop.tick()
    history = (TicketTransition(TicketState.PENDING, 0, "anna", ""),)
    store.add_ticket(Ticket("t-1", "live", ask.kind, TicketState.PENDING, "anna", "", 1, 0, 0, history, "k", ask=ask))
    now = TicketState.PENDING
    for then in (TicketState.APPROVED, TicketState.RUNNING):
        store.advance("t-1", now, TicketTransition(then, 0, "ben", ""), None, 0)
        now = then
    stray_to(kafka, 3)
    loop.tick()
    assert {ticket.kind for ticket in store.read().walk_tickets()} == {ask.kind} | (set() if is_left else {KIND})


def test_a_stray_stays_while_no_disk_has_room_and_brokers_are_asked_once_a_minute(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, usable, asked = [NOW_MS], [100], []
    describe = kafka.describe_log_dirs

    def sized(brokers: Collection[int]) -> tuple[LogDir, ...]:
        asked.append(clock[0])
        found = describe(brokers)
        return tuple(replace(each, total_bytes=10_000_000, usable_bytes=usable[0]) for each in found)

    monkeypatch.setattr(kafka, "describe_log_dirs", sized)
    guard = StrayGuard(store, PlannerSettings(disk_reserve=0.0), 1_000_000, lambda: clock[0])
    loop = Cordoner(store, lambda _: kafka, lambda: clock[0], guard)
    exclude(store, 3)
    loop.tick()
    stray_to(kafka, 3)
    assert asked == [], "not before something has strayed"
    said = loop.tick()
    assert said == [
        "stray-0 has strayed to broker 3, and no broker that may take it has room for its 5.0 kB: "
        "disk_limit and disk_reserve leave 100 B at most, on broker 2"
    ]
    usable[0] = 9_000_000
    clock[0] += LOOK_MS - 1
    assert loop.tick() == said
    assert len(asked) == 1
    clock[0] += 1
    assert loop.tick()[0].endswith("moves 1 partitions of cluster live that have strayed")
    [ticket] = store.read().walk_tickets()
    plan = store.read().plan(ticket.plan_hash)
    assert plan is not None
    assert [move.target_brokers for move in plan.moves] == [(1, 2)]


def test_in_a_storm_strays_stay(store: ReplicatedStore, kafka: FakeKafka) -> None:
    storms = {"live": "6 of 10 brokers are in trouble"}
    guard = StrayGuard(store, PlannerSettings(), 1_000_000, lambda: NOW_MS, lambda cluster: storms.get(cluster, ""))
    loop = Cordoner(store, lambda _: kafka, lambda: NOW_MS, guard)
    exclude(store, 3)
    loop.tick()
    stray_to(kafka, 3)
    assert loop.tick()[0].endswith("have strayed to excluded brokers: 6 of 10 brokers are in trouble")
    assert tuple(store.read().walk_tickets()) == ()
    storms.clear()
    loop.tick()
    assert len(tuple(store.read().walk_tickets())) == 1


def test_a_debt_that_no_controller_takes_now_does_not_hold_up_strays(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = cordoner(store, kafka)
    exclude(store, 3)
    exclude(store, 4)
    loop.tick()
    stray_to(kafka, 3)
    kafka.kill_broker(4)
    lift(store, 4)

    def nobody(*_: object) -> None:
        raise ClusterUnavailable("no controller answers")

    monkeypatch.setattr(kafka, "alter_configs_through_controller", nobody)
    sentences = [*loop.tick(), *loop.tick()]
    assert any("waits for a controller, or its broker: no" in sentence for sentence in sentences), sentences
    assert any("that have strayed" in sentence for sentence in sentences), sentences
    assert [each.broker_id for each in store.read().cordons()] == [3, 4]


def test_a_debt_for_a_cordon_that_the_metadata_version_never_took_is_over(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = cordoner(store, kafka)
    exclude(store, 4)
    loop.tick()
    kafka.kill_broker(4)
    lift(store, 4)
    why = "INVALID_CONFIG: The cordoned.log.dirs configuration value cannot be set because it requires ..."
    monkeypatch.setattr(kafka, "alter_configs_through_controller", lambda changes: dict.fromkeys(changes, why))
    loop.tick()
    loop.tick()
    assert store.read().cordons() == ()


def test_a_debt_that_is_owed_no_longer_is_not_paid(
    store: ReplicatedStore, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is stopped before it tells a controller, while the broker is excluded anew, would undo its cordon."""
    clock = [0.0]
    other = cordoner(store, kafka)
    stopped = Cordoner(store, lambda _: kafka, lambda: NOW_MS, since_boot_s=lambda: clock[0])
    exclude(store, 4)
    other.tick()
    kafka.kill_broker(4)
    lift(store, 4)
    other.tick()
    tell = kafka.alter_configs_through_controller

    def stop_and_tell(changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> dict[ConfigResource, str]:
        clock[0] += 2 * HOLDS_S
        exclude(store, 4)
        other.tick()
        return tell(changes)

    monkeypatch.setattr(kafka, "alter_configs_through_controller", stop_and_tell)
    assert stopped.tick() == [
        "the cordons of cluster live wait: the cordons of cluster live were changed meanwhile: the next tick goes on"
    ]
    assert cordon(kafka, 4) == "*"
    assert [each.is_lifted for each in store.read().cordons()] == [False]


def test_a_cluster_that_does_not_answer_waits(store: ReplicatedStore, kafka: FakeKafka) -> None:
    exclude(store, 3)
    kafka.reachable = False
    [sentence] = cordoner(store, kafka).tick()
    assert sentence.startswith("the cordons of cluster live wait: ")
    assert store.read().cordons() == ()
