"""KafkaAdmin over kafka-python: the only module that imports `kafka`.

Each call is one coroutine on kafka-python's IO thread, while the calling thread holds the clock: when the deadline
passes, the caller goes on with one sentence and the connections are thrown away. Whatever fails in passing (a broker
that has gone, a controller that has moved, stale metadata) is asked again of another broker within the deadline; all
requests are idempotent.

kafka-python's own admin client is left aside for the layer below it: that client hides a refused login behind a
time-out, asks brokers one after the other, and can't send the guard against changes of the replication factor.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from enum import IntEnum
from typing import Any, TypeVar

import kafka.errors as kafka_errors
from kafka.errors import KafkaError, KafkaTimeoutError
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector
from kafka.protocol.admin import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    DescribeAclsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    ElectionType,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.consumer import OffsetFetchRequest

from guardian.core.cluster_truth import described, partitions_of
from guardian.core.effects import NewTopic
from guardian.errors import ClusterUnavailable, InvalidInput, Undecided
from guardian.kafka import acls as acl_requests
from guardian.kafka import controllers, groups, membership, quotas, witness
from guardian.kafka import topics as topic_requests
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource, require_writable_keys
from guardian.kafka.credentials import SecretFolder
from guardian.kafka.gate import Gate, Prove, needs_no_proof
from guardian.kafka.handshake import BoundedManager
from guardian.kafka.metadata import known_topics, metadata_request, read_answer, read_view, view_request
from guardian.kafka.patience import Patience
from guardian.kafka.reasons import is_passing
from guardian.kafka.reasons import reason as _reason
from guardian.kafka.witness import ClusterMemory, Lags, no_lags
from guardian.model.acl import AclBinding
from guardian.model.cluster_state import (
    BrokerView,
    ClusterDescription,
    ClusterView,
    FencedServer,
    LogDir,
    LogDirReplica,
    PartitionState,
    Reassignment,
)
from guardian.model.operation import MetadataVersion, Quorum
from guardian.model.quota import GroupMembers, GroupOffsets, QuotaEntity, require_writable_quotas
from guardian.model.topology import Cluster, ClusterSecurity, TopicPartition

# kafka-python logs each failed attempt; without a handler Python would print that to stderr, beside our one sentence.
logging.getLogger("kafka").addHandler(logging.NullHandler())

_METADATA_MAX_AGE_MS = 10_000
_RECONNECT_BACKOFF_MAX_MS = 250
_PAUSE_S = 0.1
_GRACE_S = 1.0  # the IO thread keeps the deadline itself; past this it is stuck
_JOIN_S = 2.0

_NO_ERROR = 0
_ELECTION_NOT_NEEDED = 84
_NO_REASSIGNMENT_IN_PROGRESS = 85

_GROUPS_AT_ONCE = 8  # the first version of OffsetFetchRequest that takes several groups; from 10 on topics have ids
_WITHOUT_MEMBERS = ("Empty", "Dead")
_CONSUMERS = ("", "consumer")  # kinds of group protocols; the first where offsets are committed without members

_RESOURCE_TYPES = {TOPIC: 2, BROKER: 4}
_DYNAMIC_SOURCES = {TOPIC: 1, BROKER: 2}  # set on that very resource
_DEFAULT_SOURCE = 3  # set for all brokers of the cluster: on the resource without a name
_SET, _DELETE = 0, 1

_ERRNO = re.compile(r"(\d+) E[A-Z]+")

T = TypeVar("T")


class KafkaControl:
    """KafkaAdmin on a real KRaft cluster. Connects at the first call; one thread at a time may use it.

    Raises, from every call, ClusterUnavailable when the cluster can't be reached in time or refuses us, and
    InvalidInput when the password or CA file can't be read. After such an error the next call connects anew from the
    bootstrap endpoints and reads the files again.

    `broker_timeout_s` is how long a broker may take to tell its log dirs or its configuration, before the others are
    waited for no longer because of it (patience.py); None: as long as the call. `memory` is what is known of the
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
        self._secrets = secrets or SecretFolder.of_environment()
        self.memory = memory if memory is not None else ClusterMemory.of(cluster)
        self.lags = lags
        self._endpoints = cluster.bootstrap.split(",")
        self._timeout_s = timeout_s
        # A disk that hangs keeps a broker from telling its log dirs; its rates can be changed all the same.
        self._for_log_dirs, self._for_configs = (_patience(broker_timeout_s, timeout_s) for _ in range(2))
        self._wire: _Wire | None = None
        self._closed = False
        self._gate = Gate()

    def each_change_proven_by(self, prove: Prove) -> AbstractContextManager[None]:
        return self._gate.proven_by(prove)

    def view(self, topics: Collection[str] | None) -> ClusterView:
        lags = self.lags
        known = [broker.id for broker in self._cluster.brokers]
        return self._call(lambda session: witness.view(session, self.memory, topics, lags, known))

    def describe_cluster(self) -> ClusterDescription:
        return described(self.view(()))

    def describe_partitions(self, topics: Collection[str] | None = None) -> dict[TopicPartition, PartitionState]:
        return partitions_of(self.view(topics))

    def fenced_servers(self) -> tuple[FencedServer, ...]:
        return self._call(lambda session: witness.fenced_servers(session, self.memory))

    def partitions_seen_by(self, broker: int, topics: Collection[str]) -> dict[TopicPartition, PartitionState] | None:
        """What one broker says of these topics, right or stale; None when it does not answer."""

        async def ask(session: _Session) -> dict[TopicPartition, PartitionState] | None:
            answers, _ = await session.ask_each([broker], lambda _: metadata_request(topics))
            return dict(read_answer(answers[broker]).partitions) if broker in answers else None

        return self._call(ask)

    def topic_ids(self, topics: Collection[str]) -> dict[str, bytes]:
        def read(response: Any) -> dict[str, bytes]:
            return {topic.name: topic.topic_id.bytes for topic in known_topics(response)}

        return self._call(lambda session: session.ask_until_known(topics, metadata_request, read))

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        answers = self._call(lambda session: session.ask_once(brokers, lambda _: view_request(topic_ids)))
        return {broker: read_view(answer) for broker, answer in answers.items()}

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]:
        response = self._ask_controllers(
            lambda session: session.ask_any(
                lambda: ListPartitionReassignmentsRequest(timeout_ms=session.attempt_ms, topics=None)
            ),
            "which partitions are being reassigned",
        )
        return {
            TopicPartition(topic.name, partition.partition_index): Reassignment(
                tuple(partition.replicas), tuple(partition.adding_replicas), tuple(partition.removing_replicas)
            )
            for topic in response.topics
            for partition in topic.partitions
        }

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
        except _GuardMissing:
            refused = replication_factor_changes(
                targets, self.describe_partitions({tp.topic for tp in targets}), self.list_reassignments()
            )
            allowed = {tp: replicas for tp, replicas in targets.items() if tp not in refused}
            return refused | (self._alter_reassignments(allowed, guarded=False) if allowed else {})

    def describe_log_dirs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition] | None = None
    ) -> tuple[LogDir, ...]:
        topics = None if partitions is None else _by_topic(partitions)
        answers, _ = self._call(
            lambda session: session.ask_each(
                brokers, lambda _: DescribeLogDirsRequest(topics=topics), self._for_log_dirs
            )
        )
        return tuple(
            _read_log_dir(broker, result) for broker, response in sorted(answers.items()) for result in response.results
        )

    def alter_replica_log_dirs(
        self, targets: Mapping[tuple[TopicPartition, int], str]
    ) -> dict[tuple[TopicPartition, int], str]:
        by_broker: dict[int, dict[str, list[TopicPartition]]] = defaultdict(lambda: defaultdict(list))
        for (partition, broker), log_dir in targets.items():
            by_broker[broker][log_dir].append(partition)
        answers, failures = self._change(
            lambda session: session.ask_each(
                by_broker.keys(),
                lambda broker: AlterReplicaLogDirsRequest(
                    dirs=[(log_dir, _by_topic(partitions)) for log_dir, partitions in by_broker[broker].items()]
                ),
            )
        )
        refused = {
            (TopicPartition(topic.topic_name, partition.partition_index), broker): _reason(partition.error_code)
            for broker, response in answers.items()
            for topic in response.results
            for partition in topic.partitions
            if partition.error_code != _NO_ERROR
        }
        silent = {key: _no_answer(key[1], failures[key[1]]) for key in targets if key[1] in failures}
        return refused | silent

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        if not partitions:
            return {}
        response = self._change(
            lambda session: session.ask_any(
                lambda: ElectLeadersRequest(
                    election_type=ElectionType.PREFERRED,
                    topic_partitions=_by_topic(partitions),
                    timeout_ms=session.attempt_ms,
                )
            )
        )
        return {
            TopicPartition(topic.topic, result.partition_id): _reason(result.error_code, result.error_message)
            for topic in response.replica_election_results
            for result in topic.partition_result
            if result.error_code not in (_NO_ERROR, _ELECTION_NOT_NEEDED)
        }

    def describe_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        return self._describe_configs(resources, None if keys is None else frozenset(keys), in_force=False)

    def effective_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> dict[ConfigResource, dict[str, str]]:
        return self._describe_configs(resources, frozenset(keys), in_force=True)

    def refused_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
        require_writable({(TOPIC, name): values for name, values in changes.items()})

        async def ask(session: _Session) -> Any:
            return await session.ask_any(lambda: _alter_configs_request(TOPIC, changes.items(), validate_only=True))

        return {name: why for (_, name), why in _read_refusals(TOPIC, self._call(ask)).items()}

    def alter_configs(self, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> dict[ConfigResource, str]:
        require_writable(changes)
        brokers = {_broker_id(name): values for (kind, name), values in changes.items() if kind == BROKER}
        topics = {name: values for (kind, name), values in changes.items() if kind == TOPIC}

        async def ask(session: _Session) -> dict[ConfigResource, str]:
            refused: dict[ConfigResource, str] = {}
            if topics:
                refused |= _read_refusals(
                    TOPIC, await session.ask_any(lambda: _alter_configs_request(TOPIC, topics.items()))
                )
            answers, failures = await session.ask_each(
                brokers, lambda broker: _alter_configs_request(BROKER, [(str(broker), brokers[broker])])
            )
            for answer in answers.values():
                refused |= _read_refusals(BROKER, answer)
            return refused | {(BROKER, str(broker)): _no_answer(broker, error) for broker, error in failures.items()}

        return self._change(ask)

    def alter_configs_through_controller(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> dict[ConfigResource, str]:
        require_writable(changes)
        resources = [(name, values) for (_, name), values in changes.items()]

        async def ask(session: _Session) -> Any:
            return await session.ask_controller(
                lambda: _alter_configs_request(BROKER, resources), self.memory.registered
            )

        refused = _read_refusals(BROKER, self._change(ask), forgiven=frozenset({controllers.NOT_REGISTERED}))
        return {resource: why for resource, why in refused.items() if resource in changes}

    def describe_acls(self) -> tuple[AclBinding, ...]:
        async def ask(session: _Session) -> Any:
            try:
                return await session.ask_recent(_describe_acls_request)
            except kafka_errors.SecurityDisabledError as error:
                raise _NoAuthorizer from error

        try:
            return tuple(sorted(_read_acls(self._call(ask))))
        except _NoAuthorizer:
            raise no_authorizer(self._cluster.name) from None

    def create_topics(self, topics: Mapping[str, NewTopic], validate_only: bool = False) -> dict[str, str]:
        return self._change(lambda session: topic_requests.create_topics(session, topics, validate_only))

    def create_partitions(
        self, assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool = False
    ) -> dict[str, str]:
        return self._change(lambda session: topic_requests.create_partitions(session, assignments, validate_only))

    def delete_topics(self, ids: Mapping[str, bytes]) -> dict[str, str]:
        return self._change(lambda session: topic_requests.delete_topics(session, ids))

    def create_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        return self._change_acls(lambda session: acl_requests.create_acls(session, acls))

    def delete_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        return self._change_acls(lambda session: acl_requests.delete_acls(session, acls))

    def committed_offsets(self) -> GroupOffsets:
        async def ask(session: _Session) -> GroupOffsets:
            cluster = await session.ask_recent(DescribeClusterRequest)
            # Each broker lists the groups that it coordinates.
            lists, silent = await session.ask_each(
                [broker.broker_id for broker in cluster.brokers], lambda _: ListGroupsRequest()
            )
            groups = {broker: _active_groups(answer) for broker, answer in lists.items()}
            answers, _ = await session.ask_each(
                [broker for broker, names in groups.items() if names], lambda broker: _offsets_request(groups[broker])
            )
            found = {group: offsets for answer in answers.values() for group, offsets in _read_offsets(answer)}
            partly = {broker for broker, names in groups.items() if not found.keys() >= set(names)}
            return GroupOffsets(found, frozenset(silent) | partly)

        return self._call(ask)

    def group_members(self) -> GroupMembers:
        async def ask(session: _Session) -> GroupMembers:
            cluster = await session.ask_recent(DescribeClusterRequest)
            lists, silent = await session.ask_each(
                [broker.broker_id for broker in cluster.brokers], lambda _: ListGroupsRequest()
            )
            names = {broker: _active_groups(answer) for broker, answer in lists.items()}
            answers, mute = await session.ask_each(
                [broker for broker, found in names.items() if found],
                lambda broker: groups.describe_request(names[broker]),
            )
            silent |= mute
            found = [member for answer in answers.values() for member in groups.read_members(answer)]
            told = {member.group for member in found}
            rest = {broker: [name for name in each if name not in told] for broker, each in names.items()}
            # Brokers before 4.0 have no groups of the new protocol.
            with suppress(kafka_errors.IncompatibleBrokerVersion):
                more, mute = await session.ask_each(
                    [broker for broker, each in rest.items() if each],
                    lambda broker: groups.describe_new_request(rest[broker]),
                )
                found += [member for answer in more.values() for member in groups.read_new_members(answer)]
                silent |= mute
            return GroupMembers(tuple(found), frozenset(silent))

        return self._call(ask)

    def describe_client_quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        return quotas.read_quotas(self._call(lambda session: session.ask_recent(quotas.describe_request)))

    def alter_client_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> dict[QuotaEntity, str]:
        require_writable_quotas(changes)
        if not changes:
            return {}
        return quotas.read_refusals(
            self._change(lambda session: session.ask_any(lambda: quotas.alter_request(changes)))
        )

    def registered_brokers(self) -> dict[int, bool] | None:
        return self._ask_controllers(membership.registered_brokers, "which brokers are registered")

    def unregister_broker(self, broker: int) -> str:
        refused = self._ask_controllers(
            lambda session: membership.unregister_broker(session, broker),
            f"whether broker {broker} runs",
            self._gate.prove,
        )
        if not refused:
            self.memory.nodes.pop(broker, None)
        return refused

    def describe_quorum(self) -> Quorum | None:
        return self._ask_controllers(membership.describe_quorum, "which of them lives")

    def metadata_version(self) -> MetadataVersion:
        return self._ask_controllers(membership.metadata_version, "which metadata.version is in force")

    def raise_metadata_version(self, level: int, validate_only: bool = False) -> str:
        return self._change(lambda session: membership.raise_metadata_version(session, level, validate_only))

    def close(self) -> None:
        self._closed = True
        self._disconnect()

    def _change_acls(self, change: Callable[[_Session], Awaitable[dict[AclBinding, str]]]) -> dict[AclBinding, str]:
        """Without an authorizer every single rule is refused: one sentence says so of all."""
        refused = self._change(change)
        if any(why.startswith(kafka_errors.SecurityDisabledError.message) for why in refused.values()):
            raise no_authorizer(self._cluster.name)
        return refused

    def _describe_configs(
        self, resources: Collection[ConfigResource], keys: frozenset[str] | None, *, in_force: bool
    ) -> dict[ConfigResource, dict[str, str]]:
        """Of these keys, or (None) of all: what is in force, or what is set on exactly these resources."""
        brokers = {_broker_id(name) for kind, name in resources if _require_kind(kind) == BROKER and name}
        topics = {name for kind, name in resources if kind == TOPIC}

        def read(kind: str, answer: Any) -> dict[str, dict[str, str]]:
            return _read_configs(kind, answer, keys, in_force=in_force)

        async def ask(session: _Session) -> dict[ConfigResource, dict[str, str]]:
            if topics:
                await witness.find_witness(session, self.memory)  # brokers tell topics' settings from their metadata
            found = await session.ask_until_known(
                topics,
                lambda names: _describe_configs_request(TOPIC, names, keys),
                lambda answer: read(TOPIC, answer),
                self._for_configs,
            )
            answers, _ = await session.ask_each(
                brokers, lambda broker: _describe_configs_request(BROKER, [str(broker)], keys), self._for_configs
            )
            configs = {(TOPIC, name): values for name, values in found.items()}
            for answer in answers.values():
                configs |= {(BROKER, name): values for name, values in read(BROKER, answer).items()}
            if (BROKER, "") in resources:
                answer = await session.ask_recent(lambda: _describe_configs_request(BROKER, [""], keys))
                configs |= {(BROKER, name): values for name, values in read(BROKER, answer).items()}
            return configs

        return self._call(ask)

    def _alter_reassignments(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], *, guarded: bool
    ) -> dict[TopicPartition, str]:
        guard = {"allow_replication_factor_change": False, "min_version": 1} if guarded else {}
        topics = [
            (topic, [(number, _replicas(targets[TopicPartition(topic, number)])) for number in numbers])
            for topic, numbers in _by_topic(targets)
        ]

        async def ask(session: _Session) -> Any:
            try:
                return await session.ask_any(
                    lambda: AlterPartitionReassignmentsRequest(timeout_ms=session.attempt_ms, topics=topics, **guard)
                )
            except kafka_errors.IncompatibleBrokerVersion as error:
                if guarded:
                    raise _GuardMissing from error
                raise

        response = self._change(ask)
        return {
            TopicPartition(topic.name, partition.partition_index): _reason(
                partition.error_code, partition.error_message
            )
            for topic in response.responses
            for partition in topic.partitions
            if partition.error_code not in (_NO_ERROR, _NO_REASSIGNMENT_IN_PROGRESS)
        }

    def _ask_controllers(
        self, work: Callable[[_AtWitness], Awaitable[T]], subject: str, prove: Prove = needs_no_proof
    ) -> T:
        """Ask what a broker forwards to the controllers, or knows from them, of one that reaches them. Raises Undecided
        at once where none does: `subject` is unknown then."""

        async def ask(session: _Session) -> T:
            return await witness.ask_witness(
                session, self.memory, lambda broker: work(_AtWitness(session, broker)), subject
            )

        return self._call(ask, prove)

    def _change(self, work: Callable[[_Session], Awaitable[T]]) -> T:
        return self._call(work, self._gate.prove)

    def _call(self, work: Callable[[_Session], Awaitable[T]], prove: Prove = needs_no_proof) -> T:
        if self._closed:
            raise ClusterUnavailable(f"the connection to cluster {self._cluster.name} is closed: open another")
        deadline = time.monotonic() + self._timeout_s
        try:
            if self._wire is None:
                self._wire = self._connect(deadline)
            session = _Session(self._wire, deadline, self._timeout_s, prove, self.memory)
            try:
                return self._wire.run(lambda: work(session), deadline + _GRACE_S)
            finally:
                session.end()
        except Undecided as error:
            raise Undecided(f"cluster {self._cluster.name}: {error}") from None
        except KafkaError as error:
            self._disconnect()
            raise ClusterUnavailable(unavailable_sentence(self._cluster, self._timeout_s, error)) from error

    def _connect(self, deadline: float) -> _Wire:
        settings = _settings(self._cluster.security, self._timeout_s, self._secrets)
        failure: KafkaError = KafkaTimeoutError()
        while True:
            for tried, endpoint in enumerate(list(self._endpoints)):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise failure
                wire = _Wire(endpoint, settings)
                try:
                    wire.log_in(connecting_share_s(left_s, len(self._endpoints) - tried))
                except KafkaError as error:
                    wire.close()
                    if not is_passing(error):
                        raise
                    # The next call may have no more time than this one: it begins with others.
                    self._endpoints.remove(endpoint)
                    self._endpoints.append(endpoint)
                    # What the deadline cut off says less than what came of an attempt before it.
                    if _is_mute(failure) or time.monotonic() < deadline:
                        failure = error
                else:
                    return wire
            time.sleep(_PAUSE_S)

    def _disconnect(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()


def connecting_share_s(left_s: float, endpoints: int) -> float:
    """What the next of so many endpoints gets of the seconds that are left.

    One that swallows packets must leave some to each of the others. But a busy broker takes seconds: in equal shares of
    a short time none of many would be reached, so the first get more than the last.
    """
    return 2 * left_s / (endpoints + 1)


class _GuardMissing(Exception):
    """The brokers are older than the guard against changes of the replication factor (KIP-860)."""


class _NoAuthorizer(Exception):
    """The brokers have no access rules."""


class _Wire:
    """The connections to one cluster and the IO thread that drives them."""

    def __init__(self, endpoint: str, settings: Mapping[str, Any]) -> None:
        self._net = NetworkSelector(client_id=settings["client_id"])
        self.manager = BoundedManager(self._net, bootstrap_servers=endpoint, **settings)
        self._net.start()

    def log_in(self, timeout_s: float) -> None:
        """Connects and learns the brokers. Raises the broker's refusal, where kafka-python would retry in silence."""

        async def first_contact() -> None:
            await self._rehearse_login(time.monotonic() + timeout_s)
            await self.manager.bootstrap_async(timeout_s * 1000)

        self.run(first_contact, time.monotonic() + timeout_s)

    async def _rehearse_login(self, deadline: float) -> None:
        connection = await self._connected(self.manager.cluster.bootstrap_brokers()[0], deadline)
        connection.close()

    async def ask_node(self, node: controllers.Node, request: Any, deadline: float, prove: Prove) -> Any:
        """Over a connection of its own, which is closed afterwards."""
        connection = await self._connected(node, deadline)
        try:
            return await _send_now(connection, request, _proven(prove, deadline))
        finally:
            connection.close()

    async def _connected(self, node: Any, deadline: float) -> KafkaConnection:
        transport = await self.manager._build_transport(node, timeout_at=deadline)
        _deliver_last_words(transport)
        connection = KafkaConnection(self._net, node_id=node.node_id, **self.manager.config)
        connection.connection_made(transport)
        await connection.initialize(timeout_at=deadline)
        await connection
        return connection

    def run(self, work: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Runs a coroutine on the IO thread. Raises KafkaTimeoutError at the deadline, whatever that thread does."""
        done = threading.Event()
        future = self._net.call_soon_with_future(work)
        future.add_both(lambda _: done.set())
        if not done.wait(max(0.0, deadline - time.monotonic())):
            raise KafkaTimeoutError
        if future.exception is not None:
            raise future.exception
        result: T = future.value
        return result

    async def sleep(self, seconds: float) -> None:
        await self._net.sleep(seconds)

    def close(self) -> None:
        with suppress(RuntimeError):  # the IO thread is dead, or stuck in a DNS lookup that outlives the deadline
            self._net.call_soon_threadsafe(self.manager.close)
            self._net.stop(timeout_ms=_JOIN_S * 1000)
            self._net.close()


def _proven(prove: Prove, deadline: float) -> float:
    """The seconds left once that is proven, of a call that still waits. Raises what `prove` raises, and
    KafkaTimeoutError: who has stopped waiting may have decided otherwise by now."""
    prove()
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise KafkaTimeoutError
    return left_s


def _send_now(connection: KafkaConnection, request: Any, limit_s: float) -> Awaitable[Any]:
    """The answer to come. What the socket takes is written before this returns: kafka-python 3.0.12 writes in a later
    round of its loop, when what was proven right before need not be so any more."""
    answer: Awaitable[Any] = connection.send_request(request, request_timeout_ms=limit_s * 1000)
    transport = connection.transport
    if transport is not None:
        _, error = transport._sock_send()
        if error is not None:
            transport.abort(error)
    return answer


def _deliver_last_words(transport: Any) -> None:
    """Makes a transport hand on what came before the end of the stream.

    A broker refuses a login and closes the connection at once; kafka-python 3.0.12 drops bytes that it reads together
    with the end of the stream, so that the refusal looks like a lost connection.
    """
    receive = transport._sock_recv

    def receive_all() -> tuple[bytes, Exception | None]:
        data, error = receive()
        return data, None if data else error  # the end of the stream is read again

    transport._sock_recv = receive_all


class _Session:
    """One call's questions to the brokers, all under one deadline. Lives on the IO thread."""

    def __init__(
        self, wire: _Wire, deadline: float, timeout_s: float, prove: Prove, memory: ClusterMemory | None = None
    ) -> None:
        self.memory = memory
        self._wire = wire
        self._manager = wire.manager
        self._deadline = deadline
        self._prove = prove
        # A broker that hangs must leave time to ask another one.
        self.attempt_s = timeout_s / 3
        self._is_over = False
        self._took_s: dict[int, float] = {}  # over its last answer, by broker

    def end(self) -> None:
        """Nothing is sent from here on: of a call that asked several brokers and failed at one, some may still wait."""
        self._is_over = True

    @property
    def attempt_ms(self) -> int:
        """How long a broker may take over one request, in milliseconds."""
        return int(self.attempt_s * 1000)

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        """The answer of a broker whose metadata was proven recent, else of whichever gives one. Raises KafkaError at
        the deadline, or when a broker refuses us."""
        failure: KafkaError = KafkaTimeoutError()
        while self.left_s() > 0:
            broker = self._recent_broker()
            try:
                return await self._ask(
                    self._manager.least_loaded_node() if broker is None else broker, request(), self.attempt_s
                )
            except KafkaError as error:
                if not is_passing(error):
                    raise
                failure = error
                if broker is not None and self.memory is not None:
                    self.memory.forget_proof(broker)
            await self._wire.sleep(_PAUSE_S)
            await self.refresh_metadata()
        raise failure

    async def ask_node(self, node: controllers.Node, request: Any, limit_s: float | None = None) -> Any:
        """The answer of a node that need not be a broker. Raises KafkaError."""
        limit_s = min(self.attempt_s if limit_s is None else limit_s, self.left_s())
        asked = self._manager.call_soon(self._wire.ask_node, node, request, time.monotonic() + limit_s, self._prove)
        return await self._manager.wait_for(asked, limit_s * 1000)

    async def ask_controller(self, request: Callable[[], Any], registered: Sequence[controllers.Node] = ()) -> Any:
        """Return the answer of the first controller that gives one, the active one first. `registered` are addresses
        of controllers, which are asked who they are before any broker is. Raises KafkaError."""
        failure: KafkaError = kafka_errors.BrokerNotAvailableError("no controller tells where it listens")
        for node in controllers.controllers(await self._quorum(registered)):
            try:
                return await self.ask_node(node, request())
            except KafkaError as error:
                failure = error
        raise failure

    async def _quorum(self, registered: Sequence[controllers.Node]) -> Any:
        for node in registered:
            with suppress(KafkaError):
                quorum = await self.ask_node(node, controllers.describe_quorum(), controllers.PROBE_S)
                if any(controllers.controllers(quorum)):
                    return quorum
        return await self.ask_any(controllers.describe_quorum)

    async def ask_each(
        self, brokers: Iterable[int], request: Callable[[int], Any], patience: Patience | None = None
    ) -> tuple[dict[int, Any], dict[int, KafkaError]]:
        """The answers of these brokers, and why the others gave none; without those that `patience` leaves out. Raises
        KafkaError when a broker refuses us."""
        limits = patience.limits(set(brokers), time.monotonic()) if patience else None
        answers, failures = await self._ask_in_parallel(brokers if limits is None else limits, request, limits)
        again = failures if limits is None else [broker for broker, why in failures.items() if not _is_late(why)]
        if again and self.left_s() > 0:
            # A restarted broker, or one that joined since the last look, seems gone until the metadata is fresh.
            await self.refresh_metadata()
            await self._wire.sleep(min(self.left_s(), max(map(self._manager.connection_delay, again))))
            late_answers, late_failures = await self._ask_in_parallel(again, request, limits)
            answers |= late_answers
            failures = {broker: why for broker, why in failures.items() if broker not in again} | late_failures
        if patience:
            for broker in answers:
                patience.was_in_time(broker, self._took_s.get(broker, 0.0))
            for broker in filter(lambda each: _is_late(failures[each]), failures):
                patience.was_late(broker, time.monotonic())
        return answers, failures

    async def ask_recent(self, request: Callable[[], Any]) -> Any:
        """Ask a broker whose metadata is proven recent, or any where there is none: for what brokers answer from
        their metadata. Raises KafkaError as `ask_any`."""
        if self.memory is not None:
            await witness.find_witness(self, self.memory)
        return await self.ask_any(request)

    def _recent_broker(self) -> int | None:
        recent = self.memory.recent_witness() if self.memory is not None else None
        return recent if recent in self.known_brokers() else None

    def known_brokers(self) -> list[int]:
        """Those that a connection can be made to."""
        return [broker.node_id for broker in self._manager.cluster.brokers()]

    def start(self, work: Callable[..., Any], *args: Any) -> Any:
        """Begins a coroutine; what it returns or raises is in the future."""
        return self._manager.call_soon(work, *args)

    async def sleep(self, seconds: float) -> None:
        await self._wire.sleep(seconds)

    async def ask_broker(self, broker: int, request: Any, limit_s: float) -> Any:
        """The answer of this broker. Raises KafkaError."""
        return await self._ask(broker, request, max(0.0, limit_s))

    async def ask_once(
        self, brokers: Iterable[int], request: Callable[[int], Any], limit_s: float | None = None
    ) -> dict[int, Any]:
        """The answers of those brokers that give one soon. Raises KafkaError when a broker refuses us."""
        answers, failures = await self._ask_in_parallel(
            brokers, request, self.attempt_s if limit_s is None else limit_s
        )
        if failures:
            await self.refresh_metadata()  # so that one that has moved, or is new, is found by the next call
        return answers

    async def ask_until_known(
        self,
        names: Collection[str],
        request: Callable[[Collection[str]], Any],
        read: Callable[[Any], dict[str, T]],
        patience: Patience | None = None,
    ) -> dict[str, T]:
        """What brokers know of these names. A name is left out only when no broker that answers soon knows it: some lag
        behind."""
        if not names:
            return {}
        known = read(await self.ask_any(lambda: request(names)))
        if unknown := set(names) - known.keys():
            limit_s = self.attempt_s if patience is None else min(patience.usual_s, self.attempt_s)
            answers, _ = await self._ask_in_parallel(self.known_brokers(), lambda _: request(unknown), limit_s)
            for answer in answers.values():
                known = read(answer) | known
        return known

    async def _ask_in_parallel(
        self,
        brokers: Iterable[int],
        request: Callable[[int], Any],
        limit_s: float | Mapping[int, float] | None = None,
    ) -> tuple[dict[int, Any], dict[int, KafkaError]]:
        """`limit_s` is what each may take, or all of them."""
        same_s = self.left_s() if limit_s is None else limit_s
        pending = {
            broker: self._manager.call_soon(
                self._ask, broker, request(broker), same_s[broker] if isinstance(same_s, Mapping) else same_s
            )
            for broker in set(brokers)
        }
        answers, failures = {}, {}
        for broker, future in pending.items():
            try:
                answers[broker] = await future
            except KafkaError as error:
                if not is_passing(error):
                    raise
                failures[broker] = error
        return answers, failures

    async def _ask(self, broker: int | None, request: Any, limit_s: float) -> Any:
        limit_s, asked_at = min(limit_s, self.left_s()), time.monotonic()
        sent = self._manager.call_soon(self._send, broker, request, asked_at + limit_s)
        response = await self._manager.wait_for(sent, limit_s * 1000)
        if broker is not None:
            self._took_s[broker] = time.monotonic() - asked_at
        error_code = getattr(response, "error_code", _NO_ERROR)
        if error_code != _NO_ERROR:
            raise kafka_errors.for_code(error_code)(getattr(response, "error_message", None) or "")
        return response

    async def _send(self, broker: int | None, request: Any, deadline: float) -> Any:
        """What waits for a connection is not in kafka-python's hands yet, and can still be held back."""
        connection = await self._manager.get_connection(broker)
        if self._is_over:
            raise KafkaTimeoutError
        return await _send_now(connection, request, _proven(self._prove, deadline))

    async def refresh_metadata(self) -> None:
        with suppress(KafkaError):
            await self._manager.wait_for(
                self._manager.call_soon(self._manager.cluster.refresh_metadata),
                max(0.0, min(self.attempt_s, self.left_s())) * 1000,
            )

    def left_s(self) -> float:
        return self._deadline - time.monotonic()


class _AtWitness:
    """A session whose questions for anybody go to one broker."""

    def __init__(self, session: _Session, broker: int) -> None:
        self._session = session
        self._broker = broker

    @property
    def attempt_ms(self) -> int:
        return self._session.attempt_ms

    async def ask_any(self, request: Callable[[], Any]) -> Any:
        """Raises KafkaError."""
        return await self._session.ask_broker(self._broker, request(), self._session.attempt_s)

    async def ask_once(self, brokers: Iterable[int], request: Callable[[int], Any]) -> dict[int, Any]:
        """Raises KafkaError when a broker refuses us."""
        return await self._session.ask_once(brokers, request)


def require_writable(changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> None:
    """Raises InvalidInput unless each resource is a topic or one broker, and Guardian ever sets its keys."""
    for kind, name in changes:
        if _require_kind(kind) == BROKER:
            _broker_id(name)
    require_writable_keys(changes)


def no_authorizer(cluster: str) -> InvalidInput:
    return InvalidInput(
        f"cluster {cluster} has no authorizer, so there are no ACLs: set authorizer.class.name on its nodes"
    )


def replication_factor_changes(
    targets: Mapping[TopicPartition, tuple[int, ...] | None],
    partitions: Mapping[TopicPartition, PartitionState],
    reassignments: Mapping[TopicPartition, Reassignment],
) -> dict[TopicPartition, str]:
    """The targets that would change a replication factor, with the reason: the guard for brokers that have none.

    While a reassignment is in flight, the replication factor is that of its own target.
    """
    refused = {}
    for partition, replicas in targets.items():
        state = partitions.get(partition)
        if replicas is None or state is None:
            continue
        in_flight = reassignments.get(partition)
        present = len(in_flight.replicas) - len(in_flight.removing) if in_flight else len(state.replicas)
        if len(replicas) != present:
            refused[partition] = (
                f"INVALID_REPLICATION_FACTOR: the replication factor would change from {present} to {len(replicas)}"
            )
    return refused


def unavailable_sentence(cluster: Cluster, timeout_s: float, error: KafkaError) -> str:
    """Says in one sentence why the cluster is of no use now, and what to check."""
    if not is_passing(error):
        return f"cluster {cluster.name} at {cluster.bootstrap} {_refusal(cluster.security, error)}"
    sentence = f"cluster {cluster.name} can't be reached at {cluster.bootstrap} within {timeout_s:g} s: {_cause(error)}"
    if not _is_mute(error):
        return sentence
    # A broker may sit on a login that it does not like, and drops what it does not understand: both look like one
    # that is down.
    security = cluster.security
    if security.protocol.uses_sasl:
        return (
            f"{sentence}; either it is down or it does not accept the login of {security.username!r}: "
            f"check the brokers, then the password in the secret {security.password_secret}"
        )
    return f"{sentence}; either it is down or that port does not speak {security.protocol}"


def _refusal(security: ClusterSecurity, error: KafkaError) -> str:
    if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
        return (
            f"refuses the login of {security.username!r}: "
            f"check username, sasl_mechanism and the password in the secret {security.password_secret}"
        )
    if isinstance(error, kafka_errors.UnsupportedSaslMechanismError):
        return f"does not offer security.sasl_mechanism {security.sasl_mechanism}: use one that its listener enables"
    if isinstance(error, kafka_errors.IllegalSaslStateError):
        return (
            f"asks for no login, but security.protocol is {security.protocol}: "
            "use the protocol of that port, or the port of that protocol"
        )
    return f"refuses the request: {_cause(error)}"


def _settings(security: ClusterSecurity, timeout_s: float, secrets: SecretFolder) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "client_id": "guardian",
        "request_timeout_ms": timeout_s * 1000,
        "socket_connection_setup_timeout_ms": timeout_s * 1000,
        "reconnect_backoff_max_ms": _RECONNECT_BACKOFF_MAX_MS,
        "metadata_max_age_ms": _METADATA_MAX_AGE_MS,
        "receive_message_max_bytes": 100_000_000,
        "security_protocol": security.protocol.value,
    }
    if security.protocol.uses_sasl:
        settings |= {
            "sasl_mechanism": security.sasl_mechanism,
            "sasl_plain_username": security.username,
            "sasl_plain_password": secrets.password(security),
        }
    if security.protocol.uses_tls:
        settings["ssl_cafile"] = secrets.ca_file(security) or None
    return settings


def _patience(broker_timeout_s: float | None, timeout_s: float) -> Patience | None:
    return None if broker_timeout_s is None else Patience(broker_timeout_s, max(broker_timeout_s, timeout_s / 3))


def _is_mute(error: KafkaError) -> bool:
    """Whether neither a broker nor the network has said anything."""
    return _is_late(error) or not error.args


def _is_late(error: KafkaError) -> bool:
    return isinstance(error, KafkaTimeoutError | kafka_errors.RequestTimedOutError)


def _cause(error: KafkaError) -> str:
    text = ": ".join(str(argument) for argument in error.args if argument)
    if errno := _ERRNO.search(text):
        return os.strerror(int(errno[1])).lower()
    if isinstance(error, kafka_errors.UnknownBrokerIdError):
        return "it is not a live broker of this cluster"
    if _is_mute(error):
        return "no answer"
    if isinstance(error, kafka_errors.BrokerResponseError):
        return f"{error.message}: {text or error.description}"
    return text


def _no_answer(broker: int, error: KafkaError) -> str:
    return f"broker {broker} does not answer: {_cause(error)}"


def _describe_acls_request() -> Any:
    return DescribeAclsRequest(
        resource_type_filter=ACLResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )


def _read_acls(response: Any) -> Iterator[AclBinding]:
    for resource in response.resources:
        for acl in resource.acls:
            yield AclBinding(
                _name(ACLResourceType, resource.resource_type),
                _name(ACLResourcePatternType, resource.pattern_type),
                resource.resource_name,
                acl.principal,
                acl.host,
                _name(ACLOperation, acl.operation),
                _name(ACLPermissionType, acl.permission_type),
            )


def _active_groups(response: Any) -> list[str]:
    """The consumer groups that have members."""
    return [
        group.group_id
        for group in response.groups
        if group.protocol_type in _CONSUMERS and group.group_state not in _WITHOUT_MEMBERS
    ]


def _offsets_request(groups: Iterable[str]) -> Any:
    return OffsetFetchRequest(
        groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups],
        require_stable=False,
        min_version=_GROUPS_AT_ONCE,
        max_version=9,
    )


def _read_offsets(response: Any) -> Iterator[tuple[str, dict[TopicPartition, int]]]:
    """A group that has moved to another coordinator, or may not be described, is left out."""
    for group in response.groups:
        if group.error_code == _NO_ERROR:
            yield (
                group.group_id,
                {
                    TopicPartition(topic.name, partition.partition_index): partition.committed_offset
                    for topic in group.topics
                    for partition in topic.partitions
                    if partition.error_code == _NO_ERROR and partition.committed_offset >= 0
                },
            )


def _name(kind: type[IntEnum], value: int) -> str:
    """Of a newer Kafka there may be values that this client does not know."""
    return next((member.name for member in kind if member == value), f"UNKNOWN_{value}")


def _replicas(replicas: tuple[int, ...] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        numbers[partition.topic].append(partition.partition)
    return list(numbers.items())


def _read_log_dir(broker: int, result: Any) -> LogDir:
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
        "" if result.error_code == _NO_ERROR else _reason(result.error_code),
        result.total_bytes,
        result.usable_bytes,
        replicas[False],
        replicas[True],
    )


def _require_kind(kind: str) -> str:
    if kind not in _RESOURCE_TYPES:
        raise InvalidInput(f"configuration resource type is {kind!r}: use {TOPIC} or {BROKER}")
    return kind


def _broker_id(name: str) -> int:
    # An empty name is the default of all brokers: too wide for anything that Guardian does.
    if not (name.isascii() and name.isdigit()):
        raise InvalidInput(f"broker of a configuration is {name!r}: use a broker id, such as '1'")
    return int(name)


def _describe_configs_request(kind: str, names: Iterable[str], keys: frozenset[str] | None) -> Any:
    wanted = None if keys is None else sorted(keys)
    return DescribeConfigsRequest(resources=[(_RESOURCE_TYPES[kind], name, wanted) for name in names])


def _read_configs(
    kind: str, response: Any, keys: frozenset[str] | None, *, in_force: bool
) -> dict[str, dict[str, str]]:
    """By resource name: of these keys, or (None) of all, what is in force, or what is set on the resource itself.

    A sensitive value comes without its text, and none of ours is sensitive: left out.
    """
    configs = {}
    for result in response.results:
        error = kafka_errors.for_code(result.error_code)
        if issubclass(error, kafka_errors.AuthorizationError):
            raise error(f"describe configuration of {kind.lower()} {result.resource_name}")
        if result.error_code == _NO_ERROR:
            source = _DYNAMIC_SOURCES[kind] if result.resource_name else _DEFAULT_SOURCE
            configs[result.resource_name] = {
                config.name: config.value
                for config in result.configs
                if (in_force or config.config_source == source)
                and (keys is None or config.name in keys)
                and config.value is not None
            }
    return configs


def _alter_configs_request(
    kind: str, changes: Iterable[tuple[str, Mapping[str, str | None]]], *, validate_only: bool = False
) -> Any:
    return IncrementalAlterConfigsRequest(
        resources=[
            (
                _RESOURCE_TYPES[kind],
                name,
                [(key, _DELETE if value is None else _SET, value) for key, value in values.items()],
            )
            for name, values in changes
        ],
        validate_only=validate_only,
    )


def _read_refusals(kind: str, response: Any, forgiven: frozenset[int] = frozenset()) -> dict[ConfigResource, str]:
    return {
        (kind, result.resource_name): _reason(result.error_code, result.error_message)
        for result in response.responses
        if result.error_code != _NO_ERROR and result.error_code not in forgiven
    }
