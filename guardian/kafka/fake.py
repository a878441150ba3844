"""A Kafka cluster in memory that behaves as real brokers were measured to (KAFKA.md), for tests and rehearsals.

Time is virtual: every read lasts `MS_PER_READ`, and meanwhile replicas catch up. A catching-up replica takes
`bytes_per_call` a read, or less where a throttle holds it back:

    replica listed in follower.replication.throttled.replicas ── shares its broker's follower rate
    its leader listed in leader.replication.throttled.replicas ── shares the leader's rate, of which the in-sync
                                                                  followers of listed partitions take theirs first
    copy between log dirs ── shares the broker's replica.alter.log.dirs.io.max.bytes.per.second

A reassignment follows Kafka's controller: the replicas become target + removed, and it completes when every target
replica is in sync. A leader that stays a replica stays the leader until somebody elects another. Submitting the
original over a reassignment in flight hangs for good (the new replica is both added and removed); a cancel frees it.

A new replica of a tiered topic begins after the last tiered offset (KIP-1023): it copies a tenth, and grows from there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import starmap

from guardian.errors import ClusterUnavailable, InvalidInput, Undecided
from guardian.kafka.admin import BROKER, TOPIC, ConfigResource, require_writable_keys
from guardian.kafka.cluster_truth import EpochMemory, described, partitions_of, view_of_all, view_of_witness
from guardian.kafka.gate import Gate
from guardian.model.acl import AclBinding
from guardian.model.cluster_state import (
    BrokerAnswer,
    BrokerNode,
    BrokerView,
    ClusterDescription,
    ClusterObservation,
    ClusterView,
    ConfigOrigin,
    Eligible,
    EligibleLeaders,
    FencedServer,
    Leadership,
    LogDir,
    LogDirReplica,
    PartitionState,
    Reassignment,
    SettingInForce,
)
from guardian.model.effects import NewTopic, Refusal
from guardian.model.operation import MetadataVersion, Quorum
from guardian.model.quota import GroupMember, GroupMembers, GroupOffsets, QuotaEntity, require_writable_quotas
from guardian.model.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LOG_DIR_RATE
from guardian.model.topology import TopicPartition

MS_PER_READ = 100
NO_LEADER = -1
LEVEL = 29  # of metadata.version

_TIERED = "remote.storage.enable"
_LOCAL_SHARE = 0.1
_MOST_MADE = 10_000  # partitions by one request
_TOO_MUCH = "POLICY_VIOLATION: Excessively large number of partitions per request."


_NO_CLUSTER = Refusal("INVALID_REQUEST: The only valid name for the CLUSTER resource is kafka-cluster", is_final=True)


@dataclass(slots=True)
class _Future:
    """A copy on its way into another log dir of the same broker."""

    path: str
    copied: float = 0.0


@dataclass(slots=True)
class Replica:
    """A partition on a broker, in a log dir; `lag` bytes behind its leader."""

    path: str
    lag: float = 0.0
    only_remote: float = 0.0  # what it never copies
    future: _Future | None = None


@dataclass(slots=True)
class _Partition:
    replicas: list[int]
    isr: list[int]
    leader: int
    size: float
    write_rate: float
    hosted: dict[int, Replica]
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    leader_epoch: int = 0
    number: int = 0  # in the order in which partitions were made
    eligible: list[int] = field(default_factory=list)  # who left the ISR when it was small: the ELR

    def elect(self, broker: int) -> None:
        if broker != self.leader:
            self.leader = broker
            self.leader_epoch += 1

    @property
    def in_flight(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def is_copied(self) -> bool:
        """Return whether a replica is on its way into another log dir."""
        return any(replica.future is not None for replica in self.hosted.values())


@dataclass(slots=True)
class _Broker:
    rack: str
    log_dirs: tuple[str, ...]
    alive: bool = True
    # AlterReplicaLogDirs for a replica that is not there yet; in memory, so a restart forgets it.
    remembered: dict[TopicPartition, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)  # log dirs that are offline
    mended: set[str] = field(default_factory=set)
    tells_log_dirs: bool = True
    tells_config: bool = True
    outdated: BrokerAnswer | None = None  # what it last heard, while it is cut off from the controller
    fenced: bool = False  # it runs on, and the controllers do not count it among the living
    hidden: bool = False  # Guardian does not reach it
    lag_ms: float | None = None  # the age of what it applied last, where its reporter tells


# Kafka's own, as far as anybody asks for them.
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    TOPIC: {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"},
    BROKER: {
        "replica.lag.time.max.ms": "30000",
        "auto.leader.rebalance.enable": "true",
        "cordoned.log.dirs": "",
    },
}


_ALL_BROKERS = (BROKER, "")


class FakeKafka:
    """A KafkaAdmin, and the hands of whoever runs the cluster. Safe to use from several threads.

    While `reachable` is False every admin call raises ClusterUnavailable.
    """

    def __init__(
        self,
        racks: Mapping[int, str],
        log_dirs: Mapping[int, tuple[str, ...]],
        bytes_per_call: int = 1_000_000,
        cluster_id: str = "fake",
    ) -> None:
        self.cluster_id = cluster_id
        self.bytes_per_call = bytes_per_call
        self.reachable = True
        self.silent_coordinators: frozenset[int] = frozenset()  # while there are some, no group is told
        self.controllers_reachable = True
        self.counts_moving = True  # an expansion counts the replicas that come and go; False: of a partition at rest
        self.now_ms = 0
        self._brokers = {broker: _Broker(rack, log_dirs[broker]) for broker, rack in racks.items()}
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._awake: set[TopicPartition] = set()  # all but those that are known to be at rest
        self._partitions_made = 0
        self._configs: dict[ConfigResource, dict[str, str]] = {(BROKER, str(broker)): {} for broker in racks}
        self._topic_ids: dict[str, bytes] = {}
        self._topics_made = 0
        self._acls: tuple[AclBinding, ...] | None = None
        self._offsets: dict[str, dict[TopicPartition, int]] = {}
        self._members: list[GroupMember] = []
        self._quotas: dict[QuotaEntity, dict[str, float]] = {}
        self._unregistered: set[int] = set()
        self.quorum: Quorum | None = Quorum(100, frozenset({100}), frozenset({100}))
        self.level = LEVEL
        self.supported: dict[int, int] = {}  # by node, the highest level, where that is another one
        self._memory = EpochMemory()
        self._lock = threading.RLock()
        self._gate = Gate()

    # Those who run the cluster.

    def create_topic(
        self,
        name: str,
        assignments: Mapping[int, Collection[int]],
        size_bytes: int = 0,
        write_rate: float = 0.0,
        *,
        tiered: bool = False,
    ) -> None:
        """A topic whose replicas are all in sync; `size_bytes` and `write_rate` (bytes/s) are those of a partition."""
        with self._lock:
            self._configs[TOPIC, name] = {_TIERED: "true"} if tiered else {}
            self._topics_made += 1
            self._topic_ids[name] = self._topics_made.to_bytes(16, "big")
            for number, replicas in assignments.items():
                self._add_partition(TopicPartition(name, number), replicas, size_bytes, write_rate)

    def place_topic(
        self, name: str, topic_id: bytes, places: Mapping[int, Mapping[int, str]], size_bytes: Mapping[int, int]
    ) -> None:
        """A topic of this id whose replicas lie on these log dirs, by partition and broker, all in sync; of each
        partition its size."""
        with self._lock:
            self._configs[TOPIC, name] = {}
            self._topic_ids[name] = topic_id
            for number, log_dirs in places.items():
                hosted = {broker: Replica(path) for broker, path in log_dirs.items()}
                self._host(TopicPartition(name, number), hosted, size_bytes[number], 0.0)

    def delete_topic(self, name: str) -> None:
        with self._lock:
            self._configs.pop((TOPIC, name), None)
            self._topic_ids.pop(name, None)
            for partition in [partition for partition in self._partitions if partition.topic == name]:
                del self._partitions[partition]
                self._awake.discard(partition)

    def kill_broker(self, broker: int) -> None:
        """It leaves every ISR but those where it is the last one, and another in-sync replica leads."""
        with self._lock:
            self._brokers[broker].alive = False
            self._brokers[broker].remembered.clear()
            self._leave_isrs(broker)

    def start_broker(self, broker: int) -> None:
        """It comes back with what it had, and catches up."""
        with self._lock:
            self._brokers[broker].alive = True
            self._brokers[broker].failed -= self._brokers[broker].mended
            self._unregistered.discard(broker)
            self._awake.update(self._partitions)
            for partition in self._partitions.values():
                partition.eligible = [each for each in partition.eligible if each != broker]
                self._keep_a_leader(partition)

    def fail_log_dir(self, broker: int, path: str) -> None:
        """The broker lives on; its replicas there leave every ISR but those where they are the last ones."""
        with self._lock:
            self._brokers[broker].failed.add(path)
            self._awake.update(self._partitions)
            for partition in self._partitions.values():
                if broker in partition.hosted and partition.hosted[broker].path == path:
                    partition.hosted[broker].future = None
                    if broker in partition.isr and len(partition.isr) > 1:
                        partition.isr.remove(broker)
                self._keep_a_leader(partition)

    def mend_log_dir(self, broker: int, path: str) -> None:
        """Put the disk back: the broker uses it again once it is started anew."""
        with self._lock:
            self._brokers[broker].mended.add(path)

    def hang(self, broker: int, *, only_its_disk: bool = False) -> None:
        """It answers no more about itself, or not about its log dirs alone, while its heartbeats go on."""
        with self._lock:
            self._brokers[broker].tells_log_dirs = False
            self._brokers[broker].tells_config = only_its_disk

    def go_on(self, broker: int) -> None:
        """It answers again."""
        with self._lock:
            self._brokers[broker].tells_log_dirs = self._brokers[broker].tells_config = True

    def cut_off(self, broker: int) -> None:
        """It hears no news from the controller any more, and goes on answering."""
        with self._lock:
            self._brokers[broker].outdated = self._answer()

    def fence(self, broker: int) -> None:
        """The controllers miss its heartbeats: others lead what it led. Cut off, it does not hear of it."""
        with self._lock:
            self._brokers[broker].fenced = True
            self._leave_isrs(broker)

    def reconnect(self, broker: int) -> None:
        """It hears the news, and catches up with what it missed."""
        with self._lock:
            self._brokers[broker].outdated = None
            self._brokers[broker].fenced = False
            self._awake.update(self._partitions)
            for partition in self._partitions.values():
                self._keep_a_leader(partition)

    def hide(self, broker: int, *, hidden: bool = True) -> None:
        """Guardian does not reach it, while all others do."""
        with self._lock:
            self._brokers[broker].hidden = hidden

    def tell_lag(self, broker: int, lag_ms: float | None) -> None:
        """Set the age of its metadata that the broker's reporter tells; None: it tells none."""
        with self._lock:
            self._brokers[broker].lag_ms = lag_ms

    def set_config(self, resource: ConfigResource, key: str, value: str | None) -> None:
        """Change a configuration as another tool does; (BROKER, "") is the default of all brokers."""
        with self._lock:
            if resource == _ALL_BROKERS:
                self._configs.setdefault(resource, {})
            if value is None:
                self._configs[resource].pop(key, None)
            else:
                self._configs[resource][key] = value

    def set_acls(self, *acls: AclBinding) -> None:
        """Give the cluster an authorizer, with these rules, from now on."""
        with self._lock:
            self._acls = acls

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """A member of the group commits, and stays; no offsets: the last member leaves."""
        with self._lock:
            if offsets:
                self._offsets.setdefault(group, {}).update(offsets)
            else:
                self._offsets.pop(group, None)

    def join(self, group: str, client_id: str, host: str = "10.0.0.1") -> None:
        """A client joins the group, and is assigned all that the group has committed."""
        with self._lock:
            self._members.append(GroupMember(group, client_id, host, ()))

    def set_quota(self, entity: QuotaEntity, key: str, value: float | None) -> None:
        """Change a quota as somebody else does."""
        with self._lock:
            values = self._quotas.setdefault(entity, {})
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value

    def advance(self) -> None:
        """Lets `MS_PER_READ` pass."""
        with self._lock:
            self.now_ms += MS_PER_READ
            awake = sorted(self._awake, key=lambda name: self._partitions[name].number)
            partitions = {name: self._partitions[name] for name in awake}
            self._replicate(partitions)
            self._copy_between_log_dirs(partitions.values())
            for partition in partitions.values():
                self._complete_reassignment(partition)
            lives = self._nodes()
            self._awake.difference_update(name for name, each in partitions.items() if self._is_at_rest(each, lives))

    def peek(self) -> ClusterObservation:
        """Everything as it is, without letting time pass."""
        with self._lock:
            alive = [number for number, broker in self._brokers.items() if broker.alive]
            return ClusterObservation(
                observed_at_ms=self.now_ms,
                brokers=self._nodes(),
                partitions=self._states(None),
                reassignments=self._reassignments(),
                log_dirs=self._described_log_dirs(alive, self._partitions),
                configs={resource: dict(values) for resource, values in self._configs.items()},
            )

    def peek_at_partitions(self) -> tuple[dict[TopicPartition, PartitionState], dict[TopicPartition, Reassignment]]:
        """The part of `peek` that costs little: for what must hold after each single call."""
        with self._lock:
            return self._states(None), self._reassignments()

    # KafkaAdmin.

    def each_change_proven_by(self, prove: Callable[[], None]) -> AbstractContextManager[None]:
        return self._gate.proven_by(prove)

    def view(self, topics: Collection[str] | None) -> ClusterView:
        with self._read():
            there = {number: broker for number, broker in self._brokers.items() if broker.alive and not broker.hidden}
            if not there:
                raise ClusterUnavailable(f"cluster {self.cluster_id} did not answer within its deadline")
            witness = self._witness()
            if witness is not None:
                return view_of_witness(witness, self._answer(topics), self._memory)
            answers = {
                number: _of_topics(broker.outdated or self._answer(), topics) for number, broker in there.items()
            }
            lags = {number: broker.lag_ms for number, broker in there.items() if broker.lag_ms is not None}
            return view_of_all(answers, there.keys(), lags, self._memory, self._brokers.keys() - self._unregistered)

    def describe_cluster(self) -> ClusterDescription:
        return described(self.view(()))

    def describe_partitions(self, topics: Collection[str] | None = None) -> dict[TopicPartition, PartitionState]:
        return partitions_of(self.view(topics))

    def eligible_leaders(self, topics: Collection[str]) -> EligibleLeaders:
        with self._read():
            self._require_controllers("which replicas may lead")
            found = {
                name: Eligible(tuple(each for each in partition.replicas if each in partition.eligible))
                for name, partition in self._partitions.items()
                if name.topic in topics and partition.eligible and len(partition.isr) < self._min_isr(name.topic)
            }
            return EligibleLeaders(is_kept=True, partitions=found)

    def fenced_servers(self) -> tuple[FencedServer, ...]:
        with self._read():
            self._require_controllers("which brokers are fenced")
            return tuple(
                FencedServer(
                    number,
                    f"broker{number}:9092",
                    sum(state.leader == number for state in broker.outdated.partitions.values()),
                )
                for number, broker in self._brokers.items()
                if broker.fenced and broker.outdated is not None and number in broker.outdated.brokers
                if broker.alive and not broker.hidden
            )

    def topic_ids(self, topics: Collection[str]) -> dict[str, bytes]:
        with self._read():
            return {name: self._topic_ids[name] for name in topics if name in self._topic_ids}

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        with self._read():
            answers = {
                number: self._brokers[number].outdated or self._answer()
                for number in brokers
                if number in self._nodes()
            }
            return {number: _view_of(answer, topic_ids) for number, answer in answers.items()}

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]:
        with self._read():
            self._require_controllers("which partitions are being reassigned")
            return self._reassignments()

    def describe_log_dirs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition] | None = None
    ) -> tuple[LogDir, ...]:
        with self._read():
            alive = [broker for broker in brokers if broker in self._brokers and self._brokers[broker].alive]
            telling = [broker for broker in alive if self._brokers[broker].tells_log_dirs]
            return self._described_log_dirs(telling, self._partitions if partitions is None else partitions)

    def describe_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str] | None = None
    ) -> dict[ConfigResource, dict[str, str]]:
        with self._read():
            return {
                resource: {
                    key: value for key, value in self._configs.get(resource, {}).items() if keys is None or key in keys
                }
                for resource in resources
                if resource == _ALL_BROKERS or (resource in self._configs and self._answers(resource))
            }

    def effective_configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> dict[ConfigResource, dict[str, str]]:
        explicit = self.describe_configs(resources)
        return {
            resource: {
                key: value for key, value in {**DEFAULTS[resource[0]], **explicit[resource]}.items() if key in keys
            }
            for resource in explicit
        }

    def topic_settings(self, topics: Collection[str]) -> dict[str, tuple[SettingInForce, ...]]:
        found = self.describe_configs([(TOPIC, topic) for topic in topics])
        return {topic: tuple(starmap(_setting, sorted(values.items()))) for (_, topic), values in found.items()}

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        replication_factor_may_change: bool = False,
    ) -> dict[TopicPartition, str]:
        with self._write():
            refused = {}
            for name, target in targets.items():
                if target is None:
                    error = self._cancel(name)
                else:
                    error = self._reassign(name, target, replication_factor_may_change)
                if error:
                    refused[name] = error
            return refused

    def alter_replica_log_dirs(
        self, targets: Mapping[tuple[TopicPartition, int], str]
    ) -> dict[tuple[TopicPartition, int], str]:
        with self._write():
            refused = {}
            for (name, broker), path in targets.items():
                error = self._move_to_log_dir(name, broker, path)
                if error:
                    refused[name, broker] = error
            return refused

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        with self._write():
            refused = {}
            for name in partitions:
                partition = self._partitions.get(name)
                if partition is None:
                    refused[name] = f"{name} does not exist"
                elif not self._can_lead(partition, partition.replicas[0]):
                    refused[name] = f"broker {partition.replicas[0]}, the preferred leader of {name}, is not in sync"
                else:
                    partition.elect(partition.replicas[0])
            return refused

    def refused_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
        with self._read():
            require_writable_keys({(TOPIC, name): values for name, values in changes.items()})
            refused = {name: self._why_not_configured(name, values) for name, values in changes.items()}
            return {name: why for name, why in refused.items() if why}

    def alter_configs(self, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> dict[ConfigResource, str]:
        with self._write():
            require_writable_keys(changes)
            refused = {}
            for resource, values in changes.items():
                if resource not in self._configs or not self._answers(resource):
                    refused[resource] = f"{resource[0].lower()} {resource[1]} does not exist or is not alive"
                    continue
                for key, value in values.items():
                    self.set_config(resource, key, value)
            return refused

    def alter_configs_through_controller(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> dict[ConfigResource, str]:
        with self._write():
            if not self.controllers_reachable:
                raise ClusterUnavailable(f"no controller of cluster {self.cluster_id} answered within its deadline")
            require_writable_keys(changes)
            for resource, values in changes.items():
                for key, value in values.items():
                    if resource in self._configs:
                        self.set_config(resource, key, value)
            return {}

    def describe_acls(self) -> tuple[AclBinding, ...]:
        with self._read():
            return tuple(sorted(self._rules()))

    def create_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        with self._write():
            refused = {acl: _NO_CLUSTER for acl in acls if _is_of_no_cluster(acl)}
            self._acls = tuple(dict.fromkeys((*self._rules(), *(acl for acl in acls if acl not in refused))))
            return dict(refused)

    def delete_acls(self, acls: Collection[AclBinding]) -> dict[AclBinding, str]:
        with self._write():
            self._acls = tuple(acl for acl in self._rules() if acl not in acls)
            return {}

    def create_topics(self, topics: Mapping[str, NewTopic], validate_only: bool = False) -> dict[str, str]:
        with self._write():
            refused = {}
            for name, topic in topics.items():
                if name in self._topic_ids:
                    if validate_only:
                        refused[name] = f"TOPIC_ALREADY_EXISTS: topic {name} exists"
                    continue
                is_too_much = len(topic.assignments) > _MOST_MADE
                error = _TOO_MUCH if is_too_much else self._why_not_created(topic.assignments, first=0)
                if error:
                    refused[name] = error
                elif not validate_only:
                    self.create_topic(name, topic.assignments)
                    self._configs[TOPIC, name] |= topic.configs
                    self._place_on_remembered_log_dirs(name, topic.assignments)
            return refused

    def create_partitions(
        self, assignments: Mapping[TopicPartition, tuple[int, ...]], validate_only: bool = False
    ) -> dict[str, str]:
        with self._write():
            refused = {}
            for topic in {name.topic for name in assignments}:
                wanted = {name.partition: brokers for name, brokers in assignments.items() if name.topic == topic}
                there = [name.partition for name in self._partitions if name.topic == topic]
                added = {number: brokers for number, brokers in wanted.items() if number not in there}
                error = "" if there else f"UNKNOWN_TOPIC_OR_PARTITION: topic {topic} does not exist"
                error = error or self._why_not_created(added, first=len(there)) or self._why_not_beside(topic, added)
                if error:
                    refused[topic] = error
                elif not validate_only:
                    for number, brokers in added.items():
                        self._add_partition(TopicPartition(topic, number), brokers, 0, 0.0)
                    self._place_on_remembered_log_dirs(topic, added)
            return refused

    def delete_topics(self, ids: Mapping[str, bytes]) -> dict[str, str]:
        with self._write():
            for name, topic_id in ids.items():
                if self._topic_ids.get(name) == topic_id:
                    self.delete_topic(name)
            return {}

    def committed_offsets(self) -> GroupOffsets:
        with self._read():
            told = {} if self.silent_coordinators else self._offsets
            return GroupOffsets({group: dict(offsets) for group, offsets in told.items()}, self.silent_coordinators)

    def group_members(self) -> GroupMembers:
        with self._read():
            found = tuple(
                replace(member, partitions=tuple((each.topic, each.partition) for each in self._offsets[member.group]))
                for member in self._members
                if member.group in self._offsets and not self.silent_coordinators
            )
            return GroupMembers(found, self.silent_coordinators)

    def describe_client_quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        with self._read():
            return {entity: dict(values) for entity, values in self._quotas.items() if values}

    def alter_client_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> dict[QuotaEntity, str]:
        with self._write():
            require_writable_quotas(changes)
            for entity, values in changes.items():
                for key, value in values.items():
                    self.set_quota(entity, key, value)
            return {}

    def registered_brokers(self) -> dict[int, bool] | None:
        with self._read():
            self._require_controllers("which brokers are registered")
            known = self._brokers.keys() - self._unregistered
            alive = self._nodes()
            return {broker: broker not in alive for broker in sorted(known)}

    def unregister_broker(self, broker: int) -> str:
        self._require_controllers(f"whether broker {broker} runs")
        with self._write():
            if broker in self._nodes():
                return f"broker {broker} runs (it is not fenced): stop it first"
            self._unregistered.add(broker)
            return ""

    def describe_quorum(self) -> Quorum | None:
        with self._read():
            self._require_controllers("which of them lives")
            return self.quorum

    def metadata_version(self) -> MetadataVersion:
        with self._read():
            return MetadataVersion(self.level, {broker: self._most(broker) for broker in self._nodes()})

    def raise_metadata_version(self, level: int, validate_only: bool = False) -> str:
        with self._write():
            brokers = self._brokers.keys() - self._unregistered
            controllers = self.quorum.voters - brokers if self.quorum is not None else frozenset()
            nodes = [("Broker", node) for node in sorted(brokers)] + [
                ("Controller", node) for node in sorted(controllers)
            ]
            whys = [
                f"{kind} {node} only supports versions 7-{self._most(node)}"
                for kind, node in nodes
                if self._most(node) < level
            ]
            whys += [f"Can't downgrade the version of this feature from {self.level}"] if level < self.level else []
            if whys:
                of_all = "The update failed for all features since the following feature had an error"
                why = f"Invalid update version {level} for feature metadata.version. {whys[0]}"
                return f"INVALID_UPDATE_VERSION: {of_all}: {why}"
            if not validate_only:
                self.level = level
            return ""

    def close(self) -> None:
        """Nothing to end: the cluster outlives its clients."""

    # Inside.

    def _most(self, node: int) -> int:
        return self.supported.get(node, LEVEL)

    def _why_not_configured(self, topic: str, values: Mapping[str, str | None]) -> str:
        if (TOPIC, topic) not in self._configs:
            return f"UNKNOWN_TOPIC_OR_PARTITION: topic {topic} does not exist"
        wrong = [key for key, value in values.items() if key.endswith((".ms", ".bytes")) and not _is_number(value)]
        if not wrong:
            return ""
        return Refusal(f"INVALID_CONFIG: Invalid value {values[wrong[0]]} for configuration {wrong[0]}", is_final=True)

    def _rules(self) -> tuple[AclBinding, ...]:
        if self._acls is None:
            raise InvalidInput(f"cluster {self.cluster_id} has no authorizer, so there are no ACLs")
        return self._acls

    def _add_partition(
        self, name: TopicPartition, replicas: Collection[int], size_bytes: int, write_rate: float
    ) -> None:
        hosted = {broker: Replica(self._emptiest_log_dir(broker)) for broker in replicas}
        self._host(name, hosted, size_bytes, write_rate)

    def _host(self, name: TopicPartition, hosted: dict[int, Replica], size_bytes: int, write_rate: float) -> None:
        replicas = list(hosted)
        alive = [broker for broker in replicas if self._brokers[broker].alive]
        leader = alive[0] if alive else NO_LEADER
        self._partitions_made += 1
        self._awake.add(name)
        self._partitions[name] = _Partition(
            replicas, alive, leader, float(size_bytes), write_rate, hosted, number=self._partitions_made
        )

    def _why_not_created(self, assignments: Mapping[int, Collection[int]], first: int) -> str:
        """Refuse as the controller does, which wants numbers without a gap and as many replicas everywhere; empty: it
        is in order.
        """
        if sorted(assignments) != list(range(first, first + len(assignments))):
            return f"INVALID_REPLICATION_ASSIGNMENT: partitions {sorted(assignments)} do not follow {first - 1}"
        unknown = [broker for brokers in assignments.values() for broker in brokers if broker not in self._brokers]
        if unknown or len({len(brokers) for brokers in assignments.values()}) > 1:
            return Refusal(
                "INVALID_REPLICATION_ASSIGNMENT: a broker is not registered, or partitions differ in their replicas",
                names_brokers=True,
            )
        return ""

    def _why_not_beside(self, topic: str, added: Mapping[int, Collection[int]]) -> str:
        """Refuse as the controller does, which takes any partition of the topic for what the others should be like."""
        moved = [
            each for name, each in self._partitions.items() if name.topic == topic and (each.adding or each.removing)
        ]
        if (
            not moved
            or not self.counts_moving
            or {len(brokers) for brokers in added.values()} <= {len(moved[0].replicas)}
        ):
            return ""
        return Refusal(
            f"INVALID_REPLICA_ASSIGNMENT: topic {topic}: other partitions have {len(moved[0].replicas)} replicas",
            names_brokers=True,
        )

    def _place_on_remembered_log_dirs(self, topic: str, assignments: Mapping[int, Collection[int]]) -> None:
        for number, brokers in assignments.items():
            name = TopicPartition(topic, number)
            for broker in brokers:
                path = self._brokers[broker].remembered.pop(name, None)
                if path is not None:
                    self._partitions[name].hosted[broker].path = path

    def _read(self) -> threading.RLock:
        self._require_reachable()
        self.advance()
        return self._lock

    def _write(self) -> threading.RLock:
        self._require_reachable()
        self._gate.prove()
        return self._lock

    def _require_reachable(self) -> None:
        if not self.reachable:
            raise ClusterUnavailable(f"cluster {self.cluster_id} did not answer within its deadline")

    def _witness(self) -> int | None:
        """A broker that hears the controllers and answers Guardian."""
        hearing = (number for number in self._nodes() if self._brokers[number].outdated is None)
        return next((number for number in hearing if not self._brokers[number].hidden), None)

    def _require_controllers(self, subject: str) -> None:
        if self._witness() is None:
            raise Undecided(f"cluster {self.cluster_id}: no controller answers; {subject} is unknown until one does")

    def _answers(self, resource: ConfigResource) -> bool:
        if resource[0] == TOPIC:
            return True
        broker = self._brokers[int(resource[1])]
        return broker.alive and broker.tells_config

    def _nodes(self) -> dict[int, BrokerNode]:
        return {
            number: BrokerNode(number, f"broker{number}", 9092, broker.rack)
            for number, broker in self._brokers.items()
            if broker.alive and not broker.fenced
        }

    def _states(self, topics: Collection[str] | None) -> dict[TopicPartition, PartitionState]:
        if topics is not None and not topics:
            return {}
        return {
            name: PartitionState(
                partition.leader, tuple(partition.replicas), tuple(partition.isr), partition.leader_epoch
            )
            for name, partition in self._partitions.items()
            if topics is None or name.topic in topics
        }

    def _answer(self, topics: Collection[str] | None = None) -> BrokerAnswer:
        return BrokerAnswer(self.cluster_id, self._nodes(), self._states(topics), dict(self._topic_ids))

    def _min_isr(self, topic: str) -> int:
        key = "min.insync.replicas"
        return int(self._configs.get((TOPIC, topic), {}).get(key, DEFAULTS[TOPIC][key]))

    def _leave_isrs(self, broker: int) -> None:
        self._awake.update(self._partitions)
        for name, partition in self._partitions.items():
            if broker in partition.isr and len(partition.isr) > 1:
                partition.isr.remove(broker)
                is_small = len(partition.isr) < self._min_isr(name.topic)
                partition.eligible = [*partition.eligible, broker] if is_small else []
            self._keep_a_leader(partition)

    def _reassignments(self) -> dict[TopicPartition, Reassignment]:
        return {
            name: Reassignment(tuple(partition.replicas), tuple(partition.adding), tuple(partition.removing))
            for name, partition in self._partitions.items()
            if partition.in_flight
        }

    def _log_dirs(self, broker: int) -> tuple[str, ...]:
        return self._brokers[broker].log_dirs

    def _emptiest_log_dir(self, broker: int) -> str:
        """Kafka's own choice: the log dir with the fewest replicas."""
        used = [partition.hosted[broker].path for partition in self._partitions.values() if broker in partition.hosted]
        working = [path for path in self._brokers[broker].log_dirs if path not in self._brokers[broker].failed]
        return min(working or self._brokers[broker].log_dirs, key=used.count)

    def _described_log_dirs(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> tuple[LogDir, ...]:
        """Describe all log dirs in one look at these partitions: simulations ask for them at every tick."""
        replicas: dict[tuple[int, str], dict[TopicPartition, LogDirReplica]] = {}
        futures: dict[tuple[int, str], dict[TopicPartition, LogDirReplica]] = {}
        for name in partitions:
            if (partition := self._partitions.get(name)) is None:
                continue
            size = partition.size
            for broker, replica in partition.hosted.items():
                held = LogDirReplica(int(size - replica.only_remote - replica.lag), int(replica.lag), is_future=False)
                replicas.setdefault((broker, replica.path), {})[name] = held
                if (future := replica.future) is not None:
                    copy = LogDirReplica(int(future.copied), int(size - future.copied), is_future=True)
                    futures.setdefault((broker, future.path), {})[name] = copy
        return tuple(
            LogDir(broker, path, error="KAFKA_STORAGE_ERROR: disk error")
            if path in self._brokers[broker].failed
            else LogDir(
                broker,
                path,
                replicas=replicas.get((broker, path), {}),
                future_replicas=futures.get((broker, path), {}),
            )
            for broker in brokers
            for path in self._log_dirs(broker)
        )

    def _can_lead(self, partition: _Partition, broker: int) -> bool:
        lives = self._brokers[broker].alive and not self._brokers[broker].fenced
        return broker in partition.isr and lives and not self._is_lost(partition, broker)

    def _is_lost(self, partition: _Partition, broker: int) -> bool:
        return broker in partition.hosted and partition.hosted[broker].path in self._brokers[broker].failed

    def _keep_a_leader(self, partition: _Partition) -> None:
        if partition.leader in partition.replicas and self._can_lead(partition, partition.leader):
            return
        able = [broker for broker in partition.replicas if self._can_lead(partition, broker)]
        partition.elect(able[0] if able else NO_LEADER)

    def _reassign(self, name: TopicPartition, target: tuple[int, ...], factor_may_change: bool) -> str:
        partition = self._partitions.get(name)
        if partition is None:
            return f"{name} does not exist"
        unknown = [broker for broker in target if broker not in self._brokers]
        self._awake.add(name)
        if unknown or not target or len(set(target)) != len(target):
            return Refusal(f"{list(target)} is no valid assignment of {name}", names_brokers=True)
        heading = len(set(partition.replicas) - set(partition.removing))
        if heading != len(target) and not factor_may_change:
            return f"the replication factor of {name} would change from {heading} to {len(target)}"
        present = partition.replicas
        removing = sorted(set(present) - set(target))
        adding = sorted(set(target) - set(present))
        partition.replicas = [*target, *removing]
        # As in Kafka, an empty list does not replace the one of the reassignment in flight.
        partition.removing = removing or partition.removing
        partition.adding = adding or partition.adding
        for broker in adding:
            path = self._brokers[broker].remembered.pop(name, None) or self._emptiest_log_dir(broker)
            is_tiered = self._configs[TOPIC, name.topic].get(_TIERED) == "true"
            lag = partition.size * (_LOCAL_SHARE if is_tiered else 1.0)
            partition.hosted[broker] = Replica(path, lag, only_remote=partition.size - lag)
        self._complete_reassignment(partition)
        return ""

    def _cancel(self, name: TopicPartition) -> str:
        """The replicas become those of before in the order that the reassignment left them (trap 4)."""
        partition = self._partitions.get(name)
        if partition is None:
            return f"{name} does not exist"
        self._awake.add(name)
        kept = [broker for broker in partition.replicas if broker not in partition.adding]
        if not set(kept) & set(partition.isr):
            return f"cancelling would leave {name} without an in-sync replica"
        self._settle(partition, kept)
        return ""

    def _complete_reassignment(self, partition: _Partition) -> None:
        """Not while a replica that is being added is to be removed as well: that waits until it is cancelled."""
        target = [broker for broker in partition.replicas if broker not in partition.removing]
        in_sync = set(partition.isr) - set(partition.removing)
        if partition.in_flight and set(target) | set(partition.adding) <= in_sync:
            self._settle(partition, target)

    def _settle(self, partition: _Partition, replicas: list[int]) -> None:
        partition.replicas = replicas
        partition.isr = [broker for broker in partition.isr if broker in replicas]
        partition.hosted = {broker: replica for broker, replica in partition.hosted.items() if broker in replicas}
        partition.adding, partition.removing = [], []
        self._keep_a_leader(partition)

    def _move_to_log_dir(self, name: TopicPartition, broker: int, path: str) -> str:
        if broker not in self._brokers or not self._brokers[broker].alive:
            return f"broker {broker} is not available"
        if path not in self._brokers[broker].log_dirs:
            return f"broker {broker} has no log dir {path}"
        partition = self._partitions.get(name)
        if partition is None or broker not in partition.hosted:
            self._brokers[broker].remembered[name] = path
            return f"broker {broker} has no replica of {name}"
        self._awake.add(name)
        replica = partition.hosted[broker]
        if {path, replica.path} & self._brokers[broker].failed:
            return f"KAFKA_STORAGE_ERROR: a log dir of broker {broker} is offline"
        if path == replica.path:
            replica.future = None
        elif replica.future is None or replica.future.path != path:
            replica.future = _Future(path)
        return ""

    # Time passes.

    def _replicate(self, partitions: Mapping[TopicPartition, _Partition]) -> None:
        lives = self._nodes()
        leader_budget = _Budget(self._configs, LEADER_RATE)
        follower_budget = _Budget(self._configs, FOLLOWER_RATE)
        for name, partition in partitions.items():
            if partition.leader == NO_LEADER:
                continue
            written = partition.write_rate * MS_PER_READ / 1000
            partition.size += written
            for broker in set(partition.hosted) - set(partition.isr):
                partition.hosted[broker].lag += written
            if self._is_throttled(name, partition.leader, LEADER_REPLICAS):
                leader_budget.take(partition.leader, written * (len(partition.isr) - 1))
        for name, partition in partitions.items():
            if partition.leader != NO_LEADER:
                for broker in self._out_of_sync(partition, lives):
                    self._catch_up(name, partition, broker, leader_budget, follower_budget)

    def _out_of_sync(self, partition: _Partition, lives: Collection[int]) -> Iterable[int]:
        behind = (broker for broker in partition.replicas if broker not in partition.isr)
        return [broker for broker in behind if broker in lives and not self._is_lost(partition, broker)]

    def _catch_up(
        self,
        name: TopicPartition,
        partition: _Partition,
        broker: int,
        leader_budget: _Budget,
        follower_budget: _Budget,
    ) -> None:
        step = float(self.bytes_per_call)
        throttled_leader = self._is_throttled(name, partition.leader, LEADER_REPLICAS)
        throttled_follower = self._is_throttled(name, broker, FOLLOWER_REPLICAS)
        if throttled_leader:
            step = min(step, leader_budget.left(partition.leader))
        if throttled_follower:
            step = min(step, follower_budget.left(broker))
        replica = partition.hosted[broker]
        step = min(step, replica.lag)
        replica.lag -= step
        if throttled_leader:
            leader_budget.take(partition.leader, step)
        if throttled_follower:
            follower_budget.take(broker, step)
        if replica.lag <= 0:
            partition.isr.append(broker)

    def _is_throttled(self, name: TopicPartition, broker: int, key: str) -> bool:
        listed = self._configs[TOPIC, name.topic].get(key, "").split(",")
        return "*" in listed or f"{name.partition}:{broker}" in listed

    def _is_at_rest(self, partition: _Partition, lives: Collection[int]) -> bool:
        """Return whether time changes nothing of it, until a broker or a disk comes back: that wakes all partitions."""
        is_busy = partition.write_rate or partition.in_flight or partition.is_copied
        return not is_busy and not any(True for _ in self._out_of_sync(partition, lives))

    def _copy_between_log_dirs(self, partitions: Iterable[_Partition]) -> None:
        budget = _Budget(self._configs, LOG_DIR_RATE)
        for partition in partitions:
            for broker, replica in partition.hosted.items():
                if replica.future is None or not self._brokers[broker].alive:
                    continue
                step = min(float(self.bytes_per_call), budget.left(broker), partition.size - replica.future.copied)
                budget.take(broker, step)
                replica.future.copied += step
                if replica.future.copied >= partition.size:
                    replica.path, replica.future = replica.future.path, None


def _of_topics(answer: BrokerAnswer, topics: Collection[str] | None) -> BrokerAnswer:
    if topics is None:
        return answer
    return replace(answer, partitions={name: each for name, each in answer.partitions.items() if name.topic in topics})


def _view_of(answer: BrokerAnswer, topic_ids: Collection[bytes]) -> BrokerView:
    leaders = {
        (answer.topic_ids[name.topic], name.partition): Leadership(state.leader, state.leader_epoch)
        for name, state in answer.partitions.items()
        if answer.topic_ids[name.topic] in topic_ids
    }
    return BrokerView(frozenset(answer.brokers), leaders)


class _Budget:
    """The bytes that the brokers' rates leave for one read's time."""

    def __init__(self, configs: Mapping[ConfigResource, Mapping[str, str]], key: str) -> None:
        of_all = configs.get(_ALL_BROKERS, {})
        rates = {name: {**of_all, **values} for (kind, name), values in configs.items() if kind == BROKER and name}
        self._left = {
            int(name): int(values[key]) * MS_PER_READ / 1000 for name, values in rates.items() if key in values
        }

    def left(self, broker: int) -> float:
        return max(self._left.get(broker, float("inf")), 0.0)

    def take(self, broker: int, amount: float) -> None:
        if broker in self._left:
            self._left[broker] -= amount


def _setting(key: str, value: str) -> SettingInForce:
    default = DEFAULTS[TOPIC].get(key)
    if default is None:
        return SettingInForce(key, value, ConfigOrigin.TOPIC)
    return SettingInForce(key, value, ConfigOrigin.TOPIC, f"{key}={default}", ConfigOrigin.DEFAULT)


def _is_number(value: str | None) -> bool:
    return value is None or value.lstrip("-").isdigit()


def _is_of_no_cluster(acl: AclBinding) -> bool:
    return acl.resource_type == "CLUSTER" and acl.resource_name != "kafka-cluster"
