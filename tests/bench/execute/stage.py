"""Real brokers and three members for one measurement, and nothing of either afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.local import broker_hook, processes
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.bench.report import BenchFailed

_MEMBERS = 3
_LIKE_CLIENTS, _LEAST = 0, 19
_DEADLINE_S = 600.0
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Stage:
    """`client` speaks with the `members`, who know the cluster; `admin` with the cluster itself. `revive` starts one
    whose process has ended, and returns when it serves: `members` has it with its new process then."""

    kafka: KafkaCluster
    members: Sequence[Member]
    client: GuardianClient
    admin: KafkaControl
    revive: Callable[[Member], None]

    def leader(self) -> Member:
        """The member that leads the group. Raises BenchFailed where nobody knows one."""
        name = self.client.member().leader
        found = next((member for member in self.members if member.name == name), None)
        if found is None:
            raise BenchFailed(f"the members name {name or 'nobody'} as their leader")
        return found


@contextmanager
def staged(
    spec: ClusterSpec,
    home: Path,
    more: str,
    *,
    members_give_way: bool = False,
    collect: Mapping[str, object] | None = None,
) -> Iterator[Stage]:
    """The cluster and the members, all of which serve. `collect` is a section of the members' configuration, `more` are
    further ones.

    `members_give_way`: brokers and clients come first on these CPUs, as if members had machines of their own.
    """
    planned = plan_members(_MEMBERS, home)
    group: list[Member] = []

    def start(member: Member) -> None:
        log = home / f"{member.name}.log"
        started = start_member(member, planned, home / "lake", log, more=more, collect=collect)
        group[:] = [*(each for each in group if each.name != member.name), started]
        if members_give_way:
            _give_way(started)

    def revive(member: Member) -> None:
        start(member)
        wait_ready([each for each in group if each.name == member.name])

    with KafkaCluster.start(spec, home / "kafka") as kafka:
        known = kafka.to_cluster()
        if members_give_way:
            for node in kafka.nodes:
                assert node.process
                processes.give_way(node.process.pid, _LIKE_CLIENTS)
        try:
            for each in planned:
                start(each)
            wait_ready(group)
            with GuardianClient([each.grpc for each in group]) as client, closing(KafkaControl(known)) as admin:
                register(client, known)
                yield Stage(kafka, group, client, admin, revive)
        finally:
            processes.stop_all([each.process for each in group if each.process])


def _give_way(member: Member) -> None:
    """Right after its start: threads that it makes have the same priority."""
    assert member.process
    os.setpriority(os.PRIO_PROCESS, member.process.pid, _LEAST)
    processes.give_way(member.process.pid, _LEAST)


@contextmanager
def hooked(kafka: KafkaCluster, hooks: Path) -> Iterator[None]:
    """Hooks know the cluster, and in the end the cluster knows the processes that hooks have started and stopped."""
    broker_hook.save(kafka, hooks)
    try:
        yield
    finally:
        for broker, known in zip(kafka.brokers, broker_hook.load(hooks).brokers, strict=True):
            broker.process = known.process


def fill(
    kafka: KafkaCluster, topic: str, replicas: Mapping[int, tuple[int, ...]], records: int, record_bytes: int
) -> None:
    """Makes a topic with these replicas, and writes so many records to each of its partitions."""
    known = kafka.to_cluster()
    data.create_topics(known, {topic: replicas}, {})
    producer = data.producer(known, acks="all", linger_ms=50)
    for partition in replicas:
        for sequence in range(records):
            producer.produce(topic, sequence.to_bytes(record_bytes, "big"), partition=partition)
            producer.poll(0)
    if producer.flush(120.0):
        raise BenchFailed(f"topic {topic} could not be filled")


def reassignment(cluster: str, topic: str, targets: Mapping[int, Sequence[int]]) -> Plan:
    """Each partition of a topic, by its number, goes to these brokers."""
    moves = tuple(
        PartitionMove(TopicPartition(topic, n), (), tuple(map(ReplicaPlacement, brokers)))
        for n, brokers in targets.items()
    )
    return Plan(cluster, "run-plan", moves)


def until_succeeded(client: GuardianClient, ticket_id: str) -> None:
    """Returns when the ticket has. Raises BenchFailed when it ends otherwise."""
    for ticket, _ in client.watch(ticket_id):
        if ticket.state.is_over and ticket.state is not TicketState.SUCCEEDED:
            raise BenchFailed(f"ticket {ticket_id} ended {ticket.state.name}: {ticket.history[-1].reason}")


def until(
    what: str, holds: Callable[[], bool], deadline_s: float = _DEADLINE_S, look_every_s: float = _LOOK_EVERY_S
) -> None:
    """Returns when it holds. While brokers go and come nobody may answer: that is asked again. Raises BenchFailed."""
    deadline = time.monotonic() + deadline_s
    failure = ""
    while True:
        try:
            if holds():
                return
            failure = ""
        except GuardianError as error:
            failure = f": {error}"
        if time.monotonic() > deadline:
            raise BenchFailed(f"{what} did not happen within {deadline_s:g} s{failure}")
        time.sleep(look_every_s)
