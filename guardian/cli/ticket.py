"""`guardian ticket`: plans carried through approval, watched and, if need be, cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.options import EndpointsOption, Output, OutputOption, ReasonOption, actor, connect, parse_rate
from guardian.cli.plan.tables import describe_move, show_plan
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.errors import InvalidInput
from guardian.kafka import reassignment_json
from guardian.model.execution import Execution, TaskState
from guardian.model.log_dirs import short_log_dirs, shortened
from guardian.model.ticket import Ticket, TicketState
from guardian.model.units import human_bytes
from guardian.wire.tickets import execution_to_proto, ticket_to_proto

app = typer.Typer(help="Submit, approve, watch and cancel tickets.", no_args_is_help=True)

TicketArgument = Annotated[str, typer.Argument(help="The ticket's id.")]

_NEXT = {
    TicketState.DRAFT: "Next: guardian ticket submit {id}",
    TicketState.PENDING: "Next: guardian ticket approve {id}",
    TicketState.APPROVED: "Next: guardian ticket watch {id}",
}


@app.command("submit")
def submit(
    ticket_id: Annotated[str, typer.Argument(metavar="[TICKET]", help="A draft ticket's id.")] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Or a file of kafka-reassign-partitions; needs --cluster.")
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The cluster of the file.")] = "",
    throttle: Annotated[str, typer.Option(help="Bytes/s per broker for copies, such as 50MB.")] = "50MB",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file against the cluster, store nothing.")
    ] = False,
    key: Annotated[
        str, typer.Option("--idempotency-key", help="The same key again answers with the ticket that it made.")
    ] = "",
    reason: ReasonOption = "",
    endpoints: EndpointsOption = "",
) -> None:
    """Ask for approval of a draft, or of a reassignment file.

    Example: guardian ticket submit --plan moves.json --cluster live --dry-run
    """
    if bool(ticket_id) == bool(plan):
        raise InvalidInput("give either a draft ticket's id or --plan FILE")
    with connect(endpoints) as client:
        if not plan:
            _say(client.submit(ticket_id, actor(), reason))
            return
        if not cluster:
            raise InvalidInput("--plan needs --cluster: the file does not name its cluster")
        ticket, resolved = client.create_ticket(
            reassignment_json.read(_read(plan), cluster),
            author=actor(),
            throttle=parse_rate(throttle),
            submit=True,
            reason=reason,
            idempotency_key=key,
            dry_run=dry_run,
        )
        if dry_run:
            print(f"{plan} can run on cluster {cluster}; nothing was stored.")
            show_plan(resolved)
            return
        _say(ticket)


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
        tickets = client.tickets(cluster)
    if output is Output.JSON:
        print_json([as_dict(ticket_to_proto(ticket)) for ticket in tickets])
        return
    print_table(
        ("TICKET", "CLUSTER", "KIND", "STATE", "MOVES", "COPY", "AUTHOR", "UPDATED", "WHY"),
        [
            (
                ticket.id,
                ticket.cluster,
                ticket.kind,
                ticket.state.name,
                str(ticket.moves),
                human_bytes(ticket.bytes_to_copy),
                ticket.author,
                human_time(ticket.updated_at_ms),
                ticket.history[-1].reason if ticket.history else "",
            )
            for ticket in tickets
        ],
        right=("MOVES", "COPY"),
    )


@app.command("show")
def show(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show a ticket: its plan, history and what each partition waits for.

    Example: guardian ticket show t-1a2b3c4d
    """
    with connect(endpoints) as client:
        ticket, execution = client.ticket(ticket_id)
        plan = client.plan(ticket.plan_hash)
    if output is Output.JSON:
        print_json(
            {
                "ticket": as_dict(ticket_to_proto(ticket)),
                "execution": as_dict(execution_to_proto(execution)) if execution else None,
            }
        )
        return
    print(f"Ticket {ticket.id}: {ticket.kind} of cluster {ticket.cluster}, {ticket.state.name}")
    print(f"Throttle {human_bytes(ticket.throttle)}/s per broker. Author {ticket.author}.")
    print()
    print_table(
        ("WHEN", "STATE", "WHO", "WHY"),
        [(human_time(past.at_ms), past.state.name, past.actor, past.reason) for past in ticket.history],
    )
    print()
    if execution is None:
        show_plan(plan)
        return
    names = short_log_dirs(place for move in plan.moves for place in (*move.original, *move.target))
    print(shortened(progress(ticket, execution), names))
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
def approve(ticket_id: TicketArgument, reason: ReasonOption = "", endpoints: EndpointsOption = "") -> None:
    """Approve a pending ticket: the executor takes it up.

    Example: guardian ticket approve t-1a2b3c4d --reason "traffic is low"
    """
    with connect(endpoints) as client:
        _say(client.approve(ticket_id, actor(), reason))


@app.command("reject")
def reject(ticket_id: TicketArgument, reason: ReasonOption = "", endpoints: EndpointsOption = "") -> None:
    """Reject a pending ticket.

    Example: guardian ticket reject t-1a2b3c4d --reason "after the release"
    """
    with connect(endpoints) as client:
        _say(client.reject(ticket_id, actor(), reason))


@app.command("cancel")
def cancel(ticket_id: TicketArgument, reason: ReasonOption = "", endpoints: EndpointsOption = "") -> None:
    """Cancel a ticket: what is on its way goes back, what is done stays, throttles are removed.

    Example: guardian ticket cancel t-1a2b3c4d --reason "consumers lag"
    """
    with connect(endpoints) as client:
        _say(client.cancel(ticket_id, actor(), reason))


@app.command("watch")
def watch(ticket_id: TicketArgument, endpoints: EndpointsOption = "") -> None:
    """Print a line at every change until the ticket is over; exit code 1 unless it succeeded.

    Example: guardian ticket watch t-1a2b3c4d
    """
    said = ""
    with connect(endpoints) as client:
        names: dict[str, str] = {}
        for ticket, execution in client.watch(ticket_id):
            if execution and not names:
                moves = [task.move for task in execution.tasks]
                names = short_log_dirs(place for move in moves for place in (*move.original, *move.target))
            line = shortened(progress(ticket, execution), names)
            if line != said:
                print(f"{human_time(ticket.updated_at_ms)}  {line}", flush=True)
                said = line
    if ticket.state is not TicketState.SUCCEEDED:
        raise typer.Exit(1)


def progress(ticket: Ticket, execution: Execution | None) -> str:
    """One line: the state, how much is copied, and what the last tick did."""
    if execution is None:
        return f"{ticket.state.name}: {ticket.history[-1].reason if ticket.history else ''}"
    return f"{ticket.state.name}, {copied(ticket, execution)}: {execution.note}"


def copied(ticket: Ticket, execution: Execution) -> str:
    """Bytes of the moves that are done, of all."""
    done = sum(task.move.bytes_to_copy for task in execution.tasks if task.state is TaskState.DONE)
    return f"{human_bytes(done)} of {human_bytes(ticket.bytes_to_copy)} copied"


def _say(ticket: Ticket) -> None:
    print(f"Ticket {ticket.id} is {ticket.state.name}. {_NEXT.get(ticket.state, '').format(id=ticket.id)}".rstrip())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise InvalidInput(f"plan {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"plan {path} is not text: give the JSON of kafka-reassign-partitions") from None
