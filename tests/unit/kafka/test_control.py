"""What KafkaControl refuses by itself, and how it reads what brokers answer, subject by subject."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import closing
from types import SimpleNamespace
from typing import Any, ClassVar

import kafka.errors as kafka_errors
import pytest
from kafka.protocol.admin import DescribeConfigsResponse, DescribeLogDirsResponse
from kafka.protocol.metadata import MetadataResponse

from guardian.errors import InvalidInput
from guardian.kafka import groups
from guardian.kafka.admin import BROKER, TOPIC
from guardian.kafka.configs import read_configs, read_settings, require_writable
from guardian.kafka.control import KafkaControl
from guardian.kafka.log_dirs import read_log_dir
from guardian.kafka.metadata import read_answer
from guardian.kafka.reassignments import replication_factor_changes
from guardian.model.cluster_state import ConfigOrigin, LogDirReplica, PartitionState, Reassignment, SettingInForce
from guardian.model.topology import Cluster, TopicPartition

PARTITION = TopicPartition("t", 0)


def test_nothing_to_alter_or_elect_asks_nobody() -> None:
    with closing(KafkaControl(Cluster("live", "127.0.0.1:1"), 0.1)) as control:
        assert control.alter_reassignments({}) == {}
        assert control.elect_preferred_leaders([]) == {}


@pytest.mark.parametrize("key", ["leader.replication.throttled.rates", "remote.storage.enable", ""])
def test_only_the_keys_of_the_allow_list_may_be_written(key: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        require_writable({(TOPIC, "t"): {key: "1"}})
    assert str(refusal.value).startswith(
        f"configuration key of topic t is {key!r}: use one of cleanup.policy, compression.type, cordoned.log.dirs, "
    )


def test_a_key_of_topics_is_written_to_no_broker() -> None:
    require_writable({(TOPIC, "t"): {"retention.ms": "1"}})
    with pytest.raises(InvalidInput, match=r"of broker 1 is 'retention.ms': use one of cordoned.log.dirs, follower"):
        require_writable({(BROKER, "1"): {"retention.ms": "1"}})


@pytest.mark.parametrize("name", ["", "one", "-1", "1,2"])
def test_a_broker_configuration_is_of_one_broker(name: str) -> None:
    """An empty name would be the default of all brokers."""
    with pytest.raises(InvalidInput, match=r"use a broker id, such as '1'"):
        require_writable({(BROKER, name): {"leader.replication.throttled.rate": "1"}})


def test_other_kinds_of_resources_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'GROUP': use TOPIC or BROKER"):
        require_writable({("GROUP", "g"): {}})


def test_the_guard_for_old_brokers_compares_with_the_present_replication_factor() -> None:
    partitions = {PARTITION: PartitionState(1, (1, 2), (1, 2))}
    assert replication_factor_changes({PARTITION: (3, 2)}, partitions, {}) == {}
    assert replication_factor_changes({PARTITION: None}, partitions, {}) == {}
    assert replication_factor_changes({TopicPartition("none", 0): (1,)}, partitions, {}) == {}
    assert replication_factor_changes({PARTITION: (1,)}, partitions, {}) == {
        PARTITION: "INVALID_REPLICATION_FACTOR: the replication factor would change from 2 to 1"
    }


def test_the_guard_for_old_brokers_counts_the_target_of_a_reassignment_in_flight() -> None:
    partitions = {PARTITION: PartitionState(1, (3, 2, 1), (1, 2))}
    in_flight = {PARTITION: Reassignment((3, 2, 1), (3,), (1,))}
    assert replication_factor_changes({PARTITION: (1, 3)}, partitions, in_flight) == {}
    assert replication_factor_changes({PARTITION: (1, 2, 3)}, partitions, in_flight).keys() == {PARTITION}


def test_a_failed_log_dir_shows_its_error_and_a_copy_on_its_way_shows_apart() -> None:
    topic = DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
    replica = topic.DescribeLogDirsPartition
    failed = DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=56, log_dir="/disk1", topics=[], total_bytes=-1, usable_bytes=-1
    )
    assert read_log_dir(1, failed).error.startswith("KAFKA_STORAGE_ERROR: ")
    online = DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=0,
        log_dir="/disk2",
        topics=[
            topic(
                name="t",
                partitions=[
                    replica(partition_index=0, partition_size=10, offset_lag=0, is_future_key=False),
                    replica(partition_index=1, partition_size=4, offset_lag=7, is_future_key=True),
                ],
            )
        ],
        total_bytes=100,
        usable_bytes=60,
    )
    log_dir = read_log_dir(1, online)
    assert (log_dir.error, log_dir.total_bytes, log_dir.usable_bytes) == ("", 100, 60)
    assert log_dir.replicas == {TopicPartition("t", 0): LogDirReplica(10, 0, is_future=False)}
    assert log_dir.future_replicas == {TopicPartition("t", 1): LogDirReplica(4, 7, is_future=True)}


def test_a_topic_that_we_may_not_see_is_a_refusal_and_not_a_missing_topic() -> None:
    topic = MetadataResponse.MetadataResponseTopic
    response = MetadataResponse(topics=[topic(error_code=29, name="secret", partitions=[])])
    with pytest.raises(kafka_errors.TopicAuthorizationFailedError):
        read_answer(response)


def test_only_what_is_set_on_the_very_resource_counts_as_its_configuration() -> None:
    result = DescribeConfigsResponse.DescribeConfigsResult
    config = result.DescribeConfigsResourceResult
    response = DescribeConfigsResponse(
        results=[
            result(
                error_code=0,
                resource_type=4,
                resource_name="1",
                configs=[
                    config(name="own", value="1", config_source=2),
                    config(name="default of all brokers", value="2", config_source=3),
                    config(name="server.properties", value="3", config_source=4),
                    config(name="secret", value=None, config_source=2),
                ],
            )
        ]
    )
    assert read_configs(BROKER, response, None, in_force=False) == {"1": {"own": "1"}}
    keys = frozenset({"own", "server.properties", "secret", "unknown"})
    in_force = read_configs(BROKER, response, keys, in_force=True)
    assert in_force == {"1": {"own": "1", "server.properties": "3"}}
    assert read_configs(BROKER, response, keys, in_force=False) == {"1": {"own": "1"}}
    assert read_configs(BROKER, response, keys - {"own"}, in_force=False) == {"1": {}}


def test_settings_are_what_is_no_default_and_what_each_hides() -> None:
    result = DescribeConfigsResponse.DescribeConfigsResult
    config = result.DescribeConfigsResourceResult
    synonym = config.DescribeConfigsSynonym
    own, of_file = (
        synonym(name="retention.ms", value="5", source=1),
        synonym(name="log.retention.ms", value="9", source=4),
    )
    default = synonym(name="log.retention.hours", value="168", source=5)
    response = DescribeConfigsResponse(
        results=[
            result(
                error_code=0,
                resource_type=2,
                resource_name="t",
                configs=[
                    config(name="retention.ms", value="5", config_source=1, synonyms=[own, of_file, default]),
                    config(name="cleanup.policy", value="delete", config_source=5, synonyms=[]),
                    config(name="a.password", value=None, config_source=1, is_sensitive=True, synonyms=[own, default]),
                    config(name="lone", value="1", config_source=3, synonyms=[]),
                    config(name="of.a.group", value="1", config_source=8, synonyms=[]),
                ],
            ),
            result(error_code=3, resource_type=2, resource_name="gone", configs=[]),
        ]
    )
    assert read_settings(response) == {
        "t": (
            SettingInForce("a.password", None, ConfigOrigin.TOPIC, "", ConfigOrigin.DEFAULT),
            SettingInForce("lone", "1", ConfigOrigin.ALL_BROKERS),
            SettingInForce("retention.ms", "5", ConfigOrigin.TOPIC, "log.retention.ms=9", ConfigOrigin.BROKER_FILE),
        )
    }


class GroupsSession:
    """Broker 1 coordinates groups a and b and tells a alone, 2 tells its group, 3 does not answer at all."""

    names: ClassVar = {1: ["a", "b"], 2: ["c"]}

    async def ask_recent(self, _request: object) -> object:
        return SimpleNamespace(brokers=[SimpleNamespace(broker_id=broker) for broker in (1, 2, 3)])

    async def ask_each(
        self, brokers: Iterable[int], request: Callable[[int], object]
    ) -> tuple[dict[int, object], dict[int, kafka_errors.KafkaError]]:
        of_brokers = {broker: request(broker) for broker in brokers}
        silent = {3: kafka_errors.KafkaTimeoutError()} if 3 in of_brokers else {}
        return {broker: self.answer(broker, each) for broker, each in of_brokers.items() if broker != 3}, silent

    def answer(self, broker: int, request: object) -> object:
        kind = type(request).__name__
        if kind.startswith("ListGroups"):
            return SimpleNamespace(
                groups=[
                    SimpleNamespace(group_id=name, protocol_type="consumer", group_state="Stable")
                    for name in self.names[broker]
                ]
            )
        return SimpleNamespace(
            groups=[
                SimpleNamespace(group_id=name, error_code=16 if name == "b" else 0, topics=[], members=[])
                for name in self.names[broker]
            ]
        )


def test_coordinators_that_do_not_tell_all_of_their_groups_are_named() -> None:
    session: Any = GroupsSession()
    offsets = asyncio.run(groups.committed_offsets(session))
    assert offsets.by_group == {"a": {}, "c": {}}
    assert offsets.silent == {1, 3}
    assert asyncio.run(groups.group_members(session)).silent == {3}
