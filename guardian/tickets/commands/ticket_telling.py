"""How a ticket is told of: what it is at, what comes next and what a preview shows, in lines or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from guardian.cli.exits import NO
from guardian.cli.options import Output, now_ms
from guardian.cli.plan_tables import plan_as_dict
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_json_line, print_table
from guardian.client import GuardianClient
from guardian.model.execution import Execution
from guardian.model.log_dirs import names_of, shortened
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.preview import Preview
from guardian.model.tickets.progress import Progress
from guardian.model.tickets.sequence import where
from guardian.model.units import human_bytes, range_text
from guardian.model.wire.previews import preview_to_proto, progress_to_proto
from guardian.model.wire.tickets import ticket_to_proto
from guardian.tickets.rules import progressing

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
        next_one = "" if ticket.follows_another else _NEXT.get(ticket.state, "").format(id=ticket.id)
        echo(f"Ticket {ticket.id} is {ticket.state.name}{_whole(ticket)}. {next_one}".rstrip())


def _whole(ticket: Ticket) -> str:
    """Return what follows a ticket's state: its place in its sequence, and how large that is."""
    part = ticket.part
    if part is None:
        return ""
    return f", {where(ticket)}: in all {part.moves} moves, {human_bytes(part.bytes_to_copy)} to copy"


def show_parts(parts: Sequence[tuple[Ticket, Progress | None]]) -> None:
    """Print the tickets of a sequence as the one whole that is approved, in the order in which they run."""
    whole = parts[0][0]
    echo(
        f"One plan in {len(parts)} tickets, approved once, one after the other: {whole.approved_moves} moves, "
        f"{human_bytes(whole.approved_bytes)} to copy."
    )
    print_table(
        ("PART", "TICKET", "STATE", "MOVES", "COPY", "LEFT"),
        [
            (
                str(number),
                ticket.id,
                ticket.state.name,
                str(ticket.moves),
                human_bytes(ticket.bytes_to_copy),
                human_bytes(far.left_bytes) if far else "",
            )
            for number, (ticket, far) in enumerate(parts, start=1)
        ],
        right=("PART", "MOVES", "COPY", "LEFT"),
    )


def made_as_dict(ticket: Ticket | None, plan: Plan | None) -> dict[str, object]:
    """Return the answer to what makes a ticket; None where it is not stored, or has no plan."""
    return {
        "ticket": as_dict(ticket_to_proto(ticket)) if ticket else None,
        "plan": plan_as_dict(plan) if plan else None,
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
    """Prints what changes until the ticket, and what follows it in its sequence, is over; how it ended."""
    while True:
        ticket = _follow_one(client, ticket_id, output)
        if ticket.state is not TicketState.SUCCEEDED or ticket.part is None or ticket.part.is_last:
            return ticket.state
        ticket_id = ticket.part.ids[ticket.part.number]


def _follow_one(client: GuardianClient, ticket_id: str, output: Output) -> Ticket:
    before = ""
    names: dict[str, str] = {}
    for ticket, execution in client.watch(ticket_id):
        if execution and not names:
            names = names_of(task.move for task in execution.tasks)
        line = shortened(progress(ticket, execution), names)
        if line == before:
            continue
        before, far = line, client.progress_of(ticket) or progressing.progress(ticket, execution, now_ms())
        if output is Output.JSON:
            print_json_line(with_progress(ticket, far) | {"said": line})
        else:
            place = f"{ticket.id}: " if ticket.part is not None else ""
            echo(f"{human_time(now_ms())}  {place}{line}{_left(far)}")
    return ticket


def progress(ticket: Ticket, execution: Execution | None, far: Progress | None = None) -> str:
    """One line: the state, how much is copied, what the last tick did, and, where that is given, what is left."""
    if execution is None:
        return f"{ticket.state.name}: {ticket.history[-1].reason if ticket.history else ''}"
    left = _left(far) if far is not None else ""
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


def show_preview(found: Preview, output: Output) -> None:
    """Print the requests of a preview, in order, with what comes before them and after."""
    if output is Output.JSON:
        print_json(as_dict(preview_to_proto(found)))
        return
    for sentence in found.asks:
        echo(f"Asks: {sentence}")
    if found.first:
        echo(f"Now {found.first}.")
        echo()
    print_table(
        ("ROUND", "REQUEST", "OF", "WHAT"),
        [
            (str(number), request.api, request.subject, request.change)
            for number, each in enumerate(found.rounds, start=1)
            for request in each.requests
        ],
        right=("ROUND",),
    )
    echo(found.remark[:1].upper() + found.remark[1:] + ". Nothing was sent.")


def _left(far: Progress) -> str:
    if far.least_ms is None or not far.left_bytes:
        return ""
    rate = f", {human_bytes(far.bytes_per_s)}/s so far" if far.bytes_per_s else ""
    return f"; {human_bytes(far.left_bytes)} left, {range_text(far.least_ms, far.most_ms)}{rate}"
