"""What the answers about the quorum mean; the same on a real cluster in tests/contract/test_kafka_membership.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import kafka.errors as kafka_errors
import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from guardian.kafka.membership import describe_quorum
from guardian.model.operation import Quorum

_TOPIC = DescribeQuorumResponse.TopicData
_PARTITION = _TOPIC.PartitionData
_VOTER = _PARTITION.ReplicaState


class Session:
    """Answers so."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def ask_any(self, _request: Callable[[], Any]) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def answer(leader: int, error_code: int = 0, partition_code: int = 0) -> Any:
    voters = [
        _VOTER(replica_id=node, log_end_offset=offset, last_fetch_timestamp=0, last_caught_up_timestamp=9_000)
        for node, offset in ((1, 500), (2, 490), (3, 7))
    ]
    partition = _PARTITION(
        partition_index=0,
        error_code=partition_code,
        leader_id=leader,
        leader_epoch=1,
        high_watermark=1,
        current_voters=voters,
        observers=[],
    )
    topic = _TOPIC(topic_name="__cluster_metadata", partitions=[partition])
    return DescribeQuorumResponse(error_code=error_code, error_message="", topics=[topic], nodes=[])


def asked(found: Any) -> Quorum | None:
    return asyncio.run(describe_quorum(Session(found)))


def test_it_names_the_leader_the_voters_and_who_has_caught_up() -> None:
    assert asked(answer(1)) == Quorum(1, frozenset({1, 2, 3}), frozenset({1, 2}))


def test_only_a_cluster_that_is_too_old_has_none() -> None:
    assert asked(kafka_errors.IncompatibleBrokerVersion("too old")) is None


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (answer(-1), kafka_errors.LeaderNotAvailableError),
        (answer(9), kafka_errors.LeaderNotAvailableError),
        (answer(1, partition_code=6), kafka_errors.NotLeaderForPartitionError),
        (answer(1, error_code=31), kafka_errors.ClusterAuthorizationFailedError),
        (DescribeQuorumResponse(error_code=0, error_message="", topics=[], nodes=[]), kafka_errors.KafkaError),
    ],
    ids=["no leader", "a leader that does not vote", "a partition error", "an error", "nothing"],
)
def test_a_quorum_that_can_not_be_read_now_is_no_cluster_without_one(found: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="the controllers' quorum can't be read"):
        asked(found)
