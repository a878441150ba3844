"""Tickets on real brokers, by the clock: three members, three brokers, and a plan that takes time.

`execute_41_s`    41 partitions of 1.1 MB go from broker 3 to brokers 1 and 2, unthrottled; from the approval until the
                  ticket says SUCCEEDED, which it does once Kafka has shown every partition in its place
`resume_s`        broker 3 is emptied of 81 partitions at 300 kB/s; after 22 s the leader gets kill -9; until the
                  next one has driven the ticket on, which the revision of its execution shows. In the end the
                  broker holds nothing and no throttle is left, or the figure does not count
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from deploy.local import federation, leftovers, processes
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka.control import KafkaControl
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.bench.execute.bars import CRUISE_CONTROL_41_S
from tests.bench.execute.stage import fill, reassignment, until_succeeded
from tests.bench.report import BenchFailed, Figures

_RECORD_BYTES = 10_000
_DEADLINE_S = 600.0
_KILL_AFTER_S = 22.0

Tell = Callable[[str], None]


def measured(tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Both figures. Raises BenchFailed when a ticket does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="guardian-bench-") as folder:
        home = Path(folder)
        tell("three brokers and three members start")
        with KafkaCluster.start(ClusterSpec("moved", brokers=3), home / "kafka") as cluster:
            try:
                members = federation.up(members=3, clusters=0, home=home / "members")
                return _measured(cluster, members, tell)
            finally:
                federation.wipe(home / "members")


def _measured(cluster: KafkaCluster, members: Federation, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    known = cluster.to_cluster()
    with GuardianClient(members.endpoints) as client, closing(KafkaControl(known)) as admin:
        client.register_cluster(known)
        configs = leftovers.dynamic_configs(admin)
        fill(cluster, "quick", _replicas(41), 110, _RECORD_BYTES)
        taken = [_moved_away(cluster, client, admin, "quick", 41) for _ in range(3)]
        tell(f"execute_41_s: {', '.join(f'{seconds:.1f}' for seconds in taken)} s")
        fill(cluster, "slow", _replicas(81), 50, _RECORD_BYTES)
        resumed, whole = _resumed(members, client, admin, tell)
        fault = "; ".join(leftovers.of_cluster(admin, configs))
    return {
        "execute_41_s": Figures(
            sorted(taken)[1], CRUISE_CONTROL_41_S, "median of 3; the peer's figure is stored", fault
        ),
        "resume_s": Figures(resumed, None, f"the whole took {whole:.0f} s; Cruise Control forgot it", fault),
    }, {"execute_41_s": taken, "slow_whole_s": whole}


def _replicas(partitions: int) -> dict[int, tuple[int, ...]]:
    """All on broker 3, and half of them on each of the others."""
    return {number: (3, 1 + number % 2) for number in range(partitions)}


def _moved_away(
    cluster: KafkaCluster, client: GuardianClient, admin: KafkaControl, topic: str, partitions: int
) -> float:
    """Broker 3 loses what it has, or gets it back where it has nothing; seconds from the approval."""
    places = admin.describe_partitions([topic])
    has_it = 3 in places[TopicPartition(topic, 0)].replicas
    targets = {n: (1 + n % 2, 2 - n % 2) if has_it else (3, 1 + n % 2) for n in range(partitions)}
    ticket, _ = client.create_ticket(
        reassignment("moved", topic, targets), author="bench", unthrottled=True, submit=True
    )
    began = time.monotonic()
    client.approve(ticket.id, "bench", "")
    until_succeeded(client, ticket.id)
    seconds = time.monotonic() - began
    now = admin.describe_partitions([topic])
    wrong = [n for n, brokers in targets.items() if now[TopicPartition(topic, n)].replicas != tuple(brokers)]
    if wrong:
        raise BenchFailed(f"{len(wrong)} partitions of {topic} are not where ticket {ticket.id} says")
    return seconds


def _resumed(members: Federation, client: GuardianClient, admin: KafkaControl, tell: Tell) -> tuple[float, float]:
    """Seconds from kill -9 of the leader until the ticket was driven on, and from the approval to its end."""
    plan = reassignment("moved", "slow", {n: (1 + n % 2, 2 - n % 2) for n in range(81)})
    ticket, _ = client.create_ticket(plan, author="bench", throttle=300_000, submit=True)
    began = time.monotonic()
    client.approve(ticket.id, "bench", "")
    while time.monotonic() - began < _KILL_AFTER_S:
        time.sleep(0.1)
    leader = client.member().leader
    victim = next(member for member in members.members if member.name == leader)
    if victim.process is None:
        raise BenchFailed(f"the leader {leader} has no process")
    state, execution = client.ticket(ticket.id)
    if state.state is not TicketState.RUNNING or execution is None:
        raise BenchFailed(f"ticket {ticket.id} is {state.state.name} after {_KILL_AFTER_S:g} s: it was to be RUNNING")
    processes.kill(victim.process)
    killed = time.monotonic()
    before = execution.revision
    resumed = _until_driven_on(client, ticket.id, before, killed) - killed
    tell(f"resume_s: {resumed:.1f} s after the kill of {leader}")
    while not client.ticket(ticket.id)[0].state.is_over:
        if time.monotonic() - began > _DEADLINE_S:
            raise BenchFailed(f"ticket {ticket.id} was not over after {_DEADLINE_S:g} s")
        time.sleep(0.2)
    whole = time.monotonic() - began
    ended = client.ticket(ticket.id)[0]
    left = [tp for tp, state in admin.describe_partitions(["slow"]).items() if 3 in state.replicas]
    if ended.state is not TicketState.SUCCEEDED or left:
        raise BenchFailed(f"ticket {ticket.id} ended {ended.state.name} with {len(left)} replicas on broker 3")
    return resumed, whole


def _until_driven_on(client: GuardianClient, ticket_id: str, revision: int, killed: float) -> float:
    """When the execution was saved again. What the old leader saved last may be one more than was seen of it."""
    while True:
        try:
            _, execution = client.ticket(ticket_id)
        except GuardianError:
            execution = None
        now = time.monotonic()
        if execution is not None and execution.revision > revision + 1:
            return now
        if now - killed > _DEADLINE_S:
            raise BenchFailed(f"ticket {ticket_id} was not driven on within {_DEADLINE_S:g} s")
        time.sleep(0.05)
