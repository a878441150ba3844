"""What Prometheus is told of a member: its own state at the moment that it is asked, and totals of a minute ago."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from guardian.activity.store.store import StoreStatus
from guardian.collection.loop.counting import BUCKETS_S, CollectionCounters
from guardian.errors import Unavailable
from guardian.events.loop.sinks import EventSinks, SinkCounters
from guardian.health.loop.findings import FindingsWatch
from guardian.health.rules import findings
from guardian.health.rules.findings import Watch
from guardian.lake.store.writer import LakeStatus
from guardian.model.execution import TaskState
from guardian.model.ticket import TicketState
from guardian.replication.store.store import ReplicatedStore, now_ms
from guardian.replication.store.totals import (
    MAX_AGE_S,
    MOVES_MAX_AGE_S,
    Moves,
    Recounted,
    TicketProgress,
    Totals,
    count_moves,
    count_partitions,
)
from guardian.security.model.certificate import CertificateLife
from guardian.security.service.refusals import Why
from guardian.security.service.tls import TlsCounters
from guardian.serving.counting import CallCounters, LoopCounters, PortCounters
from guardian.tiering.service.counting import GRANTED, TieringCounters, name_of
from protos.guardian.v1 import tiering_pb2
from raft.protocol import ReplicaStatus

_REFUSED = "refused_"  # of a replica's counters: a frame or a connection that was not taken
_LEVELS = frozenset({"proposals_waiting", "reads_waiting"})  # of them: how many now, not since the start


@dataclass(frozen=True, slots=True)
class Measured:
    """Who of a member's parts is asked. `loops` are the leader's, by name; `activity` is None where none is kept.
    `findings` tells only while the member leads, and is None where no detectors run. `sinks` are those that it sends
    events to while it leads; `tls` is counted by section of the configuration; `refusals` is empty where security is
    off.
    """

    store: ReplicatedStore
    collects: Callable[[], list[str]]
    collections: CollectionCounters
    lake: Callable[[], LakeStatus]
    activity: Callable[[], StoreStatus] | None
    tiering: TieringCounters
    calls: CallCounters
    loops: Mapping[str, LoopCounters]
    findings: FindingsWatch | None = None
    sinks: EventSinks | None = None
    certificates: Callable[[], list[CertificateLife]] = list
    tls: Mapping[str, TlsCounters] = field(default_factory=dict)
    refusals: Callable[[], Mapping[Why, int]] = dict
    damaged_files: Callable[[], int | None] = lambda: 0
    ports: Mapping[str, PortCounters] = field(default_factory=dict)


class MemberMetrics:
    """A collector of prometheus_client."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._store = measured.store
        read = self._store.read_local
        self._totals = Recounted(lambda: count_partitions(read().snapshot), MAX_AGE_S)
        self._moves = Recounted(lambda: count_moves(read(), now_ms()), MOVES_MAX_AGE_S)

    def collect(self) -> Iterable[Metric]:
        measured = self._measured
        yield from raft_metrics(self._store.status())
        yield _gauge("guardian_collected_brokers", "Brokers in this member's share.", len(measured.collects()))
        yield from collection_metrics(measured.collections)
        yield from lake_metrics(measured.lake())
        damaged = measured.damaged_files() if self._store.is_leader() else None  # who leads looks, and no other
        yield from damage_metrics(damaged)
        if measured.activity is not None:
            yield from activity_metrics(measured.activity())
        views = self._store.read_local()
        yield _gauge("guardian_sessions", "Client sessions that are open.", views.sessions())
        counts = sum(views.ticket_counts().values(), Counter[TicketState]())
        by_state = {state.name: counts[state] for state in TicketState}
        yield _by(GaugeMetricFamily, "guardian_tickets", "Tickets by state.", "state", by_state)
        moves = self._moves.read()[0]
        yield from move_metrics(moves)
        yield from progress_metrics(moves.tickets)
        if measured.sinks is not None:
            yield from sink_metrics(measured.sinks.counters(), measured.sinks.behind_ms(views))
        yield from tiering_metrics(measured.tiering, *self._totals.read())
        yield from call_metrics(measured.calls)
        yield from loop_metrics(measured.loops)
        yield from certificate_metrics(measured.certificates())
        yield from tls_metrics(measured.tls)
        yield from port_metrics(measured.ports)
        yield from refusal_metrics(measured.refusals())
        if measured.findings is not None:
            with suppress(Unavailable):  # another member leads, and tells
                yield from findings_metrics(measured.findings.known()[0])


def progress_metrics(tickets: Iterable[TicketProgress]) -> Iterable[Metric]:
    """Yield how far the tickets are that the executor has work on. Pure."""
    labels = ["ticket", "cluster", "kind", "state"]
    left = GaugeMetricFamily("guardian_ticket_left_bytes", "What the ticket has still to copy.", labels=labels)
    copied = GaugeMetricFamily("guardian_ticket_copied_bytes", "What the ticket has copied.", labels=labels)
    eta = GaugeMetricFamily("guardian_ticket_eta_seconds", "When it may be over, where that is known.", labels=labels)
    for found in tickets:
        values = [found.ticket.id, found.ticket.cluster, found.ticket.kind, found.ticket.state.name]
        left.add_metric(values, found.progress.left_bytes)
        copied.add_metric(values, found.progress.copied_bytes)
        if found.progress.eta_ms is not None:
            eta.add_metric(values, found.progress.eta_ms / 1000)
    yield from (left, copied, eta)


def sink_metrics(counters: Mapping[str, SinkCounters], behind_ms: Mapping[str, int]) -> Iterable[Metric]:
    """Yield what became of events that this member sent to sinks, and what each sink is still to get. Pure."""
    events = CounterMetricFamily("guardian_sink_events", "Events sent to a sink.", labels=["sink", "result"])
    for name, counted in counters.items():
        events.add_metric([name, "delivered"], counted.delivered)
        events.add_metric([name, "passed_over"], counted.passed_over)
        events.add_metric([name, "failed"], counted.failures)
        events.add_metric([name, "lost"], counted.lost)
    yield events
    behind_s = {name: ms / 1000 for name, ms in behind_ms.items()}
    yield _by(
        GaugeMetricFamily,
        "guardian_sink_behind_seconds",
        "Age of the oldest event that the sink is still to get.",
        "sink",
        behind_s,
    )


def raft_metrics(status: ReplicaStatus) -> Iterable[Metric]:
    """Everything in a ReplicaStatus. Pure."""
    yield _gauge("guardian_raft_term", "The Raft term that this member is in.", status.term)
    yield _gauge("guardian_raft_first_index", "The first log index that is kept here.", status.first_index)
    yield _gauge("guardian_raft_last_index", "The last log index here.", status.last_index)
    yield _gauge("guardian_raft_commit_index", "The last log index known to be on a majority.", status.commit_index)
    yield _gauge("guardian_raft_applied_index", "The last log index applied here.", status.applied_index)
    yield _gauge("guardian_raft_is_leader", "1 on the Raft leader.", float(status.leader == status.name))
    yield _gauge("guardian_raft_has_leader", "1 while this member knows a leader.", float(status.leader is not None))
    yield _gauge("guardian_raft_live_members", "Members connected, this one included.", len(status.live_members))
    if status.staleness_s is not None:
        yield _gauge("guardian_raft_staleness_seconds", "How old this member's state may be.", status.staleness_s)
    yield _gauge("guardian_disk_free_bytes", "Free where the data is.", status.disk_free_bytes)
    yield _gauge("guardian_disk_reserve_bytes", "With less free, changes are refused.", status.disk_reserve_bytes)
    yield _gauge("guardian_raft_refuses_writes", "1 while changes are refused.", float(status.is_refusing_writes))
    yield from _members(status)
    yield from _counters(status)


def collection_metrics(counters: CollectionCounters) -> Iterable[Metric]:
    """Yield what became of the collections of this member. Pure."""
    results = {"succeeded": counters.successes, "failed": counters.failures}
    yield _by(CounterMetricFamily, "guardian_collections", "Collections of brokers.", "result", results)
    yield _count("guardian_collected_values", "Values in the answers of brokers.", counters.values)
    seconds = HistogramMetricFamily("guardian_collection_seconds", "From a call to its answer, where there was one.")
    within = [(str(bound), count) for bound, count in zip(BUCKETS_S, counters.within, strict=True)]
    seconds.add_metric([], [*within, ("+Inf", counters.successes)], sum_value=counters.seconds)
    yield seconds
    gap = counters.longest_gap_s
    yield _gauge("guardian_collection_longest_gap_seconds", "For how long some broker gave nothing.", gap)


def damage_metrics(damaged_files: int | None) -> Iterable[Metric]:
    """Tell what of the lake is damaged; None: this member has not looked, and the metric has no sample. Pure."""
    family = GaugeMetricFamily("guardian_lake_damaged_files", "Files of the lake that are damaged, and set aside.")
    if damaged_files is not None:
        family.add_metric([], damaged_files)
    yield family


def lake_metrics(status: LakeStatus) -> Iterable[Metric]:
    """Yield what this member has written to the lake. Pure."""
    yield _count("guardian_lake_written_rows", "Rows that are in the lake.", status.written_rows)
    yield _count("guardian_lake_written_files", "Files that are in the lake.", status.written_files)
    yield _count("guardian_lake_failed_files", "Files that could not be written; their rows wait.", status.failed_files)
    yield _count("guardian_lake_dropped_rows", "Rows lost: too many waited for the lake.", status.dropped_rows)
    yield _gauge("guardian_lake_waiting_rows", "Rows that are not written yet.", status.waiting_rows)
    if status.last_written_at:
        at = status.last_written_at
        yield _gauge("guardian_lake_last_write_timestamp_seconds", "When a file was written last.", at)
    if status.last_failed_at:
        at = status.last_failed_at
        yield _gauge("guardian_lake_last_failure_timestamp_seconds", "When a file could not be written last.", at)


def activity_metrics(status: StoreStatus) -> Iterable[Metric]:
    """Yield what became of client activity. Pure."""
    yield _gauge("guardian_activity_ready", "1 while the activity store answers.", float(status.is_ready))
    yield _gauge("guardian_activity_waiting_rows", "Rows that are not stored yet.", status.waiting_rows)
    yield _count("guardian_activity_stored_rows", "Rows stored.", status.stored_rows)
    yield _count("guardian_activity_failed_inserts", "Times that the store took nothing.", status.failed_inserts)
    slices = {
        "stored": status.stored_slices,
        "repeated": status.repeated_slices,
        "dropped": status.dropped_slices,
        "refused": status.refused_slices,
    }
    yield _by(CounterMetricFamily, "guardian_activity_slices", "Slices of client activity.", "result", slices)


def move_metrics(moves: Moves) -> Iterable[Metric]:
    """Yield what the executor is at, as every member knows it. Pure."""
    partitions = {state.name: moves.partitions.get(state, 0) for state in TaskState}
    yield _by(GaugeMetricFamily, "guardian_moves", "Partitions of running tickets by their state.", "state", partitions)
    yield _gauge(
        "guardian_moves_unfinished_bytes", "What the pending and running ones copy, all in all.", moves.unfinished_bytes
    )


def call_metrics(calls: CallCounters) -> Iterable[Metric]:
    """Calls that clients made to this member. Pure but for reading the counters."""
    ended = CounterMetricFamily("guardian_grpc_calls", "gRPC calls that ended.", labels=["service", "method", "code"])
    for (method, code), count in sorted(calls.ended().items()):
        ended.add_metric([*method, code], count)
    yield ended
    under_way = GaugeMetricFamily("guardian_grpc_calls_under_way", "gRPC calls now.", labels=["service", "method"])
    for method, count in sorted(calls.under_way().items()):
        under_way.add_metric([*method], count)
    yield under_way
    seconds = HistogramMetricFamily(
        "guardian_grpc_call_seconds", "How long calls took, but for streams.", labels=["service", "method"]
    )
    for method, latency in sorted(calls.latencies().items()):
        within = [*((str(bound), count) for bound, count in latency.cumulative()), ("+Inf", latency.calls)]
        seconds.add_metric([*method], within, sum_value=latency.seconds)
    yield seconds


def certificate_metrics(lives: Iterable[CertificateLife]) -> Iterable[Metric]:
    """Yield how long this member's certificates count. Pure."""
    expiry = GaugeMetricFamily(
        "guardian_certificate_expiry_timestamp_seconds",
        "When a certificate, authority or list of revoked ones expires.",
        labels=["use", "what"],
    )
    for life in lives:
        expiry.add_metric([life.use, life.what], life.until_ms / 1000)
    yield expiry


def tls_metrics(ports: Mapping[str, TlsCounters]) -> Iterable[Metric]:
    """TLS at this member's own ports. Pure but for reading the counters."""
    begun = CounterMetricFamily("guardian_tls_handshakes", "Handshakes that began, however they ended.", labels=["use"])
    served = CounterMetricFamily(
        "guardian_tls_served_connections", "Connections over which something was taken.", labels=["use"]
    )
    refused = CounterMetricFamily("guardian_tls_refused", "Connections or calls refused.", labels=["use", "reason"])
    failed = CounterMetricFamily("guardian_tls_failed_reloads", "New files that could not be used.", labels=["use"])
    for use, counters in sorted(ports.items()):
        begun.add_metric([use], counters.handshakes)
        served.add_metric([use], counters.served)
        failed.add_metric([use], counters.failed_reloads)
        for reason, count in sorted(counters.refused().items()):
            refused.add_metric([use, reason], count)
    yield from (begun, served, refused, failed)


def port_metrics(ports: Mapping[str, PortCounters]) -> Iterable[Metric]:
    """Yield what clients hold of this member's ports. Pure."""
    now = {name: counters.connections for name, counters in ports.items()}
    refused = {name: counters.refused for name, counters in ports.items()}
    yield _by(GaugeMetricFamily, "guardian_port_connections", "Connections by port.", "port", now)
    yield _by(CounterMetricFamily, "guardian_port_refused", "Connections that were too many, by port.", "port", refused)


def refusal_metrics(totals: Mapping[Why, int]) -> Iterable[Metric]:
    """Calls and requests that were not carried out for who sent them. Pure."""
    kinds = {why.value: count for why, count in totals.items()}
    yield _by(CounterMetricFamily, "guardian_refusals", "Refused for who asks, by kind.", "why", kinds)


def loop_metrics(loops: Mapping[str, LoopCounters]) -> Iterable[Metric]:
    """Yield what this member did as the leader. Pure."""
    ticks = SummaryMetricFamily("guardian_leader_tick_seconds", "Ticks of the leader's loops.", labels=["loop"])
    failed = CounterMetricFamily("guardian_leader_failed_ticks", "Of these, those that failed.", labels=["loop"])
    pause = GaugeMetricFamily(
        "guardian_leader_longest_pause_seconds",
        "Longest time from one tick of a loop to the next while this member led, since it started.",
        labels=["loop"],
    )
    for name, loop in sorted(loops.items()):
        ticks.add_metric([name], loop.ticks, loop.seconds)
        failed.add_metric([name], loop.failures)
        pause.add_metric([name], loop.longest_pause_s)
    yield ticks
    yield failed
    yield pause


def findings_metrics(watch: Watch) -> Iterable[Metric]:
    """Yield what this member's detectors found as the leader, and when they looked. Pure."""
    found = GaugeMetricFamily("guardian_findings", "What detectors find now.", labels=["cluster", "kind"])
    for (cluster, kind), count in sorted(findings.counts(watch).items()):
        found.add_metric([cluster, kind.name.lower()], count)
    yield found
    looked = GaugeMetricFamily(
        "guardian_detector_last_look_timestamp_seconds",
        "When a detector looked last with success.",
        labels=["cluster", "detector"],
    )
    for place, last in sorted(watch.looks.items()):
        looked.add_metric([place.cluster, place.detector.value], last.looked_at_ms / 1000)
    yield looked


def tiering_metrics(counters: TieringCounters, totals: Totals, age_s: float) -> Iterable[Metric]:
    """`totals` are the whole store's, `counters` this member's. Pure."""
    yield _gauge("guardian_tiering_partitions", "Partitions that are not deleted.", totals.partitions)
    yield _gauge("guardian_tiering_live_segments", "Segments that are not deleted.", totals.live_segments)
    yield _gauge("guardian_tiering_live_bytes", "Their bytes.", totals.live_bytes)
    yield _count("guardian_tiering_swept_segments", "Deleted though never finished.", totals.swept_segments)
    yield _count("guardian_tiering_swept_bytes", "Their bytes.", totals.swept_bytes)
    yield _gauge("guardian_tiering_totals_age_seconds", "How long ago the five above were counted.", age_s)
    kinds = {tiering_pb2.FENCED_LEADER_EPOCH, *counters.refused_appends}
    refused = {name_of(kind): counters.refused_appends[kind] for kind in kinds}
    yield _by(
        CounterMetricFamily,
        "guardian_tiering_refused_appends",
        "Parts of appends that were refused here.",
        "kind",
        refused,
    )
    claims = {result: counters.claims[result] for result in {GRANTED, *counters.claims}}
    yield _by(CounterMetricFamily, "guardian_tiering_claims", "Partitions claimed here.", "result", claims)
    followers = list(counters.followers)
    yield _gauge("guardian_tiering_append_streams", "Streams of appends open here.", counters.append_streams)
    yield _gauge("guardian_tiering_followers", "Streams that follow partitions, open here.", len(followers))
    followed = sum(follower.followed for follower in followers)
    yield _gauge("guardian_tiering_followed_partitions", "Partitions that they follow.", followed)
    waiting = sum(follower.waiting for follower in followers)
    yield _gauge("guardian_tiering_unsent_partitions", "Of these, with something not sent yet.", waiting)


def _members(status: ReplicaStatus) -> Iterable[Metric]:
    connected = GaugeMetricFamily("guardian_raft_member_connected", "1: reached from here.", labels=["member"])
    voter = GaugeMetricFamily("guardian_raft_member_voter", "1: a voter, 0: a learner.", labels=["member"])
    lag = GaugeMetricFamily(
        "guardian_raft_member_lag", "Log entries behind the leader, as it knows.", labels=["member"]
    )
    for member in status.members:
        connected.add_metric([member.name], float(member.is_connected or member.name == status.name))
        voter.add_metric([member.name], float(member.role.value == "voter"))
        if member.match_index is not None:
            lag.add_metric([member.name], max(0, status.last_index - member.match_index))
    yield connected
    yield voter
    yield lag


def _counters(status: ReplicaStatus) -> Iterable[Metric]:
    refused = CounterMetricFamily("guardian_raft_refused", "Frames and connections refused.", labels=["reason"])
    events = CounterMetricFamily("guardian_raft_events", "What happened since the start.", labels=["event"])
    for name, count in sorted(status.counters.items()):
        if name in _LEVELS:
            yield _gauge(f"guardian_raft_{name}", f"{name.replace('_', ' ').capitalize()} now.", count)
        elif name.startswith(_REFUSED):
            refused.add_metric([name.removeprefix(_REFUSED)], count)
        else:
            events.add_metric([name], count)
    yield refused
    yield events


def _by(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    documentation: str,
    label: str,
    values: Mapping[str, float],
) -> Metric:
    """Return the metric with a value for each value of its one label."""
    family = kind(name, documentation, labels=[label])
    for of_label, value in values.items():
        family.add_metric([of_label], value)
    return family


def _count(name: str, documentation: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, documentation, value=value)


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, value=value)
