"""A topic of 3000 small partitions on 60 brokers is moved under a throttle, with the default limits.

Kafka's protocol takes strings of up to 32767 bytes; a longer list of throttled replicas hung the tool (KAFKA-17993).
"""

from __future__ import annotations

import pytest

from guardian.config import ExecuteConfig
from guardian.execution.loop.observing import observe, scope_of
from guardian.execution.rules.beginning import begin
from guardian.execution.rules.executing import step
from guardian.kafka.fake import FakeKafka
from guardian.model.effects import AlterConfigs
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

TOPIC = "clickstream.enriched.v2"
PARTITIONS, BROKERS, SIZE_BYTES = 3000, list(range(101, 161)), 50_000
THROTTLE = 20_000_000
MAX_CONFIG_BYTES = 32_767  # of a string in Kafka's protocol: its length is an int16


def placed(*brokers: int) -> tuple[ReplicaPlacement, ...]:
    return tuple(ReplicaPlacement(broker, "/d0") for broker in brokers)


@pytest.mark.slow
def test_lists_of_throttled_replicas_stay_within_what_kafka_takes() -> None:
    kafka = FakeKafka({broker: "abc"[broker % 3] for broker in BROKERS}, dict.fromkeys(BROKERS, ("/d0",)))
    at = [[BROKERS[(number + n) % len(BROKERS)] for n in (0, 1, 2, 17)] for number in range(PARTITIONS)]
    kafka.create_topic(TOPIC, {number: each[:3] for number, each in enumerate(at)}, SIZE_BYTES)
    moves = tuple(
        PartitionMove(TopicPartition(TOPIC, number), placed(a, b, c), placed(a, b, d), SIZE_BYTES, 10.0)
        for number, (a, b, c, d) in enumerate(at)
    )
    history = (TicketTransition(TicketState.RUNNING, 1, "ann", "x"),)
    ticket = Ticket("t-0000000a", "live", "run-plan", TicketState.RUNNING, "ann", "x", THROTTLE, 1, 1, history)
    begun = begin(ticket, Plan("live", "run-plan", moves))
    observation = observe(kafka, [scope_of(begun)], 1000)
    decided = step(TicketState.RUNNING, begun, observation, ExecuteConfig().limits, THROTTLE, 1000)
    lists = [
        change.value
        for effect in decided.effects
        if isinstance(effect, AlterConfigs)
        for key, change in effect.changes.items()
        if change.value is not None and key.resource_type == "TOPIC"
    ]
    assert lists
    assert max(map(len, lists)) <= MAX_CONFIG_BYTES
