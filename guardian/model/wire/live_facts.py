"""What Kafka said of a cluster at one moment <-> protobuf, which may be larger than a message."""

from __future__ import annotations

from collections.abc import Iterator

from guardian.errors import InvalidInput
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.topology import TopicPartition
from guardian.model.wire.parts import parts_of
from protos.guardian.v1 import planning_pb2 as pb


def live_facts_to_proto(facts: LiveFacts) -> pb.LiveFacts:
    """Return the message."""
    message = pb.LiveFacts(cluster=facts.cluster, at_ms=facts.at_ms)
    for broker, node in facts.brokers.items():
        message.brokers.add(id=broker, host=node.host, port=node.port, rack=node.rack)
    for partition, state in facts.partitions.items():
        row = message.partitions.add(
            topic=partition.topic,
            partition=partition.partition,
            leader=state.leader,
            replicas=state.replicas,
            isr=state.isr,
            leader_epoch=state.leader_epoch,
        )
        moved = facts.reassignments.get(partition)
        if moved is not None:
            row.reassignment.SetInParent()
            row.reassignment.MergeFrom(
                pb.LiveReassignment(replicas=moved.replicas, adding=moved.adding, removing=moved.removing)
            )
    for number, each in enumerate(facts.log_dirs):
        message.log_dirs.add(
            broker=each.broker,
            path=each.path,
            error=each.error,
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
        )
        for is_future, replicas in ((False, each.replicas), (True, each.future_replicas)):
            for partition, replica in replicas.items():
                message.replicas.add(
                    log_dir=number,
                    topic=partition.topic,
                    partition=partition.partition,
                    size_bytes=replica.size_bytes,
                    lag=replica.lag,
                    is_future=is_future,
                )
    return message


def live_facts_from_proto(message: pb.LiveFacts) -> LiveFacts:
    """Return the facts. Raises InvalidInput for a replica in a log dir that is not among them."""
    held: list[tuple[dict[TopicPartition, LogDirReplica], dict[TopicPartition, LogDirReplica]]] = [
        ({}, {}) for _ in message.log_dirs
    ]
    for row in message.replicas:
        if row.log_dir >= len(held):
            raise InvalidInput(f"log_dir of LiveReplica: there are {len(held)} (got {row.log_dir}); ask again")
        place = held[row.log_dir][row.is_future]
        place[TopicPartition(row.topic, row.partition)] = LogDirReplica(row.size_bytes, row.lag, row.is_future)
    partitions, reassignments = {}, {}
    for each in message.partitions:
        partition = TopicPartition(each.topic, each.partition)
        partitions[partition] = PartitionState(each.leader, tuple(each.replicas), tuple(each.isr), each.leader_epoch)
        if each.HasField("reassignment"):
            told = each.reassignment
            reassignments[partition] = Reassignment(tuple(told.replicas), tuple(told.adding), tuple(told.removing))
    return LiveFacts(
        message.cluster,
        message.at_ms,
        {each.id: BrokerNode(each.id, each.host, each.port, each.rack) for each in message.brokers},
        partitions,
        reassignments,
        tuple(
            LogDir(each.broker, each.path, each.error, each.total_bytes, each.usable_bytes, *replicas)
            for each, replicas in zip(message.log_dirs, held, strict=True)
        ),
    )


def parts_of_live_facts(message: pb.LiveFacts) -> Iterator[pb.LiveFacts]:
    """Return the facts in parts that gRPC takes, one at least; merged in order they are the whole."""
    return parts_of(message, ("partitions", "replicas"))
