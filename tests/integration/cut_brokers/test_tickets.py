"""What a member does while a broker that lost the controllers answers on: all that concerns it waits, and says why."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from deploy.local import broker_hook, members, processes
from deploy.local.answering import once_answered, register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.model.actor import Agent
from guardian.model.operation import Ask, AskKind
from guardian.model.ticket import TicketState
from protos.guardian.v1 import insight_pb2 as pb
from tests.integration.beside import beside
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.lab import BrokerLab
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

RACKS = ("a", "b", "c", "d", "e")
MOVING, ORDERS = "moving", "orders"
RECORDS, RECORD_BYTES = 300, 10_000
THROTTLE = 400_000
GRACE_S = 5.0  # of healing: the shortest
HEALING = f"""
[healing]
mode = "act"
broker_grace_s = {GRACE_S}
storm_share = 0.5
"""
FENCED = "broker 1 is fenced and still answers clients"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Cut:
    """Who loses the controllers, of five brokers."""

    brokers: tuple[int, ...]
    kafka: str = "4.3"


@dataclass
class Stage:
    lab: BrokerLab
    hooks: Path
    federation: Federation
    client: GuardianClient
    guardian: Cli

    def run(self, *command: str) -> str:
        done = self.guardian(self.federation, *command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shows(self, text: str, *command: str) -> bool:
        return text in self.run(*command)

    def is_settled(self, ticket_id: str) -> bool:
        """Over, or PAUSED because something failed."""
        return (state := self.state(ticket_id)).is_over or state is TicketState.PAUSED

    def state(self, ticket_id: str) -> TicketState:
        return self.client.ticket(ticket_id)[0].state

    def pids(self) -> dict[int, int | None]:
        return {node.id: node.pid for node in broker_hook.load(self.hooks).nodes}

    def replicas(self, broker: int = 3) -> dict[tuple[str, int], frozenset[int]]:
        """Of each partition, as a broker says; broker 3 is not cut."""
        seen = witness.partitions(self.lab.listener(broker), [MOVING, ORDERS])
        return {name: each.replicas for name, each in seen.items()}

    def submit_file(self, path: Path, targets: Mapping[int, tuple[int, ...]]) -> str:
        """A ticket that moves partitions of MOVING; its id."""
        moves = [{"topic": MOVING, "partition": n, "replicas": list(brokers)} for n, brokers in targets.items()]
        path.write_text(json.dumps({"version": 1, "partitions": moves}))
        rate = ("--throttle", str(THROTTLE))
        return self.run(
            "ticket", "submit", "--plan", str(path), "--cluster", "lab", *rate, "--reason", "a test"
        ).split()[1]


@contextmanager
def staged(home: Path, guardian: Cli, brokers: int, kafka: str = "4.3") -> Iterator[Stage]:
    """One member beside a cluster of so many brokers."""
    spec = ClusterSpec(
        "lab",
        brokers=brokers,
        log_dirs=1,
        heap_mb=256,
        racks=RACKS[:brokers],
        settings={"min.insync.replicas": "1"},
        kafka=kafka,
    )
    hooks = home / "hooks"
    more = broker_hook.config_section(hooks) + HEALING
    with BrokerLab(home / "kafka", spec) as lab:
        broker_hook.save(lab.kafka, hooks)
        federation = Federation(home)
        planned = members.plan_members(1, home)
        try:
            federation.members = [
                members.start_member(each, planned, home / "lake", home / f"{each.name}.log", more=more)
                for each in planned
            ]
            members.wait_ready(federation.members)
            with GuardianClient(federation.endpoints, timeout_s=60.0) as client:
                register(client, lab.cluster)
                write(lab, MOVING, dict.fromkeys(range(6), (1, 2)))
                copies = min(3, brokers)
                write(lab, ORDERS, {n: tuple(1 + (n + each) % brokers for each in range(copies)) for n in range(5)})
                yield Stage(lab, hooks, federation, client, guardian)
        finally:
            processes.stop_all([member.process for member in federation.members if member.process])
            for node, known in zip(lab.kafka.nodes, broker_hook.load(hooks).nodes, strict=True):
                node.process = known.process


def write(lab: BrokerLab, topic: str, places: dict[int, tuple[int, ...]]) -> None:
    data.create_topics(lab.cluster, {topic: places}, {}, PATIENCE_S)
    producer = data.producer(lab.cluster, acks="all", linger_ms=50)
    for partition in places:
        for sequence in range(RECORDS):
            producer.produce(topic, sequence.to_bytes(RECORD_BYTES, "big"), partition=partition)
            producer.poll(0)
    assert producer.flush(120.0) == 0


@dataclass
class Ratings:
    """What `guardian durability` says of the topics that have replicas on broker 1, again and again."""

    client: GuardianClient
    said: list[dict[str, str]] = field(default_factory=list)

    def __call__(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            try:
                report = self.client.durability("lab", [MOVING, ORDERS])
            except GuardianError:
                continue
            self.said.append({topic.topic: pb.DurabilityRating.Name(topic.rating) for topic in report.topics})


def looked_at_ms(client: GuardianClient) -> float:
    return client.healing("lab").clusters[0].looked_at_ms


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(Cut((1,)), id="one"),
        pytest.param(Cut((1, 2)), id="two together", marks=pytest.mark.long),
        pytest.param(Cut((1,), "3.9"), id="one of Kafka 3.9", marks=pytest.mark.long),
    ],
)
def test_executor_restart_removal_and_healing_wait_for_a_broker_that_lost_the_controllers(
    cut: Cut, guardian: Cli, tmp_path: Path
) -> None:
    with staged(tmp_path, guardian, 5, cut.kafka) as stage:
        require_all_wait(stage, cut.brokers, tmp_path / "moves.json")


def require_all_wait(stage: Stage, cut: tuple[int, ...], plan: Path) -> None:
    lab, client = stage.lab, stage.client
    moves = dict.fromkeys(range(6), (1, 3))
    move_id = stage.submit_file(plan, moves)
    restart, _ = once_answered(
        lambda: client.ask_for("lab", Ask(AskKind.RESTART, (4,), hook="local"), author="ann", submit=True)
    )
    removal, _ = once_answered(
        lambda: client.ask_for("lab", Ask(AskKind.REMOVE, (5,), shutdown=False), author="ann", submit=True)
    )
    client.approve(move_id, "bob")
    wait_for("moves in flight", lambda: witness.reassignments(lab.listener(3)))
    pids = stage.pids()

    ratings = Ratings(client)
    with lab.without_controllers(*cut):
        with beside(ratings):
            wait_for("the move to say why it waits", partial(stage.shows, FENCED, "ticket", "show", move_id))
            flying, before = witness.reassignments(lab.listener(3)), stage.replicas()
            assert len(flying) < len(moves), "nothing was left to start"
            for ticket_id in (restart.id, removal.id):
                client.approve(ticket_id, "bob")
                wait_for(f"{ticket_id} to say why it waits", partial(stage.shows, FENCED, "ticket", "show", ticket_id))
            wait_for("the finding", partial(stage.shows, FENCED, "findings", "--cluster", "lab"))
            assert FENCED in stage.run("findings", "--cluster", "lab").splitlines()[1], "nothing is more urgent"
            wait_for(
                "healing to say why it waits", partial(stage.shows, FENCED, "healing", "status", "--cluster", "lab")
            )
            grace_over_ms = looked_at_ms(client) + 1000 * 2 * GRACE_S
            wait_for("healing to look past the grace period", lambda: looked_at_ms(client) > grace_over_ms)
        # What was in flight Kafka may end by itself.
        assert witness.reassignments(lab.listener(3)) <= flying
        assert stage.replicas().items() - before.items() <= {(name, frozenset({1, 3})) for name in flying}
        assert stage.pids() == pids
        assert [ticket.id for ticket in client.tickets() if ticket.author is Agent.HEALING] == []
        if len(cut) > 1:  # at the heal there may be too few others for a moment, and the removal is refused
            client.cancel(removal.id, "bob")
    assert ratings.said
    assert not [each for each in ratings.said if "SOUND" in each.values()]
    for ticket_id in (move_id, restart.id, removal.id):
        wait_for(f"the end of {ticket_id}", partial(stage.is_settled, ticket_id))
        end = TicketState.CANCELLED if ticket_id == removal.id and len(cut) > 1 else TicketState.SUCCEEDED
        assert stage.state(ticket_id) is end, client.ticket(ticket_id)[0].history[-1].reason
    wait_for("no finding", lambda: FENCED not in stage.run("findings", "--cluster", "lab"))
    assert [ticket.id for ticket in client.tickets() if ticket.author is Agent.HEALING] == []
    assert len(cut) > 1 or not any(5 in replicas for replicas in stage.replicas().values())
    assert stage.replicas()[MOVING, 0] == {1, 3}
    after = stage.pids()
    assert [node for node in pids if after[node] != pids[node]] == [4]


@pytest.mark.long
def test_while_one_of_two_brokers_is_dead_and_the_other_lost_the_controllers_all_waits(
    guardian: Cli, tmp_path: Path
) -> None:
    with staged(tmp_path, guardian, 2) as stage:
        lab, client = stage.lab, stage.client
        move_id = stage.submit_file(tmp_path / "moves.json", {0: (2, 1)})
        restart, _ = once_answered(
            lambda: client.ask_for("lab", Ask(AskKind.RESTART, (1,), hook="local"), author="ann", submit=True)
        )
        before, pid = stage.replicas(1), stage.pids()[1]
        lab.kafka.kill_broker(2)
        lab.wait_alive([1], [1])
        lab.cut_from_controllers([1])
        wait_for("the finding", partial(stage.shows, UNKNOWN, "findings", "--cluster", "lab"))
        for ticket_id in (restart.id, move_id):
            client.approve(ticket_id, "bob")
            wait_for(f"{ticket_id} to say why it waits", partial(stage.shows, UNKNOWN, "ticket", "show", ticket_id))
        grace_over_ms = looked_at_ms(client) + 1000 * 2 * GRACE_S
        wait_for("healing to look past the grace period", lambda: looked_at_ms(client) > grace_over_ms)
        assert (stage.replicas(1), stage.pids()[1]) == (before, pid)
        lab.heal()
        lab.kafka.start_broker(2)
        lab.wait_alive(lab.brokers, lab.brokers)
        for ticket_id in (move_id, restart.id):
            wait_for(f"the end of {ticket_id}", partial(stage.is_settled, ticket_id))
            assert stage.state(ticket_id) is TicketState.SUCCEEDED, client.ticket(ticket_id)[0].history[-1].reason
        assert stage.pids()[1] != pid
        assert [ticket.id for ticket in client.tickets() if ticket.author is Agent.HEALING] == []
