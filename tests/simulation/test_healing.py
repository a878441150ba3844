"""Healing on a cluster in memory: the real detectors, decisions, planner, store, approvals and executor; virtual time.

No thread and no process: a member's loops are called one after the other, and an hour lasts as long as its ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from guardian.activity.rules.database import Question
from guardian.activity.store.store import ActivityStore
from guardian.errors import GuardianError, Undecided
from guardian.events.loop.calling import PersonCaller
from guardian.events.model import sinks_of
from guardian.events.rules.notifying import post_of
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.loop.replanning import LiveReplanner
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.federation.store import directory_of
from guardian.healing.loop.healing import Healer
from guardian.healing.model import HealingMode, HealingPolicies, HealingPolicy
from guardian.healing.rules.verdict import Phase
from guardian.healing.service import healing_report
from guardian.health.loop.findings import FindingsWatch
from guardian.health.loop.sources import Sources
from guardian.health.model.finding import Detector, Finding, FindingKind, Place
from guardian.health.rules.findings import findings
from guardian.kafka.admin import BROKER
from guardian.kafka.fake import FakeKafka
from guardian.lake.model.schema import PARTITION_SAMPLES
from guardian.lake.store.writer import LakeWriter
from guardian.model.actor import Agent
from guardian.model.cluster_state import LiveFacts
from guardian.model.effects import ConfigKey
from guardian.model.event import EventKind
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.federation import Entry, IdcPolicy, Topic
from guardian.model.links import Crossing
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, Task
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Broker, BrokerState, Cluster, TopicPartition
from guardian.model.wire.entries import entry_to_proto
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.model import Lane
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.admins import ClusterAdmins
from guardian.tickets.rules.validating import resolve
from guardian.tickets.service.approvals import ApprovalKeeper, Approvals
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2, records_pb2
from protos.guardian.v1 import insight_pb2 as pb
from raft.inmem import InMemoryReplica
from spark_analytics.planners.planning import make
from spark_analytics.readers.live import live_model
from tests.simulation.test_cut_off_brokers import find_them_again, lose_the_controllers
from tests.simulation.world import Crash, InThisThread, Wire, Wired
from tests.unit.member.lake import MINUTE_MS, TO_MS, table, write_lake

pytestmark = pytest.mark.slow

LIVE = "live"
GRACE_S = 60.0
ACT = HealingPolicy(HealingMode.ACT, broker_grace_s=GRACE_S, log_dir_grace_s=20.0, rest_s=120.0)


class Replica(InMemoryReplica):
    """Its member may die at a proposal: before it is made, or `after` it was and before anybody is told."""

    def __init__(self, machine: MetastoreStateMachine) -> None:
        super().__init__("g1", machine)
        self.proposals = 0
        self.die_at = -1
        self.after = False

    def propose(self, command: bytes, timeout_s: float) -> bytes:
        self.proposals += 1
        if self.proposals == self.die_at:
            if self.after:
                super().propose(command, timeout_s)
            raise Crash(str(self.die_at))
        return super().propose(command, timeout_s)


class Planner:
    """The live planner without its process."""

    def __init__(self, world: HealedWorld) -> None:
        self._world = world
        self.asked = 0

    def ask(
        self,
        key: str,
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        lane: Lane = Lane.TICKETS,
    ) -> Plan | GuardianError | None:
        assert (lane is Lane.HEALING) != key.startswith("stale/"), "healing waits for nobody else's plans"
        self.asked += 1
        kafka, now = self._world.kafka, self._world.kafka.peek()
        facts = LiveFacts(
            cluster,
            now.observed_at_ms,
            now.brokers,
            now.partitions,
            now.reassignments,
            kafka.describe_log_dirs(sorted(now.brokers)),
        )
        try:
            model = live_model(facts, directory_of(self._world.store.read_local(), None))
            return make(model, task, settings)
        except GuardianError as error:
            return error

    def forget(self, key: str) -> None:
        """Nothing is kept."""


class HealedWorld:
    """One member that leads, and one cluster of brokers 1 to n, each in a rack of its own, with two log dirs.

    `lake` has the samples of the cluster that tests.unit.member.lake writes, up to now.
    """

    def __init__(self, brokers: int, policy: HealingPolicy = ACT, lake: Path | None = None) -> None:
        ids = range(1, brokers + 1)
        log_dirs = {b: ("/data/sda", "/data/sdb") if lake else (f"/b{b}/d0", f"/b{b}/d1") for b in ids}
        self.kafka = FakeKafka({broker: f"rack{broker}" for broker in ids}, log_dirs, 5_000_000)
        self.kafka.now_ms = TO_MS if lake else 1_000_000
        self.lake, self.collect_ms = str(lake or "/nowhere"), 60_000 if lake else 3_600_000
        self.wire = Wire(self.shares_nothing)  # of the driver to Kafka
        machine = MetastoreStateMachine(MemoryStore())
        self.replica = Replica(machine)
        self.store = ReplicatedStore(self.replica, machine, self.now_ms)
        self.register(dict.fromkeys(ids, BrokerState.ACTIVE))
        self.policy = policy
        self.links: Path | None = None
        self.activity: ActivityStore | None = None
        self.planner = Planner(self)
        self.replans = True
        self.begin()

    def now_ms(self) -> int:
        return self.kafka.now_ms

    def register(self, states: Mapping[int, BrokerState]) -> None:
        entries = tuple(Broker(broker, f"rack{broker}", state=state) for broker, state in states.items())
        self.store.put_cluster(cluster_to_proto(Cluster(LIVE, "h:9092", "fake", brokers=entries)))

    def declare(self, *entries: Entry) -> None:
        puts = [federation_pb2.FederationChange(put=entry_to_proto(entry)) for entry in entries]
        changes = federation_pb2.ChangeFederationRequest(changes=puts)
        self.store.propose(records_pb2.Command(change_federation=changes))

    def begin(self) -> None:
        """As a new leader does, which knows only the store and Kafka."""
        sources = Sources(
            self.store, lambda _: self.kafka, self.lake, self.now_ms, self.activity, links_file=self.links
        )
        self.findings = FindingsWatch(sources, self.collect_ms, self.collect_ms)
        self.healer = Healer(
            self.store,
            self.findings,
            self.planner,
            lambda _: self.kafka,
            HealingPolicies(self.policy),
            PlannerSettings(),
            self.now_ms,
        )
        self.caller = PersonCaller(self.store, self.findings, self.healer, self.now_ms)
        self.keeper = ApprovalKeeper(self.store, Approvals(), self.now_ms)
        wired = Wired(self.wire, self.kafka)
        admins = ClusterAdmins(lambda name: self.store.read_local().cluster(name), lambda _: wired)  # type: ignore[arg-type, return-value]
        self.driver = Driver(
            DriverPorts(
                ReplicatedExecutionStore(self.store),
                admins,
                replanner=LiveReplanner(self.planner, lambda: directory_of(self.store.read_local(), None))
                if self.replans
                else None,
            ),
            DriverClocks(self.now_ms, since_boot_s=lambda: self.now_ms() / 1000),
            DriverSettings(tiered_warm_up_s=0.0),
            pool=InThisThread(),
        )

    def tick(self) -> None:
        """Two seconds of a member that leads."""
        began = self.kafka.now_ms
        self.findings.tick()
        self.healer.tick()
        self.caller.tick()
        self.keeper.tick()
        self.driver.tick()
        self.kafka.now_ms = max(self.kafka.now_ms, began + 2000)

    def run(self, seconds: float) -> None:
        until = self.kafka.now_ms + seconds * 1000
        while self.kafka.now_ms < until:
            self.tick()

    def run_until(self, what: str, holds: Callable[[], bool], seconds: float = 1800.0) -> None:
        until = self.kafka.now_ms + seconds * 1000
        while not holds():
            assert self.kafka.now_ms < until, f"{what} did not happen within {seconds:g} s: {self.said()}"
            self.tick()

    def tickets(self) -> tuple[Ticket, ...]:
        """The oldest first."""
        return tuple(reversed(tuple(self.store.read().walk_tickets(LIVE))))

    def healing(self) -> tuple[Ticket, ...]:
        """Its own tickets, the oldest first."""
        return tuple(ticket for ticket in self.tickets() if ticket.author is Agent.HEALING)

    def ann(self) -> Ticket:
        return next(ticket for ticket in self.tickets() if ticket.author == "ann")

    def tasks(self, ticket_id: str) -> tuple[ExecutionTask, ...]:
        execution = self.store.read_local().execution(ticket_id)
        return execution.tasks if execution is not None else ()

    def at_work(self) -> dict[str, set[TopicPartition]]:
        """By ticket, the partitions that it moves now."""
        active = (TaskState.RUNNING, TaskState.REVERTING)
        found = {
            each.id: {task.move.partition for task in self.tasks(each.id) if task.state in active}
            for each in self.store.read_local().driven_tickets()
        }
        return {ticket_id: partitions for ticket_id, partitions in found.items() if partitions}

    def shares_nothing(self) -> None:
        """No partition is moved by two tickets at once, and no rate is of two."""
        views = self.store.read_local()
        driven = [each.id for each in views.driven_tickets()]
        partitions = [each for moved in self.at_work().values() for each in moved]
        assert len(partitions) == len(set(partitions)), self.at_work()
        executions = [execution for each in driven if (execution := views.execution(each)) is not None]
        rates = [
            key for each in executions for key in {ConfigKey.of(t) for t in each.throttles if t.resource_type == BROKER}
        ]
        assert len(rates) == len(set(rates)), rates

    def found(self, kind: FindingKind) -> list[Finding]:
        return [each for each in findings(self.findings.known()[0]) if each.subject.kind is kind]

    def calls(self) -> list[tuple[EventKind, str]]:
        """Events of findings that call a person, the oldest first."""
        found = self.store.read().events(0, 1000)
        return [(event.kind, event.finding) for event in found if event.kind.is_of_finding]

    def said(self) -> list[str]:
        known, _ = self.healer.status()
        verdicts = known[LIVE].decision.verdicts if LIVE in known else ()
        return [f"{verdict.trouble.subject.title}: {verdict.phase}: {verdict.sentence}" for verdict in verdicts]

    def placed(self) -> dict[str, tuple[int, ...]]:
        return {str(name): state.replicas for name, state in self.kafka.peek().partitions.items()}

    def is_whole(self) -> bool:
        """Every partition has as many replicas in sync as it is to have."""
        return all(len(state.isr) == len(state.replicas) for state in self.kafka.peek().partitions.values())

    def leaves_nothing(self) -> None:
        now = self.kafka.peek()
        assert not now.reassignments
        assert not any("throttled" in key or "alter.log" in key for values in now.configs.values() for key in values)


@pytest.fixture
def world() -> Iterator[Callable[..., HealedWorld]]:
    made: list[HealedWorld] = []

    def make_world(
        brokers: int = 5, policy: HealingPolicy = ACT, partitions: int = 12, lake: Path | None = None
    ) -> HealedWorld:
        world = HealedWorld(brokers, policy, lake)
        replicas = {n: tuple((n + step) % brokers + 1 for step in range(min(3, brokers))) for n in range(partitions)}
        world.kafka.create_topic("orders", replicas, size_bytes=20_000_000, write_rate=1000.0)
        world.kafka.set_config(("TOPIC", "orders"), "min.insync.replicas", "2")
        made.append(world)
        return world

    yield make_world
    for each in made:
        each.driver.close()


def test_a_broker_that_is_back_within_its_grace_period_costs_no_move(world: Callable[..., HealedWorld]) -> None:
    live = world()
    before = live.placed()
    live.run(30)
    for _ in range(3):
        live.kafka.kill_broker(2)
        live.run(GRACE_S - 15)
        assert live.found(FindingKind.BROKER_DOWN)
        live.kafka.start_broker(2)
        live.run(60)
    assert live.tickets() == ()
    assert live.placed() == before
    assert live.planner.asked == 0
    assert live.found(FindingKind.BROKER_DOWN) == []


@pytest.mark.slow
def test_the_replicas_of_a_dead_broker_are_rebuilt_elsewhere_by_a_ticket_with_evidence(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    live.run(10)
    live.kafka.kill_broker(2)
    died_ms = live.now_ms()
    live.run_until("a whole cluster", lambda: live.is_whole() and all(t.state.is_over for t in live.tickets()))
    (ticket,) = live.tickets()
    assert (ticket.state, ticket.kind, ticket.author) == (TicketState.SUCCEEDED, "heal", "healing")
    assert ticket.created_at_ms - died_ms >= GRACE_S * 1000
    assert ticket.evidence.startswith("broker_down broker 2: broker 2 is fenced or gone, and is to have 8 replicas")
    assert "rule" in next(past.reason for past in ticket.history if past.state is TicketState.APPROVED)
    assert not any(2 in replicas for replicas in live.placed().values())
    live.leaves_nothing()
    live.run(1000)  # it stays dead, and nothing is left to move
    assert len(live.tickets()) == 1
    assert any("done: nothing is left to move" in said for said in live.said())
    assert live.found(FindingKind.HEALING_FAILED) == []
    assert live.found(FindingKind.BROKER_DOWN)


def test_the_replicas_of_a_failed_log_dir_move_to_other_brokers(world: Callable[..., HealedWorld]) -> None:
    live = world()
    live.run(30)
    lost = [str(name) for d in live.kafka.describe_log_dirs([3]) if d.path == "/b3/d1" for name in d.replicas]
    kept = {name for name, replicas in live.placed().items() if 3 in replicas} - set(lost)
    assert lost
    live.kafka.fail_log_dir(3, "/b3/d1")
    live.run_until("a whole cluster", lambda: live.is_whole() and all(t.state.is_over for t in live.tickets()))
    (ticket,) = live.tickets()
    assert (ticket.state, ticket.moves) == (TicketState.SUCCEEDED, len(lost))
    assert "log_dir_offline broker 3, log dir /b3/d1: " in ticket.evidence
    assert not any(3 in live.placed()[name] for name in lost)
    assert all(3 in live.placed()[name] for name in kept)
    live.leaves_nothing()


def test_a_slow_disk_is_emptied_onto_the_other_disk_of_its_broker(
    world: Callable[..., HealedWorld], tmp_path: Path
) -> None:
    write_lake(tmp_path)
    live = world(brokers=3, lake=tmp_path)
    before = {name: sorted(replicas) for name, replicas in live.placed().items()}
    live.run_until("a ticket", lambda: bool(live.tickets()))
    live.run_until("its end", lambda: all(ticket.state.is_over for ticket in live.tickets()))
    (ticket,) = live.tickets()
    assert (ticket.state, ticket.kind) == (TicketState.SUCCEEDED, "empty-disk")
    assert ticket.evidence.startswith("slow_disk broker 2, disk sdb: await ")
    assert {name: sorted(replicas) for name, replicas in live.placed().items()} == before
    held = {(log_dir.broker, log_dir.path): len(log_dir.replicas) for log_dir in live.kafka.describe_log_dirs([1, 2])}
    assert held == {(1, "/data/sda"): 6, (1, "/data/sdb"): 6, (2, "/data/sda"): 12, (2, "/data/sdb"): 0}
    live.leaves_nothing()


LINES = """
[[lines]]
between = ["sh", "sz"]
gbit_per_s = 1.0
"""


SH, SZ = (1, 2), (3, 4)  # brokers
BYTES_A_MINUTE = round(0.9e9 / 8 * 60)
SAMPLED_MINUTES = range(5, 60)


class Clients:
    """Stand for the activity store: one client in sz reads orders in sh, or one in sh writes it in sz, all the time."""

    def __init__(self, crossing: Crossing) -> None:
        self._row = {
            Crossing.CONSUME: {"operation": "READ", "broker_idc": 0, "client_idc": 1},
            Crossing.PRODUCE: {"operation": "WRITE", "broker_idc": 1, "client_idc": 0},
        }.get(crossing)

    def ask(self, question: Question) -> list[dict[str, Any]]:
        if self._row is None:
            return []
        begin, end = (cast("int", question.parameters[name]) // MINUTE_MS for name in ("from_ms", "to_ms"))
        minutes = [minute for minute in SAMPLED_MINUTES if begin <= minute < end]
        selected = question.sql.partition(" FROM ")[0]
        if "resource" not in selected:
            lasts = {"duration_ms": MINUTE_MS, "sum_bytes": BYTES_A_MINUTE}
            return [
                {**self._row, **lasts, "from_time": datetime.fromtimestamp(minute * MINUTE_MS / 1000, UTC)}
                for minute in minutes
            ]
        row = {**self._row, "resource": "orders", "sum_bytes": BYTES_A_MINUTE * len(minutes), "blind": 0}
        return [{**row, "principal": "User:ann", "client_id": "etl", "address": "10.1.0.9"}]


def sampled(live: HealedWorld, crossing: Crossing) -> list[dict[str, Any]]:
    """Return a row a minute of each replica, as collectors write them. Where it is replication that crosses, one of the
    partitions is written that a broker in sh leads and one in sz follows."""
    partitions = live.kafka.peek().partitions
    crosses = [tp for tp, state in partitions.items() if state.leader in SH and len({*state.replicas} & {*SZ}) == 1][:1]
    written = {partitions[tp].leader: BYTES_A_MINUTE for tp in crosses if crossing is Crossing.REPLICATE}
    return [
        {
            "at_ms": minute * MINUTE_MS,
            "broker": broker,
            "broker_started_at_ms": 7,
            "topic": tp.topic,
            "partition": tp.partition,
            "is_leader": broker == state.leader,
            "log_end_offset": minute * 1000 * (tp in crosses),
            "topic_bytes_in_total": minute * written.get(broker, 0),
        }
        for minute in SAMPLED_MINUTES
        for tp, state in partitions.items()
        for broker in state.replicas
    ]


def near_its_limit(live: HealedWorld, path: Path, crossing: Crossing) -> None:
    """Brokers 1 and 2 are in sh, the others in sz, and topic orders crosses from sh to sz all the time: as the lake and
    the clients' activity tell."""
    live.links, live.lake = path / "links.toml", str(path / "lake")
    live.links.write_text(LINES)
    live.activity = cast("ActivityStore", Clients(crossing))
    entries = tuple(Broker(broker, f"rack{broker}", idc="sh" if broker in SH else "sz") for broker in (*SH, *SZ))
    live.store.put_cluster(cluster_to_proto(Cluster(LIVE, "h:9092", "fake", brokers=entries)))
    writer = LakeWriter(live.lake, "m1")
    writer.write(LIVE, {PARTITION_SAMPLES: table(PARTITION_SAMPLES, sampled(live, crossing))})
    writer.flush()
    live.collect_ms = 60_000
    live.begin()


@pytest.mark.parametrize("crossing", Crossing)
def test_a_line_near_its_limit_gets_a_draft_that_takes_its_readers_off_it_or_calls_a_person(
    world: Callable[..., HealedWorld], tmp_path: Path, crossing: Crossing
) -> None:
    live = world(brokers=4, policy=replace(ACT, balance_grace_s=300.0), partitions=8)
    near_its_limit(live, tmp_path, crossing)
    live.run(1300)
    assert [finding.subject.name for finding in live.found(FindingKind.LINE_NEAR_LIMIT)] == ["sh to sz"]
    if crossing is not Crossing.CONSUME:
        assert live.tickets() == ()
        assert [each.subject.name for each in live.found(FindingKind.HEALING_FAILED)] == ["line_near_limit sh to sz"]
        return
    (draft,) = live.tickets()
    assert (draft.state, draft.kind, draft.bytes_to_copy) == (TicketState.DRAFT, "leaders", 0)
    assert draft.evidence.startswith(
        "line_near_limit sh to sz: sh to sz carried 0.90 of 1 Gbit/s (90%) in the minute of "
    )
    assert "; the most by User:ann consumed from orders of live, 6.8 GB (for " in draft.evidence
    assert "leaders of orders go to sz, where clients read over the line now: nothing is copied" in draft.evidence
    live.store.advance(
        draft.id, draft.state, TicketTransition(TicketState.PENDING, live.now_ms(), "ann", "go"), None, 0
    )
    live.run_until("its end", lambda: live.tickets()[0].state is TicketState.SUCCEEDED)
    leaders = {state.leader for state in live.kafka.peek().partitions.values()}
    assert leaders == {3, 4}


def test_a_line_is_relieved_as_its_topics_policy_says(world: Callable[..., HealedWorld], tmp_path: Path) -> None:
    live = world(brokers=4, policy=replace(ACT, balance_grace_s=300.0), partitions=0)
    live.kafka.delete_topic("orders")
    live.kafka.create_topic("orders", {0: (1, 2), 1: (2, 1)}, size_bytes=1_000_000, write_rate=1000.0)
    policy = IdcPolicy("both", (("sh", 1), ("sz", 1)), "sz")
    live.declare(policy, Topic(LIVE, "orders", idc_policy="both"))
    near_its_limit(live, tmp_path, Crossing.CONSUME)
    live.run(1300)
    (draft,) = live.tickets()
    assert (draft.state, draft.kind, draft.moves) == (TicketState.DRAFT, "migrate-idc", 2)
    assert "IDC policy both wants orders where that does not cross from sh to sz" in draft.evidence


def test_what_healing_is_at_is_reported(world: Callable[..., HealedWorld]) -> None:
    live = world()
    live.findings.tick()
    (unseen,) = healing_report(live.healer, [LIVE]).clusters
    assert (unseen.looked_at_ms, unseen.policy.mode) == (0, "act")
    live.kafka.kill_broker(2)
    live.run(20)
    (cluster,) = healing_report(live.healer, [LIVE]).clusters
    assert (cluster.brokers, cluster.troubled_brokers, cluster.storm, cluster.tickets_last_hour) == (5, 1, "", 0)
    (trouble,) = cluster.troubles
    assert (trouble.kind, trouble.subject, trouble.phase) == (pb.BROKER_DOWN, "broker 2", "grace")
    live.run_until("a ticket", lambda: bool(live.tickets()))
    live.tick()
    (cluster,) = healing_report(live.healer, [LIVE]).clusters
    assert cluster.tickets_last_hour == 1
    assert cluster.troubles[0].ticket_id == live.tickets()[0].id


def test_six_of_ten_brokers_down_at_once_move_nothing_and_call_a_person(world: Callable[..., HealedWorld]) -> None:
    live = world(brokers=10, partitions=30)
    before = live.placed()
    live.run(30)
    for broker in range(1, 7):
        live.kafka.kill_broker(broker)
    live.run(20 * GRACE_S)
    assert live.tickets() == ()
    assert live.placed() == before
    assert live.planner.asked == 0
    (called,) = live.found(FindingKind.STORM)
    assert "6 of 10 brokers are in trouble at once (1, 2, 3, 4, 5 and 1 more), more than the 2" in called.evidence
    assert all("braked" in said for said in live.said())
    assert live.calls() == [(EventKind.FINDING_RAISED, "storm healing")]
    [event] = [event for event in live.store.read().events(0, 1000) if event.kind.is_of_finding]
    for kind in ("webhook", "slack", "alertmanager"):
        [sink] = sinks_of("sinks", [{"name": "s", "kind": kind, "url": "http://h:1"}])
        sent = post_of(sink, event)
        assert sink.wants(event)
        assert sent is not None
        assert "6 of 10 brokers are in trouble at once" in sent.body.decode()
    for broker in range(1, 7):
        live.kafka.start_broker(broker)
    live.run(180)
    assert live.found(FindingKind.STORM) == []
    assert live.calls()[1:] == [(EventKind.FINDING_ENDED, "storm healing")]
    assert live.tickets() == ()


def test_a_new_leader_calls_nobody_again_while_it_lasts(world: Callable[..., HealedWorld]) -> None:
    live = world(brokers=10, partitions=30)
    live.run(30)
    for broker in range(1, 7):
        live.kafka.kill_broker(broker)
    live.run(60)
    for seconds in (2, 10, 150):
        live.driver.close()
        live.begin()
        live.run(seconds)
    assert live.calls() == [(EventKind.FINDING_RAISED, "storm healing")]
    for broker in range(1, 7):
        live.kafka.start_broker(broker)
    live.driver.close()
    live.begin()
    live.run(180)
    assert live.calls()[1:] == [(EventKind.FINDING_ENDED, "storm healing")]


def test_a_new_leader_knows_what_a_person_was_called_for_through_its_grace_period(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=3)
    live.run(10)
    live.kafka.kill_broker(2)
    live.run_until("a call", lambda: bool(live.calls()))
    live.driver.close()
    live.begin()
    live.run(4 * GRACE_S)
    assert live.calls() == [(EventKind.FINDING_RAISED, "healing_failed broker_down broker 2")]
    live.kafka.start_broker(2)
    live.run(180)
    assert live.calls()[1:] == [(EventKind.FINDING_ENDED, "healing_failed broker_down broker 2")]


def test_a_cluster_that_nobody_reaches_calls_until_it_is_back(world: Callable[..., HealedWorld]) -> None:
    live = world()
    live.run(10)

    def wait(seconds: float) -> None:
        for _ in range(int(seconds / 2)):
            live.findings.tick()
            live.healer.tick()
            live.caller.tick()
            live.kafka.now_ms += 2000

    live.kafka.reachable = False
    wait(60)
    live.kafka.reachable = True
    wait(8)
    live.kafka.reachable = False  # it comes and goes: one call
    wait(60)
    assert live.calls() == [(EventKind.FINDING_RAISED, "cluster_unreachable cluster")]
    live.kafka.reachable = True
    wait(120)
    assert live.calls()[1:] == [(EventKind.FINDING_ENDED, "cluster_unreachable cluster")]


def test_a_storm_that_begins_one_by_one_is_braked_before_the_first_grace_period_is_over(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=10, partitions=30)
    live.run(30)
    for broker in range(1, 7):
        live.kafka.kill_broker(broker)
        live.run(8)
    live.run(5 * GRACE_S)
    assert live.tickets() == ()
    assert live.found(FindingKind.STORM)


def test_a_storm_pauses_what_healing_moves_already_and_lets_it_go_on_afterwards(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=10, partitions=60)
    live.run(30)
    live.kafka.kill_broker(1)
    live.run_until("moves", lambda: any(t.state is TicketState.RUNNING for t in live.tickets()))
    for broker in (5, 6, 7):
        live.kafka.kill_broker(broker)
    live.run_until("a pause", lambda: live.tickets()[0].state is TicketState.PAUSED, 60)
    assert live.tickets()[0].history[-1].actor == "healing"
    assert "storm: 4 of 10 brokers" in live.tickets()[0].history[-1].reason
    for broker in (5, 6, 7):
        live.kafka.start_broker(broker)
    live.run_until("its end", lambda: live.tickets()[0].state is TicketState.SUCCEEDED)
    live.run_until("a whole cluster", live.is_whole)
    assert len(live.tickets()) == 1
    live.leaves_nothing()


def test_a_new_leader_makes_no_second_ticket_at_any_moment(world: Callable[..., HealedWorld]) -> None:
    """The leader dies after every tick: what it did is in the store, and findings are seen again."""
    live = world(partitions=30)
    live.run(10)
    live.kafka.kill_broker(2)
    for _ in range(400):
        if not live.tickets():
            live.run_until("a ticket", lambda: bool(live.tickets()), 3 * GRACE_S)
        live.driver.close()
        live.begin()
        live.tick()
        if live.is_whole() and all(ticket.state.is_over for ticket in live.tickets()):
            break
    live.run(5 * GRACE_S)
    assert [ticket.state for ticket in live.tickets()] == [TicketState.SUCCEEDED]
    assert live.is_whole()
    live.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_leader_that_dies_at_any_proposal_leaves_one_ticket_that_heals(
    world: Callable[..., HealedWorld], *, after: bool
) -> None:
    die_at, proposals = 0, 1
    while die_at < proposals:
        die_at += 1
        live = world(partitions=5)
        live.run(10)
        live.kafka.kill_broker(2)
        live.replica.proposals, live.replica.die_at, live.replica.after = 0, die_at, after
        for _ in range(3 * int(GRACE_S)):
            try:
                live.tick()
            except Crash:
                live.driver.close()
                live.begin()
            if live.tickets() and live.is_whole() and all(ticket.state.is_over for ticket in live.tickets()):
                break
        proposals = live.replica.proposals
        assert [ticket.state for ticket in live.tickets()] == [TicketState.SUCCEEDED], (die_at, live.said())
        assert live.is_whole()
        live.leaves_nothing()
    assert die_at > 4  # the plan, the ticket, its approval and its start at least


def healed_though_somebody_dies(live: HealedWorld) -> None:
    live.run(10)
    live.kafka.kill_broker(2)
    for _ in range(3 * int(GRACE_S)):
        try:
            live.tick()
        except Crash:
            live.driver.close()
            live.begin()
        if live.tickets() and live.is_whole() and all(ticket.state.is_over for ticket in live.tickets()):
            break
    assert [ticket.state for ticket in live.tickets()] == [TicketState.SUCCEEDED], live.said()
    assert live.is_whole()
    live.leaves_nothing()


@pytest.mark.slow
@pytest.mark.parametrize(("after", "late"), [(False, 0), (True, 0), (False, 3)], ids=["before", "after", "late"])
def test_a_leader_that_dies_at_a_call_to_kafka_leaves_one_ticket_that_heals(
    world: Callable[..., HealedWorld], *, after: bool, late: int
) -> None:
    """At some twelve calls of the driver's, others in other cases."""
    rehearsal = world(partitions=5)
    healed_though_somebody_dies(rehearsal)
    calls = rehearsal.wire.calls
    assert calls > 20
    every = max(1, calls // 12)
    for die_at in range(1 + (late + after) % every, calls + 1, every):
        live = world(partitions=5)
        live.wire.die_at, live.wire.after, live.wire.late = die_at, after, late
        healed_though_somebody_dies(live)
        assert live.wire.calls > die_at


def test_a_ticket_that_did_not_start_is_withdrawn_when_its_broker_is_back(world: Callable[..., HealedWorld]) -> None:
    live = world(policy=HealingPolicy(HealingMode.PROPOSE, broker_grace_s=GRACE_S))
    before = live.placed()
    live.run(70)
    live.kafka.kill_broker(2)
    live.run_until("a draft", lambda: bool(live.tickets()))
    assert live.tickets()[0].state is TicketState.DRAFT
    live.run(3 * GRACE_S)
    assert any("waits: ticket" in said and "guardian ticket submit" in said for said in live.said())
    assert len(live.tickets()) == 1
    live.kafka.start_broker(2)
    live.run_until("its end", lambda: live.tickets()[0].state is TicketState.REJECTED)
    assert live.tickets()[0].history[-1].reason == "what it was for is over"
    assert live.placed() == before


def test_a_cluster_that_is_only_observed_gets_findings_and_no_tickets(world: Callable[..., HealedWorld]) -> None:
    live = world(policy=HealingPolicy(broker_grace_s=GRACE_S))
    live.kafka.kill_broker(2)
    live.run(5 * GRACE_S)
    assert live.tickets() == ()
    assert live.planner.asked == 0
    assert live.found(FindingKind.BROKER_DOWN)
    assert live.found(FindingKind.AT_MIN_ISR)


def removal(live: HealedWorld, state: TicketState) -> None:
    """A ticket of somebody's that removes broker 2, which is DRAINING."""
    live.register({broker: BrokerState.DRAINING if broker == 2 else BrokerState.ACTIVE for broker in range(1, 6)})
    put(live, "t-ann", AskKind.REMOVE, ask=Ask(AskKind.REMOVE, (2,)))
    for each in (TicketState.APPROVED, TicketState.RUNNING, TicketState.CANCELLING, TicketState.CANCELLED):
        if live.ann().state is not state:
            say(live, TicketState.PAUSED if (each, state) == (TicketState.CANCELLING, TicketState.PAUSED) else each)


@pytest.mark.parametrize("state", [BrokerState.MAINTENANCE, BrokerState.DRAINING])
def test_a_broker_that_is_expected_to_be_away_is_left_alone(
    world: Callable[..., HealedWorld], state: BrokerState
) -> None:
    live = world()
    if state is BrokerState.DRAINING:
        removal(live, TicketState.RUNNING)
    else:
        live.register({broker: state if broker == 2 else BrokerState.ACTIVE for broker in range(1, 6)})
    live.kafka.kill_broker(2)
    live.run(5 * GRACE_S)
    assert [ticket for ticket in live.tickets() if ticket.author is Agent.HEALING] == []
    assert live.found(FindingKind.BROKER_DOWN) == []


@pytest.mark.parametrize("has_ticket", [False, True])
def test_a_draining_broker_that_dies_is_healed_where_nobody_empties_it(
    world: Callable[..., HealedWorld], *, has_ticket: bool
) -> None:
    live = world()
    removal(live, TicketState.PAUSED if has_ticket else TicketState.CANCELLED)
    live.kafka.kill_broker(2)
    live.run_until("a whole cluster", lambda: live.is_whole() and all(t.state.is_over for t in live.healing()))
    (ticket,) = live.healing()
    assert (ticket.state, ticket.kind) == (TicketState.SUCCEEDED, "heal")
    assert not any(2 in replicas for replicas in live.placed().values())
    live.run(60)  # it holds nothing any more, and is to go: nobody need be told that it is down
    assert live.found(FindingKind.BROKER_DOWN) == []


def shifted(live: HealedWorld) -> tuple[PartitionMove, ...]:
    """Every partition one broker on, away from broker 2 where it is there: what a balance may look like."""
    moves = []
    for name, state in sorted(live.kafka.peek().partitions.items()):
        gone = 2 if 2 in state.replicas else state.replicas[-1]
        new = next(broker for broker in (5, 4, 3, 1) if broker not in state.replicas)
        target = [new if broker == gone else broker for broker in state.replicas]
        moves.append(PartitionMove(name, (), tuple(map(ReplicaPlacement, target))))
    return tuple(moves)


def put(
    live: HealedWorld, ticket_id: str, kind: str, plan: Plan | None = None, throttle: int = 0, ask: Ask | None = None
) -> None:
    """A ticket of ann's, which is PENDING."""
    at_ms, state = live.now_ms(), TicketState.PENDING
    live.store.add_ticket(
        Ticket(
            ticket_id,
            LIVE,
            kind,
            state,
            "ann",
            live.store.put_plan(plan) if plan is not None else "",
            throttle,
            at_ms,
            at_ms,
            (TicketTransition(state, at_ms, "ann", "please"),),
            ticket_id,
            moves=len(plan.moves) if plan is not None else 0,
            bytes_to_copy=plan.bytes_to_copy if plan is not None else 0,
            ask=ask,
        )
    )


def balance(live: HealedWorld, moves: tuple[PartitionMove, ...], throttle: int = 50_000_000) -> None:
    """Ann's ticket t-ann with these moves, which runs; none of it is under way yet."""
    now = live.kafka.peek()
    cluster = live.kafka.describe_cluster()
    plan = resolve(
        Plan(LIVE, "balance", moves, task=Balance(), settings=PlannerSettings()),
        cluster,
        now.partitions,
        now.log_dirs,
        {},
    )
    put(live, "t-ann", "balance", plan, throttle)
    say(live, TicketState.APPROVED)
    live.driver.tick()
    assert live.ann().state is TicketState.RUNNING
    assert {task.state for task in live.tasks("t-ann")} == {TaskState.PENDING}


def say(live: HealedWorld, state: TicketState) -> None:
    """What ann says of her ticket."""
    said = TicketTransition(state, live.now_ms(), "ann", "so be it")
    live.store.advance("t-ann", live.ann().state, said, None, 0)


@pytest.mark.slow
def test_what_waits_in_a_paused_ticket_is_healed_and_the_ticket_goes_on_around_it(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    live.run(10)
    balance(live, shifted(live))
    say(live, TicketState.PAUSED)
    live.run(600)
    assert {task.state for task in live.tasks("t-ann")} == {TaskState.PENDING}
    live.kafka.kill_broker(2)
    live.run_until("a whole cluster", lambda: live.is_whole() and all(t.state.is_over for t in live.healing()), 300)
    (healed,) = live.healing()
    assert healed.state is TicketState.SUCCEEDED
    assert live.ann().state is TicketState.PAUSED
    assert live.found(FindingKind.HEALING_FAILED) == []
    say(live, TicketState.RUNNING)
    live.run_until("its end", lambda: live.ann().state.is_over)
    assert live.ann().state is TicketState.SUCCEEDED, live.ann().history[-1].reason
    overtaken = [task for task in live.tasks("t-ann") if task.detail.startswith("never started: another tool moved it")]
    assert 0 < len(overtaken) <= healed.moves
    assert all(task.state is TaskState.REVERTED and not task.started_at_ms for task in overtaken)
    assert all(task.detail.endswith("; a new plan took its place") for task in overtaken)
    assert not any(2 in replicas for replicas in live.placed().values())
    assert live.is_whole()
    live.leaves_nothing()


def test_without_a_new_plan_what_healing_moved_stays_where_it_is(world: Callable[..., HealedWorld]) -> None:
    live = world()
    live.replans = False
    live.driver.close()
    live.begin()
    live.run(10)
    balance(live, shifted(live))
    say(live, TicketState.PAUSED)
    live.kafka.kill_broker(2)
    live.run_until("a whole cluster", lambda: live.is_whole() and all(t.state.is_over for t in live.healing()), 300)
    wanted = {str(task.move.partition): set(task.move.target_brokers) for task in live.tasks("t-ann")}
    healed = {name: live.placed()[name] for name in moved_by_healing(live)}
    healed = {name: replicas for name, replicas in healed.items() if set(replicas) != wanted[name]}
    assert healed
    say(live, TicketState.RUNNING)
    live.run_until("its end", lambda: live.ann().state.is_over)
    assert live.ann().state is TicketState.FAILED
    assert f"{len(healed)} of 12 moves failed" in live.ann().history[-1].reason
    assert {name: live.placed()[name] for name in healed} == healed
    assert live.is_whole()
    live.leaves_nothing()


def moved_by_healing(live: HealedWorld) -> set[str]:
    return {str(task.move.partition) for ticket in live.healing() for task in live.tasks(ticket.id)}


@pytest.mark.slow
def test_healing_goes_on_beside_a_ticket_that_runs_and_before_what_waits_in_it(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=12, partitions=36)
    live.run(10)
    live.kafka.kill_broker(2)
    live.run(GRACE_S - 10)
    moves = tuple(move for move in shifted(live) if 2 not in {each.broker for each in move.target})
    balance(live, moves, throttle=2_000_000)
    live.run_until("a start", lambda: any(each.state is TicketState.RUNNING for each in live.healing()))
    assert "t-ann" in live.at_work()
    live.run_until("healed", lambda: live.healing()[0].state is TicketState.SUCCEEDED)
    assert live.ann().state is TicketState.RUNNING
    assert any(task.state is TaskState.PENDING for task in live.tasks("t-ann"))
    live.run_until("its end", lambda: live.ann().state.is_over, 7200)
    assert live.ann().state is TicketState.SUCCEEDED, live.ann().history[-1].reason
    live.run_until("a whole cluster", live.is_whole)
    live.leaves_nothing()


@pytest.mark.slow
def test_a_ticket_that_is_resumed_while_healing_moves_waits_for_it(world: Callable[..., HealedWorld]) -> None:
    live = world(policy=replace(ACT, throttle=1_000_000))
    live.replans = False
    live.driver.close()
    live.begin()
    live.run(10)
    balance(live, shifted(live))
    say(live, TicketState.PAUSED)
    live.kafka.kill_broker(2)
    live.run_until("moves", lambda: bool(live.at_work()))
    say(live, TicketState.RUNNING)
    (ticket,) = live.healing()
    live.run(10)
    assert set(live.at_work()) == {ticket.id}
    assert any(task.detail == f"waits for {ticket.id}, which moves it" for task in live.tasks("t-ann"))
    live.run_until("their ends", lambda: all(each.state.is_over for each in live.tickets()))
    assert live.healing()[0].state is TicketState.SUCCEEDED
    live.run_until("a whole cluster", live.is_whole)
    live.leaves_nothing()


@pytest.mark.slow
def test_a_broker_that_comes_back_between_two_tickets_copies_has_the_rates_of_one(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=12, partitions=12, policy=replace(ACT, throttle=100_000))
    live.run(10)
    balance(live, (PartitionMove(TopicPartition("orders", 1), (), tuple(map(ReplicaPlacement, (5, 3, 4)))),), 150_000)
    live.run_until("a copy", lambda: bool(live.at_work()))
    live.kafka.kill_broker(2)  # of which both take replicas away, so that it is a source of both when it is back
    live.run_until("moves of both", lambda: len(live.at_work()) == 2)
    live.kafka.start_broker(2)
    waits = "leader.replication.throttled.rate of broker 2 is another ticket's: waits"

    def notes() -> list[str]:
        found = [live.store.read_local().execution(each.id) for each in live.tickets()]
        return [each.note for each in found if each is not None]

    live.run_until("a rate that waits", lambda: any(waits in note for note in notes()))
    live.run_until("their ends", lambda: all(each.state.is_over for each in live.tickets()))
    live.run_until("a whole cluster", live.is_whole)
    live.leaves_nothing()


def test_a_copy_of_a_paused_ticket_to_a_broker_that_dies_is_given_up_and_healing_goes_on(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    live.run(10)
    moves = [(name, state.replicas) for name, state in sorted(live.kafka.peek().partitions.items())]
    to_two = [(name, replicas) for name, replicas in moves if 2 not in replicas]
    balance(
        live,
        tuple(PartitionMove(name, (), tuple(map(ReplicaPlacement, (2, *each[1:])))) for name, each in to_two),
        throttle=1_000_000,
    )
    live.run_until("a copy", lambda: bool(live.at_work()))
    say(live, TicketState.PAUSED)
    live.kafka.kill_broker(2)
    live.run_until("a whole cluster", lambda: live.is_whole() and bool(live.healing()), 600)
    live.run_until("healed", lambda: live.healing()[0].state is TicketState.SUCCEEDED)
    live.run_until("the end of what was paused", lambda: live.ann().state.is_over)
    assert live.ann().state is TicketState.FAILED
    assert "taken back: broker 2 was down while it copied" in live.ann().history[-1].reason
    assert not any(2 in replicas for replicas in live.placed().values())
    live.leaves_nothing()


def test_a_move_of_others_that_does_not_end_calls_a_person_once(world: Callable[..., HealedWorld]) -> None:
    live = world(partitions=1)
    live.run(10)
    live.kafka.kill_broker(2)
    live.kafka.bytes_per_call = 1
    live.kafka.alter_reassignments({TopicPartition("orders", 0): (1, 2, 4)})
    live.run(GRACE_S + 120)
    assert any("1 partitions are being moved by another tool" in said for said in live.said())
    assert live.calls() == []
    live.run_until("a call", lambda: bool(live.calls()), 300)
    live.run(600)  # it is asked for again and again meanwhile
    assert live.calls() == [(EventKind.FINDING_RAISED, "healing_failed broker_down broker 2")]
    (called,) = live.found(FindingKind.HEALING_FAILED)
    assert "1 partitions are being moved by another tool" in called.evidence
    assert live.healing() == ()


def test_a_broker_in_its_grace_period_keeps_its_replicas_while_another_is_healed(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=12, partitions=24)
    live.run(30)
    live.kafka.kill_broker(2)
    live.run(GRACE_S - 10)
    live.kafka.kill_broker(8)  # shares no partition with broker 2
    held = {name for name, replicas in live.placed().items() if 8 in replicas}
    live.run_until("a ticket", lambda: bool(live.tickets()))
    plan = live.store.read().plan(live.tickets()[0].plan_hash)
    assert plan is not None
    assert {2} == {broker for move in plan.moves for broker in set(move.original_brokers) - set(move.target_brokers)}
    live.kafka.start_broker(8)
    live.run_until("its end", lambda: live.is_whole() and all(t.state.is_over for t in live.tickets()))
    assert held == {name for name, replicas in live.placed().items() if 8 in replicas} & held
    assert len(live.tickets()) == 1


def test_a_partition_with_two_living_replicas_waits_for_a_broker_in_its_grace_period(
    world: Callable[..., HealedWorld],
) -> None:
    live = world(brokers=12, partitions=1)
    live.kafka.create_topic("wide", {0: (5, 6, 7, 8)}, size_bytes=20_000_000, write_rate=1000.0)
    live.run(30)
    live.kafka.kill_broker(5)
    live.run(GRACE_S - 10)
    live.kafka.kill_broker(8)
    waits = "all that there is to move waits for brokers in their grace period"
    live.run_until("it is said", lambda: any(waits in sentence for sentence in live.said()))
    assert live.tickets() == ()
    live.kafka.start_broker(8)
    live.run_until("its end", live.is_whole)
    assert {6, 7, 8} <= set(live.placed()["wide-0"])
    assert len(live.tickets()) == 1


def test_what_a_person_refused_is_left_to_a_person(world: Callable[..., HealedWorld]) -> None:
    live = world(policy=HealingPolicy(HealingMode.PROPOSE, broker_grace_s=GRACE_S))
    live.run(10)
    live.kafka.kill_broker(2)
    live.run_until("a draft", lambda: bool(live.tickets()))
    (ticket,) = live.tickets()
    refused = TicketTransition(TicketState.REJECTED, live.now_ms(), "ann", "we replace the machine today")
    live.store.advance(ticket.id, ticket.state, refused, None, 0)
    live.run(3600)
    assert len(live.tickets()) == 1
    (called,) = live.found(FindingKind.HEALING_FAILED)
    assert "is REJECTED (we replace the machine today): healing leaves it to a person" in called.evidence


def test_where_there_is_no_place_left_a_person_is_called(world: Callable[..., HealedWorld]) -> None:
    live = world(brokers=3)
    live.run(10)
    live.kafka.kill_broker(2)
    live.run(3 * GRACE_S)
    assert live.tickets() == ()
    (called,) = live.found(FindingKind.HEALING_FAILED)
    assert called.subject.name == "broker_down broker 2"
    assert live.found(FindingKind.BROKER_DOWN)


def test_a_cluster_that_nobody_reaches_is_told_and_nothing_is_concluded_from_it(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    live.run(10)
    live.kafka.kill_broker(2)
    live.run(GRACE_S - 20)
    live.kafka.reachable = False
    until = live.now_ms() + 5 * GRACE_S * 1000
    while live.now_ms() < until:
        live.findings.tick()
        live.healer.tick()
        live.kafka.now_ms += 2000
    assert live.found(FindingKind.CLUSTER_UNREACHABLE)
    assert live.findings.known()[0].looks[Place(Detector.REPLICAS, LIVE)].error  # and nobody was waited for twice
    assert [finding.subject.name for finding in live.found(FindingKind.BROKER_DOWN)] == ["broker 2"]
    assert live.tickets() == ()
    live.kafka.reachable = True
    live.kafka.start_broker(2)
    live.run(GRACE_S)
    assert live.tickets() == ()
    assert live.found(FindingKind.CLUSTER_UNREACHABLE) == []


def test_nothing_is_healed_on_the_word_of_brokers_that_are_cut_off(world: Callable[..., HealedWorld]) -> None:
    live = world()
    live.run(10)
    live.kafka.kill_broker(2)
    live.run(GRACE_S - 20)
    lose_the_controllers(live.kafka, hidden=1)
    live.run(5 * GRACE_S)
    (found,) = live.found(FindingKind.STATE_UNKNOWN)
    assert "brokers 1, 2, which may know better, can't be reached" in found.evidence
    assert live.found(FindingKind.CLUSTER_UNREACHABLE) == []
    assert [finding.subject.name for finding in live.found(FindingKind.BROKER_DOWN)] == ["broker 2"]
    assert live.tickets() == ()
    (verdict,) = live.healer.status()[0][LIVE].decision.verdicts
    assert verdict.sentence.startswith("waits: the state of the cluster is unknown: no controller answers")
    assert (EventKind.FINDING_RAISED, "state_unknown cluster") in live.calls()
    find_them_again(live.kafka, *live.kafka.peek().brokers)
    live.run_until("a healing ticket", lambda: len(live.healing()) == 1)
    live.run(30)
    assert live.found(FindingKind.STATE_UNKNOWN) == []


def test_a_fenced_broker_that_serves_is_the_gravest_finding_calls_a_person_and_is_not_healed_away(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    before = live.placed()
    live.run(10)
    live.kafka.cut_off(2)
    live.kafka.fence(2)
    live.run(16)
    found = findings(live.findings.known()[0])[0]
    assert found.subject.title == "fenced_serves broker 2"
    assert found.evidence.startswith("broker 2 is fenced and still answers clients at broker2:9092: ")
    assert "with acks=0 or acks=1 is being lost" in found.evidence
    assert live.calls() == [(EventKind.FINDING_RAISED, "fenced_serves broker 2")]
    live.run(3 * GRACE_S)
    verdicts = live.healer.status()[0][LIVE].decision.verdicts
    (down,) = [each for each in verdicts if each.trouble.subject.kind is FindingKind.BROKER_DOWN]
    assert down.sentence.startswith("waits: broker 2 is fenced and still answers clients at broker2:9092: ")
    assert live.healer.why_not_move(LIVE) == found.evidence
    assert (live.tickets(), live.placed()) == ((), before)
    live.kafka.reconnect(2)
    live.run(120)
    assert live.found(FindingKind.FENCED_SERVES) == []


def test_a_plan_that_could_not_be_made_as_the_state_was_unknown_is_no_failure(
    world: Callable[..., HealedWorld],
) -> None:
    live = world()
    live.run(10)
    live.kafka.kill_broker(2)
    ask, asked = live.planner.ask, []

    def undecided(*arguments: object, **_: object) -> GuardianError:
        asked.append(arguments)
        return Undecided("the state of the cluster is unknown: no controller answers")

    live.planner.ask = undecided  # type: ignore[method-assign]
    live.run_until("a plan to be asked for", lambda: bool(asked))
    live.run(10)
    (verdict,) = live.healer.status()[0][LIVE].decision.verdicts
    assert "no plan yet: the state of the cluster is unknown" in verdict.sentence
    assert verdict.phase is not Phase.PERSON
    assert live.found(FindingKind.HEALING_FAILED) == []
    live.planner.ask = ask  # type: ignore[method-assign]
    live.run_until("a healing ticket", lambda: len(live.healing()) == 1, 120)
