"""`guardian broker show` and `guardian cluster show`: how a broker, or a cluster, was at a past moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import typer

from guardian.activity.commands import parse_moment
from guardian.cli.exits import UNKNOWN
from guardian.cli.options import EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.client import GuardianClient
from guardian.errors import GuardianError, InvalidInput
from guardian.events.rules.notifying import as_json
from guardian.model.event import Event, EventKind
from guardian.model.units import human_bytes, human_duration, parse_duration_ms
from protos.guardian.v1 import activity_pb2
from protos.guardian.v1 import insight_pb2 as pb

_EVENTS_MS = 3_600_000
_EVENTS = 20
_NOT_KNOWN = "not known"
_LOADS = (
    "IN",
    "OUT",
    "REPLICATED IN",
    "REPLICATED OUT",
    "MESSAGES/S",
    "CPU",
    "REPLICAS",
    "LEADERS",
    "UNDER-REPLICATED",
)
_DISK_NUMBERS = ("SIZE", "USED", "BUSY", "AWAIT", "BYTES/S")

_Answer = TypeVar("_Answer")

ClusterArgument = Annotated[str, typer.Argument(help="The cluster's name.")]
AtOption = Annotated[
    str,
    typer.Option(
        "--at",
        help="The moment, as 2026-11-21T03:10 or 03:10 (today), local, or how long ago, as 90m.",
        show_default="now",
    ),
]
TopicsOption = Annotated[int, typer.Option("--limit", min=1, max=1000, help="So many topics and clients, the busiest.")]


@dataclass
class _Around:
    """What is stored about the moment, besides the lake; `unknown` says what is not, and why."""

    clients: activity_pb2.ListActivityReply | None = None
    events: Sequence[Event] | None = None
    raised: Sequence[Event] | None = None
    standing: Sequence[pb.Finding] | None = None
    unknown: list[str] = field(default_factory=list)

    def ask(self, what: str, question: Callable[[], _Answer]) -> _Answer | None:
        """Return the answer; None where there is none, which is noted."""
        try:
            return question()
        except GuardianError as error:
            self.unknown.append(f"{what}: {error}")
            return None


def show_cluster(
    cluster: ClusterArgument,
    at: AtOption = "",
    limit: TopicsOption = 10,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how a cluster is, or was at a past moment: load of each broker, disks, the busiest topics, what happened.

    Loads are averages of the five minutes before, from the metrics lake. What nobody collected then is not known; where
    that is all, the exit code is 4.

    Example: guardian cluster show live --at 03:10
    """
    _show(cluster, None, at, limit, endpoints, output)


def show_broker(
    cluster: ClusterArgument,
    broker: Annotated[int, typer.Argument(min=0, help="The broker's id.")],
    at: AtOption = "",
    limit: TopicsOption = 10,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how a broker is, or was at a past moment: load, disks, topics, whom it worked for, what happened.

    Loads are averages of the five minutes before, from the metrics lake; clients are those of the same minutes, where
    activity is kept. What nobody collected then is not known; where that is all, the exit code is 4.

    Example: guardian broker show live 7 --at 03:10

    Example: guardian broker show live 7 --at 2026-11-21T03:10 -o json
    """
    _show(cluster, broker, at, limit, endpoints, output)


def moment_of(text: str, now: int) -> int:
    """Return what --at says in ms since the epoch; empty: 0, which is now. Raises InvalidInput."""
    if not text:
        return 0
    try:
        found = now - parse_duration_ms("--at", text)
    except InvalidInput:
        try:
            found = parse_moment("--at", text, now)
        except InvalidInput as error:
            raise InvalidInput(f"{error}; or how long ago, as 90m") from None
    if not 0 < found <= now:
        raise InvalidInput(f"--at is {text!r}, {human_time(found)}, which is not past: give the date too")
    return found


def _show(cluster: str, broker: int | None, at: str, limit: int, endpoints: str, output: Output) -> None:
    at_ms = moment_of(at, now_ms())
    with connect(endpoints) as client:
        report = client.past(cluster, at_ms, broker, limit)
        around = _around(client, report, broker, limit)
    if output is Output.JSON:
        print_json(_as_dict(report, around))
    else:
        _show_brokers(report)
        _show_disks(report)
        _show_topics(report)
        _show_around(around, broker)
    if not any(each.HasField("seen_at_ms") for each in report.brokers):
        what = f"cluster {cluster}" if broker is None else f"broker {broker} of {cluster}"
        span = f"{human_time(report.from_ms)} and {human_time(report.at_ms)}"
        echo(f"Nothing is known of {what}: no samples between {span}; see `guardian collection`", err=True)
        raise typer.Exit(UNKNOWN)


def _around(client: GuardianClient, report: pb.PastReport, broker: int | None, limit: int) -> _Around:
    found, name, until_ms = _Around(), report.cluster, report.at_ms + 1
    if broker is not None:
        found.clients = found.ask(
            "clients", lambda: client.broker_activity(name, broker, report.from_ms, until_ms, limit)
        )
        if found.clients is not None and not found.clients.coverage.slices:
            found.clients = None
            found.unknown.append("clients: no broker's activity is stored for that time")
    events = found.ask("events", lambda: client.events(cluster=name, until_ms=until_ms, last=_EVENTS))
    if events is not None and not events:
        found.unknown.append("events: none of this cluster is kept from before")
    found.events = [event for event in events or () if event.at_ms >= report.at_ms - _EVENTS_MS] if events else None
    calls = found.ask(
        "findings",
        lambda: client.events(
            cluster=name, until_ms=until_ms, kinds=(EventKind.FINDING_RAISED, EventKind.FINDING_ENDED)
        ),
    )
    found.raised = None if calls is None else still_raised(calls)
    standing = found.ask("findings", lambda: client.findings(name))
    if standing is not None:
        found.standing = [each for each in standing.findings if each.since_ms <= report.at_ms]
    found.unknown.append("findings that have ended since, but for those that called a person: they are not kept")
    return found


def still_raised(events: Iterable[Event]) -> list[Event]:
    """Return, of events in their order, those that raised a finding which no later one ended."""
    found: dict[str, Event] = {}
    for event in events:
        if event.kind is EventKind.FINDING_RAISED:
            found[event.finding] = event
        elif event.kind is EventKind.FINDING_ENDED:
            found.pop(event.finding, None)
    return list(found.values())


def _as_dict(report: pb.PastReport, around: _Around) -> dict[str, object]:
    """Return everything for programs; null is what is not known."""
    found: dict[str, Any] = as_dict(report)
    clients = None if around.clients is None else as_dict(around.clients)
    return {
        **found,
        "clients": clients,
        "events": None if around.events is None else [as_json(event) for event in around.events],
        "raised": None if around.raised is None else [as_json(event) for event in around.raised],
        "standing": None if around.standing is None else [as_dict(finding) for finding in around.standing],
        "unknown": around.unknown,
    }


def _show_brokers(report: pb.PastReport) -> None:
    echo(f"cluster {report.cluster} at {human_time(report.at_ms)}; averages since {human_time(report.from_ms)}")
    echo()
    print_table(
        ("BROKER", "SEEN", *_LOADS, "LAST ERROR"),
        [_load(broker) for broker in report.brokers],
        right=("BROKER", *_LOADS),
        more=more_of(report.brokers, "rack", "idc", "started_at_ms", "memory_available_bytes"),
    )


def _load(broker: pb.PastBroker) -> tuple[str, ...]:
    rates = ("bytes_in_per_s", "bytes_out_per_s", "replication_bytes_in_per_s", "replication_bytes_out_per_s")
    return (
        str(broker.broker),
        human_time(broker.seen_at_ms) if broker.HasField("seen_at_ms") else _NOT_KNOWN,
        *(_known(broker, name, _rate) for name in rates),
        _known(broker, "messages_in_per_s", lambda value: f"{value:.0f}"),
        _known(broker, "cpu", lambda value: f"{value:.0%}"),
        *(_known(broker, name, str) for name in ("replicas", "leaders", "under_replicated")),
        broker.error or "-",
    )


def _known(record: pb.PastBroker | pb.PastLogDir, name: str, write: Callable[[Any], str]) -> str:
    return write(getattr(record, name)) if record.HasField(name) else _NOT_KNOWN


def _rate(value: float) -> str:
    return f"{human_bytes(value)}/s"


def _show_disks(report: pb.PastReport) -> None:
    disks = [(broker.broker, each) for broker in report.brokers for each in broker.log_dirs]
    if not disks:
        return
    echo()
    print_table(
        ("BROKER", "LOG DIR", "DISK", "STATE", *_DISK_NUMBERS),
        [_disk(broker, each) for broker, each in disks],
        right=("BROKER", *_DISK_NUMBERS),
    )


def _disk(broker: int, each: pb.PastLogDir) -> tuple[str, ...]:
    used = 1 - each.usable_bytes / each.total_bytes if each.total_bytes else None
    return (
        str(broker),
        each.log_dir,
        each.disk or _NOT_KNOWN,
        "OFFLINE" if each.offline else "online",
        human_bytes(each.total_bytes) if each.total_bytes else _NOT_KNOWN,
        _NOT_KNOWN if used is None else f"{used:.0%}",
        _known(each, "busy", lambda value: f"{value:.0%}"),
        _known(each, "await_ms", lambda value: f"{value:.1f} ms"),
        _known(each, "bytes_per_s", _rate),
    )


def _show_topics(report: pb.PastReport) -> None:
    if not report.topics:
        return
    echo()
    rows = [(each.topic, _rate(each.bytes_in_per_s), _rate(each.bytes_out_per_s)) for each in report.topics]
    print_table(("BUSIEST TOPICS", "IN", "OUT"), rows, right=("IN", "OUT"))
    if hidden := report.topics_in_all - len(report.topics):
        echo(f"{hidden} more topics, no busier: --limit {report.topics_in_all} shows all")


def _show_around(around: _Around, broker: int | None) -> None:
    if around.clients is not None:
        echo()
        rows = [
            (row.principal, row.client_id or "-", row.operation, _moved(row, "produced"), _moved(row, "fetched"))
            for row in around.clients.rows
        ]
        print_table(("BUSY FOR", "CLIENT", "OPERATION", "PRODUCED", "FETCHED"), rows, right=("PRODUCED", "FETCHED"))
    echo()
    for event in around.events or ():
        echo(f"{human_time(event.at_ms)}  {event.summary}")
    if around.events is not None and not around.events:
        echo(f"no event of the cluster in the {human_duration(_EVENTS_MS)} before")
    for event in around.raised or ():
        echo(f"finding since {human_time(event.at_ms)}: {event.summary}")
    for finding in around.standing or ():
        if broker is None or not finding.brokers or broker in finding.brokers:
            echo(f"finding since {human_time(finding.since_ms)}, to this day: {finding.subject}: {finding.evidence}")
    for what in around.unknown:
        echo(f"not known: {what}")


def _moved(row: activity_pb2.ActivityRow, way: str) -> str:
    count: int = getattr(row, f"bytes_{way}")
    return f"{'~' if row.bytes_shared else ''}{human_bytes(count)}" if count else "-"
