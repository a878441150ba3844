"""How a ticket is told of: what it is at and what comes next, in a line or as JSON, and again until it is over."""

from __future__ import annotations

import typer

from guardian.cli.exits import NO
from guardian.cli.options import Output, now_ms
from guardian.cli.render import as_dict, human_time, print_json, print_json_line
from guardian.client import GuardianClient
from guardian.core import progressing
from guardian.model.execution import Execution
from guardian.model.log_dirs import names_of, shortened
from guardian.model.plan import Plan
from guardian.model.progress import Progress
from guardian.model.ticket import Ticket, TicketState
from guardian.model.units import human_bytes, human_duration
from guardian.wire.plans import plan_to_proto
from guardian.wire.previews import progress_to_proto
from guardian.wire.tickets import ticket_to_proto

_NEXT = {
    TicketState.DRAFT: "Next: guardian ticket submit {id}",
    TicketState.PENDING: "Next: guardian ticket approve {id}",
    TicketState.APPROVED: "Next: guardian ticket watch {id}",
    TicketState.PAUSED: "Next: guardian ticket resume {id}",
    TicketState.ROLLING_BACK: "Next: guardian ticket watch {id}",
}
GOOD_ENDS = (TicketState.SUCCEEDED, TicketState.ROLLED_BACK)


def say(ticket: Ticket, output: Output = Output.TABLE) -> None:
    """The ticket's state, and the command that comes next."""
    if output is Output.JSON:
        print_json(as_dict(ticket_to_proto(ticket)))
    else:
        print(f"Ticket {ticket.id} is {ticket.state.name}. {_NEXT.get(ticket.state, '').format(id=ticket.id)}".rstrip())


def made_as_dict(ticket: Ticket | None, plan: Plan | None) -> dict[str, object]:
    """Return the answer to what makes a ticket; None where it is not stored, or has no plan."""
    return {
        "ticket": as_dict(ticket_to_proto(ticket)) if ticket else None,
        "plan": as_dict(plan_to_proto(plan)) if plan else None,
    }


def said(client: GuardianClient, ticket: Ticket, watch: bool, output: Output) -> None:
    """And, if it is to be watched, how it goes on: exit code 1 unless it ends well."""
    if not watch:
        say(ticket, output)
        return
    if output is Output.TABLE:
        say(ticket)
    if follow(client, ticket.id, output) not in (*GOOD_ENDS, TicketState.CANCELLED):
        raise typer.Exit(NO)


def follow(client: GuardianClient, ticket_id: str, output: Output) -> TicketState:
    """Prints what changes until the ticket is over; how it ended."""
    before = ""
    names: dict[str, str] = {}
    for ticket, execution in client.watch(ticket_id):
        if execution and not names:
            names = names_of(task.move for task in execution.tasks)
        line = shortened(progress(ticket, execution), names)
        if line == before:
            continue
        before, far = line, progressing.progress(ticket, execution, now_ms())
        if output is Output.JSON:
            print_json_line(with_progress(ticket, far) | {"said": line})
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


def throttle_of(ticket: Ticket) -> str:
    return f"Throttle {human_bytes(ticket.throttle)}/s per broker" if ticket.throttle else "No throttle"


def with_progress(ticket: Ticket, far: Progress | None) -> dict[str, object]:
    shown = as_dict(ticket_to_proto(ticket))
    return shown | {"progress": as_dict(progress_to_proto(ticket.id, far))} if far else shown


def _left(far: Progress) -> str:
    if far.eta_ms is None or not far.left_bytes:
        return ""
    rate = f" at {human_bytes(far.bytes_per_s)}/s" if far.bytes_per_s else " at least"
    return f"; {human_bytes(far.left_bytes)} left, {human_duration(far.eta_ms)}{rate}"
