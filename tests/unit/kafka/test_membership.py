"""What the answers about the quorum and metadata.version mean; the same on a real cluster in
tests/contract/test_kafka_membership.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import kafka.errors as kafka_errors
import pytest
from kafka.protocol.admin import DescribeClusterResponse, DescribeQuorumResponse, UpdateFeaturesResponse
from kafka.protocol.metadata import ApiVersionsResponse

from guardian.kafka.membership import describe_quorum, metadata_version, raise_metadata_version
from guardian.model.operation import MetadataVersion, Quorum, VoterLag

_TOPIC = DescribeQuorumResponse.TopicData
_PARTITION = _TOPIC.PartitionData
_VOTER = _PARTITION.ReplicaState


class Session:
    """Answers so."""

    attempt_ms = 1000

    def __init__(self, answer: Any, of_brokers: Mapping[int, Any] | None = None) -> None:
        self._answer = answer
        self._of_brokers = of_brokers or {}

    async def ask_once(self, brokers: Iterable[int], _request: Callable[[int], Any]) -> dict[int, Any]:
        return {broker: self._of_brokers[broker] for broker in brokers if broker in self._of_brokers}

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
    behind = {3: VoterLag(493, 0)}
    assert asked(answer(1)) == Quorum(1, frozenset({1, 2, 3}), frozenset({1, 2}), 1, behind)


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


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (UpdateFeaturesResponse(error_code=0, error_message=None, results=[]), ""),
        (
            kafka_errors.InvalidUpdateVersionError("Broker 1 only supports versions 7-29"),
            "INVALID_UPDATE_VERSION: Broker 1 only supports versions 7-29",
        ),
        (
            UpdateFeaturesResponse(
                error_code=0,
                error_message=None,
                results=[
                    UpdateFeaturesResponse.UpdatableFeatureResult(
                        feature="metadata.version", error_code=95, error_message="Broker 1 only supports versions 1-14"
                    )
                ],
            ),
            "INVALID_UPDATE_VERSION: Broker 1 only supports versions 1-14",
        ),
    ],
    ids=["raised", "refused", "refused before Kafka 4.0"],
)
def test_a_level_that_a_node_lacks_is_refused_in_kafkas_words(found: Any, refused: str) -> None:
    assert asyncio.run(raise_metadata_version(Session(found), 30, validate_only=True)) == refused


def test_what_can_not_be_asked_of_the_controllers_now_is_no_refusal() -> None:
    with pytest.raises(kafka_errors.NotControllerError):
        asyncio.run(raise_metadata_version(Session(kafka_errors.NotControllerError()), 30, validate_only=True))


def test_the_level_in_force_is_that_of_the_broker_that_heard_of_it_last() -> None:
    def told(epoch: int, level: int, most: int) -> Any:
        return ApiVersionsResponse(
            error_code=0,
            api_keys=[],
            supported_features=[
                ApiVersionsResponse.SupportedFeatureKey(name="metadata.version", min_version=7, max_version=most),
                ApiVersionsResponse.SupportedFeatureKey(name="group.version", min_version=0, max_version=1),
            ],
            finalized_features_epoch=epoch,
            finalized_features=[
                ApiVersionsResponse.FinalizedFeatureKey(
                    name="metadata.version", max_version_level=level, min_version_level=level
                )
            ],
        )

    live = DescribeClusterResponse(
        error_code=0,
        error_message=None,
        cluster_id="c",
        controller_id=1,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(broker_id=broker, host="h", port=9092, rack=None)
            for broker in (1, 2)
        ],
    )
    session = Session(live, {1: told(7, 29, 30), 2: told(5, 25, 29)})
    assert asyncio.run(metadata_version(session)) == MetadataVersion(29, {1: 30, 2: 29})
    with pytest.raises(kafka_errors.BrokerNotAvailableError, match=r"no broker tells its metadata\.version"):
        asyncio.run(metadata_version(Session(live)))
