"""Which brokers a cluster knows, and who decides for it: registrations, the controllers' quorum, `metadata.version`.

A broker that is down is fenced, and stays registered until it is unregistered. Unregistering one that runs answers
"done" and breaks it (KAFKA.md, trap 8), so it is asked once more, right before, whether it is fenced.

Each broker tells in ApiVersions which levels of `metadata.version` it supports, and which one is in force as far as it
has heard. What controllers and brokers that are down support is in their registrations. The active controller refuses a
level that one of them lacks, and says so without a change where it is only to validate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from guardian.kafka.kafka_python import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
    kafka_errors,
)
from guardian.kafka.reasons import NO_ERROR, reason
from guardian.kafka.topics import Session
from guardian.model.operation import MetadataVersion, Quorum, VoterLag

_METADATA = "__cluster_metadata"
_WITH_FENCED = 2  # the first version of DescribeCluster that tells fenced brokers (Kafka 4.0)
_BEHIND_MS = 5_000
_BEHIND_RECORDS = 100
_FEATURE = "metadata.version"
_WITH_FEATURES = 3  # the first version of ApiVersions that tells features (Kafka 2.4)
_VALIDATING = 1  # the first version of UpdateFeatures that can validate only (Kafka 3.3)
_UPGRADE = 1  # of UpdateFeatures: never down
_REFUSALS = (kafka_errors.InvalidUpdateVersionError, kafka_errors.FeatureUpdateFailedError)


class SessionWithAll(Session, Protocol):
    """And the answers of all brokers that give one soon."""

    async def ask_once(self, brokers: Iterable[int], request: Callable[[int], Any]) -> dict[int, Any]: ...


async def registered_brokers(session: Session) -> dict[int, bool] | None:
    """Return by broker whether it is fenced; None where the brokers are too old to tell."""
    try:
        answer = await session.ask_any(
            lambda: DescribeClusterRequest(include_fenced_brokers=True, min_version=_WITH_FENCED)
        )
    except kafka_errors.IncompatibleBrokerVersion:
        return None
    return {broker.broker_id: bool(broker.is_fenced) for broker in answer.brokers}


async def unregister_broker(session: Session, broker: int) -> str:
    """Unregister the broker and say why it was refused; empty: it is out. One that is not registered is no error."""
    live = await session.ask_any(DescribeClusterRequest)  # names those that are not fenced
    if any(each.broker_id == broker for each in live.brokers):
        return f"broker {broker} runs (it is not fenced): stop it first"
    with suppress(kafka_errors.BrokerIdNotRegisteredError):
        await session.ask_any(lambda: UnregisterBrokerRequest(broker_id=broker))
    return ""


async def describe_quorum(session: Session) -> Quorum | None:
    """None only where the cluster is too old to tell. Raises KafkaError where it can't tell just now, as between two
    leaders: who took that for "has none" would restart voters as if they were plain brokers."""
    try:
        answer = await session.ask_any(lambda: DescribeQuorumRequest(topics=[(_METADATA, [(0,)])]))
    except kafka_errors.IncompatibleBrokerVersion:
        return None
    partitions = [each for topic in answer.topics for each in topic.partitions]
    for code in (answer.error_code, *(each.error_code for each in partitions)):
        if code:
            raise _unreadable(kafka_errors.for_code(code))
    voters = {voter.replica_id: voter for each in partitions for voter in each.current_voters}
    leader = voters.get(partitions[0].leader_id) if partitions else None
    if leader is None:
        raise _unreadable(kafka_errors.LeaderNotAvailableError)
    caught_up = frozenset(node for node, voter in voters.items() if voter is leader or _is_near(voter, leader))
    behind = {node: _lag(voter, leader) for node, voter in voters.items() if node not in caught_up}
    return Quorum(leader.replica_id, frozenset(voters), caught_up, partitions[0].high_watermark, behind)


async def metadata_version(session: SessionWithAll) -> MetadataVersion:
    """The level of the broker that has heard last of a change. Raises KafkaError where no broker answers."""
    live = await session.ask_any(DescribeClusterRequest)
    answers = await session.ask_once([each.broker_id for each in live.brokers], lambda _: _api_versions_request())
    if not answers:
        raise kafka_errors.BrokerNotAvailableError(f"no broker tells its {_FEATURE}")
    newest = max(answers.values(), key=lambda answer: answer.finalized_features_epoch)
    levels = {each.name: each.max_version_level for each in newest.finalized_features or ()}
    supported = {
        broker: each.max_version
        for broker, answer in answers.items()
        for each in answer.supported_features or ()
        if each.name == _FEATURE
    }
    return MetadataVersion(levels.get(_FEATURE, 0), supported)


async def raise_metadata_version(session: SessionWithAll, level: int, validate_only: bool) -> str:
    """Raise the level and say why it was refused; empty: it is in force, or would be."""
    update = UpdateFeaturesRequest.FeatureUpdateKey(feature=_FEATURE, max_version_level=level, upgrade_type=_UPGRADE)
    try:
        answer = await session.ask_any(
            lambda: UpdateFeaturesRequest(
                timeout_ms=session.attempt_ms,
                feature_updates=[update],
                validate_only=validate_only,
                min_version=_VALIDATING,
            )
        )
    except _REFUSALS as error:
        return reason(error.errno, ": ".join(map(str, error.args)))
    failed = next((each for each in answer.results or () if each.error_code != NO_ERROR), None)  # before Kafka 4.0
    return reason(failed.error_code, failed.error_message) if failed is not None else ""


def _api_versions_request() -> Any:
    return ApiVersionsRequest(client_software_name="guardian", client_software_version="1", min_version=_WITH_FEATURES)


def _unreadable(kind: type[kafka_errors.KafkaError]) -> kafka_errors.KafkaError:
    return kind("the controllers' quorum can't be read: it has no leader now, or does not say so")


def _lag(voter: Any, leader: Any) -> VoterLag:
    """Kafka tells -1 where it has not heard of a voter since it became the leader."""
    now, then = leader.last_caught_up_timestamp, voter.last_caught_up_timestamp
    return VoterLag(leader.log_end_offset - max(0, voter.log_end_offset), now - then if now >= 0 <= then else None)


def _is_near(voter: Any, leader: Any) -> bool:
    """One that is dead keeps its last offset, which others pass only slowly: when it last had all of them tells."""
    if leader.log_end_offset - voter.log_end_offset > _BEHIND_RECORDS:
        return False
    now = leader.last_caught_up_timestamp
    return bool(now < 0 or now - voter.last_caught_up_timestamp <= _BEHIND_MS)
