"""What can be held back for a disk with Kafka's own means, how far, and what that sets in Kafka. Pure.

    abnormal doing                      lever                                         never below
    user read from disk                 client quota of (user, client id)             FLOOR; HEADROOM x its rate on any
                                                                                      other broker: a quota holds on all
                                                                                      (none where that is not known)
    user write                          none: a quota holds on all brokers, and what it writes to others is not known
    replication write, catching up      follower rate, for exactly these replicas     FLOOR; HEADROOM x what is written
    replication read, catching up       leader rate, for exactly these replicas       FLOOR; HEADROOM x what is written
                                                                                      x followers (in-sync ones count)
    move write, move read               rate of copies between log dirs               FLOOR; HEADROOM x what is written

A replica that catches up is held back only where its partition has more in sync than min.insync.replicas asks for, and
more than one. Else its coming back matters more than the disk. One that a reassignment brings is left to whoever moves
it. One that has caught up is listed no longer: its bytes would fill what is left to the others. A client's quota is set
where it outranks all others and hits nobody else: for its user and client id. Where its user is not known it is set for
the client id, unless some quota that names users might outrank it.

Levers are decisions; `wanted` is what they come to in Kafka, and `reconcile` takes Kafka there (settings/rules.py).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from guardian.model.effects import BROKER, TOPIC, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import Behaviour, DiskKey, Doing, Lever, LeverKind
from guardian.model.quota import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    QuotaClient,
    QuotaEntity,
    effective_quota,
    may_be_outranked,
    own_entity,
)
from guardian.model.throttle import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LISTS, LOG_DIR_RATE
from guardian.model.topology import TopicPartition, broker_names
from guardian.model.units import human_bytes
from guardian.protection.rules.disk_doings import ClientLoads, ClusterLook
from guardian.settings import rules as owned_settings
from guardian.settings.rules import CLIENT, Live, Policy, Reconciliation, number_of, quota_configs
from guardian.throttle.rules.throttling import HEADROOM, Throttle, deleted_topics

LeverIdentity = tuple[DiskKey, LeverKind, str, str]
_POLICY = Policy(lists=LISTS, is_cap=True, keeps_older=True)
# What is remembered of clients that are free again is stored at each change: of more of them, no longer than needed.
_REMEMBERED_QUOTAS = 200
_RATE_KEYS = {
    LeverKind.FOLLOWER_RATE: FOLLOWER_RATE,
    LeverKind.LEADER_RATE: LEADER_RATE,
    LeverKind.LOG_DIR_RATE: LOG_DIR_RATE,
}
_ENTRY_KEYS = {LeverKind.FOLLOWER_RATE: FOLLOWER_REPLICAS, LeverKind.LEADER_RATE: LEADER_REPLICAS}
_OF_BEHAVIOUR = {
    Behaviour.REPLICATION_WRITE: LeverKind.FOLLOWER_RATE,
    Behaviour.REPLICATION_READ: LeverKind.LEADER_RATE,
    Behaviour.MOVE_WRITE: LeverKind.LOG_DIR_RATE,
    Behaviour.MOVE_READ: LeverKind.LOG_DIR_RATE,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could be held back: `rate` is what it moves through the lever now, `traffic` the abnormal part."""

    disk: DiskKey
    kind: LeverKind
    subject: str
    quota_key: str
    rate: float
    traffic: float
    least: int
    hit: str
    why: str
    entries: tuple[str, ...] = ()

    @property
    def identity(self) -> LeverIdentity:
        return self.disk, self.kind, self.subject, self.quota_key


@dataclass(frozen=True, slots=True)
class Candidates:
    """The largest first; `remarks` say what can't be held back, and why."""

    found: tuple[Candidate, ...]
    remarks: tuple[str, ...]


class Age(IntEnum):
    """Of the last change that was sent: whether it may still be on its way."""

    NEW = 1
    SETTLED = 2  # not in any ordinary way
    FORGOTTEN = 3  # nor in a broker that was stopped


def candidates(
    disk: DiskKey,
    queue: Sequence[Doing],
    loads: ClientLoads,
    cluster: ClusterLook,
    floor: int,
    held: frozenset[ConfigKey] = frozenset(),
) -> Candidates:
    """Return what could be held back of the abnormal doings of one disk. `held` are keys that tickets use: no replica
    can be listed there.
    """
    mine = [doing for doing in queue if doing.disk == disk and doing.is_abnormal]
    remarks: list[str] = []
    found = [*_quotas(disk, mine, loads, cluster, floor, remarks), *_rates(disk, mine, cluster, floor, held, remarks)]
    found.sort(key=lambda each: (-each.traffic, each.kind, each.subject))
    return Candidates(tuple(found), tuple(dict.fromkeys(remarks)))


def _quotas(
    disk: DiskKey,
    doings: Sequence[Doing],
    loads: ClientLoads,
    cluster: ClusterLook,
    floor: int,
    remarks: list[str],
) -> Iterable[Candidate]:
    traffic: dict[tuple[QuotaClient, str], float] = defaultdict(float)
    whys: dict[tuple[QuotaClient, str], list[str]] = defaultdict(list)
    for doing in doings:
        key = {Behaviour.USER_READ: CONSUMER_BYTE_RATE, Behaviour.USER_WRITE: PRODUCER_BYTE_RATE}.get(doing.behaviour)
        if key is None:
            continue
        if not doing.clients:
            remarks.append(f"{doing.partition}: {doing.why}, but which client it is nobody tells")
        for use in doing.clients:
            traffic[use.client, key] += use.bytes_per_s
            whys[use.client, key].append(f"{doing.partition}: {doing.why}")
    for (client, key), rate in traffic.items():
        candidate = _quota(disk, client, key, rate, whys[client, key], loads, cluster, floor)
        if isinstance(candidate, str):
            remarks.append(candidate)
        else:
            yield candidate


def _quota(
    disk: DiskKey,
    client: QuotaClient,
    key: str,
    traffic: float,
    whys: list[str],
    loads: ClientLoads,
    cluster: ClusterLook,
    floor: int,
) -> Candidate | str:
    if key == PRODUCER_BYTE_RATE:
        return f"{client} can't be held back: how much it writes elsewhere is not known"
    entity = own_entity(client)
    unknown = _why_unknown(disk, entity, loads, cluster)
    if unknown:
        return f"{client} can't be held back: {unknown}"
    load = loads.get(client, {}).get(disk.broker, 0.0)
    here = max(traffic, load) if math.isfinite(load) else traffic
    elsewhere = _elsewhere(disk, entity, loads)
    outranking = may_be_outranked(cluster.quotas, key, entity)
    if outranking is not None:
        return f"{client} can't be held back: its user is not known, and the quota of {outranking} may outrank its own"
    least = least_of_quota(disk, entity.name, loads, floor)
    also = f", and {human_bytes(elsewhere)}/s from another one" if elsewhere else ""
    hit = (
        f"whoever uses client id {client.client_id}{f' as user {client.user}' if client.user else ''}, on every "
        f"broker: it reads {human_bytes(here)}/s from broker {disk.broker}{also}"
    )
    why = whys[0] + (f", and {len(whys) - 1} more partitions" if len(whys) > 1 else "")
    return Candidate(disk, LeverKind.CLIENT_QUOTA, entity.name, key, here, traffic, least, hit, why)


def least_of_quota(disk: DiskKey, subject: str, loads: ClientLoads, floor: int) -> int:
    """Return what must flow through a client's quota, as far as it is known, in bytes/s: it holds on all other brokers
    as well.
    """
    elsewhere = _elsewhere(disk, QuotaEntity.of_name(subject), loads)
    return max(floor, round(HEADROOM * elsewhere)) if math.isfinite(elsewhere) else floor


def _why_unknown(disk: DiskKey, entity: QuotaEntity, loads: ClientLoads, cluster: ClusterLook) -> str:
    """Say why nobody knows what must flow through the client's quota; empty when it is known."""
    if cluster.silent_coordinators:
        silent = broker_names(sorted(cluster.silent_coordinators))
        return f"{silent} did not tell all consumer groups, so that how much it reads elsewhere is not known"
    if math.isinf(_elsewhere(disk, entity, loads)):
        return "how large the records are that it reads from other brokers is not known"
    return ""


def _elsewhere(disk: DiskKey, entity: QuotaEntity, loads: ClientLoads) -> float:
    """The most that clients which the entity may be for move through one other broker; infinite: nobody knows."""
    moved: dict[int, float] = defaultdict(float)
    for client, by_broker in loads.items():
        is_meant = client.client_id == entity.client_id and (
            None in (entity.user, client.user) or client.user == entity.user
        )
        for broker, rate in by_broker.items() if is_meant else ():
            moved[broker] += rate
    return max((rate for broker, rate in moved.items() if broker != disk.broker), default=0.0)


def reasons(doings: Iterable[Doing], loads: ClientLoads, cluster: ClusterLook) -> frozenset[LeverIdentity]:
    """Return what abnormal doings could be held back by. A client that reads nothing at present is no reason, nor is
    one whose needs on other brokers nobody knows.
    """
    found: set[LeverIdentity] = set()
    for doing in doings:
        if not doing.is_abnormal:
            continue
        kind = _OF_BEHAVIOUR.get(doing.behaviour)
        if kind is not None:
            found.add((doing.disk, kind, "", ""))
        elif doing.behaviour is Behaviour.USER_READ:
            entities = (own_entity(use.client) for use in doing.clients if use.bytes_per_s > 0)
            known = (each for each in entities if not _why_unknown(doing.disk, each, loads, cluster))
            found.update((doing.disk, LeverKind.CLIENT_QUOTA, each.name, CONSUMER_BYTE_RATE) for each in known)
    return frozenset(found)


def _rates(
    disk: DiskKey,
    doings: Sequence[Doing],
    cluster: ClusterLook,
    floor: int,
    held: frozenset[ConfigKey],
    remarks: list[str],
) -> Iterable[Candidate]:
    by_kind: dict[LeverKind, list[Doing]] = defaultdict(list)
    for doing in doings:
        kind = _OF_BEHAVIOUR.get(doing.behaviour)
        if kind is None:
            continue
        refusal = why_not(doing.partition, cluster) if kind is not LeverKind.LOG_DIR_RATE else ""
        if not refusal and is_held(kind, doing.partition, held):
            refusal = f"{doing.partition} is not held back: a ticket lists replicas of {doing.partition.topic}"
        if refusal:
            remarks.append(refusal)
        else:
            by_kind[kind].append(doing)
    for kind, found in by_kind.items():
        flow = sum(_must_flow(doing) for doing in found)
        rate = sum(doing.bytes_per_s for doing in found)
        names = ", ".join(sorted({str(doing.partition) for doing in found})[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        what = {
            LeverKind.FOLLOWER_RATE: "replicas that catch up here",
            LeverKind.LEADER_RATE: "replicas that catch up from here",
            LeverKind.LOG_DIR_RATE: "copies between log dirs",
        }[kind]
        entries = tuple(sorted({entry for doing in found for entry in _entries(kind, doing)}))
        least = max(floor, round(HEADROOM * flow))
        hit = f"{what} on broker {disk.broker}: {names}{more}; no client"
        yield Candidate(disk, kind, "", "", rate, rate, least, hit, found[0].why, entries)


def why_not(partition: TopicPartition, cluster: ClusterLook) -> str:
    """Say why the partition's replicas that catch up are not to be held back; empty when they may be."""
    if partition in cluster.reassignments:
        return f"{partition} is being moved: its move has a throttle of its own"
    state = cluster.partitions.get(partition)
    in_sync = len(state.isr) if state else 0
    least = cluster.min_isr.get(partition.topic)
    if least is None or in_sync <= max(least, 1):
        return f"{partition} is not held back: {in_sync} in sync, its replica that catches up is needed"
    return ""


def is_held(kind: LeverKind, partition: TopicPartition, held: frozenset[ConfigKey]) -> bool:
    """Return whether a ticket uses the list that the partition's replicas would come onto, or would have to leave."""
    return kind in _ENTRY_KEYS and ConfigKey(TOPIC, partition.topic, _ENTRY_KEYS[kind]) in held


def lists_for(kind: LeverKind, broker: int, settings: Iterable[OwnedSetting], held: frozenset[ConfigKey]) -> bool:
    """Return whether replicas of the broker may still be on a list that a ticket uses now: whatever rate is set counts
    for them.
    """
    return any(
        ConfigKey.of(setting) in held and any(str(entry).endswith(f":{broker}") for entry in setting.values)
        for setting in settings
        if setting.key == _ENTRY_KEYS.get(kind)
    )


def why_no_more(lever: Lever, partition: TopicPartition, cluster: ClusterLook) -> str:
    """Say why the lever is for the partition no longer; empty while it is. Kafka counts what replicas in sync copy of a
    listed partition too: it would leave nothing to those that still catch up.
    """
    refusal = why_not(partition, cluster)
    if refusal:
        return refusal
    state, broker = cluster.partitions[partition], lever.disk.broker
    if lever.kind is LeverKind.FOLLOWER_RATE:
        return f"{partition} has caught up on broker {broker}" if broker in state.isr else ""
    behind = (set(state.replicas) - set(state.isr)) & cluster.brokers
    return "" if behind and state.leader == broker else f"nothing catches up with broker {broker} on {partition}"


def least_of(kind: LeverKind, disk: DiskKey, entries: Iterable[str], doings: Iterable[Doing], floor: int) -> int:
    """Return what must flow through a replication rate for all that it lists, in bytes/s; also for what is not abnormal
    at present.
    """
    listed = set(entries)
    flows: dict[TopicPartition, float] = defaultdict(float)
    for doing in doings:
        if (
            doing.disk == disk
            and _OF_BEHAVIOUR.get(doing.behaviour) is kind
            and listed.intersection(_entries(kind, doing))
        ):
            flows[doing.partition] = max(flows[doing.partition], _must_flow(doing))
    return max(floor, round(HEADROOM * sum(flows.values())))


def _must_flow(doing: Doing) -> float:
    if doing.behaviour is Behaviour.REPLICATION_READ:
        return doing.write_rate * doing.followers
    return doing.write_rate


def _entries(kind: LeverKind, doing: Doing) -> Iterable[str]:
    if kind in _ENTRY_KEYS:
        topic, number = doing.partition
        yield f"{topic}:{number}:{doing.disk.broker}"


def wanted(levers: Iterable[Lever]) -> Throttle:
    """Several disks may want the same of Kafka: the lowest value, but none below what must flow through all."""
    values: dict[ConfigKey, list[Lever]] = defaultdict(list)
    entries: dict[ConfigKey, set[str]] = defaultdict(set)
    for lever in levers:
        values[key_of(lever)].append(lever)
        list_key = _ENTRY_KEYS.get(lever.kind)
        for entry in lever.entries if list_key else ():
            topic, number, broker = entry.rsplit(":", 2)
            entries[ConfigKey(TOPIC, topic, list_key or "")].add(f"{number}:{broker}")
    rates = {}
    for key, found in values.items():
        lowest = min(lever.value for lever in found)
        least = max if key.resource_type == CLIENT else sum
        rates[key] = max(lowest, least(lever.least for lever in found)) if len(found) > 1 else lowest
    return Throttle(rates, {key: frozenset(each) for key, each in entries.items()})


def key_of(lever: Lever | Candidate) -> ConfigKey:
    """Return where the lever's value stands in Kafka."""
    if lever.kind is LeverKind.CLIENT_QUOTA:
        return ConfigKey(CLIENT, lever.subject, lever.quota_key)
    return ConfigKey(BROKER, str(lever.disk.broker), _RATE_KEYS[lever.kind])


def limit_before(candidate: Candidate, cluster: ClusterLook) -> float | None:
    """The quota that a client has already, or the broker's rate, by whomever; None: none."""
    if candidate.kind is not LeverKind.CLIENT_QUOTA:
        broker = (BROKER, str(candidate.disk.broker))
        return number_of(cluster.configs.get(broker, {}).get(_RATE_KEYS[candidate.kind]))
    entity = QuotaEntity.of_name(candidate.subject)
    client = QuotaClient(entity.client_id or "", entity.user)
    found = effective_quota(cluster.quotas, candidate.quota_key, client)
    return found.value if found else None


def reconcile(
    recorded: tuple[OwnedSetting, ...],
    now: Throttle,
    age: Age,
    cluster: ClusterLook,
    held: frozenset[ConfigKey],
) -> Reconciliation:
    """Return what to record and what to change so that Kafka shows `now`. What is not wanted stays recorded as long as
    some request for it may be on its way. `held` are keys that tickets use at present: those are left as they are.
    """
    keys = {ConfigKey.of(setting) for setting in recorded}
    all_keys = keys | now.required.keys()
    let_go = [key for key in keys if key.resource_type == CLIENT and key not in now.rates]
    lasts = Age.FORGOTTEN if len(let_go) <= _REMEMBERED_QUOTAS else Age.SETTLED
    pending = {key for key in keys if age < (lasts if key.resource_type == CLIENT else Age.SETTLED)}
    live = Live(
        {**quota_configs(cluster.quotas, all_keys), **cluster.configs},
        deleted=deleted_topics({key[:2] for key in all_keys} - cluster.configs.keys(), cluster.partitions),
        down=_down(all_keys, cluster) if age >= Age.SETTLED else frozenset(),
        others=held,
    )
    return owned_settings.reconcile(now.required, recorded, live, _POLICY, pending)


def _down(keys: Iterable[ConfigKey], cluster: ClusterLook) -> frozenset[tuple[str, str]]:
    """Return the brokers that are down: each keeps its configuration, which a controller can restore."""
    brokers = {key[:2] for key in keys if key.resource_type == BROKER} if cluster.brokers else set()
    return frozenset(each for each in brokers if int(each[1]) not in cluster.brokers)


def topics_of(levers: Iterable[Lever], settings: Iterable[OwnedSetting]) -> frozenset[str]:
    """The topics whose configuration has to be read."""
    named = {entry.rsplit(":", 2)[0] for lever in levers for entry in lever.entries}
    return frozenset(named | {each.resource_name for each in settings if each.resource_type == TOPIC})


def brokers_of(levers: Iterable[Lever], settings: Iterable[OwnedSetting]) -> frozenset[int]:
    """The brokers whose configuration has to be read."""
    named = {lever.disk.broker for lever in levers if lever.kind is not LeverKind.CLIENT_QUOTA}
    return frozenset(named | {int(each.resource_name) for each in settings if each.resource_type == BROKER})


def partitions_of(lever: Lever) -> tuple[TopicPartition, ...]:
    """Those that have replicas which the lever holds back."""
    parts = (entry.rsplit(":", 2) for entry in lever.entries)
    return tuple(sorted({TopicPartition(topic, int(number)) for topic, number, _ in parts}))


def without_partitions(lever: Lever, gone: Iterable[TopicPartition]) -> Lever:
    """The lever without replicas of partitions that need it no more."""
    names = {f"{partition.topic}:{partition.partition}" for partition in gone}
    return replace(lever, entries=tuple(entry for entry in lever.entries if entry.rsplit(":", 1)[0] not in names))
