"""The life of a ticket on real brokers: who may approve it, what it would send, paused, resumed, rolled back, expired.

Three members, two of which are killed on the way: while the ticket is paused, and while it goes back.
"""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deploy.local import leftovers, processes
from deploy.local.answering import once_answered, register
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.members import Member, plan_members, render_config, wait_ready
from guardian.client import GuardianClient
from guardian.errors import Conflict, InvalidInput
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.execution import TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.integration.leading import who_leads
from tests.integration.placement import placement
from tests.patience import CALL_S, CONTROL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

PARTITIONS = 16  # more than may move at once, where a small one counts as much as any
RECORDS = 150
RECORD_BYTES = 10_000
THROTTLE = "200k"  # Kafka lets ten seconds' worth pass at once: none of the first moves ends before the pause
FASTER = 1_000_000  # from then on
TICKET_KB = 6  # all plans of these tests fit but the one that must not
APPROVALS = """
[[rules]]
name      = "robots, a little"
authors   = ["night-robot"]
automatic = true
max_bytes = "1MB"

[[rules]]
name      = "people"
approvers = ["bob"]
"""


@dataclass
class Group:
    """Members that read one approvals file."""

    home: Path
    members: list[Member]

    @property
    def approvals(self) -> Path:
        return self.home / "approvals.toml"

    @property
    def endpoints(self) -> list[str]:
        return [member.grpc for member in self.members]

    def start(self, number: int) -> None:
        member = self.members[number]
        member.data.mkdir(parents=True, exist_ok=True)
        config = render_config(
            member,
            self.members,
            self.home / "lake",
            more=f"[execute]\nslot_mb = 0\nticket_kb = {TICKET_KB}\n",
            kafka=MEMBER_KAFKA,
        )
        member.config.write_text(f"approvals = {json.dumps(str(self.approvals))}\n{config}")
        command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
        process = processes.spawn(command, self.home / f"{member.name}.log", cwd=member.data.parent)
        self.members[number] = replace(member, process=process)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory, kafka_cluster: KafkaCluster) -> Iterator[Group]:
    home = tmp_path_factory.mktemp("ticket-life")
    group = Group(home, list(plan_members(3, home)))
    group.approvals.write_text(APPROVALS)
    (home / "lake").mkdir()
    try:
        for number in range(3):
            group.start(number)
        wait_ready(group.members)
        with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka_cluster.to_cluster(sasl=False))
        yield group
    finally:
        processes.stop_all([member.process for member in group.members if member.process])


@pytest.fixture
def client(group: Group) -> Iterator[GuardianClient]:
    with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
        yield client


@pytest.fixture
def admin(kafka_cluster: KafkaCluster) -> Iterator[KafkaControl]:
    with closing(KafkaControl(kafka_cluster.to_cluster(sasl=False), CONTROL_S)) as admin:
        yield admin


def create(kafka_cluster: KafkaCluster, topic: str, partitions: int, records: int = 0) -> None:
    cluster = kafka_cluster.to_cluster(sasl=False)
    data.create_topics(cluster, {topic: dict.fromkeys(range(partitions), (1, 2))}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for partition in range(partitions):
        for sequence in range(records):
            producer.produce(topic, sequence.to_bytes(RECORD_BYTES, "big"), partition=partition)
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def one_move(topic: str) -> Plan:
    """The order of the replicas of partition 0."""
    target = (ReplicaPlacement(2), ReplicaPlacement(1))
    return Plan("shared", "run-plan", (PartitionMove(TopicPartition(topic, 0), (), target),))


def state_of(client: GuardianClient, ticket_id: str) -> TicketState:
    return client.ticket(ticket_id)[0].state


def test_the_policy_says_who_approves_and_is_read_anew(
    group: Group, client: GuardianClient, kafka_cluster: KafkaCluster, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    create(kafka_cluster, topic, 1)
    ticket, _ = once_answered(lambda: client.create_ticket(one_move(topic), author="ann", submit=True))
    with pytest.raises(InvalidInput, match=r"'eve' may not approve .*: rule 'people' lets bob"):
        client.approve(ticket.id, "eve")
    group.approvals.write_text(APPROVALS.replace('"bob"', '"ann"'))
    with pytest.raises(InvalidInput, match=r"actor is 'ann', the author of ticket .*: somebody else must approve it"):
        client.approve(ticket.id, "ann")
    group.approvals.write_text(APPROVALS.replace("approvers", "approves"))
    with pytest.raises(
        InvalidInput, match=r"approvals file .*: rules\[1\].approves is not a setting: did you mean approvers"
    ):
        client.approve(ticket.id, "bob")
    assert state_of(client, ticket.id) is TicketState.PENDING
    group.approvals.write_text(APPROVALS)
    assert client.approve(ticket.id, "bob").state is TicketState.APPROVED
    wait_for("the end", lambda: state_of(client, ticket.id) is TicketState.SUCCEEDED)


def test_a_rule_approves_by_itself_and_what_waits_too_long_expires(
    client: GuardianClient, kafka_cluster: KafkaCluster, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    create(kafka_cluster, topic, 2)
    small, _ = once_answered(lambda: client.create_ticket(one_move(topic), author="night-robot", submit=True))
    wait_for("the end", lambda: state_of(client, small.id) is TicketState.SUCCEEDED)
    approved = next(past for past in client.ticket(small.id)[0].history if past.state is TicketState.APPROVED)
    assert (approved.actor, approved.reason) == ("policy", "approved by rule 'robots, a little'")

    target = (ReplicaPlacement(2), ReplicaPlacement(1))
    plan = Plan("shared", "run-plan", (PartitionMove(TopicPartition(topic, 1), (), target),))
    ticket, _ = once_answered(lambda: client.create_ticket(plan, author="ann", submit=True, expires_in_ms=500))
    wait_for("its time is over", lambda: state_of(client, ticket.id) is TicketState.EXPIRED)
    last = client.ticket(ticket.id)[0].history[-1]
    assert last.actor == "policy"
    assert last.reason.startswith("it was not approved before ")
    with pytest.raises(Conflict, match="is EXPIRED: only a PENDING ticket can be approved"):
        client.approve(ticket.id, "bob")
    never, _ = once_answered(lambda: client.create_ticket(plan, author="ann", submit=True, expires_in_ms=-1))
    assert never.expires_at_ms == 0
    client.reject(never.id, "bob")


def test_a_ticket_is_previewed_paused_resumed_and_rolled_back_though_leaders_die(
    guardian: Cli,
    group: Group,
    client: GuardianClient,
    admin: KafkaControl,
    kafka_cluster: KafkaCluster,
    new_topic: Callable[[], str],
    tmp_path: Path,
) -> None:
    topic = new_topic()
    create(kafka_cluster, topic, PARTITIONS, RECORDS)
    configs, before = leftovers.dynamic_configs(admin), placement(admin, topic)
    ends = data.end_offsets(kafka_cluster.to_cluster(sasl=False), [topic], PATIENCE_S)
    file = tmp_path / "moves.json"
    moves = [{"topic": topic, "partition": n, "replicas": [3, 2]} for n in range(PARTITIONS)]
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    options = ("--plan", str(file), "--cluster", "shared", "--throttle", THROTTLE)

    requests = previewed(guardian, group, *options)
    assert requests[0]["api"] == "IncrementalAlterConfigs", "throttles come first"
    assert [request["subject"] for request in requests if is_reassignment(request)] == [
        f"{topic}-{n}" for n in range(PARTITIONS)
    ]
    assert {request["change"] for request in requests if is_reassignment(request)} == {"[1, 2] -> [3, 2]"}
    assert any("follower.replication.throttled.replicas" in request["change"] for request in requests)
    assert (leftovers.dynamic_configs(admin), placement(admin, topic)) == (configs, before), "nothing was sent"

    ticket_id = run(guardian, group, "ticket", "submit", *options).split()[1]
    client.approve(ticket_id, "bob")
    wait_for("copies", lambda: any(tp.topic == topic for tp in admin.list_reassignments()))
    client.pause(ticket_id, "bob", "the evening peak")  # a command takes seconds to start, and all would have copied
    client.set_throttle(ticket_id, FASTER, "bob", "so that it ends")
    with without_the_leader(group, client):
        waiting = tasks(client, ticket_id, TaskState.PENDING)
        assert waiting > 0
        wait_for("what copies ends", lambda: tasks(client, ticket_id, TaskState.RUNNING) == 0)
        wait_for("the throttles go", lambda: leftovers.of_cluster(admin, configs) == [])
        assert tasks(client, ticket_id, TaskState.PENDING) == waiting, "a paused ticket starts nothing"
        assert state_of(client, ticket_id) is TicketState.PAUSED

    run(guardian, group, "ticket", "resume", ticket_id)
    assert "SUCCEEDED" in run(guardian, group, "ticket", "watch", ticket_id).splitlines()[-1]
    wait_for("all are there", lambda: placement(admin, topic) == dict.fromkeys(range(PARTITIONS), (3, (3, 2))))

    way_back = previewed(guardian, group, ticket_id)
    assert {request["change"] for request in way_back if is_reassignment(request)} == {"[3, 2] -> [1, 2]"}
    with pytest.raises(InvalidInput, match=f"'eve' may not roll back .*lets bob, {getpass.getuser()}"):
        client.roll_back(ticket_id, "eve")
    run(guardian, group, "ticket", "rollback", ticket_id, "--reason", "consumers read across the line")
    wait_for("copies back", lambda: any(tp.topic == topic for tp in admin.list_reassignments()))
    with without_the_leader(group, client):
        assert "ROLLED_BACK" in run(guardian, group, "ticket", "watch", ticket_id).splitlines()[-1]
        assert tasks(client, ticket_id, TaskState.REVERTED) == PARTITIONS
        wait_for("all are back", lambda: placement(admin, topic) == before)
        assert leftovers.of_cluster(admin, configs) == []
        assert data.end_offsets(kafka_cluster.to_cluster(sasl=False), [topic], PATIENCE_S) == ends
        shown = run(guardian, group, "ticket", "show", ticket_id)
    for text in ("the evening peak", "resumed", "consumers read across the line", "16 of 16 moves are as before"):
        assert text in shown, shown


def run(guardian: Cli, group: Group, *command: str) -> str:
    done = guardian(group, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def previewed(guardian: Cli, group: Group, *options: str) -> list[dict[str, str]]:
    found = json.loads(run(guardian, group, "ticket", "preview", *options, "-o", "json"))
    return [request for each in found["rounds"] for request in each["requests"]]


def is_reassignment(request: dict[str, str]) -> bool:
    return request["api"] == "AlterPartitionReassignments"


def tasks(client: GuardianClient, ticket_id: str, state: TaskState) -> int:
    execution = client.ticket(ticket_id)[1]
    return sum(task.state is state for task in execution.tasks) if execution else 0


@contextmanager
def without_the_leader(group: Group, client: GuardianClient) -> Iterator[None]:
    """It is killed, and comes back at the end."""
    leader = who_leads(client)
    number = next(i for i, member in enumerate(group.members) if member.name == leader)
    process = group.members[number].process
    assert process is not None
    processes.kill(process)
    yield
    group.start(number)
    wait_ready(group.members)


def begins_before_its_turn(earlier: TicketState, later: TicketState) -> bool:
    """Of two parts, the one that follows the other directly."""
    return later is not TicketState.APPROVED and earlier is not TicketState.SUCCEEDED


def test_a_plan_larger_than_a_ticket_runs_in_parts_though_the_leader_dies(
    group: Group,
    client: GuardianClient,
    admin: KafkaControl,
    kafka_cluster: KafkaCluster,
    new_topic: Callable[[], str],
) -> None:
    """Approved once; the leader dies when the first part is over, and the last one is over before the way back."""
    topic, count = new_topic(), 120
    create(kafka_cluster, topic, count)
    configs = leftovers.dynamic_configs(admin)
    places = (ReplicaPlacement(2), ReplicaPlacement(1))  # nothing is copied, so that it takes seconds
    moves = tuple(PartitionMove(TopicPartition(topic, number), (), places) for number in range(count))
    first, _ = client.create_ticket(Plan("shared", "run-plan", moves), author="ann", submit=True)
    parts = [ticket.id for ticket, _ in client.parts_of(first)]
    assert len(parts) >= 3
    with pytest.raises(Conflict, match=f"{parts[1]} is part 2 of {len(parts)} of {first.id}"):
        client.approve(parts[1], "bob")
    client.approve(first.id, "bob")

    seen: list[list[TicketState]] = []

    def states() -> list[TicketState]:
        seen.append([ticket.state for ticket, _ in client.parts_of(first)])
        return seen[-1]

    def replicas() -> set[tuple[int, ...]]:
        return {state.replicas for state in admin.describe_partitions([topic]).values()}

    wait_for("the end of part 1", lambda: states()[0] is TicketState.SUCCEEDED)
    leads = who_leads(client)
    victim = next(number for number, member in enumerate(group.members) if member.name == leads)
    process = group.members[victim].process
    assert process is not None
    processes.kill(process)
    wait_for("the end of the last part", lambda: states()[-1] is TicketState.SUCCEEDED)
    group.start(victim)
    wait_ready(group.members)
    begun_early = [each for each in seen if any(map(begins_before_its_turn, each, each[1:]))]
    assert begun_early == []  # their stamps are of two leaders, whose clocks may differ by seconds
    assert replicas() == {(2, 1)}

    client.roll_back(first.id, "ann")
    wait_for("the way back", lambda: set(states()) == {TicketState.ROLLED_BACK})
    assert replicas() == {(1, 2)}
    assert leftovers.of_cluster(admin, configs) == []
