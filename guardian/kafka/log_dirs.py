"""Log dirs of brokers: what is in them, and moves of replicas between those of one broker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from guardian.kafka.kafka_python import AlterReplicaLogDirsRequest, DescribeLogDirsRequest, KafkaError
from guardian.kafka.patience import Patience
from guardian.kafka.reasons import NO_ERROR, no_answer, reason
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import MAX_DESCRIBED, mapping_slices, slices
from guardian.kafka.topics import TopicNumbers, numbers_by_topic
from guardian.model.cluster_state import LogDir, LogDirReplica
from guardian.model.topology import TopicPartition

Replica = tuple[TopicPartition, int]  # of a partition, on a broker


async def describe(
    session: BrokerSession,
    brokers: Collection[int],
    partitions: Collection[TopicPartition] | None,
    patience: Patience | None,
) -> tuple[LogDir, ...]:
    """Return the log dirs of the brokers that answer in time, with the replicas of these partitions (None: of all).

    Partitions are named in slices, and the answers to one are read before the next is asked for. Of a large cluster all
    of them at once would be more than what is read from them. A broker that answers one slice and not another is as one
    that does not answer: half of what it holds would look like all.
    """
    if partitions is None or len(partitions) <= MAX_DESCRIBED:
        named = [None if partitions is None else numbers_by_topic(partitions)]
    else:
        named = [numbers_by_topic(part) for part in slices(sorted(partitions), MAX_DESCRIBED)]
    found: dict[int, dict[str, LogDir]] = {}
    left = list(brokers)
    for number, topics in enumerate(named):
        answers, _ = await session.ask_each(left, _asking_for(topics), patience)
        left = list(answers)
        read = {broker: {each.path: each for each in read_log_dirs({broker: answers[broker]})} for broker in answers}
        found = {b: _joined(found[b], read[b]) if number else read[b] for b in answers}
    return tuple(each for _, log_dirs in sorted(found.items()) for each in log_dirs.values())


def _asking_for(topics: TopicNumbers | None) -> Callable[[int], Any]:
    """Return what makes the request of any broker."""
    return lambda _broker: describe_request(topics)


def _asking_to_move(moves: Mapping[int, Mapping[str, Collection[TopicPartition]]]) -> Callable[[int], Any]:
    """Return what makes the request of a broker about its own replicas."""
    return lambda broker: move_request(moves[broker])


def _joined(before: Mapping[str, LogDir], now: Mapping[str, LogDir]) -> dict[str, LogDir]:
    """Return a broker's log dirs as they are now, with what they told of the partitions of earlier slices."""
    return {
        path: replace(
            each,
            replicas={**(before[path].replicas if path in before else {}), **each.replicas},
            future_replicas={**(before[path].future_replicas if path in before else {}), **each.future_replicas},
        )
        for path, each in now.items()
    }


def describe_request(topics: TopicNumbers | None) -> Any:
    """Ask for all log dirs, with the replicas of these partitions (None: of all)."""
    return DescribeLogDirsRequest(topics=topics)


def read_log_dirs(answers: Mapping[int, Any]) -> tuple[LogDir, ...]:
    """Return the log dirs of the brokers that answered."""
    return tuple(
        read_log_dir(broker, result) for broker, response in sorted(answers.items()) for result in response.results
    )


def read_log_dir(broker: int, result: Any) -> LogDir:
    """Return one log dir: with its error if it has failed, and copies that are on their way apart."""
    replicas: dict[bool, dict[TopicPartition, LogDirReplica]] = {False: {}, True: {}}
    for topic in result.topics:
        for partition in topic.partitions:
            is_future = bool(partition.is_future_key)
            replicas[is_future][TopicPartition(topic.name, partition.partition_index)] = LogDirReplica(
                partition.partition_size, partition.offset_lag, is_future
            )
    return LogDir(
        broker,
        result.log_dir,
        "" if result.error_code == NO_ERROR else reason(result.error_code),
        result.total_bytes,
        result.usable_bytes,
        replicas[False],
        replicas[True],
    )


def moves_by_broker(targets: Mapping[Replica, str]) -> dict[int, dict[str, list[TopicPartition]]]:
    """Return, by broker and log dir, the partitions whose replicas are to be there."""
    by_broker: dict[int, dict[str, list[TopicPartition]]] = defaultdict(lambda: defaultdict(list))
    for (partition, broker), log_dir in targets.items():
        by_broker[broker][log_dir].append(partition)
    return by_broker


async def alter(session: BrokerSession, targets: Mapping[Replica, str]) -> dict[Replica, str]:
    """Return the replicas that were refused another log dir, or whose broker gave no answer, with the reason."""
    refused: dict[Replica, str] = {}
    for part in mapping_slices(targets):
        moves = moves_by_broker(part)
        answers, failures = await session.ask_each(moves, _asking_to_move(moves))
        refused |= read_refusals(part, answers, failures)
    return refused


def move_request(by_log_dir: Mapping[str, Collection[TopicPartition]]) -> Any:
    """Ask a broker to have its replicas of these partitions in these log dirs."""
    return AlterReplicaLogDirsRequest(
        dirs=[(log_dir, numbers_by_topic(partitions)) for log_dir, partitions in by_log_dir.items()]
    )


def read_refusals(
    targets: Collection[Replica], answers: Mapping[int, Any], failures: Mapping[int, KafkaError]
) -> dict[Replica, str]:
    """Return the replicas that were refused, or whose broker gave no answer, with the reason."""
    refused = {
        (TopicPartition(topic.topic_name, partition.partition_index), broker): reason(partition.error_code)
        for broker, response in answers.items()
        for topic in response.results
        for partition in topic.partitions
        if partition.error_code != NO_ERROR
    }
    silent = {key: no_answer(key[1], failures[key[1]]) for key in targets if key[1] in failures}
    return refused | silent
