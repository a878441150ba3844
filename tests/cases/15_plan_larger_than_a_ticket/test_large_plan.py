"""A topic of 5000 partitions moves to other brokers, with paths and names as Strimzi has them.

kafka-reassign-partitions takes such a file (KAFKA-17993 is about thousands of partitions), Cruise Control runs such a
plan, and Guardian's own balance plan for 300 brokers has 7114 moves.
"""

from __future__ import annotations

import pytest

from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.topology import TopicPartition
from tests.unit.server.member import Kafka, Member

TOPIC = "payments.settlement.transactions.v1"
PARTITIONS, BROKERS = 5000, range(12)


def log_dir(disk: int, broker: int) -> str:
    return f"/var/lib/kafka/data-{disk}/kafka-log{broker}"


def move(number: int, *targets: int) -> PartitionMove:
    return PartitionMove(
        TopicPartition(TOPIC, number),
        (),
        tuple(ReplicaPlacement(broker, log_dir(number % 2, broker)) for broker in targets),
        reason=f"broker {number % 6} disk at 1.31x the mean, -50.0 GB",
        goal="disk-spread",
    )


@pytest.mark.slow
@pytest.mark.xfail(strict=True, raises=AssertionError, reason="it does not fit into a ticket, and nothing splits it")
def test_a_plan_of_5000_moves_becomes_a_ticket() -> None:
    member = Member()
    member.kafka = Kafka(
        {broker: "abc"[broker % 3] for broker in BROKERS},
        {broker: tuple(log_dir(disk, broker) for disk in range(2)) for broker in BROKERS},
    )
    at = {number: [(number + n) % 6 for n in range(3)] for number in range(PARTITIONS)}
    member.kafka.create_topic(TOPIC, at, 500)
    moves = tuple(move(number, *(broker + 6 for broker in brokers)) for number, brokers in at.items())
    refusal = ""
    try:
        with GuardianClient([member.endpoint]) as client:
            _, plan = client.create_ticket(Plan("live", "balance", moves), author="ann", dry_run=True)
            assert len(plan.moves) == PARTITIONS
    except GuardianError as error:
        refusal = str(error)
    finally:
        member.stop()
    assert not refusal
