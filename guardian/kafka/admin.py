"""The control plane of one Kafka cluster, as small as Guardian needs it.

Every call is synchronous, has a deadline of its own, and raises `ClusterUnavailable` with one sentence when the
cluster does not answer in time or refuses the login. Errors of single partitions are returned, not raised:
a batch is never half lost because one of its partitions is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from guardian.errors import InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.cluster_state import (
    BrokerView,
    ClusterDescription,
    ClusterView,
    EligibleLeaders,
    FencedServer,
    LogDir,
    PartitionState,
    Reassignment,
    SettingInForce,
)
from guardian.model.effects import BROKER, CORDONED, TOPIC, TOPIC_CONFIGS, NewTopic
from guardian.model.operation import MetadataVersion, Quorum
from guardian.model.quota import GroupMembers, GroupOffsets, QuotaEntity
from guardian.model.throttle import THROTTLES
from guardian.model.topology import TopicPartition

# A broker accepts a misspelt throttle key in silence (KAFKA.md, trap 2), so only these are ever sent.
WRITABLE_CONFIGS = THROTTLES | {CORDONED}

ConfigResource = tuple[str, str]  # (BROKER | TOPIC, name)
__all__ = ["BROKER", "TOPIC", "ConfigResource", "KafkaAdmin", "require_writable_keys"]


def require_writable_keys(changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> None:
    """Raise InvalidInput for a key that Guardian never sends: what throttles and cordons set, and topics' own keys."""
    for (kind, name), values in changes.items():
        known = WRITABLE_CONFIGS | TOPIC_CONFIGS if kind == TOPIC else WRITABLE_CONFIGS
        for key in values:
            if key not in known:
                raise InvalidInput(
                    f"configuration key of {kind.lower()} {name} is {key!r}: use one of {', '.join(sorted(known))}"
                )


class KafkaAdmin(Protocol):
    """What Guardian asks of a cluster and tells it."""

    def each_change_proven_by(self, prove: Callable[[], None]) -> AbstractContextManager[None]:
        """Within it, on this thread, `prove` is called right before each request goes out of a call that changes
        something. That includes those that are sent once more as the first got no answer.

        Where it raises, the call raises that: what was sent before may have reached Kafka. It may be called on another
        thread, while the call waits for it.
        """

    def view(self, topics: Collection[str] | None) -> ClusterView:
        """Return what can be believed of the brokers and of the partitions of these topics (None: of all). It holds
        Unknown where answers decide nothing. A topic that does not exist is left out.

        What controllers decided up to three seconds ago is in it: poll for a change that you made, never trust one read
        (KAFKA.md, trap 9).
        """

    def describe_cluster(self) -> ClusterDescription:
        """The cluster id and the live (unfenced) brokers. Raises Undecided where that is unknown of one of them."""

    def describe_partitions(self, topics: Collection[str] | None = None) -> dict[TopicPartition, PartitionState]:
        """The partitions of the topics as `view` has them. Raises Undecided where the state of one is unknown."""

    def eligible_leaders(self, topics: Collection[str]) -> EligibleLeaders:
        """Return who may lead these topics' partitions without loss though not in sync, where there are some (KIP-966).
        Raises Undecided while no controller answers."""

    def fenced_servers(self) -> tuple[FencedServer, ...]:
        """The brokers that are fenced and still answer clients as if they were not; none while controllers are silent.

        Before Kafka 4.0 brokers do not tell who is fenced: those alone are found that lived at an earlier look.
        """

    def topic_ids(self, topics: Collection[str]) -> dict[str, bytes]:
        """The topics' ids, 16 bytes each; a topic that does not exist is left out."""

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        """Return what each of these brokers itself says, right or stale: which brokers live, and who leads these
        topics.

        A topic that a broker does not know is left out of its view; a broker that does not answer soon, altogether.
        """

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]:
        """Every reassignment in flight on the cluster, whoever started it."""

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        replication_factor_may_change: bool = False,
    ) -> dict[TopicPartition, str]:
        """Starts reassignments, or cancels them (None). Changes a replication factor only where it may.

        Returns the partitions that were refused, with the reason. Cancelling where nothing is in flight is no error.
        A cancelled partition has its replicas back, but in the order that the reassignment left: who wants the
        original order submits it again, which copies nothing (KAFKA.md, trap 4).
        """

    def describe_log_dirs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition] | None = None
    ) -> tuple[LogDir, ...]:
        """All log dirs of these brokers, with the replicas in them, or those of `partitions` alone: a broker may have
        thousands. A broker that does not answer in time is left out."""

    def alter_replica_log_dirs(
        self, targets: Mapping[tuple[TopicPartition, int], str]
    ) -> dict[tuple[TopicPartition, int], str]:
        """Moves replicas (partition, broker) to a log dir of the same broker; refused ones with the reason.

        For a replica that the broker does not host yet it answers an error, yet the broker remembers the dir for
        when the replica comes (KAFKA.md, trap 22).
        """

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        """Makes the first replica the leader; refused ones with the reason. Not needed is no error."""

    def describe_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        """The dynamic configuration set on exactly these resources, without defaults and static values. Of
        `keys` alone, where they are named: a broker writes down some hundreds otherwise.

        A topic or broker that does not exist is left out, and so is a broker that does not answer in time. The broker
        without a name is the default of all brokers, which can only be read.
        """

    def effective_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> dict[ConfigResource, dict[str, str]]:
        """These keys' values in force on these resources, defaults and static values included; unknown keys are absent.

        A topic or broker that does not exist is left out, and so is a broker that does not answer in time.
        """

    def topic_settings(self, topics: Collection[str]) -> dict[str, tuple[SettingInForce, ...]]:
        """Return what is in force on these topics and no default of Kafka, by key, with where it is set. Values of
        brokers are those of the one that answered. A topic that does not exist is left out.
        """

    def alter_configs(self, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> dict[ConfigResource, str]:
        """Sets keys, or deletes them (None), incrementally; refused resources with the reason.

        Raises InvalidInput as `require_writable_keys`.
        """

    def refused_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
        """Return the topics whose new configuration the cluster would refuse, with the reason; nothing changes.

        Raises InvalidInput as `alter_configs`.
        """

    def alter_configs_through_controller(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> dict[ConfigResource, str]:
        """Alter configurations as `alter_configs` does, of brokers alone, which need not live: a controller changes
        what they will read when they are back. One that was unregistered is no error. Raises ClusterUnavailable when no
        controller answers.
        """

    def describe_acls(self) -> tuple[AclBinding, ...]:
        """Every access rule, sorted. Raises InvalidInput when the cluster has no authorizer, so that all is allowed."""

    def committed_offsets(self) -> GroupOffsets:
        """Return by consumer group that has members now what it has committed.

        A coordinator that does not answer in time, or does not tell of a group, is named; its groups are left out.
        """

    def create_topics(self, topics: Mapping[str, NewTopic], validate_only: bool = False) -> dict[str, str]:
        """Creates topics with these replicas; refused ones with the reason. One that exists is no error: look at it.

        With `validate_only` the cluster says what it would refuse, an existing topic included, and nothing changes.
        """

    def create_partitions(
        self, assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool = False
    ) -> dict[str, str]:
        """Gives topics more partitions, whose numbers follow those that are there; refused topics with the reason.

        Partitions that exist are no error: look at them. With `validate_only` nothing changes.
        """

    def delete_topics(self, ids: Mapping[str, bytes]) -> dict[str, str]:
        """Deletes topics of these ids (16 bytes), by name; refused ones with the reason. One that is gone, or was made
        anew under its name, is no error: it stays."""

    def create_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        """Adds access rules; refused ones with the reason. One that exists is no error. Raises as describe_acls."""

    def delete_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        """Takes out exactly these access rules; refused ones with the reason. One that is gone is no error."""

    def group_members(self) -> GroupMembers:
        """The members of consumer groups that have some, with what each is assigned.

        A coordinator that does not answer in time is named; its groups are left out.
        """

    def describe_client_quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        """Every quota of users and client ids, with all that is set for it."""

    def alter_client_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> dict[QuotaEntity, str]:
        """Sets quotas, or deletes them (None), key by key; refused entities with the reason.

        Raises InvalidInput for a key outside WRITABLE_QUOTAS.
        """

    def registered_brokers(self) -> dict[int, bool] | None:
        """Every broker that the controllers know, and whether it is fenced; None where brokers (before Kafka 4.0) can't
        tell: then only those that are not fenced are known."""

    def unregister_broker(self, broker: int) -> str:
        """Takes a broker that is down out of the cluster. The reason where it is refused, else empty.

        Refuses one that is not fenced (KAFKA.md, trap 8); one that is not registered is no error.
        """

    def describe_quorum(self) -> Quorum | None:
        """The controllers' quorum, or None where it can't be told."""

    def metadata_version(self) -> MetadataVersion:
        """The level of `metadata.version` that is in force, and what each broker that answers soon supports."""

    def raise_metadata_version(self, level: int, validate_only: bool = False) -> str:
        """Raises it, which nobody can take back. The reason where Kafka refuses, else empty.

        Kafka refuses what a registered broker or a controller does not support, up or down, and what is below the level
        in force; that very level is no error. With `validate_only` nothing changes.
        """

    def close(self) -> None:
        """Ends the connections. The object is of no use afterwards."""
