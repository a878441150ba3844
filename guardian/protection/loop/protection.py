"""Partition-level protection on the leader: who is looked at, what is stored, and what people are told.

    the lake, every so often ──▶ brokers with a disk over its limits ──▶ their reporters, every few seconds ──▶ a View

Thousands of brokers are collected by all members. Only those few that the lake shows with an unhealthy disk, or that
something is held for, are asked by the leader itself, in seconds. What is seen is in the leader's memory; what is held
is replicated (executor.protecting).
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Literal

import grpc

from guardian.collection.loop.collector import ReporterTls, open_channel
from guardian.collection.rules.names import NOTHING_KNOWN, MetricNames, values_by_name
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound, Unavailable
from guardian.execution.store.execution import CONFIRM_TIMEOUT_S
from guardian.federation.store import expected_writes
from guardian.health.loop import lake_facts
from guardian.health.model.disks import DiskSeries
from guardian.health.rules.disk_limits import DiskCounters, judge_limits
from guardian.kafka.admin import KafkaAdmin
from guardian.lake.model.window import Window
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.model.actor import Actor, Proof, require_claimed_name
from guardian.model.effects import ConfigKey
from guardian.model.protection import DiskCondition, DiskKey, DiskState, Protection
from guardian.model.quota import QuotaClient
from guardian.model.topology import Broker, Cluster, TopicPartition, broker_names
from guardian.model.wire.protection import condition_to_proto, doing_to_proto, lever_to_proto, protection_to_proto
from guardian.protection.loop.protecting import look_at_cluster
from guardian.protection.rules.disk_doings import BrokerLook, ClusterLook, LogFacts, Span, client_loads, doings
from guardian.protection.rules.protecting import ProtectionSettings, View, last_reasons, released, since_ms
from guardian.protection.rules.protection_levers import LeverIdentity
from guardian.replication.store.store import ReplicatedStore
from guardian.serving.requests import actor_of, views_for
from protos.guardian.v1 import protection_pb2 as pb
from protos.guardian.v1 import protection_pb2_grpc, records_pb2, reporter_pb2, reporter_pb2_grpc

MAX_DOINGS = 1000
DEFAULT_HOLD_MS = 3_600_000
MAX_HOLD_MS = 30 * 86_400_000
_NAME_PREFIXES = (
    "kafka.log:type=Log,name=Size",
    "kafka.log:type=Log,name=LogStartOffset",
    "kafka.log:type=Log,name=LogEndOffset",
)
_LOG_METRIC = re.compile(
    r"kafka\.log:type=Log,name=(Size|LogStartOffset|LogEndOffset),topic=(.+),partition=(\d+):Value"
)
_SUSPECT_MS = 300_000  # a broker is looked at for so long after it was last seen over a limit
_SEEN_MS = 900_000  # a client's user, and who writes a topic, count for so long
_READING_MS = 180_000  # where it reads: slices are of a minute, and a client goes to another replica at once
_MAX_LOOKS = 120
_PARALLEL = 8
_READ_LIMITS = ReadLimits(seconds=10.0)

Mode = Literal["off", "observe", "act"]


class ReplicatedProtectionStore:
    """Implements `guardian.protection.loop.protecting.ProtectionStore`."""

    def __init__(self, store: ReplicatedStore) -> None:
        self._store = store

    def clusters(self) -> Sequence[str]:
        views = self._store.read()
        return sorted(
            {cluster.name for cluster in views.clusters()}
            | {each.cluster for each in views.protections() if not each.is_idle}
        )

    def protection(self, cluster: str) -> Protection:
        return self._store.read_local().protection(cluster)

    def held_keys(self, cluster: str) -> frozenset[ConfigKey]:
        views = self._store.read_local()
        executions = (views.execution(ticket.id) for ticket in views.driven_tickets(cluster))
        return frozenset(
            ConfigKey.of(intent) for execution in executions if execution is not None for intent in execution.throttles
        )

    def save(self, protection: Protection, did: str) -> None:
        self.put(protection, did)
        self._store.require_leader()  # a follower's commands are stored too: the leader commits them

    def put(self, protection: Protection, did: str, actor: Actor | None = None) -> None:
        """Whoever leads. Raises Conflict when somebody else was first, Unavailable."""
        command = records_pb2.PutProtection(
            protection=protection_to_proto(protection), expected_revision=protection.revision, did=did
        )
        self._store.propose(records_pb2.Command(put_protection=command), actor=actor)

    def confirm(self, cluster: str, revision: int) -> None:
        views = self._store.read_as_leader(CONFIRM_TIMEOUT_S)
        if views.protection(cluster).revision != revision:
            raise Conflict(f"protection of cluster {cluster} was changed meanwhile: the next tick looks at it again")


class LooksAtBrokers:
    """Asks reporters for what a look needs, and nothing else. Any thread may ask."""

    def __init__(self, tls: ReporterTls | None, timeout_s: float) -> None:
        self._tls = tls
        self._timeout_s = timeout_s
        self._known: dict[tuple[str, int], _Known] = {}

    def look(self, cluster: Cluster, broker: Broker, now_ms: int) -> BrokerLook:
        """Raises ClusterUnavailable when the reporter gives no answer that can be used."""
        known = self._known.setdefault((cluster.name, broker.id), _Known())
        request = known.names.request(_NAME_PREFIXES)
        request.with_activity = True
        request.activity_life_ms, request.activity_after = known.life_ms, known.after
        try:
            with open_channel(broker.reporter_endpoint, self._tls) as channel:
                stub = reporter_pb2_grpc.BrokerReporterStub(channel)
                batch = stub.Collect(request, timeout=self._timeout_s)
            known.names = known.names.extended_by(batch)
            values = values_by_name(batch, known.names)
        except (OSError, grpc.RpcError, InvalidInput) as error:
            known.names = NOTHING_KNOWN
            answer = f"{error.code().name}" if isinstance(error, grpc.Call) else str(error)
            raise ClusterUnavailable(
                f"the reporter of broker {broker.id} at {broker.reporter_endpoint}: {answer}"
            ) from None
        known.remember(batch, now_ms)
        return _look(batch, values, known, now_ms)


@dataclass(slots=True)
class _Known:
    """What is kept of a broker between two looks."""

    names: MetricNames = NOTHING_KNOWN
    life_ms: int = 0
    after: int = 0
    users: dict[tuple[str, str], int] = field(default_factory=dict)  # (client id, user) -> last seen
    writers: dict[tuple[str, QuotaClient], int] = field(default_factory=dict)
    readers: list[tuple[int, tuple[str, str], int]] = field(default_factory=list)  # seen at, (topic, client id), times
    tells_activity: bool = False
    ends: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # end offset, since when

    def ends_since_ms(self, ends: Mapping[TopicPartition, int], now_ms: int) -> dict[TopicPartition, int]:
        """Since when logs have the ends that they have now; long ago, also where nobody looked in between."""
        self.ends = {
            partition: before if (before := self.ends.get(partition, (end, now_ms)))[0] == end else (end, now_ms)
            for partition, end in ends.items()
        }
        return {partition: since_ms for partition, (_, since_ms) in self.ends.items()}

    def remember(self, batch: reporter_pb2.MetricBatch, now_ms: int) -> None:
        if batch.broker_started_at_ms != self.life_ms:  # slices are numbered from 1 again
            self.life_ms, self.after = batch.broker_started_at_ms, 0
        for part in batch.activity:
            self.tells_activity = True
            self.after = max(self.after, part.number)
            text = part.strings
            for principal, client_id, kind, resource, operation, allowed in zip(
                part.principals,
                part.client_ids,
                part.resource_types,
                part.resources,
                part.operations,
                part.allowed,
                strict=True,
            ):
                scheme, _, user = text[principal].partition(":")
                if scheme != "User" or text[kind] != "TOPIC":
                    continue
                self.users[text[client_id], user] = now_ms
                if text[operation] == "WRITE":
                    self.writers[text[resource], QuotaClient(text[client_id], user)] = now_ms
                elif text[operation] == "READ" and batch.collected_at_ms - part.to_ms < _READING_MS:
                    self.readers.append((now_ms, (text[resource], text[client_id]), allowed))
        self.users = {key: at_ms for key, at_ms in self.users.items() if now_ms - at_ms < _SEEN_MS}
        self.readers = [each for each in self.readers if now_ms - each[0] < _READING_MS]
        self.writers = {key: at_ms for key, at_ms in self.writers.items() if now_ms - at_ms < _SEEN_MS}


def _look(batch: reporter_pb2.MetricBatch, values: Mapping[str, float], known: _Known, now_ms: int) -> BrokerLook:
    facts: dict[TopicPartition, dict[str, int]] = defaultdict(dict)
    for name, value in values.items():
        match = _LOG_METRIC.fullmatch(name)
        if match:
            facts[TopicPartition(match[2], int(match[3]))][match[1]] = int(value)
    ends_since_ms = known.ends_since_ms(
        {partition: found.get("LogEndOffset", 0) for partition, found in facts.items()}, now_ms
    )
    replicas = {}
    for log_dir in batch.host.log_dirs:
        for replica in log_dir.replicas:
            topic, _, number = replica.rpartition("-")
            replicas[TopicPartition(topic, int(number))] = log_dir.path
    users: dict[str, set[str]] = defaultdict(set)
    for client_id, user in known.users:
        users[client_id].add(user)
    writers: dict[str, set[QuotaClient]] = defaultdict(set)
    for topic, client in known.writers:
        writers[topic].add(client)
    readers: dict[tuple[str, str], int] = defaultdict(int)
    for _, reader, times in known.readers:
        readers[reader] += times
    return BrokerLook(
        batch.broker_id,
        now_ms,
        {
            disk.name: DiskCounters(
                now_ms,
                disk.bytes_read,
                disk.bytes_written,
                disk.reads_completed + disk.writes_completed,
                disk.read_ms + disk.write_ms,
                disk.busy_ms,
                disk.in_flight,
            )
            for disk in batch.host.disks
        },
        batch.host.memory.available_bytes,
        {log_dir.path: log_dir.disk for log_dir in batch.host.log_dirs},
        {
            partition: LogFacts(
                found.get("Size", 0),
                found.get("LogStartOffset", 0),
                found.get("LogEndOffset", 0),
                ends_since_ms[partition],
            )
            for partition, found in facts.items()
        },
        replicas,
        {client_id: frozenset(each) for client_id, each in users.items()},
        {topic: frozenset(each) for topic, each in writers.items()},
        readers if known.tells_activity else None,
    )


@dataclass(frozen=True, slots=True)
class Suspects:
    """What the lake tells of a cluster's brokers: those that have a disk `over` its limits, and those of whose disks it
    has `judged` any."""

    over: frozenset[int] = frozenset()
    judged: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """What people are told of a cluster. `view` is None where there was nothing to look at. `asked_at_ms`: when the
    lake was last asked, 0 where it does not tell; nothing is known of the `unseen` brokers' disks."""

    view: View | None = None
    remarks: tuple[str, ...] = ()
    asked_at_ms: int = 0
    unseen: tuple[int, ...] = ()


class DiskWatch:
    """Implements `guardian.protection.loop.protecting.Watch`. `suspects` tells which brokers have an unhealthy disk,
    and is asked every `suspect_ms` (None: nobody tells, as protection is off); `look_at` asks one broker."""

    def __init__(
        self,
        store: ReplicatedStore,
        held_keys: Callable[[str], frozenset[ConfigKey]],
        suspects: Callable[[str, int], Suspects] | None,
        look_at: Callable[[Cluster, Broker, int], BrokerLook],
        settings: ProtectionSettings,
        suspect_ms: int,
    ) -> None:
        self._store = store
        self._held_keys = held_keys
        self._suspects = suspects
        self._look_at = look_at
        self._settings = settings
        self._suspect_ms = suspect_ms
        self._pool = ThreadPoolExecutor(_PARALLEL, thread_name_prefix="disk-looks")
        self._lock = threading.Lock()
        self._clusters: dict[str, _Seen] = {}
        self._told: dict[str, Told] = {}
        self._term = -1

    def close(self) -> None:
        self._pool.shutdown()

    def look(self, cluster: str, admin: Callable[[], KafkaAdmin], held: Protection, now_ms: int) -> View | None:
        seen = self._seen(cluster)
        registered = self._store.read_local().cluster(cluster)
        self._suspect(seen, cluster, held, now_ms)
        known = registered.brokers if registered else ()
        brokers = [broker for broker in known if broker.id in seen.until_ms and broker.reporter_endpoint]
        if not brokers and held.is_idle:
            seen.forget()
            self._put(cluster, _told(None, seen, known, {}, []))
            return None
        looks, silent = self._look_at_all(registered, brokers, now_ms)
        try:
            now = look_at_cluster(admin(), list(looks.values()), held, now_ms)
        except GuardianError as error:
            before = self.told(cluster)
            remark = f"what is done to disks is not known: {error}"
            self._put(cluster, _told(before.view if before else None, seen, known, looks, [*silent, remark]))
            raise
        seen.add(looks, now, now_ms - 2 * self._settings.limits.window_ms)
        conditions = self._conditions(seen, looks, held, now_ms)
        for key, condition in conditions.items():
            if condition.state in (DiskState.OVER, DiskState.BETWEEN):
                seen.until_ms[key.broker] = now_ms + _SUSPECT_MS
        span = seen.span(
            now_ms - self._settings.limits.window_ms, expected_writes(self._store.read_local(), cluster, now.partitions)
        )
        found = doings(span, conditions) if span else ()
        loads = client_loads(span) if span else {}
        told = [key for key in conditions if span is not None and key.broker in span.before]
        seen.reasons_ms = last_reasons(seen.reasons_ms, held.levers, told, found, loads, now, now_ms)
        view = View(now, conditions, found, loads, self._held_keys(cluster), seen.reasons_ms)
        self._put(cluster, _told(view, seen, known, looks, silent))
        return view

    def tell(self, cluster: str, view: View, remarks: tuple[str, ...]) -> None:
        with self._lock:
            before = self._told.get(cluster)
            if before is not None and before.view is view:
                self._told[cluster] = replace(before, remarks=tuple(dict.fromkeys((*before.remarks, *remarks))))

    def told(self, cluster: str) -> Told | None:
        """The last look; None: there was none."""
        with self._lock:
            return self._told.get(cluster)

    def _put(self, cluster: str, told: Told) -> None:
        with self._lock:
            self._told[cluster] = told

    def _seen(self, cluster: str) -> _Seen:
        """Return what was seen in this term. What was seen in a former one is of another time: other samples lie
        between.
        """
        term = self._store.status().term
        with self._lock:
            if term != self._term:
                self._clusters, self._told, self._term = {}, {}, term
            return self._clusters.setdefault(cluster, _Seen())

    def _suspect(self, seen: _Seen, cluster: str, held: Protection, now_ms: int) -> None:
        """A lake that is away must not keep anything held."""
        if self._suspects is not None and now_ms - seen.suspected_ms >= self._suspect_ms:
            seen.suspected_ms = now_ms
            try:
                found = self._suspects(cluster, now_ms)
            except (GuardianError, OSError) as error:
                seen.asked_at_ms = 0
                seen.lake_failure = f"the lake does not say which disks are over their limits: {error}"
            else:
                seen.asked_at_ms, seen.lake_failure, seen.judged = now_ms, "", found.judged
                seen.until_ms |= dict.fromkeys(found.over, now_ms + _SUSPECT_MS)
        for lever in held.levers:
            seen.until_ms[lever.disk.broker] = now_ms + _SUSPECT_MS
        seen.until_ms = {broker: until for broker, until in seen.until_ms.items() if until > now_ms}

    def _look_at_all(
        self, cluster: Cluster | None, brokers: Sequence[Broker], now_ms: int
    ) -> tuple[dict[int, BrokerLook], list[str]]:
        looks: dict[int, BrokerLook] = {}
        failures: list[str] = []
        if cluster is None:
            return looks, failures
        pending = {broker.id: self._pool.submit(self._look_at, cluster, broker, now_ms) for broker in brokers}
        for broker, future in pending.items():
            try:
                looks[broker] = future.result()
            except GuardianError as error:
                failures.append(str(error))
        return looks, failures

    def _conditions(
        self, seen: _Seen, looks: Mapping[int, BrokerLook], held: Protection, now_ms: int
    ) -> dict[DiskKey, DiskCondition]:
        limits = self._settings.limits
        found = {}
        for broker, look in looks.items():
            for disk in sorted(set(look.log_dirs.values()) - {""}):
                key = DiskKey(broker, disk)
                paths = tuple(sorted(path for path, name in look.log_dirs.items() if name == disk))
                since = since_ms(held, key)
                # After a step its effect is judged as soon as there is enough of it, else a whole window.
                least = self._settings.step_ms if since > now_ms - limits.window_ms else None
                samples = [past.disks[disk] for past in seen.looks[broker] if disk in past.disks]
                found[key] = judge_limits(key, paths, samples, limits, now_ms, since, least)
        return found


@dataclass(slots=True)
class _Seen:
    """What was seen of a cluster, for a window or two. Of one thread at a time."""

    until_ms: dict[int, int] = field(default_factory=dict)
    suspected_ms: int = 0
    asked_at_ms: int = 0
    lake_failure: str = ""
    judged: frozenset[int] = frozenset()
    looks: dict[int, deque[BrokerLook]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_MAX_LOOKS)))
    clusters: deque[ClusterLook] = field(default_factory=lambda: deque(maxlen=_MAX_LOOKS))
    reasons_ms: Mapping[LeverIdentity, int] = field(default_factory=dict)

    def forget(self) -> None:
        self.reasons_ms = {}
        self.looks.clear()
        self.clusters.clear()

    def add(self, looks: Mapping[int, BrokerLook], cluster: ClusterLook, from_ms: int) -> None:
        for broker, look in looks.items():
            self.looks[broker].append(look)
        self.clusters.append(cluster)
        while self.clusters and self.clusters[0].at_ms < from_ms:
            self.clusters.popleft()
        for past in self.looks.values():
            while past and past[0].at_ms < from_ms:
                past.popleft()

    def span(self, from_ms: int, expected: Mapping[str, float]) -> Span | None:
        """Return the span from the oldest look of the window to the newest; None: there are not two."""
        clusters = [each for each in self.clusters if each.at_ms >= from_ms]
        if len(clusters) < 2:
            return None
        pairs = {
            broker: found
            for broker, past in self.looks.items()
            if len(found := [each for each in past if each.at_ms >= from_ms]) > 1
        }
        before = {broker: found[0] for broker, found in pairs.items()}
        now = {broker: found[-1] for broker, found in pairs.items()}
        return Span(clusters[0], clusters[-1], before, now, expected)


def _told(
    view: View | None, seen: _Seen, brokers: Sequence[Broker], looks: Collection[int], silent: Sequence[str]
) -> Told:
    """Return what to tell, with what keeps from knowing more. `looks` are brokers that answered, `silent` says why
    others did not.
    """
    asked = {broker.id for broker in brokers if broker.id in seen.until_ms}
    mute = sorted(broker.id for broker in brokers if broker.id in asked and not broker.reporter_endpoint)
    unjudged = sorted({broker.id for broker in brokers} - seen.judged - asked) if seen.asked_at_ms else []
    remarks = [seen.lake_failure] if seen.lake_failure else []
    if mute:
        remarks.append(
            f"{broker_names(mute)}: a disk was over its limits, and no reporter is registered to look at it: see "
            "guardian cluster add --reporter"
        )
    if unjudged:
        remarks.append(
            f"{broker_names(unjudged)}: the lake has too few samples of disks, so that nobody knows whether one is "
            "over its limits: see guardian collection"
        )
    unseen = sorted({*asked, *unjudged} - set(looks))
    return Told(view, (*remarks, *silent), seen.asked_at_ms, tuple(unseen))


def lake_suspects(
    lake_url: str, settings: ProtectionSettings, collect_ms: int, lag_ms: int
) -> Callable[[str, int], Suspects]:
    """`lag_ms` is how late the lake's rows may be."""
    limits = replace(settings.limits, window_ms=max(settings.limits.window_ms, 2 * collect_ms))

    def suspects(cluster: str, now_ms: int) -> Suspects:
        window = Window(now_ms - limits.window_ms - lag_ms - collect_ms, now_ms + 1)
        over, judged = set(), set()
        for series in lake_facts.disk_series(LakeReader(lake_url, _READ_LIMITS), cluster, window):
            samples = _samples(series)
            if samples:
                key = DiskKey(series.broker, series.disk)
                # Half of the window is enough to look more closely.
                condition = judge_limits(
                    key, series.log_dirs, samples, limits, samples[-1].at_ms, 0, limits.window_ms // 2
                )
                if condition.state is not DiskState.UNKNOWN:
                    judged.add(series.broker)
                if condition.state is DiskState.OVER:
                    over.add(series.broker)
        return Suspects(frozenset(over), frozenset(judged))

    return suspects


def _samples(series: DiskSeries) -> list[DiskCounters]:
    columns = (series.at_ms, series.bytes, series.completed, series.service_ms, series.busy_ms)
    return [
        DiskCounters(at_ms, moved, 0, completed, service_ms, busy_ms)
        for at_ms, moved, completed, service_ms, busy_ms in zip(*(each.tolist() for each in columns), strict=True)
    ]


class ProtectionServicer(protection_pb2_grpc.ProtectionServicer):
    """`watch` is None where nothing is looked at: protection is off."""

    def __init__(self, store: ReplicatedStore, watch: DiskWatch | None, mode: Mode, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._held = ReplicatedProtectionStore(store)
        self._watch = watch
        self._mode = mode
        self._now_ms = now_ms

    def GetProtection(self, request: pb.GetProtectionRequest, context: grpc.ServicerContext) -> pb.ProtectionReport:
        views = views_for(self._store, context)
        held = views.protection(request.cluster)
        if views.cluster(request.cluster) is None and held.is_idle:
            raise NotFound(f"cluster is {request.cluster!r}, which is not registered: see `guardian cluster list`")
        if not self._store.is_leader():
            raise Unavailable("this member does not lead, and only the leader looks at disks: ask the leader")
        told = self._watch.told(request.cluster) if self._watch is not None else None
        report = pb.ProtectionReport(cluster=request.cluster, mode=self._mode, held=protection_to_proto(held))
        if told is None:
            return report
        report.asked_at_ms = told.asked_at_ms
        report.unseen_brokers.extend(told.unseen)
        report.remarks.extend(told.remarks)
        if told.view is None:
            return report
        conditions = sorted(told.view.conditions.values(), key=lambda each: (each.state, -each.utilisation, each.key))
        most = min(request.max_doings or MAX_DOINGS, MAX_DOINGS)
        abnormal = [doing for doing in told.view.doings if doing.is_abnormal]
        normal = [doing for doing in told.view.doings if not doing.is_abnormal]
        report.disks.extend(map(condition_to_proto, conditions))
        report.queue.extend(map(doing_to_proto, abnormal[:most]))
        report.normal.extend(map(doing_to_proto, normal[: max(0, most - len(abnormal))]))
        report.looked_at_ms = told.view.cluster.at_ms
        report.doings_in_all = len(told.view.doings)
        return report

    def ReleaseProtection(
        self, request: pb.ReleaseProtectionRequest, context: grpc.ServicerContext
    ) -> pb.ReleaseProtectionReply:
        held = views_for(self._store, context).protection(request.cluster)
        broker = request.broker if request.HasField("broker") else None
        if request.disk and broker is None:
            raise InvalidInput(f"disk is {request.disk!r}, but broker is not given: say which broker's disk")
        hold_ms = request.hold_ms or DEFAULT_HOLD_MS
        if not 0 < hold_ms <= MAX_HOLD_MS:
            raise InvalidInput(f"hold_ms is {hold_ms}: use 1 to {MAX_HOLD_MS} (30 days)")
        by = actor_of(context)
        if by.proof is Proof.NONE and request.actor:
            by = Actor(require_claimed_name("actor", request.actor))
        told = self._watch.told(request.cluster) if self._watch is not None else None
        disks = sorted(told.view.conditions) if told and told.view else []
        now, gone = released(held, broker, request.disk, self._now_ms() + hold_ms, by.name, disks)
        if now.holds == held.holds and not gone:
            raise NotFound(f"nothing is held in cluster {request.cluster!r}{_where(broker, request.disk)}")
        self._held.put(now, now.note, by)
        return pb.ReleaseProtectionReply(released=[lever_to_proto(lever) for lever in gone])


def _where(broker: int | None, disk: str) -> str:
    if broker is None:
        return ""
    return f" for {DiskKey(broker, disk)}" if disk else f" for broker {broker}"
