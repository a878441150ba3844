"""Every event reaches every sink that wants it, in order, whatever fails in between."""

from __future__ import annotations

import json
import time
import weakref
from concurrent.futures import wait

import pytest

from guardian.events.loop.posting import NotTaken, Refused, ToBeMended
from guardian.events.loop.sinks import EventSinks
from guardian.events.model import Sink, sinks_of
from guardian.events.rules.notifying import Post
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.replication.store.store import ReplicatedStore
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Views
from protos.guardian.v1 import events_pb2, records_pb2
from raft.inmem import InMemoryReplica
from tests.patience import PATIENCE_S

MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),))


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


class Receiver:
    """Notes what it was sent; fails as often as it is told."""

    def __init__(self) -> None:
        self.got: dict[str, list[int]] = {}
        self.failures = 0
        self.refuses: set[int] = set()

    def __call__(self, sink: Sink, wanted: Post) -> None:
        number = json.loads(wanted.body)["id"]
        if number in self.refuses:
            raise Refused("h answers 400 Bad Request")
        if self.failures:
            self.failures -= 1
            raise NotTaken("h does not take it")
        self.got.setdefault(sink.name, []).append(number)


@pytest.fixture
def store() -> ReplicatedStore:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1000)
    store.put_cluster(cluster_to_proto(Cluster("live", "h:1", "id")))
    return store


def sinks(*names: str) -> tuple[Sink, ...]:
    return sinks_of("sinks", [{"name": name, "kind": "webhook", "url": "http://h:1"} for name in names])


def add_tickets(store: ReplicatedStore, *names: str) -> None:
    plan_hash = store.put_plan(Plan("live", "balance", (MOVE,)))
    for name in names:
        history = (TicketTransition(TicketState.PENDING, 1000, "ann", ""),)
        store.add_ticket(
            Ticket(name, "live", "balance", TicketState.PENDING, "ann", plan_hash, 1, 1000, 1000, history, name)
        )


def settle(loop: EventSinks) -> list[str]:
    """Ticks until nothing is under way and nothing can be."""
    said: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    quiet = 0
    while quiet < 2:
        assert time.monotonic() < deadline
        said += loop.tick()
        work = [line.work for line in loop._lines if line.work is not None]
        wait(work, timeout=PATIENCE_S)
        quiet = 0 if work else quiet + 1
    return said


def ids(store: ReplicatedStore) -> list[int]:
    return [event.id for event in store.read().events(0, 1000)]


def test_a_new_sink_gets_what_happens_from_then_on(store: ReplicatedStore) -> None:
    add_tickets(store, "old")
    receiver = Receiver()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    assert settle(loop) == ["sink a is new: it gets what happens from now on"]
    add_tickets(store, "new-1", "new-2")
    settle(loop)
    assert receiver.got["a"] == ids(store)[1:]
    assert loop.counters()["a"].delivered == 2
    loop.close()


def test_a_new_sink_gets_nothing_of_what_one_command_told_before() -> None:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1000)
    raised = [events_pb2.Call(cluster="live", finding=name, sentence="look", since_ms=1) for name in ("a", "b", "c")]
    store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(raised=raised)))
    assert len(ids(store)) == 3
    receiver = Receiver()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(loop)
    assert receiver.got == {}
    loop.close()


def test_a_sink_of_a_group_in_which_nothing_has_happened_begins_all_the_same() -> None:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1000)
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, Receiver())
    settle(loop)
    assert store.read().event_delivered("a"), "0 is who has not begun"
    loop.close()


def test_what_failed_comes_again_in_order_and_holds_up_no_other_sink(store: ReplicatedStore) -> None:
    receiver, clock = Receiver(), Clock()
    loop = EventSinks(store, sinks("a", "b"), 1 << 40, lambda: 1000, receiver, clock)
    settle(loop)
    add_tickets(store, "t1", "t2", "t3")
    receiver.failures = 1
    said = settle(loop)
    assert any("gets its events later: h does not take it" in sentence for sentence in said)
    assert sorted(map(len, receiver.got.values())) == [3]
    clock.s += 0.5
    settle(loop)
    assert len(receiver.got) == 1, "it pauses"
    clock.s += 1.0
    settle(loop)
    assert list(receiver.got.values()) == [ids(store)] * 2
    loop.close()


def test_the_next_leader_goes_on_where_the_last_one_was(store: ReplicatedStore) -> None:
    receiver = Receiver()
    first = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(first)
    add_tickets(store, "t1")
    settle(first)
    first.close()
    add_tickets(store, "t2", "t3")
    second = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(second)
    assert receiver.got["a"] == ids(store)
    second.close()


def test_what_a_sink_refuses_for_ever_is_passed_over(store: ReplicatedStore) -> None:
    receiver = Receiver()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(loop)
    add_tickets(store, "t1", "t2", "t3")
    bad = ids(store)[1]
    receiver.refuses.add(bad)
    [said] = settle(loop)
    assert said == f"sink a refuses event {bad}, which is passed over: h answers 400 Bad Request"
    assert receiver.got["a"] == [ids(store)[0], ids(store)[2]]
    assert loop.counters()["a"].passed_over == 1
    loop.close()


def test_an_outage_is_said_when_it_begins_when_its_reason_changes_and_when_it_is_over(store: ReplicatedStore) -> None:
    reasons: list[Exception | None] = [
        NotTaken("h does not take it"),
        NotTaken("h does not take it"),
        ToBeMended("h answers 401 Unauthorized"),
        ToBeMended("h answers 401 Unauthorized"),
        None,
    ]

    def send(_: Sink, __: Post) -> None:
        if (reason := reasons.pop(0)) is not None:
            raise reason

    clock = Clock()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, send, clock)
    settle(loop)
    add_tickets(store, "t1")
    said: list[list[str]] = []
    errors: list[str] = []
    while reasons:
        said.append(settle(loop))
        errors.append(loop.errors()["a"])
        clock.s += 61
    assert said == [
        ["sink a gets its events later: h does not take it"],
        [],
        ["sink a gets nothing before its address or token is put right: h answers 401 Unauthorized"],
        [],
        ["sink a takes its events again"],
    ]
    assert errors == ["h does not take it"] * 2 + ["h answers 401 Unauthorized"] * 2 + [""]
    assert loop.counters()["a"].failures == 4
    loop.close()


def test_how_far_a_sink_is_behind_is_the_age_of_the_oldest_event_that_it_wants(store: ReplicatedStore) -> None:
    receiver, clock = Receiver(), Clock()
    [picky] = sinks_of("sinks", [{"name": "p", "kind": "webhook", "url": "http://h:1", "states": ["APPROVED"]}])
    now_ms = 1000
    loop = EventSinks(store, (*sinks("a"), picky), 1 << 40, lambda: now_ms, receiver, clock)
    settle(loop)
    assert loop.behind_ms(store.read()) == {"a": 0, "p": 0}
    add_tickets(store, "t1", "t2")
    receiver.failures = 1
    now_ms = 91_000
    assert loop.behind_ms(store.read()) == {"a": 90_000, "p": 0}
    settle(loop)
    assert loop.behind_ms(store.read()) == {"a": 90_000, "p": 0}
    clock.s += 61
    settle(loop)
    assert loop.behind_ms(store.read()) == {"a": 0, "p": 0}
    loop.close()


def test_a_retry_that_gets_nowhere_writes_nothing(store: ReplicatedStore) -> None:
    receiver, clock = Receiver(), Clock()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver, clock)
    settle(loop)
    add_tickets(store, "t1")
    receiver.failures = 3
    before = store.read().applied_index
    for _ in range(3):
        settle(loop)
        clock.s += 61
    assert receiver.failures == 0
    assert store.read().applied_index == before
    settle(loop)
    assert store.read().applied_index == before + 1
    loop.close()


def test_what_a_sink_took_slowly_is_noted_on_the_way(store: ReplicatedStore) -> None:
    clock = Clock()
    noted: list[int | None] = []

    def send(_: Sink, __: Post) -> None:
        clock.s += 4
        noted.append(store.read().event_delivered("a"))

    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, send, clock)
    settle(loop)
    begin = store.read().event_delivered("a")
    add_tickets(store, "t1", "t2", "t3", "t4")
    settle(loop)
    assert noted == [begin, begin, ids(store)[1], ids(store)[1]]
    loop.close()


def test_no_snapshot_is_held_while_a_sink_thinks(store: ReplicatedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    held: weakref.WeakSet[Views] = weakref.WeakSet()
    read = store.read

    def noted() -> Views:
        views = read()
        held.add(views)
        return views

    seen: list[int] = []
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, lambda _, __: seen.append(len(held)))
    settle(loop)
    add_tickets(store, "t1", "t2")
    monkeypatch.setattr(store, "read", noted)
    settle(loop)
    loop.close()
    assert seen == [0, 0]


def test_an_alertmanager_is_told_again_of_what_lasts_and_not_of_what_is_over(store: ReplicatedStore) -> None:
    sent: list[list[dict[str, dict[str, str]]]] = []
    clock = Clock()
    [sink] = sinks_of("sinks", [{"name": "a", "kind": "alertmanager", "url": "http://h:1"}])
    loop = EventSinks(store, (sink,), 1 << 40, lambda: 5000, lambda _, it: sent.append(json.loads(it.body)), clock)
    settle(loop)
    add_tickets(store, "t1", "t2")
    storm = events_pb2.Call(cluster="live", finding="storm healing", sentence="6 of 10 brokers", since_ms=900)
    store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(raised=[storm])))
    settle(loop)
    assert sum(map(len, sent)) == 3
    approved = TicketTransition(TicketState.APPROVED, 2000, "ben", "fine")
    store.advance("t1", TicketState.PENDING, approved, None, 0)
    settle(loop)
    sent.clear()
    clock.s += 61
    settle(loop)
    [reminder] = sent
    assert [alert["labels"]["alertname"] for alert in reminder] == ["GuardianTicketPending", "GuardianCallsPerson"]
    assert reminder[0]["labels"]["ticket"] == "t2"
    assert {str(alert["endsAt"]) for alert in reminder} == {"1970-01-08T00:00:05.000Z"}
    clock.s += 59
    settle(loop)
    assert len(sent) == 1
    loop.close()


def test_old_events_are_forgotten(store: ReplicatedStore) -> None:
    add_tickets(store, "t1", "t2")
    loop = EventSinks(store, (), 500, lambda: 1400)
    assert loop.tick() == []
    assert len(ids(store)) == 2
    late = EventSinks(store, (), 500, lambda: 1600)
    assert late.tick() == ["2 old events were forgotten"]
    assert ids(store) == []
    loop.close()
    late.close()


def test_what_is_forgotten_before_a_sink_got_it_is_said_and_counted_by_sink(store: ReplicatedStore) -> None:
    receiver = Receiver()
    [picky] = sinks_of("sinks", [{"name": "p", "kind": "webhook", "url": "http://h:1", "states": ["APPROVED"]}])
    now_ms = 1000
    loop = EventSinks(store, (*sinks("a", "b"), picky), 500, lambda: now_ms, receiver, Clock())
    settle(loop)
    add_tickets(store, "t1", "t2")
    receiver.failures = 1
    settle(loop)
    [down] = {"a", "b"} - receiver.got.keys()
    now_ms = 1600
    loop._trim_at_s = 0.0
    assert loop.tick() == [
        "2 old events were forgotten",
        f"sink {down} never got 2 of the events that were forgotten: h does not take it",
    ]
    assert {name: counted.lost for name, counted in loop.counters().items()} == {"a": 0, "b": 0, "p": 0, down: 2}
    loop.close()


def test_a_sink_of_one_cluster_is_sent_and_reminded_of_that_one_alone(store: ReplicatedStore) -> None:
    store.put_cluster(cluster_to_proto(Cluster("other", "h:2", "id-2")))
    configured = sinks_of(
        "sinks",
        [
            {"name": f"{kind}-hook", "kind": kind, "url": "http://h:1", "clusters": ["live"]}
            for kind in ("webhook", "slack", "alertmanager")
        ],
    )
    sent: dict[str, list[str]] = {}
    clock = Clock()
    loop = EventSinks(
        store,
        configured,
        10**12,
        lambda: 1000,
        lambda sink, wanted: sent.setdefault(sink.name, []).append(wanted.body.decode()),
        clock,
    )
    settle(loop)
    for cluster in ("live", "other"):
        plan_hash = store.put_plan(Plan(cluster, "balance", (MOVE,)))
        history = (TicketTransition(TicketState.PENDING, 1000, f"author-{cluster}", ""),)
        store.add_ticket(
            Ticket(
                f"t-{cluster}",
                cluster,
                "balance",
                TicketState.PENDING,
                f"author-{cluster}",
                plan_hash,
                1,
                1000,
                1000,
                history,
                cluster,
            )
        )
        call = events_pb2.Call(cluster=cluster, finding=f"finding-{cluster}", sentence="it is so", since_ms=1000)
        store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(raised=[call])))
    settle(loop)
    clock.s += 3600.0
    settle(loop)
    bodies = "".join(body for each in sent.values() for body in each)
    assert sent.keys() == {sink.name for sink in configured}
    assert len(sent["alertmanager-hook"]) > len(sent["webhook-hook"]), "it is reminded of what lasts"
    assert "t-live" in bodies
    assert "finding-live" in bodies
    assert "other" not in bodies
