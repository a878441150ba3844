"""A topic of 5000 partitions moves to other brokers, with paths and names as Strimzi has them.

kafka-reassign-partitions takes such a file (KAFKA-17993 is about thousands of partitions), Cruise Control runs such a
plan, and Guardian's own balance plan for 300 brokers has 7114 moves.
"""

from __future__ import annotations

import pytest

from guardian.client import GuardianClient
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import MAX_EXECUTION_BYTES, TicketState
from guardian.model.topology import TopicPartition
from guardian.model.wire.plans import move_to_proto
from tests.unit.member.member import Kafka, Member

TOPIC = "payments.settlement.transactions.v1"
PARTITIONS, BROKERS = 5000, range(12)


def log_dir(disk: int, broker: int) -> str:
    return f"/var/lib/kafka/data-{disk}/kafka-log{broker}"


def move(number: int, *targets: int) -> PartitionMove:
    return PartitionMove(
        TopicPartition(TOPIC, number),
        (),
        tuple(ReplicaPlacement(broker, log_dir(number % 2, broker)) for broker in targets),
        reason=f"broker {number % 6} disk 31% above the mean, -50.0 GB",
        goal="disk-spread",
    )


@pytest.mark.slow
def test_a_plan_of_5000_moves_becomes_tickets_one_after_the_other_under_one_approval() -> None:
    member = Member()
    member.kafka = Kafka(
        {broker: "abc"[broker % 3] for broker in BROKERS},
        {broker: tuple(log_dir(disk, broker) for disk in range(2)) for broker in BROKERS},
    )
    at = {number: [(number + n) % 6 for n in range(3)] for number in range(PARTITIONS)}
    member.kafka.create_topic(TOPIC, at, 500)
    moves = tuple(move(number, *(broker + 6 for broker in brokers)) for number, brokers in at.items())
    plan = Plan("live", "balance", moves)
    try:
        with GuardianClient([member.endpoint]) as client:
            _, rehearsed = client.create_ticket(plan, author="ann", dry_run=True)
            assert len(rehearsed.moves) == PARTITIONS
            assert not client.tickets()
            first, made = client.create_ticket(plan, author="ann", submit=True, idempotency_key="k")
            assert made.moves == rehearsed.moves
            again, same = client.create_ticket(plan, author="ann", submit=True, idempotency_key="k")
            parts = [ticket for ticket, _ in client.parts_of(first)]
            assert again == first == parts[0]
            assert same.moves == made.moves
            plans = [client.plan(each.plan_hash) for each in parts]
            client.approve(first.id, "bob")
            approved = [ticket.state for ticket, _ in client.parts_of(first)]
    finally:
        member.stop()
    assert len(parts) > 1
    assert [each.part and each.part.number for each in parts] == list(range(1, len(parts) + 1))
    assert [move for each in plans for move in each.moves] == list(made.moves)
    for each in plans:
        assert sum(move_to_proto(move).ByteSize() for move in each.moves) <= MAX_EXECUTION_BYTES
    assert {(each.approved_moves, each.approved_bytes) for each in parts} == {(PARTITIONS, made.bytes_to_copy)}
    assert set(approved) == {TicketState.APPROVED}
