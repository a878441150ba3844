"""`guardian ticket submit` and `preview`: of a draft, or of a file of kafka-reassign-partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from guardian.cli.options import (
    DEFAULT_THROTTLE_TEXT,
    EndpointsOption,
    ExpiresOption,
    KeyOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    cluster_of,
    connect,
    expires_in_ms,
)
from guardian.cli.plan_tables import show_plan
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.errors import InvalidInput
from guardian.interop import reassignment_json
from guardian.model.plan import Plan
from guardian.model.tasks import ReplicationFactor
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.units import parse_rate
from guardian.tickets.commands.ticket_acting import Act, MaxThrottleOption, WatchOption
from guardian.tickets.commands.ticket_telling import made_as_dict, said, show_preview
from guardian.tickets.rules import ticketing

FileThrottleOption = Annotated[
    str,
    typer.Option(
        "--throttle",
        metavar="RATE",
        help="Bytes/s per broker for copies of the file, such as 50MB; or none.",
        show_default=DEFAULT_THROTTLE_TEXT,
    ),
]
PlanFileOption = Annotated[Path | None, typer.Option("--plan", help="Or a file of kafka-reassign-partitions.")]
FileClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="The cluster of the file.", show_default="the context's")
]
ChangeFactorOption = Annotated[
    bool, typer.Option("--change-replication-factor", help="The file gives more replicas, or fewer, on purpose.")
]
_NO_THROTTLE = "none"


def submit(
    ticket_id: Annotated[str, typer.Argument(metavar="[TICKET]", help="A draft ticket's id.")] = "",
    plan: PlanFileOption = None,
    cluster: FileClusterOption = "",
    throttle: FileThrottleOption = "",
    max_throttle: MaxThrottleOption = "",
    change_replication_factor: ChangeFactorOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the ticket, or the file against the cluster; store nothing.")
    ] = False,
    key: KeyOption = "",
    expires: ExpiresOption = "",
    reason: ReasonOption = "",
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for approval of a draft, or of a reassignment file.

    Example: guardian ticket submit --plan moves.json --cluster live --dry-run
    """
    if bool(ticket_id) == bool(plan):
        raise InvalidInput("give either a draft ticket's id or --plan FILE")
    if ticket_id:
        _require_of_file(
            ticket_id,
            "a draft, and keeps what it was made with",
            throttle=throttle,
            max_throttle=max_throttle,
            change_replication_factor=change_replication_factor,
            idempotency_key=key,
            expires=expires,
            cluster=cluster,
        )
    cluster = cluster_of(cluster, endpoints) if plan else ""
    with connect(endpoints) as client:
        if not plan and dry_run:
            Act(reason, dry_run, watch, endpoints, output).rehearse(client.ticket(ticket_id), ticketing.submit)
            return
        if not plan:
            said(client, client.submit(ticket_id, actor(), reason), watch, output)
            return
        ticket, resolved = client.create_ticket(
            _moves_of(plan, cluster, change_replication_factor=change_replication_factor),
            author=actor(),
            submit=True,
            reason=reason,
            idempotency_key=key,
            dry_run=dry_run,
            expires_in_ms=expires_in_ms(expires),
            **_rates(throttle, max_throttle),
        )
        if not dry_run:
            said(client, ticket, watch, output)
        elif output is Output.JSON:
            print_json(made_as_dict(ticket, resolved))
        else:
            echo(f"{plan} can run on cluster {cluster}; nothing was stored.")
            show_plan(resolved)


def preview(
    ticket_id: Annotated[str, typer.Argument(metavar="[TICKET]", help="A ticket's id.")] = "",
    plan: PlanFileOption = None,
    cluster: FileClusterOption = "",
    throttle: FileThrottleOption = "",
    max_throttle: MaxThrottleOption = "",
    change_replication_factor: ChangeFactorOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show each request that would be sent to Kafka, in order, with throttles and list entries; sends nothing.

    What comes before is told first: it waits for another ticket, its plan is made anew, it pauses for another tool.
    Of a ticket that is over it shows what its way back would send. The first round is exact; those after it come in
    this order, as copies end.

    Example: guardian ticket preview --plan moves.json --cluster live --throttle 20MB
    """
    if bool(ticket_id) == bool(plan):
        raise InvalidInput("give either a ticket's id or --plan FILE")
    if ticket_id:
        _require_of_file(
            ticket_id,
            "previewed with what it was made with",
            throttle=throttle,
            max_throttle=max_throttle,
            change_replication_factor=change_replication_factor,
            cluster=cluster,
        )
    with connect(endpoints) as client:
        if plan is None:
            found = client.preview(ticket_id)
        else:
            moves = _moves_of(plan, cluster_of(cluster, endpoints), change_replication_factor=change_replication_factor)
            found = client.preview_plan(moves, **_rates(throttle, max_throttle))
    show_preview(found, output)


def _require_of_file(ticket_id: str, how: str, **options: object) -> None:
    """Raises InvalidInput for the first of the options that was given: they are for a file."""
    for name, value in options.items():
        if value:
            given = "" if value is True else f" {value}"
            option = f"--{name.replace('_', '-')}{given}"
            raise InvalidInput(f"{option} is for a file (--plan), and ticket {ticket_id} is {how}: leave it out")


def _moves_of(plan: Path, cluster: str, *, change_replication_factor: bool) -> Plan:
    moves = reassignment_json.read(_read(plan), cluster)
    return replace(moves, kind=ReplicationFactor.kind) if change_replication_factor else moves


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"plan {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"plan {path} is not text: give the JSON of kafka-reassign-partitions") from None


class _Rates(TypedDict):
    throttle: int
    max_throttle: int
    unthrottled: bool


def _rates(throttle: str, max_throttle: str) -> _Rates:
    given = parse_rate("--throttle", throttle) if throttle not in ("", _NO_THROTTLE) else 0
    return _Rates(
        throttle=given or (0 if throttle else DEFAULT_THROTTLE),
        max_throttle=parse_rate("--max-throttle", max_throttle) if max_throttle else 0,
        unthrottled=throttle == _NO_THROTTLE,
    )
