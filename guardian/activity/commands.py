"""`guardian audit topic|broker|principal|idle-topics|costs|acls`: who did what on the clusters.

Added to the group of `guardian audit changes`. Each answer says on stderr what it rests on, when that is not all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from guardian.activity.model import CostLine, PriceList, load_prices
from guardian.activity.rules.costs import by_tenant, cost_of, dearest_first
from guardian.activity.wire import cost_lines, price_list_from_proto, tiered_bytes
from guardian.cli.exits import UNKNOWN
from guardian.cli.options import ClusterOption, EndpointsOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.cli.waiting import told_if_slow
from guardian.client import GuardianClient
from guardian.errors import InvalidInput, Unavailable
from guardian.federation.commands.federation import audit
from guardian.federation.commands.registered import registered
from guardian.model.units import human_bytes, parse_duration_ms
from protos.guardian.v1 import activity_pb2 as pb

__all__ = ["audit"]

_HOUR_MS = 3_600_000

SinceOption = Annotated[str, typer.Option("--since", help="How far back, such as 10m or 24h.", show_default="1h")]
FromOption = Annotated[str, typer.Option("--from", help="The beginning, as 2026-11-21T03:00 or 03:00 (today), local.")]
ToOption = Annotated[str, typer.Option("--to", help="The end; else now.")]
LongSinceOption = Annotated[str, typer.Option("--since", help="How far back, such as 7d.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many rows at most.")]

# In the order of the table.
_READING = "Reading what clients did"
_VERDICTS = {pb.ACL_TOO_WIDE: "TOO WIDE", pb.ACL_UNUSED: "UNUSED", pb.ACL_UNSEEN: "unseen", pb.ACL_USED: "used"}


@audit.command("topic")
def topic(
    name: Annotated[str, typer.Argument(help="The topic.")],
    cluster: ClusterOption = "",
    since: SinceOption = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: LimitOption = 50,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show who used a topic: principal, client and address, the busiest first.

    Example: guardian audit topic orders --cluster live --from 03:00 --to 03:10
    """
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.topic_activity(cluster, name, from_ms, to_ms, limit)
    columns = ("PRINCIPAL", "CLIENT", "ADDRESS", "OPERATION", *_COUNTS, "BROKERS", *_WHEN)
    _show_activity(reply, output, columns, "bytes_shared")


@audit.command("broker")
def broker(
    broker_id: Annotated[int, typer.Argument(min=0, help="The broker's id.")],
    cluster: ClusterOption = "",
    since: SinceOption = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: LimitOption = 50,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a broker did, and for whom. More than six hours are answered in whole hours.

    Example: guardian audit broker 7 --cluster live --since 10m
    """
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.broker_activity(cluster, broker_id, from_ms, to_ms, limit)
    columns = ("PRINCIPAL", "RESOURCE", "OPERATION", *_COUNTS, *_WHEN)
    _show_activity(reply, output, columns, "client_id", "address", "bytes_shared")


@audit.command("principal")
def principal(
    name: Annotated[str, typer.Argument(help="As Kafka has it, such as User:alice; alice means the same.")],
    cluster: ClusterOption = "",
    since: SinceOption = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: LimitOption = 50,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a principal did, how often. More than six hours are answered in whole hours, without clients.

    Example: guardian audit principal User:alice --cluster live --since 24h
    """
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.principal_activity(cluster, name if ":" in name else f"User:{name}", from_ms, to_ms, limit)
    columns = ("RESOURCE", "OPERATION", "CLIENT", *_COUNTS, "BROKERS", "ADDRESSES", *_WHEN)
    _show_activity(reply, output, columns, "bytes_shared")


@audit.command("idle-topics")
def idle_topics(
    cluster: ClusterOption = "",
    since: LongSinceOption = "7d",
    internal: Annotated[bool, typer.Option("--internal", help="Also topics whose name begins with __.")] = False,
    limit: LimitOption = 1000,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the topics that nobody read, or nobody wrote, for so long.

    Example: guardian audit idle-topics --cluster live --since 14d
    """
    since_ms = now_ms() - parse_duration_ms("--since", since)
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.idle_topics(cluster, since_ms, with_internal=internal, limit=limit)
    if output is Output.JSON:
        print_json(as_dict(reply))
        _require_known(reply.coverage)
        return
    rows = [
        (
            idle.name,
            "nobody" if idle.without_readers else "yes",
            "nobody" if idle.without_writers else "yes",
            human_time(idle.last_read_ms),
            human_time(idle.last_write_ms),
            _or_dash(idle.tenant),
            _or_dash(idle.owner),
        )
        for idle in reply.topics
    ]
    print_table(("TOPIC", "READ BY", "WRITTEN BY", "LAST READ", "LAST WRITTEN", "TENANT", "OWNER"), rows)
    _explain_truncation(len(reply.topics), reply.truncated)
    _explain_coverage(reply.coverage)


@audit.command("costs")
def costs(
    cluster: ClusterOption = "",
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices", help="A price list in TOML: see guardian/activity/README.md.", show_default="the members'"
        ),
    ] = None,
    tenants: Annotated[bool, typer.Option("--tenants", help="Sums of tenants instead of topics.")] = False,
    since: SinceOption = "",
    start: FromOption = "",
    end: ToOption = "",
    limit: LimitOption = 50,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what topics, or tenants, moved and hold, and what that costs by a price list; the dearest first.

    Traffic is of the whole hours of the time asked about. Storage is of all replicas as they are now, and is priced as
    if it had been so all that time; so is tiered storage. What is not known is a ?, and so is a cost that needs it.

    Example: guardian audit costs --cluster live --since 30d --tenants --prices prices.toml
    """
    own_prices = load_prices(prices) if prices else None
    from_ms, to_ms = parse_span(since, start, end, now_ms())
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.topic_use(cluster, from_ms, to_ms)
        tiered, why = _tiered(client, cluster)
    lines = cost_lines(reply, tiered)
    if own_prices is None and reply.HasField("prices"):
        own_prices = price_list_from_proto(reply.prices)
    found = dearest_first(by_tenant(lines) if tenants else lines, own_prices, to_ms - from_ms)
    unknown = [*reply.unknown, *why]
    if output is Output.JSON:
        told = [{**asdict(line), "cost": cost_of(line, own_prices, to_ms - from_ms)} for line in found]
        print_json({"from_ms": from_ms, "to_ms": to_ms, "lines": told, "unknown": unknown})
    else:
        _show_costs(found[:limit], tenants, own_prices, to_ms - from_ms)
        _explain_truncation(limit, len(found) > limit)
        if own_prices is None:
            _note("Nothing has a price: give --prices, or members `prices` in their configuration.")
    for sentence in unknown:
        _note(f"Not known: {sentence}.")
    if not any(line.requests is not None or line.stored is not None for line in lines):
        raise typer.Exit(UNKNOWN)


def _tiered(client: GuardianClient, cluster: str) -> tuple[Mapping[str, int] | None, list[str]]:
    """Return the bytes in the remote store by topic; None, with the reason, where they are not known."""
    try:
        found = tiered_bytes(client.list_partitions(registered(client.list_clusters(), cluster).cluster_id))
    except Unavailable as error:
        return None, [f"tiered storage: {error}"]
    nameless = found.get("", 0)
    return found, [f"whose {human_bytes(nameless)} of tiered storage are"] if nameless else []


def _show_costs(lines: Sequence[CostLine], of_tenants: bool, prices: PriceList | None, span_ms: int) -> None:
    numbers = ("PRODUCED", "FETCHED", "REQUESTS", "STORED", "TIERED", "COST")
    names = ("TENANT", "TOPICS") if of_tenants else ("TOPIC", "TENANT")
    rows = []
    for line in lines:
        share, least = "~" if line.has_shares else "", ">" if line.is_least else ""
        cost = cost_of(line, prices, span_ms)
        tenant = line.tenant or "(no tenant)"
        rows.append(
            (
                *((tenant, str(line.topics)) if of_tenants else (line.topic or "(unknown)", tenant)),
                *(share + _size(amount) if amount else _size(amount) for amount in (line.produced, line.fetched)),
                "?" if line.requests is None else str(line.requests),
                _size(line.stored) if line.stored is None else least + _size(line.stored),
                _size(line.tiered),
                "-" if prices is None else "?" if cost is None else f"{cost:.2f}",
            )
        )
    print_table((*names, *numbers), rows, right=(*numbers, "TOPICS"))


def _size(amount: int | None) -> str:
    return "?" if amount is None else human_bytes(amount)


@audit.command("acls")
def acls(
    cluster: ClusterOption = "",
    since: LongSinceOption = "30d",
    everything: Annotated[bool, typer.Option("--all", help="Also rules that fit what was used.")] = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the ACLs that nobody used, and those that allow more than was used.

    unseen: nobody was seen to use it, which says nothing. Controllers authorize what brokers pass on to them, such as
    topics that are created, altered or deleted, and send no activity.

    Example: guardian audit acls --cluster live --since 30d
    """
    since_ms = now_ms() - parse_duration_ms("--since", since)
    with connect(endpoints) as client, told_if_slow(_READING):
        reply = client.acl_use(cluster, since_ms)
    if output is Output.JSON:
        print_json(as_dict(reply))
        _require_known(reply.coverage)
        return
    shown = sorted((acl for acl in reply.acls if everything or acl.verdict != pb.ACL_USED), key=_acl_order)
    rows = [
        (
            _VERDICTS.get(acl.verdict, "?"),
            acl.principal,
            acl.operation,
            f"{acl.resource_type.lower()} {acl.resource_name}" + ("*" if acl.pattern_type == "PREFIXED" else ""),
            acl.host,
            human_time(acl.last_ms),
            acl.why or "-",
        )
        for acl in shown
    ]
    more = more_of(shown, "names_used", "names_covered", "principals_used", "operations", "names")
    print_table(("VERDICT", "PRINCIPAL", "OPERATION", "RESOURCE", "FROM", "LAST USED", "WHY"), rows, more=more)
    fitting = len(reply.acls) - len(shown)
    if fitting:
        _note(f"{fitting} of {len(reply.acls)} rules fit what was used; --all shows them.")
    if reply.denials:
        _note(f"{reply.denials} rules that deny were not judged.")
    unseen = sum(acl.verdict == pb.ACL_UNSEEN for acl in reply.acls)
    if unseen:
        _note(
            f"{unseen} rules are for what controllers authorize (CREATE, ALTER, DELETE, ALTER_CONFIGS), whose activity "
            "nobody sends: ask their users before you remove them."
        )
    _explain_coverage(reply.coverage)


def _acl_order(acl: pb.AclUse) -> tuple[int, str, str, str]:
    rank = list(_VERDICTS).index(acl.verdict) if acl.verdict in _VERDICTS else len(_VERDICTS)
    return rank, acl.principal, acl.resource_type, acl.resource_name


_COUNTS = ("ALLOWED", "DENIED", "PRODUCED", "FETCHED")
_WHEN = ("FIRST", "LAST")
_NUMBERS = (*_COUNTS, "BROKERS", "ADDRESSES")
_CELLS: Mapping[str, Callable[[pb.ActivityRow], str]] = {
    "PRINCIPAL": lambda row: _or_dash(row.principal),
    "CLIENT": lambda row: _or_dash(row.client_id),
    "ADDRESS": lambda row: _or_dash(row.address),
    "RESOURCE": lambda row: f"{row.resource_type.lower()} {row.resource or '(unknown)'}",
    "OPERATION": lambda row: row.operation,
    "ALLOWED": lambda row: str(row.allowed),
    "DENIED": lambda row: str(row.denied or "-"),
    "PRODUCED": lambda row: _bytes(row, row.bytes_produced),
    "FETCHED": lambda row: _bytes(row, row.bytes_fetched),
    "BROKERS": lambda row: str(row.brokers),
    "ADDRESSES": lambda row: str(row.addresses or "-"),
    "FIRST": lambda row: human_time(row.first_ms),
    "LAST": lambda row: human_time(row.last_ms),
}


def _bytes(row: pb.ActivityRow, count: int) -> str:
    return f"{'~' if row.bytes_shared else ''}{human_bytes(count)}" if count else "-"


def parse_span(since: str, start: str, end: str, now_ms: int) -> tuple[int, int]:
    """Milliseconds since the epoch, of what --since, --from and --to say. Raises InvalidInput."""
    if since and start:
        raise InvalidInput("--since and --from both say when it begins: give one of them")
    to_ms = parse_moment("--to", end, now_ms) if end else now_ms
    from_ms = parse_moment("--from", start, now_ms) if start else to_ms - parse_duration_ms("--since", since or "1h")
    if from_ms >= to_ms:
        raise InvalidInput(f"--from is {human_time(from_ms)}, which is not before --to, {human_time(to_ms)}")
    return from_ms, to_ms


def parse_moment(option: str, text: str, now_ms: int) -> int:
    """Return ms since the epoch: local time unless it says otherwise; only a time: today's. Raises InvalidInput."""
    today = datetime.fromtimestamp(now_ms / 1000).astimezone().date()
    for candidate in (text, f"{today.isoformat()}T{text}"):
        try:
            moment = datetime.fromisoformat(candidate)
        except ValueError:
            continue
        return round((moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000)
    raise InvalidInput(f"{option} is {text!r}: use 2026-11-21T03:00, 2026-11-21 or 03:00")


def _or_dash(text: str) -> str:
    return text or "-"


def _show_activity(reply: pb.ListActivityReply, output: Output, columns: Sequence[str], *more: str) -> None:
    if output is Output.JSON:
        print_json(as_dict(reply))
        _require_known(reply.coverage)
        return
    rows = [[_CELLS[name](row) for name in columns] for row in reply.rows]
    print_table(columns, rows, right=_NUMBERS, more=more_of(reply.rows, *more))
    if any(row.bytes_shared for row in reply.rows):
        _note("~ the client used several topics: its bytes are divided among them by requests.")
    _explain_truncation(len(reply.rows), reply.truncated)
    _explain_coverage(reply.coverage)


def _explain_truncation(shown: int, truncated: bool) -> None:
    if truncated:
        _note(f"The first {shown} rows; there are more: raise --limit, or ask for a shorter time.")


def _require_known(coverage: pb.ActivityCoverage) -> None:
    """End the command with exit code 4 where nothing is known of what was asked: that is no zero."""
    if coverage.slices:
        return
    asked = f"{human_time(coverage.from_ms)} to {human_time(coverage.to_ms)}"
    kept = f"what is kept begins at {human_time(coverage.kept_from_ms)}" if coverage.kept_from_ms else "none is kept"
    _note(f"Nothing is known of {asked}: no broker's activity is stored for it, and {kept}.")
    raise typer.Exit(UNKNOWN)


def _explain_coverage(coverage: pb.ActivityCoverage) -> None:
    asked = f"{human_time(coverage.from_ms)} to {human_time(coverage.to_ms)}"
    _require_known(coverage)
    if coverage.kept_from_ms > coverage.from_ms + _HOUR_MS:
        _note(f"{asked} was asked for, but what is kept begins at {human_time(coverage.kept_from_ms)}.")
    if coverage.dropped_events or coverage.lost_slices:
        _note(
            f"Incomplete: brokers had no room for {coverage.dropped_events} authorizations, and lost "
            f"{coverage.lost_slices} slices before they were read."
        )


def _note(sentence: str) -> None:
    echo(sentence, err=True)
