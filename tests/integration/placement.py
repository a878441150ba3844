"""Where a topic's replicas are and who leads."""

from __future__ import annotations

from guardian.kafka.control import KafkaControl


def placement(admin: KafkaControl, topic: str) -> dict[int, tuple[int, tuple[int, ...]]]:
    """By partition: leader and replicas, as the broker that is asked has heard. The last change it may not have."""
    return {tp.partition: (each.leader, each.replicas) for tp, each in admin.describe_partitions([topic]).items()}
