"""`guardian ticket`: plans carried through approval, watched and, if need be, paused, cancelled or rolled back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from guardian.cli.exits import NO
from guardian.cli.operations import show_operation
from guardian.cli.options import (
    DEFAULT_THROTTLE_TEXT,
    EndpointsOption,
    ExpiresOption,
    KeyOption,
    OnlyClusterOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    cluster_of,
    connect,
    expires_in_ms,
    now_ms,
)
from guardian.cli.output_more import more_of
from guardian.cli.paging import Page, paged
from guardian.cli.plan.tables import describe_move, show_plan
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.cli.ticket_acting import Act, Decide, WatchOption, acting, acting_at_length
from guardian.cli.ticket_telling import GOOD_ENDS, follow, made_as_dict, progress, said, say, throttle_of, with_progress
from guardian.client import GuardianClient
from guardian.core import foreign, previewing, progressing, rolling_back, ticketing
from guardian.core.approving import expires_at_ms
from guardian.core.describing_tasks import asks_of
from guardian.core.kinds.registry import HAVE_SIZE
from guardian.core.operations.asking import describe_ask
from guardian.core.operations.step import amending
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.kafka import reassignment_json
from guardian.model.approval import ApprovalRule, load_approvals
from guardian.model.execution import Execution
from guardian.model.log_dirs import names_of, shortened
from guardian.model.plan import Plan
from guardian.model.preview import Preview
from guardian.model.progress import Progress
from guardian.model.tasks import ReplicationFactor
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.units import human_bytes, human_duration, parse_rate
from guardian.wire.approvals import approvals_to_proto
from guardian.wire.previews import preview_to_proto, progress_to_proto
from guardian.wire.tickets import execution_to_proto, ticket_to_proto

app = typer.Typer(help="Submit, approve, watch, pause, cancel and roll back tickets.", no_args_is_help=True)

TicketArgument = Annotated[str, typer.Argument(help="The ticket's id.")]

_COLUMNS = (
    "TICKET", "CLUSTER", "KIND", "STATE", "MOVES", "COPY", "LEFT", "ETA", "THROTTLE", "AUTHOR", "CREATED", "UPDATED",
    "PLAN", "WHY",
)  # fmt: skip
_NO_THROTTLE = "none"


class _Rates(TypedDict):
    throttle: int
    max_throttle: int
    unthrottled: bool


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
MaxThrottleOption = Annotated[
    str,
    typer.Option(
        "--max-throttle", metavar="RATE", help="Up to which it rises where brokers have room. \\[as the throttle]"
    ),
]
ChangeFactorOption = Annotated[
    bool, typer.Option("--change-replication-factor", help="The file gives more replicas, or fewer, on purpose.")
]


@app.command("submit")
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
            print(f"{plan} can run on cluster {cluster}; nothing was stored.")
            show_plan(resolved)


@app.command("list")
@paged
def list_(
    page: Page,
    cluster: OnlyClusterOption = "",
    states: Annotated[
        list[str] | None,
        typer.Option("--state", help="Only those in this state, such as pending; may be repeated.", show_default="all"),
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="Only those of this kind.", show_default="all")] = "",
) -> None:
    """List tickets, newest first.

    Example: guardian ticket list --cluster live --state pending --state running
    """
    with connect(page.endpoints) as client:
        found = client.ticket_pages(cluster, [_state(text) for text in states or ()], kind, page.after, page.size)
        tickets = page.of(found, lambda each: each[0].id)
    if page.output is Output.JSON:
        print_json([with_progress(ticket, progress) for ticket, progress in tickets])
        page.say_more()
        return
    print_table(
        _COLUMNS,
        [
            (
                ticket.id,
                ticket.cluster,
                ticket.kind,
                ticket.state.name,
                str(ticket.moves),
                human_bytes(ticket.bytes_to_copy),
                human_bytes(progress.left_bytes) if progress else "",
                _eta(progress),
                f"{human_bytes(ticket.throttle)}/s" if ticket.throttle else "none",
                ticket.author,
                human_time(ticket.created_at_ms),
                human_time(ticket.updated_at_ms),
                ticket.plan_hash[:12] or "-",
                ticket.history[-1].reason if ticket.history else "",
            )
            for ticket, progress in tickets
        ],
        right=("MOVES", "COPY", "LEFT", "ETA", "THROTTLE"),
        wide=("THROTTLE", "CREATED", "PLAN"),
    )
    page.say_more()


def _state(text: str) -> TicketState:
    name = text.upper().replace("-", "_")
    if name not in TicketState.__members__:
        known = ", ".join(state.name.lower() for state in TicketState)
        raise InvalidInput(f"--state is {text!r}: use one of {known}")
    return TicketState[name]


@app.command("show")
def show(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show a ticket: its plan, history and what each partition waits for.

    Example: guardian ticket show t-1a2b3c4d
    """
    with connect(endpoints) as client:
        ticket, execution = client.ticket(ticket_id)
        plan = client.plan(ticket.plan_hash) if ticket.plan_hash else None
        waits = _waits(client, ticket) if execution is None and ticket.state is TicketState.APPROVED else ""
    far = progressing.progress(ticket, execution, now_ms())
    if output is Output.JSON:
        print_json(
            {
                "ticket": as_dict(ticket_to_proto(ticket)),
                "execution": as_dict(execution_to_proto(execution)) if execution else None,
                "progress": as_dict(progress_to_proto(ticket.id, far)),
                "waits": waits,
                "asks": asks_of(plan) if plan is not None else (),
            }
        )
        return
    print(f"Ticket {ticket.id}: {ticket.kind} of cluster {ticket.cluster}, {ticket.state.name}")
    print(f"{throttle_of(ticket)}. Author {ticket.author}.{_expiry(ticket)}")
    for line in ticket.evidence.splitlines():
        print(f"Because of {line}")
    for sentence in asks_of(plan) if plan is not None else ():
        print(f"Asks: {sentence}")
    if ticket.ask is not None:
        print(describe_ask(ticket.ask))
    print()
    print_table(
        ("WHEN", "STATE", "WHO", "WHY"),
        [(human_time(past.at_ms), past.state.name, past.actor, past.reason) for past in ticket.history],
    )
    print()
    if execution is None:
        if waits:
            print(f"Now {waits}.\n")
        if plan is not None:
            show_plan(plan)
        return
    names = names_of(plan.moves if plan is not None else [task.move for task in execution.tasks])
    print(shortened(progress(ticket, execution, now_ms()), names))
    if execution.operation is not None:
        show_operation(execution.operation)
    print_table(
        ("PARTITION", "MOVE", "STATE", "COPY", "DETAIL"),
        [
            (
                str(task.move.partition),
                describe_move(task.move, names),
                task.state.name,
                human_bytes(task.move.bytes_to_copy),
                shortened(task.detail, names),
            )
            for task in execution.tasks
        ],
        right=("COPY",),
        more=more_of(execution.tasks, "copied_bytes", "started_at_ms", "ended_at_ms", "move.goal", "is_adopted"),
    )


def _waits(client: GuardianClient, ticket: Ticket) -> str:
    """Return what keeps an approved plan from beginning; empty where nothing does, or nobody can tell."""
    try:
        return client.preview(ticket.id).first
    except ClusterUnavailable as error:
        return f"it waits: {error}"
    except GuardianError:
        return ""


@app.command("approve")
@acting_at_length
def approve(
    act: Act,
    ticket_id: TicketArgument,
    revision: Annotated[
        int | None, typer.Option("--revision", help="Only what the ticket asks for at this revision, as shown.", min=0)
    ] = None,
) -> None:
    """Approve a pending ticket: the executor takes it up. --dry-run shows each request that Kafka would get.

    Example: guardian ticket approve t-1a2b3c4d --reason "traffic is low"
    """
    with connect(act.endpoints) as client:
        ticket, execution = client.ticket(ticket_id)
        if ticket.ask is None and revision is not None:
            raise InvalidInput(f"--revision is {revision}, but ticket {ticket_id} carries a plan: leave it out")
        if ticket.ask is not None:
            typer.echo(describe_ask(ticket.ask), err=act.output is Output.JSON)
            revision = ticket.ask.revision if revision is None else revision
        if act.dry_run:
            _rehearse(client, act, (ticket, execution), partial(ticketing.approve, policy=client.approvals()))
            return
        act.tell(client, client.approve(ticket_id, actor(), act.reason, expected_ask_revision=revision))


@app.command("reject")
@acting
def reject(act: Act, ticket_id: TicketArgument) -> None:
    """Reject a pending ticket.

    Example: guardian ticket reject t-1a2b3c4d --reason "after the release"
    """
    act.carry_out(ticket_id, GuardianClient.reject, ticketing.reject)


@app.command("cancel")
@acting_at_length
def cancel(act: Act, ticket_id: TicketArgument) -> None:
    """Cancel a ticket: what is on its way goes back, what is done stays, throttles are removed.

    Example: guardian ticket cancel t-1a2b3c4d --reason "consumers lag"
    """
    act.carry_out(ticket_id, GuardianClient.cancel, ticketing.cancel)


@app.command("pause")
@acting
def pause(act: Act, ticket_id: TicketArgument) -> None:
    """Pause a running ticket: what copies goes on to its end, nothing new starts, throttles go when nothing moves.

    Example: guardian ticket pause t-1a2b3c4d --reason "the evening peak"
    """
    act.carry_out(ticket_id, GuardianClient.pause, ticketing.pause)


@app.command("resume")
@acting_at_length
def resume(act: Act, ticket_id: TicketArgument) -> None:
    """Go on with a paused ticket.

    Example: guardian ticket resume t-1a2b3c4d
    """
    act.carry_out(ticket_id, GuardianClient.resume, ticketing.resume)


@app.command("amend")
@acting
def amend(
    act: Act,
    ticket_id: TicketArgument,
    add: Annotated[list[int] | None, typer.Option("--add", help="A broker that the ticket shall take too.")] = None,
    drop: Annotated[list[int] | None, typer.Option("--drop", help="A broker that it shall leave alone.")] = None,
) -> None:
    """Give a ticket of brokers (guardian broker) more of them, or fewer, also while it runs.

    A broker that is dropped keeps what it has by then, and loses its exclusion.

    Example: guardian ticket amend t-1a2b3c4d --add 6 --drop 4 --reason "rack b is needed"
    """
    if not add and not drop:
        raise InvalidInput("give --add BROKER or --drop BROKER, or both")
    with connect(act.endpoints) as client:
        found = client.ticket(ticket_id)
        ticket = found[0]
        if ticket.ask is None:
            raise InvalidInput(f"ticket {ticket_id} carries a plan and asks for no brokers: make another ticket")
        asked = set(ticket.ask.brokers)
        for name, wrong in (("--add", asked & set(add or ())), ("--drop", set(drop or ()) - asked)):
            if wrong:
                there = ", ".join(map(str, ticket.ask.brokers))
                raise InvalidInput(f"{name} is {min(wrong)}, but ticket {ticket_id} asks for {there}: leave it out")
        ask = replace(ticket.ask, brokers=tuple(sorted(asked - set(drop or ()) | set(add or ()))))
        if act.dry_run:
            decide = partial(amending, execution=found[1], ask=ask, policy=client.approvals())
            act.rehearse(found, decide, client.preview_amended(ticket, ask).remark)
            return
        act.tell(client, client.amend(ticket, ask, actor(), act.reason))


@app.command("throttle")
@acting
def set_throttle(
    act: Act,
    ticket_id: TicketArgument,
    rate: Annotated[str, typer.Argument(help="Bytes/s per broker for copies, such as 50MB.")],
    max_throttle: MaxThrottleOption = "",
) -> None:
    """Change a ticket's throttle, also while it runs: it holds from the executor's next look on.

    Anybody may slow it. Above what was approved only those bring it who may approve it; before that, its author.

    Example: guardian ticket throttle t-1a2b3c4d 20MB --reason "the evening peak"
    """
    asked = parse_rate("RATE", rate)
    most = parse_rate("--max-throttle", max_throttle) if max_throttle else 0
    with connect(act.endpoints) as client:
        if act.dry_run:
            found = client.ticket(ticket_id)
            ticketing.max_throttle_asked(most, ticketing.throttle_asked(asked))
            would = f"{throttle_of(found[0])} -> {human_bytes(asked)}/s"
            decided = partial(ticketing.set_throttle, throttle=asked, max_throttle=most, policy=client.approvals())
            act.rehearse(found, decided, would)
            return
        changed = client.set_throttle(ticket_id, asked, actor(), act.reason, most)
    if act.output is Output.JSON:
        say(changed, act.output)
    else:
        print(f"Ticket {changed.id} is {changed.state.name}: {throttle_of(changed).lower()}.")


@app.command("adopt")
@acting_at_length
def adopt(act: Act, ticket_id: TicketArgument) -> None:
    """Make what another tool moves on the cluster the paused ticket's own: throttled, watched, cancelled with it.

    Example: guardian ticket adopt t-1a2b3c4d --reason "the night shift's file"
    """
    with connect(act.endpoints) as client:
        if act.dry_run:
            ticket, execution = client.ticket(ticket_id)
            foreign.adopted(ticket, execution, now_ms())
            _rehearse_others(act, ticket, execution, TicketState.RUNNING)
            return
        act.tell(client, client.adopt(ticket_id, actor(), act.reason))


@app.command("wait")
@acting_at_length
def wait(act: Act, ticket_id: TicketArgument) -> None:
    """Leave what another tool moves on the cluster to it: the paused ticket goes on by itself when that is over.

    Example: guardian ticket wait t-1a2b3c4d
    """
    with connect(act.endpoints) as client:
        if act.dry_run:
            ticket, execution = client.ticket(ticket_id)
            foreign.awaited(ticket, execution)
            _rehearse_others(act, ticket, execution, TicketState.PAUSED)
            return
        act.tell(client, client.wait(ticket_id, actor(), act.reason))


@app.command("rollback")
@acting_at_length
def rollback(act: Act, ticket_id: TicketArgument) -> None:
    """Take back a ticket that is over: every replica goes to where it was, in the order of before.

    --dry-run shows first what that would send. To stop halfway: guardian ticket cancel.

    Example: guardian ticket rollback t-1a2b3c4d --reason "consumers read across the line now"
    """
    with connect(act.endpoints) as client:
        if act.dry_run:
            found = client.ticket(ticket_id)
            decide = partial(ticketing.roll_back, policy=client.approvals())
            if rolling_back.is_rollable(found[0].state):
                _rehearse_with_requests(client, act, found, decide)
            else:
                act.rehearse(found, decide)
            return
        act.tell(client, client.roll_back(ticket_id, actor(), act.reason))


def _rehearse(client: GuardianClient, act: Act, found: tuple[Ticket, Execution | None], decide: Decide) -> None:
    """The requests too, where the ticket is no more than moves: as a member finds them on the cluster as it is."""
    if previewing.is_moves_only(found[0]):
        _rehearse_with_requests(client, act, found, decide)
    else:
        act.rehearse(found, decide)


def _rehearse_with_requests(
    client: GuardianClient, act: Act, found: tuple[Ticket, Execution | None], decide: Decide
) -> None:
    """Raises where the member would refuse it as the cluster is."""
    shown = client.preview(found[0].id)
    if act.output is not Output.JSON:
        _show_preview(shown, act.output)
    act.rehearse(found, decide, preview=as_dict(preview_to_proto(shown)))


def _rehearse_others(act: Act, ticket: Ticket, execution: Execution | None, state: TicketState) -> None:
    work = foreign.describe(execution.foreign) if execution is not None else ""
    act.rehearse((ticket, execution), lambda _, who, why, at_ms: TicketTransition(state, at_ms, who, why), work)


@app.command("preview")
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
    _show_preview(found, output)


def _show_preview(found: Preview, output: Output) -> None:
    if output is Output.JSON:
        print_json(as_dict(preview_to_proto(found)))
        return
    for sentence in found.asks:
        print(f"Asks: {sentence}")
    if found.first:
        print(f"Now {found.first}.\n")
    print_table(
        ("ROUND", "REQUEST", "OF", "WHAT"),
        [
            (str(number), request.api, request.subject, request.change)
            for number, each in enumerate(found.rounds, start=1)
            for request in each.requests
        ],
        right=("ROUND",),
    )
    print(found.remark[:1].upper() + found.remark[1:] + ". Nothing was sent.")


@app.command("approvals")
def approvals(
    check: Annotated[
        Path | None, typer.Option("--check", help="Read this file instead of asking, and say what is wrong with it.")
    ] = None,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show who may approve which tickets, and what is approved without anybody.

    Example: guardian ticket approvals --check approvals.toml
    """
    if check is not None:
        policy = load_approvals(check, HAVE_SIZE)
    else:
        with connect(endpoints) as client:
            policy = client.approvals()
    if output is Output.JSON:
        print_json(as_dict(approvals_to_proto(policy)))
        return
    lasts = human_duration(policy.expires_ms) if policy.expires_ms else "never"
    print(f"Rules of {policy.file or 'no file: the default ones'}. Tickets that wait expire after: {lasts}.")
    print_table(
        ("RULE", "KINDS", "CLUSTERS", "AUTHORS", "APPROVED BY", "UP TO", "WHEN"),
        [
            (
                rule.name,
                ", ".join(rule.kinds),
                ", ".join(rule.clusters),
                ", ".join(rule.authors),
                _approvers(rule),
                _limits(rule),
                f"{', '.join(window.text for window in rule.windows)} ({rule.timezone})" if rule.windows else "always",
            )
            for rule in policy.rules
        ],
        more=more_of(policy.rules, "automatic", "author_may_approve", "max_bytes", "max_moves", "timezone"),
    )


@app.command("watch")
def watch(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Print a line at every change until the ticket is over; exit code 1 unless it succeeded or is rolled back.

    Example: guardian ticket watch t-1a2b3c4d
    """
    with connect(endpoints) as client:
        if follow(client, ticket_id, output) not in GOOD_ENDS:
            raise typer.Exit(NO)


def _expiry(ticket: Ticket) -> str:
    at_ms = expires_at_ms(ticket)
    return f" Expires {human_time(at_ms)}." if at_ms else ""


def _eta(far: Progress | None) -> str:
    return human_duration(far.eta_ms) if far and far.left_bytes and far.eta_ms is not None else ""


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


def _rates(throttle: str, max_throttle: str) -> _Rates:
    given = parse_rate("--throttle", throttle) if throttle not in ("", _NO_THROTTLE) else 0
    return _Rates(
        throttle=given or (0 if throttle else DEFAULT_THROTTLE),
        max_throttle=parse_rate("--max-throttle", max_throttle) if max_throttle else 0,
        unthrottled=throttle == _NO_THROTTLE,
    )


def _approvers(rule: ApprovalRule) -> str:
    people = f"{', '.join(rule.approvers)}{'' if rule.author_may_approve else ' (not the author)'}"
    return " or ".join(part for part in ("itself" if rule.automatic else "", people if rule.approvers else "") if part)


def _limits(rule: ApprovalRule) -> str:
    limits = (
        human_bytes(rule.max_bytes) if rule.max_bytes else "",
        f"{rule.max_moves} moves" if rule.max_moves else "",
    )
    return ", ".join(filter(None, limits)) or "any size"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"plan {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"plan {path} is not text: give the JSON of kafka-reassign-partitions") from None
