"""`guardian ticket`: plans carried through approval, watched and, if need be, paused, cancelled or rolled back."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.exits import NO
from guardian.cli.operations import describe_ask, show_operation
from guardian.cli.options import EndpointsOption, Output, OutputOption, ReasonOption, actor, connect, parse_rate
from guardian.cli.plan.tables import describe_move, show_plan
from guardian.cli.render import as_dict, human_time, print_json, print_json_line, print_table
from guardian.client import GuardianClient
from guardian.core import progressing
from guardian.core.approving import expires_at_ms
from guardian.core.validating import CHANGES_REPLICATION_FACTOR
from guardian.errors import InvalidInput
from guardian.kafka import reassignment_json
from guardian.model.approval import ApprovalRule, load_approvals
from guardian.model.execution import Execution
from guardian.model.log_dirs import short_log_dirs, shortened
from guardian.model.preview import Preview
from guardian.model.progress import Progress
from guardian.model.ticket import Ticket, TicketState
from guardian.model.units import human_bytes, human_duration, parse_duration_ms
from guardian.wire.approvals import approvals_to_proto
from guardian.wire.plans import plan_to_proto
from guardian.wire.previews import preview_to_proto, progress_to_proto
from guardian.wire.tickets import execution_to_proto, ticket_to_proto

app = typer.Typer(help="Submit, approve, watch, pause, cancel and roll back tickets.", no_args_is_help=True)

TicketArgument = Annotated[str, typer.Argument(help="The ticket's id.")]

_NEXT = {
    TicketState.DRAFT: "Next: guardian ticket submit {id}",
    TicketState.PENDING: "Next: guardian ticket approve {id}",
    TicketState.APPROVED: "Next: guardian ticket watch {id}",
    TicketState.PAUSED: "Next: guardian ticket resume {id}",
    TicketState.ROLLING_BACK: "Next: guardian ticket watch {id}",
}


_COLUMNS = (
    "TICKET", "CLUSTER", "KIND", "STATE", "MOVES", "COPY", "LEFT", "ETA", "THROTTLE", "AUTHOR", "CREATED", "UPDATED",
    "PLAN", "WHY",
)  # fmt: skip
_NO_THROTTLE = "none"
_GOOD_ENDS = (TicketState.SUCCEEDED, TicketState.ROLLED_BACK)

RehearseOption = Annotated[bool, typer.Option("--dry-run", help="Show each request that Kafka would get; do nothing.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Then follow it until it is over.")]


@app.command("submit")
def submit(
    ticket_id: Annotated[str, typer.Argument(metavar="[TICKET]", help="A draft ticket's id.")] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Or a file of kafka-reassign-partitions; needs --cluster.")
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The cluster of the file.")] = "",
    throttle: Annotated[str, typer.Option(help="Bytes/s per broker for copies, such as 50MB; or none.")] = "50MB",
    max_throttle: Annotated[
        str, typer.Option("--max-throttle", help="Up to which it rises where brokers have room. [as --throttle]")
    ] = "",
    change_replication_factor: Annotated[
        bool, typer.Option("--change-replication-factor", help="The file gives more replicas, or fewer, on purpose.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file against the cluster, store nothing.")
    ] = False,
    key: Annotated[
        str, typer.Option("--idempotency-key", help="The same key again answers with the ticket that it made.")
    ] = "",
    expires: Annotated[
        str, typer.Option("--expires", help="Not started after so long it expires: 12h, 7d, never. [the policy's]")
    ] = "",
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
    with connect(endpoints) as client:
        if not plan:
            _said(client, client.submit(ticket_id, actor(), reason), watch, output)
            return
        if not cluster:
            raise InvalidInput("--plan needs --cluster: the file does not name its cluster")
        moves = reassignment_json.read(_read(plan), cluster)
        if change_replication_factor:
            moves = replace(moves, kind=CHANGES_REPLICATION_FACTOR)
        ticket, resolved = client.create_ticket(
            moves,
            author=actor(),
            throttle=0 if throttle == _NO_THROTTLE else parse_rate(throttle),
            submit=True,
            reason=reason,
            idempotency_key=key,
            dry_run=dry_run,
            expires_in_ms=_expires_in_ms(expires),
            max_throttle=parse_rate(max_throttle) if max_throttle else 0,
            unthrottled=throttle == _NO_THROTTLE,
        )
        if not dry_run:
            _said(client, ticket, watch, output)
        elif output is Output.JSON:
            print_json({"ticket": as_dict(ticket_to_proto(ticket)), "plan": as_dict(plan_to_proto(resolved))})
        else:
            print(f"{plan} can run on cluster {cluster}; nothing was stored.")
            show_plan(resolved)


@app.command("list")
def list_(
    cluster: Annotated[str, typer.Option("--cluster", help="Only this cluster's.")] = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List tickets, newest first.

    Example: guardian ticket list --cluster live
    """
    with connect(endpoints) as client:
        tickets = client.tickets_with_progress(cluster)
    if output is Output.JSON:
        print_json([_as_dict(ticket, progress) for ticket, progress in tickets])
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


@app.command("show")
def show(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show a ticket: its plan, history and what each partition waits for.

    Example: guardian ticket show t-1a2b3c4d
    """
    with connect(endpoints) as client:
        ticket, execution = client.ticket(ticket_id)
        plan = client.plan(ticket.plan_hash) if ticket.plan_hash else None
    far = progressing.progress(ticket, execution, now_ms())
    if output is Output.JSON:
        print_json(
            {
                "ticket": as_dict(ticket_to_proto(ticket)),
                "execution": as_dict(execution_to_proto(execution)) if execution else None,
                "progress": as_dict(progress_to_proto(ticket.id, far)),
            }
        )
        return
    print(f"Ticket {ticket.id}: {ticket.kind} of cluster {ticket.cluster}, {ticket.state.name}")
    print(f"{_throttle(ticket)}. Author {ticket.author}.{_expiry(ticket)}")
    for line in ticket.evidence.splitlines():
        print(f"Because of {line}")
    if ticket.ask is not None:
        print(describe_ask(ticket.ask))
    print()
    print_table(
        ("WHEN", "STATE", "WHO", "WHY"),
        [(human_time(past.at_ms), past.state.name, past.actor, past.reason) for past in ticket.history],
    )
    print()
    if execution is None:
        if plan is not None:
            show_plan(plan)
        return
    moves = plan.moves if plan is not None else [task.move for task in execution.tasks]
    names = short_log_dirs(place for move in moves for place in (*move.original, *move.target))
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
    )


@app.command("approve")
def approve(
    ticket_id: TicketArgument,
    revision: Annotated[
        int | None, typer.Option("--revision", help="Only what the ticket asks for at this revision, as shown.", min=0)
    ] = None,
    reason: ReasonOption = "",
    dry_run: RehearseOption = False,
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Approve a pending ticket: the executor takes it up.

    Example: guardian ticket approve t-1a2b3c4d --reason "traffic is low"
    """
    with connect(endpoints) as client:
        if dry_run:
            _show_preview(client.preview(ticket_id), output)
            return
        ticket, _ = client.ticket(ticket_id)
        if ticket.ask is not None:
            typer.echo(describe_ask(ticket.ask), err=output is Output.JSON)
            revision = ticket.ask.revision if revision is None else revision
        elif revision is not None:
            raise InvalidInput(f"--revision is {revision}, but ticket {ticket_id} carries a plan: leave it out")
        approved = client.approve(ticket_id, actor(), reason, expected_ask_revision=revision)
        _said(client, approved, watch, output)


@app.command("reject")
def reject(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Reject a pending ticket.

    Example: guardian ticket reject t-1a2b3c4d --reason "after the release"
    """
    with connect(endpoints) as client:
        say(client.reject(ticket_id, actor(), reason), output)


@app.command("cancel")
def cancel(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Cancel a ticket: what is on its way goes back, what is done stays, throttles are removed.

    Example: guardian ticket cancel t-1a2b3c4d --reason "consumers lag"
    """
    with connect(endpoints) as client:
        _said(client, client.cancel(ticket_id, actor(), reason), watch, output)


@app.command("pause")
def pause(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Pause a running ticket: what copies goes on to its end, nothing new starts, throttles go when nothing moves.

    Example: guardian ticket pause t-1a2b3c4d --reason "the evening peak"
    """
    with connect(endpoints) as client:
        say(client.pause(ticket_id, actor(), reason), output)


@app.command("resume")
def resume(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Go on with a paused ticket.

    Example: guardian ticket resume t-1a2b3c4d
    """
    with connect(endpoints) as client:
        _said(client, client.resume(ticket_id, actor(), reason), watch, output)


@app.command("amend")
def amend(
    ticket_id: TicketArgument,
    add: Annotated[list[int] | None, typer.Option("--add", help="A broker that the ticket shall take too.")] = None,
    drop: Annotated[list[int] | None, typer.Option("--drop", help="A broker that it shall leave alone.")] = None,
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a ticket of brokers (guardian brokers) more of them, or fewer, also while it runs.

    A broker that is dropped keeps what it has by then, and loses its exclusion.

    Example: guardian ticket amend t-1a2b3c4d --add 6 --drop 4 --reason "rack b is needed"
    """
    if not add and not drop:
        raise InvalidInput("give --add BROKER or --drop BROKER, or both")
    with connect(endpoints) as client:
        ticket, _ = client.ticket(ticket_id)
        if ticket.ask is None:
            raise InvalidInput(f"ticket {ticket_id} carries a plan and asks for no brokers: make another ticket")
        asked = set(ticket.ask.brokers)
        for name, wrong in (("--add", asked & set(add or ())), ("--drop", set(drop or ()) - asked)):
            if wrong:
                there = ", ".join(map(str, ticket.ask.brokers))
                raise InvalidInput(f"{name} is {min(wrong)}, but ticket {ticket_id} asks for {there}: leave it out")
        brokers = tuple(asked - set(drop or ()) | set(add or ()))
        say(client.amend(ticket, replace(ticket.ask, brokers=brokers), actor(), reason), output)


@app.command("throttle")
def set_throttle(
    ticket_id: TicketArgument,
    rate: Annotated[str, typer.Argument(help="Bytes/s per broker for copies, such as 20MB.")],
    max_rate: Annotated[
        str, typer.Option("--max", help="Up to which it rises where brokers have room. [as the rate]")
    ] = "",
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a ticket's throttle, also while it runs: it holds from the executor's next look on.

    Example: guardian ticket throttle t-1a2b3c4d 20MB --reason "the evening peak"
    """
    most = parse_rate(max_rate) if max_rate else 0
    with connect(endpoints) as client:
        changed = client.set_throttle(ticket_id, parse_rate(rate), actor(), reason, most)
    if output is Output.JSON:
        say(changed, output)
    else:
        print(f"Ticket {changed.id} is {changed.state.name}: {_throttle(changed).lower()}.")


@app.command("adopt")
def adopt(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make what another tool moves on the cluster the paused ticket's own: throttled, watched, cancelled with it.

    Example: guardian ticket adopt t-1a2b3c4d --reason "the night shift's file"
    """
    with connect(endpoints) as client:
        _said(client, client.adopt(ticket_id, actor(), reason), watch, output)


@app.command("wait")
def wait(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Leave what another tool moves on the cluster to it: the paused ticket goes on by itself when that is over.

    Example: guardian ticket wait t-1a2b3c4d
    """
    with connect(endpoints) as client:
        _said(client, client.wait(ticket_id, actor(), reason), watch, output)


@app.command("rollback")
def rollback(
    ticket_id: TicketArgument,
    reason: ReasonOption = "",
    dry_run: RehearseOption = False,
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Take back a ticket that is over: every replica goes to where it was, in the order of before.

    --dry-run shows first what that would send. To stop halfway: guardian ticket cancel.

    Example: guardian ticket rollback t-1a2b3c4d --reason "consumers read across the line now"
    """
    with connect(endpoints) as client:
        if dry_run:
            _show_preview(client.preview(ticket_id), output)
            return
        _said(client, client.roll_back(ticket_id, actor(), reason), watch, output)


@app.command("preview")
def preview(
    ticket_id: Annotated[str, typer.Argument(metavar="[TICKET]", help="A ticket's id.")] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Or a file of kafka-reassign-partitions; needs --cluster.")
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The cluster of the file.")] = "",
    throttle: Annotated[str, typer.Option(help="Bytes/s per broker for copies of the file, such as 50MB.")] = "50MB",
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show each request that would be sent to Kafka, in order, with throttles and list entries; sends nothing.

    Of a ticket that is over it shows what its way back would send. The first round is exact; those after it come in
    this order, as copies end.

    Example: guardian ticket preview --plan moves.json --cluster live --throttle 20MB
    """
    if bool(ticket_id) == bool(plan):
        raise InvalidInput("give either a ticket's id or --plan FILE")
    with connect(endpoints) as client:
        if plan is None:
            found = client.preview(ticket_id)
        elif not cluster:
            raise InvalidInput("--plan needs --cluster: the file does not name its cluster")
        else:
            found = client.preview_plan(reassignment_json.read(_read(plan), cluster), parse_rate(throttle))
    _show_preview(found, output)


def _show_preview(found: Preview, output: Output) -> None:
    if output is Output.JSON:
        print_json(as_dict(preview_to_proto(found)))
        return
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
        policy = load_approvals(check)
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
    )


@app.command("watch")
def watch(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Print a line at every change until the ticket is over; exit code 1 unless it succeeded or is rolled back.

    Example: guardian ticket watch t-1a2b3c4d
    """
    with connect(endpoints) as client:
        if _follow(client, ticket_id, output) not in _GOOD_ENDS:
            raise typer.Exit(NO)


def _follow(client: GuardianClient, ticket_id: str, output: Output) -> TicketState:
    """Prints what changes until the ticket is over; how it ended."""
    said = ""
    names: dict[str, str] = {}
    for ticket, execution in client.watch(ticket_id):
        if execution and not names:
            moves = [task.move for task in execution.tasks]
            names = short_log_dirs(place for move in moves for place in (*move.original, *move.target))
        line = shortened(progress(ticket, execution), names)
        if line == said:
            continue
        said, far = line, progressing.progress(ticket, execution, now_ms())
        if output is Output.JSON:
            print_json_line(_as_dict(ticket, far) | {"said": line})
        else:
            print(f"{human_time(now_ms())}  {line}{_left(far)}", flush=True)
    return ticket.state


def progress(ticket: Ticket, execution: Execution | None, at_ms: int = 0) -> str:
    """One line: the state, how much is copied, what the last tick did, and, where the time is given, what is left."""
    if execution is None:
        return f"{ticket.state.name}: {ticket.history[-1].reason if ticket.history else ''}"
    left = _left(progressing.progress(ticket, execution, at_ms)) if at_ms else ""
    return f"{ticket.state.name}, {copied(ticket, execution)}: {execution.note}{left}"


def copied(ticket: Ticket, execution: Execution) -> str:
    """Bytes that have arrived, of all."""
    far = progressing.progress(ticket, execution, 0)
    return f"{human_bytes(far.copied_bytes)} of {human_bytes(far.total_bytes)} copied"


def _throttle(ticket: Ticket) -> str:
    return f"Throttle {human_bytes(ticket.throttle)}/s per broker" if ticket.throttle else "No throttle"


def _expiry(ticket: Ticket) -> str:
    at_ms = expires_at_ms(ticket)
    return f" Expires {human_time(at_ms)}." if at_ms else ""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _left(far: Progress) -> str:
    if far.eta_ms is None or not far.left_bytes:
        return ""
    rate = f" at {human_bytes(far.bytes_per_s)}/s" if far.bytes_per_s else " at least"
    return f"; {human_bytes(far.left_bytes)} left, {human_duration(far.eta_ms)}{rate}"


def _eta(far: Progress | None) -> str:
    return human_duration(far.eta_ms) if far and far.left_bytes and far.eta_ms is not None else ""


def _as_dict(ticket: Ticket, far: Progress | None) -> dict[str, object]:
    shown = as_dict(ticket_to_proto(ticket))
    return shown | {"progress": as_dict(progress_to_proto(ticket.id, far))} if far else shown


def _expires_in_ms(text: str) -> int:
    if text == "never":
        return -1
    return parse_duration_ms("expires", text) if text else 0


def _approvers(rule: ApprovalRule) -> str:
    people = f"{', '.join(rule.approvers)}{'' if rule.author_may_approve else ' (not the author)'}"
    return " or ".join(part for part in ("itself" if rule.automatic else "", people if rule.approvers else "") if part)


def _limits(rule: ApprovalRule) -> str:
    limits = (
        human_bytes(rule.max_bytes) if rule.max_bytes else "",
        f"{rule.max_moves} moves" if rule.max_moves else "",
    )
    return ", ".join(filter(None, limits)) or "any size"


def say(ticket: Ticket, output: Output = Output.TABLE) -> None:
    """The ticket's state, and the command that comes next."""
    if output is Output.JSON:
        print_json(as_dict(ticket_to_proto(ticket)))
    else:
        print(f"Ticket {ticket.id} is {ticket.state.name}. {_NEXT.get(ticket.state, '').format(id=ticket.id)}".rstrip())


def _said(client: GuardianClient, ticket: Ticket, watch: bool, output: Output) -> None:
    """And, if it is to be watched, how it goes on: exit code 1 unless it ends well."""
    if not watch:
        say(ticket, output)
        return
    if output is Output.TABLE:
        say(ticket)
    if _follow(client, ticket.id, output) not in (*_GOOD_ENDS, TicketState.CANCELLED):
        raise typer.Exit(NO)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"plan {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"plan {path} is not text: give the JSON of kafka-reassign-partitions") from None
