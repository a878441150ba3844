"""KafkaAdmin over kafka-python: what is asked of a cluster, and told to it.

Each call is one coroutine of `calls.ClusterCalls`; requests and how answers are read are in a module for each subject.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any

from guardian.kafka import acls as acl_requests
from guardian.kafka import (
    configs,
    controllers,
    elections,
    eligible,
    groups,
    log_dirs,
    membership,
    quotas,
    reassignments,
    witness,
)
from guardian.kafka import topics as topic_requests
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource
from guardian.kafka.calls import ClusterCalls
from guardian.kafka.cluster_truth import described, partitions_of
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.gate import Prove
from guardian.kafka.metadata import known_topics, metadata_request, read_answer, read_view, view_request
from guardian.kafka.patience import Patience
from guardian.kafka.session import BrokerSession
from guardian.kafka.slices import MAX_NAMED
from guardian.kafka.witness import ClusterMemory, Lags, no_lags
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
from guardian.model.effects import NewTopic
from guardian.model.operation import MetadataVersion, Quorum
from guardian.model.quota import GroupMembers, GroupOffsets, QuotaEntity, require_writable_quotas
from guardian.model.topology import Cluster, TopicPartition


class KafkaControl:
    """KafkaAdmin on a real KRaft cluster. Connects at the first call; one thread at a time may use it.

    Raises, from every call, ClusterUnavailable when the cluster can't be reached in time or refuses us, and
    InvalidInput when the password or CA file can't be read. After such an error the next call connects anew from the
    bootstrap endpoints and reads the files again.

    `broker_timeout_s` is how long a broker may take to tell its log dirs or its configuration, before the others are
    waited for no longer because of it (patience.py). None: as long as the call. `memory` is what is known of the
    cluster beyond this object, shared by all that look at it; `lags` tells how old the brokers' metadata is, where
    somebody knows.
    """

    def __init__(
        self,
        cluster: Cluster,
        timeout_s: float = 10.0,
        broker_timeout_s: float | None = None,
        *,
        memory: ClusterMemory | None = None,
        lags: Lags = no_lags,
        secrets: SecretFolder | None = None,
    ) -> None:
        self._cluster = cluster
        self.memory = memory if memory is not None else ClusterMemory.of(cluster)
        self.lags = lags
        # A disk that hangs keeps a broker from telling its log dirs; its rates can be changed all the same.
        self._for_log_dirs, self._for_configs = (_patience(broker_timeout_s, timeout_s) for _ in range(2))
        self._calls = ClusterCalls(cluster, timeout_s, self.memory, secrets or SecretFolder.of_environment())

    def each_change_proven_by(self, prove: Prove) -> AbstractContextManager[None]:
        return self._calls.gate.proven_by(prove)

    def view(self, topics: Collection[str] | None) -> ClusterView:
        lags = self.lags
        known = [broker.id for broker in self._cluster.brokers]
        return self._calls.ask(lambda session: witness.view(session, self.memory, topics, lags, known))

    def describe_cluster(self) -> ClusterDescription:
        return described(self.view(()))

    def describe_partitions(self, topics: Collection[str] | None = None) -> dict[TopicPartition, PartitionState]:
        return partitions_of(self.view(topics))

    def eligible_leaders(self, topics: Collection[str]) -> EligibleLeaders:
        return self._calls.ask(lambda session: eligible.eligible_leaders(session, self.memory, topics))

    def fenced_servers(self) -> tuple[FencedServer, ...]:
        return self._calls.ask(lambda session: witness.fenced_servers(session, self.memory))

    def partitions_seen_by(self, broker: int, topics: Collection[str]) -> dict[TopicPartition, PartitionState] | None:
        """Return what one broker says of these topics, right or stale; None when it does not answer."""

        async def ask(session: BrokerSession) -> dict[TopicPartition, PartitionState] | None:
            answers, _ = await session.ask_each([broker], lambda _: metadata_request(topics))
            return dict(read_answer(answers[broker]).partitions) if broker in answers else None

        return self._calls.ask(ask)

    def topic_ids(self, topics: Collection[str]) -> dict[str, bytes]:
        def read(response: Any) -> dict[str, bytes]:
            return {topic.name: topic.topic_id.bytes for topic in known_topics(response)}

        return self._calls.ask(lambda session: session.ask_until_known(topics, metadata_request, read, most=MAX_NAMED))

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        answers = self._calls.ask(lambda session: session.ask_once(brokers, lambda _: view_request(topic_ids)))
        return {broker: read_view(answer) for broker, answer in answers.items()}

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]:
        response = self._calls.ask_controllers(
            lambda session: session.ask_any(lambda: reassignments.list_request(session.attempt_ms)),
            "which partitions are being reassigned",
        )
        return reassignments.read_reassignments(response)

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        replication_factor_may_change: bool = False,
    ) -> dict[TopicPartition, str]:
        if not targets:
            return {}
        if replication_factor_may_change:
            return self._alter_reassignments(targets, guarded=False)
        try:
            return self._alter_reassignments(targets, guarded=True)
        except reassignments.GuardMissing:
            refused = reassignments.replication_factor_changes(
                targets, self.describe_partitions({tp.topic for tp in targets}), self.list_reassignments()
            )
            allowed = {tp: replicas for tp, replicas in targets.items() if tp not in refused}
            return refused | (self._alter_reassignments(allowed, guarded=False) if allowed else {})

    def _alter_reassignments(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], *, guarded: bool
    ) -> dict[TopicPartition, str]:
        return self._calls.change(lambda session: reassignments.alter_reassignments(session, targets, guarded=guarded))

    def describe_log_dirs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition] | None = None
    ) -> tuple[LogDir, ...]:
        return self._calls.ask(lambda session: log_dirs.describe(session, brokers, partitions, self._for_log_dirs))

    def alter_replica_log_dirs(
        self, targets: Mapping[tuple[TopicPartition, int], str]
    ) -> dict[tuple[TopicPartition, int], str]:
        return self._calls.change(lambda session: log_dirs.alter(session, targets))

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        if not partitions:
            return {}
        return self._calls.change(lambda session: elections.elect(session, partitions))

    def describe_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        selection = configs.select(resources, keys, in_force=False)
        return self._calls.ask(lambda session: configs.describe(session, selection, self._for_configs))

    def effective_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> dict[ConfigResource, dict[str, str]]:
        selection = configs.select(resources, keys, in_force=True)
        return self._calls.ask(lambda session: configs.describe(session, selection, self._for_configs))

    def topic_settings(self, topics: Collection[str]) -> dict[str, tuple[SettingInForce, ...]]:
        return self._calls.ask(lambda session: configs.describe_settings(session, topics, self._for_configs))

    def refused_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
        configs.require_writable({(TOPIC, name): values for name, values in changes.items()})
        refused = self._calls.ask(lambda session: configs.alter_topics(session, changes, validate_only=True))
        return {name: why for (_, name), why in refused.items()}

    def alter_configs(self, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> dict[ConfigResource, str]:
        configs.require_writable(changes)
        return self._calls.change(lambda session: configs.alter(session, changes))

    def alter_configs_through_controller(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> dict[ConfigResource, str]:
        configs.require_writable(changes)
        resources = [(name, values) for (_, name), values in changes.items()]
        response = self._calls.change(
            lambda session: session.ask_controller(
                lambda: configs.alter_request(BROKER, resources), self.memory.registered
            )
        )
        refused = configs.read_refusals(BROKER, response, forgiven=frozenset({controllers.NOT_REGISTERED}))
        return {resource: why for resource, why in refused.items() if resource in changes}

    def describe_acls(self) -> tuple[AclBinding, ...]:
        try:
            response = self._calls.ask(acl_requests.describe_acls)
        except acl_requests.NoAuthorizer:
            raise acl_requests.no_authorizer(self._cluster.name) from None
        return tuple(sorted(acl_requests.read_acls(response)))

    def create_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        return self._change_acls(lambda session: acl_requests.create_acls(session, acls))

    def delete_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        return self._change_acls(lambda session: acl_requests.delete_acls(session, acls))

    def _change_acls(
        self, change: Callable[[BrokerSession], Awaitable[dict[AclBinding, str]]]
    ) -> dict[AclBinding, str]:
        """Return the rules that were refused. Raises InvalidInput where all are, as there is no authorizer."""
        refused = self._calls.change(change)
        if acl_requests.is_without_authorizer(refused):
            raise acl_requests.no_authorizer(self._cluster.name)
        return refused

    def create_topics(self, topics: Mapping[str, NewTopic], validate_only: bool = False) -> dict[str, str]:
        return self._calls.change(lambda session: topic_requests.create_topics(session, topics, validate_only))

    def create_partitions(
        self, assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool = False
    ) -> dict[str, str]:
        return self._calls.change(lambda session: topic_requests.create_partitions(session, assignments, validate_only))

    def delete_topics(self, ids: Mapping[str, bytes]) -> dict[str, str]:
        return self._calls.change(lambda session: topic_requests.delete_topics(session, ids))

    def committed_offsets(self) -> GroupOffsets:
        return self._calls.ask(groups.committed_offsets)

    def group_members(self) -> GroupMembers:
        return self._calls.ask(groups.group_members)

    def describe_client_quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        return quotas.read_quotas(self._calls.ask(lambda session: session.ask_recent(quotas.describe_request)))

    def alter_client_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> dict[QuotaEntity, str]:
        require_writable_quotas(changes)
        if not changes:
            return {}
        response = self._calls.change(lambda session: session.ask_any(lambda: quotas.alter_request(changes)))
        return quotas.read_refusals(response)

    def registered_brokers(self) -> dict[int, bool] | None:
        return self._calls.ask_controllers(membership.registered_brokers, "which brokers are registered")

    def unregister_broker(self, broker: int) -> str:
        refused = self._calls.ask_controllers(
            lambda session: membership.unregister_broker(session, broker),
            f"whether broker {broker} runs",
            self._calls.gate.prove,
        )
        if not refused:
            self.memory.nodes.pop(broker, None)
        return refused

    def describe_quorum(self) -> Quorum | None:
        return self._calls.ask_controllers(membership.describe_quorum, "which of them lives")

    def metadata_version(self) -> MetadataVersion:
        return self._calls.ask_controllers(membership.metadata_version, "which metadata.version is in force")

    def raise_metadata_version(self, level: int, validate_only: bool = False) -> str:
        return self._calls.change(lambda session: membership.raise_metadata_version(session, level, validate_only))

    def close(self) -> None:
        self._calls.close()


def _patience(broker_timeout_s: float | None, timeout_s: float) -> Patience | None:
    return None if broker_timeout_s is None else Patience(broker_timeout_s, max(broker_timeout_s, timeout_s / 3))
