"""`guardian broker`: brokers removed, taken offline and back, restarted: each is a ticket that goes through phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from guardian.cli.options import (
    DEFAULT_THROTTLE_TEXT,
    ClusterOption,
    DryRunOption,
    EndpointsOption,
    ExpiresOption,
    KeyOption,
    Output,
    OutputOption,
    ReasonOption,
    ThrottleOption,
    actor,
    connect,
    expires_in_ms,
)
from guardian.cli.plan_tables import show_plan
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.cli.shared import made_of
from guardian.errors import InvalidInput
from guardian.federation.commands.registered import registered
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.model.units import parse_duration_ms, parse_rate
from guardian.planning.model import PlansConfig
from guardian.tickets.commands.ticket_telling import made_as_dict, say

BrokersArgument = Annotated[list[int], typer.Argument(help="The brokers' ids.", min=0)]
HookOption = Annotated[
    str,
    typer.Option(
        "--hook", help="The hook of the members' configuration that does it. Without one a person is waited for."
    ),
]
UnavailableOption = Annotated[
    bool,
    typer.Option(
        "--accept-unavailable", help="Also where partitions can't do without a broker: they are unavailable meanwhile."
    ),
]

BatchOption = Annotated[
    int, typer.Option("--batch", help="So many at once at most; 0: as ISR and racks allow, up to a third.", min=0)
]
TroubleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-trouble",
        help="Do not wait for this partition, such as orders-3, or this broker, such as 9, to recover: it was broken "
        "before. May be repeated.",
    ),
]


@dataclass(frozen=True, slots=True)
class Request:
    """Hold the options of commands that ask for brokers, and how a ticket is made of them."""

    dry_run: bool
    key: str
    expires: str
    reason: str
    endpoints: str
    output: Output

    def send(self, cluster: str, ask: Ask, throttle: str = DEFAULT_THROTTLE_TEXT) -> None:
        """Make the ticket, or say what it would do."""
        with connect(self.endpoints) as client:
            ticket, plan = client.ask_for(
                cluster,
                ask,
                author=actor(),
                throttle=parse_rate("--throttle", throttle),
                submit=True,
                reason=self.reason,
                idempotency_key=self.key,
                plan_s=PlansConfig().longest_s,
                dry_run=self.dry_run,
                expires_in_ms=expires_in_ms(self.expires),
            )
        if self.output is Output.JSON:
            print_json(made_as_dict(ticket, plan))
        elif plan is not None:
            _show_rehearsal(ticket, plan)
        else:
            say(ticket)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of a request, of which its first parameter is made."""
    return made_of(_request, command)


def _request(
    dry_run: DryRunOption = False,
    key: KeyOption = "",
    expires: ExpiresOption = "",
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> Request:
    return Request(dry_run, key, expires, reason, endpoints, output)


@asking
def remove(
    request: Request,
    brokers: BrokersArgument,
    cluster: ClusterOption = "",
    shutdown: Annotated[
        bool,
        typer.Option(
            "--shutdown/--no-shutdown",
            help="Empty brokers are stopped, then unregistered; or they stay, excluded until somebody lifts that.",
        ),
    ] = True,
    hook: HookOption = "",
    throttle: ThrottleOption = DEFAULT_THROTTLE_TEXT,
) -> None:
    """Remove brokers: checked, excluded from new replicas, emptied, stopped, unregistered.

    What is on them is planned by Guardian itself, again and again until nothing is left: topics may be created all the
    while. More or fewer brokers later: guardian ticket amend.

    Example: guardian broker remove 4 5 --cluster live --hook by-systemd --dry-run
    """
    ask = Ask(AskKind.REMOVE, tuple(brokers), shutdown=shutdown, hook=hook)
    request.send(cluster, ask, throttle)


@asking
def offline(
    request: Request,
    brokers: BrokersArgument,
    cluster: ClusterOption = "",
    shutdown: Annotated[
        bool, typer.Option("--shutdown/--no-shutdown", help="They are stopped when they lead nothing any more.")
    ] = True,
    hook: HookOption = "",
    accept_unavailable: UnavailableOption = False,
) -> None:
    """Take brokers offline for a while: leaders away, then stopped. Their replicas stay where they are.

    Nothing is healed on them meanwhile. Afterwards: guardian broker online.

    Example: guardian broker offline 4 --cluster live --reason "a new disk"
    """
    ask = Ask(AskKind.OFFLINE, tuple(brokers), shutdown=shutdown, hook=hook, accept_unavailable=accept_unavailable)
    request.send(cluster, ask)


@asking
def online(
    request: Request,
    brokers: BrokersArgument,
    cluster: ClusterOption = "",
    hook: HookOption = "",
    back_within: Annotated[
        str, typer.Option("--back-within", help="They must be back by then, such as 20m. [10m]")
    ] = "",
) -> None:
    """Bring brokers back that were taken offline: started, in sync, and their leaders as before.

    Example: guardian broker online 4 --cluster live
    """
    ask = Ask(AskKind.ONLINE, tuple(brokers), hook=hook, back_within_ms=_duration(back_within))
    request.send(cluster, ask)


@asking
def restart(
    request: Request,
    cluster: ClusterOption = "",
    brokers: Annotated[
        list[int] | None, typer.Argument(help="The brokers' ids.", min=0, show_default="all of the cluster")
    ] = None,
    hook: Annotated[
        str, typer.Option("--hook", help="The hook of the members' configuration that restarts a broker.")
    ] = "",
    controllers: Annotated[
        str, typer.Option("--controllers", help="Controllers too, after the brokers: their ids, separated by commas.")
    ] = "",
    batch: BatchOption = 0,
    back_within: Annotated[
        str, typer.Option("--back-within", help="Each must be back by then, such as 20m. [10m]")
    ] = "",
    accept_unavailable: UnavailableOption = False,
    finalize: Annotated[
        bool,
        typer.Option(
            "--finalize",
            help="When all is restarted, raise Kafka's metadata.version, as after an upgrade. It can't be taken back.",
        ),
    ] = False,
    metadata_version: Annotated[
        int,
        typer.Option(
            "--metadata-version",
            help="The level for --finalize, such as 25; 0: the highest that all brokers and controllers support.",
            min=0,
        ),
    ] = 0,
    accept_trouble: TroubleOption = None,
) -> None:
    """Restart brokers in batches, none of which a partition would miss: leaders away, restarted, in sync, leaders back.

    Stops (PAUSED) at the first sign of harm. The hook may also upgrade: whatever it does, the broker must come back.
    Brokers whose replicas are out of sync at the start go first: their restart may be the cure.
    Without --finalize metadata.version stays as it is, and brokers can go back to the version that they had.

    Example: guardian broker restart --cluster live --hook by-systemd --dry-run
    """
    with connect(request.endpoints) as client:
        nodes = tuple(brokers or [broker.id for broker in registered(client.list_clusters(), cluster).brokers])
    accepted = accept_trouble or []
    ask = Ask(
        AskKind.RESTART,
        nodes,
        controllers=_ids(controllers),
        hook=hook,
        batch_limit=batch,
        accept_unavailable=accept_unavailable,
        back_within_ms=_duration(back_within),
        finalize=finalize,
        metadata_version=metadata_version,
        accepted_partitions=tuple(name for name in accepted if not name.isdecimal()),
        accepted_brokers=tuple(int(name) for name in accepted if name.isdecimal()),
    )
    request.send(cluster, ask)


def _show_rehearsal(ticket: Ticket, plan: Plan) -> None:
    echo(f"A ticket of kind {ticket.kind} can run on cluster {ticket.cluster}; nothing was stored.")
    if plan.moves:
        show_plan(plan)
        return
    for note in plan.notes:
        echo(f"- {note}")


def _duration(text: str) -> int:
    return parse_duration_ms("--back-within", text) if text else 0


def _ids(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise InvalidInput(f"controllers has {word!r}: use ids, separated by commas, such as 100,101")
    return tuple(map(int, words))
