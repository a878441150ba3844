"""`guardian ticket list`, `show`, `watch` and `approvals`: what there is to see, and nothing that changes a ticket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from guardian.cli.exits import NO
from guardian.cli.options import EndpointsOption, OnlyClusterOption, Output, OutputOption, connect, now_ms
from guardian.cli.output_more import more_of
from guardian.cli.paging import Page, paged
from guardian.cli.plan_tables import describe_move, show_plan
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput
from guardian.execution.operations.asking import describe_ask
from guardian.model.execution import Execution
from guardian.model.log_dirs import names_of, shortened
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.approval import ApprovalRule, load_approvals
from guardian.model.tickets.progress import Progress
from guardian.model.tickets.sequence import where
from guardian.model.units import human_bytes, human_duration, range_text
from guardian.model.wire.approvals import approvals_to_proto
from guardian.model.wire.previews import progress_to_proto
from guardian.model.wire.tickets import execution_to_proto, ticket_to_proto
from guardian.tickets.commands.operations import show_operation
from guardian.tickets.commands.ticket_acting import TicketArgument
from guardian.tickets.commands.ticket_telling import (
    GOOD_ENDS,
    follow,
    progress,
    show_parts,
    throttle_of,
    with_progress,
)
from guardian.tickets.kinds.registry import HAVE_SIZE
from guardian.tickets.rules import progressing
from guardian.tickets.rules.approving import expires_at_ms
from guardian.tickets.rules.describing_tasks import asks_of

_COLUMNS = (
    "TICKET", "CLUSTER", "KIND", "STATE", "PART", "MOVES", "COPY", "LEFT", "ETA", "THROTTLE", "AUTHOR", "CREATED",
    "UPDATED", "PLAN", "WHY",
)  # fmt: skip


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
    wanted = [_state(text) for text in states or ()]
    with connect(page.endpoints) as client:

        def ask(token: str, size: int) -> tuple[Sequence[tuple[Ticket, Progress | None]], str]:
            found = client.ticket_page(cluster, wanted, kind, token, size)
            return found.tickets, found.next_token

        tickets = page.rows(ask)
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
                f"{ticket.part.number} of {ticket.part.count}" if ticket.part else "",
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
        wide=("PART", "THROTTLE", "CREATED", "PLAN"),
    )
    page.say_more()


def _state(text: str) -> TicketState:
    name = text.upper().replace("-", "_")
    if name not in TicketState.__members__:
        known = ", ".join(state.name.lower() for state in TicketState)
        raise InvalidInput(f"--state is {text!r}: use one of {known}")
    return TicketState[name]


def _eta(far: Progress | None) -> str:
    return range_text(far.least_ms, far.most_ms) if far and far.left_bytes and far.least_ms is not None else ""


def show(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show a ticket: its plan, history and what each partition waits for.

    Example: guardian ticket show t-1a2b3c4d
    """
    with connect(endpoints) as client:
        ticket, execution = client.ticket(ticket_id)
        plan = client.plan(ticket.plan_hash) if ticket.plan_hash else None
        waits = _waits(client, ticket) if execution is None and ticket.state is TicketState.APPROVED else ""
        parts = client.parts_of(ticket) if ticket.part is not None else ()
        far = client.progress_of(ticket) or progressing.progress(ticket, execution, now_ms())
    if output is Output.JSON:
        print_json(
            {
                "ticket": as_dict(ticket_to_proto(ticket)),
                "execution": as_dict(execution_to_proto(execution)) if execution else None,
                "progress": as_dict(progress_to_proto(ticket.id, far)),
                "waits": waits,
                "parts": [with_progress(*each) for each in parts],
                "asks": asks_of(plan) if plan is not None else (),
            }
        )
        return
    place = f", {where(ticket)}" if ticket.part is not None else ""
    echo(f"Ticket {ticket.id}: {ticket.kind} of cluster {ticket.cluster}, {ticket.state.name}{place}")
    echo(f"{throttle_of(ticket)}. Author {ticket.author}.{_expiry(ticket)}")
    for line in ticket.evidence.splitlines():
        echo(f"Because of {line}")
    for sentence in asks_of(plan) if plan is not None else ():
        echo(f"Asks: {sentence}")
    if ticket.ask is not None:
        echo(describe_ask(ticket.ask))
    if parts:
        show_parts(parts)
    echo()
    print_table(
        ("WHEN", "STATE", "WHO", "WHY"),
        [(human_time(past.at_ms), past.state.name, past.actor, past.reason) for past in ticket.history],
    )
    echo()
    if execution is None:
        if waits:
            echo(f"Now {waits}.")
            echo()
        if plan is not None:
            show_plan(plan)
        return
    names = names_of(plan.moves if plan is not None else [task.move for task in execution.tasks])
    echo(shortened(progress(ticket, execution, far), names))
    if execution.operation is not None:
        show_operation(execution.operation)
    _show_tasks(execution, names)


def _show_tasks(execution: Execution, names: Mapping[str, str]) -> None:
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


def _expiry(ticket: Ticket) -> str:
    at_ms = expires_at_ms(ticket)
    return f" Expires {human_time(at_ms)}." if at_ms else ""


def watch(ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE) -> None:
    """Print a line at every change until the ticket is over; exit code 1 unless it succeeded or is rolled back.

    Example: guardian ticket watch t-1a2b3c4d
    """
    with connect(endpoints) as client:
        if follow(client, ticket_id, output) not in GOOD_ENDS:
            raise typer.Exit(NO)


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
    echo(f"Rules of {policy.source}. Tickets that wait expire after: {lasts}.")
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


def _approvers(rule: ApprovalRule) -> str:
    people = f"{', '.join(rule.approvers)}{'' if rule.author_may_approve else ' (not the author)'}"
    return " or ".join(part for part in ("itself" if rule.automatic else "", people if rule.approvers else "") if part)


def _limits(rule: ApprovalRule) -> str:
    limits = (
        human_bytes(rule.max_bytes) if rule.max_bytes else "",
        f"{rule.max_moves} moves" if rule.max_moves else "",
    )
    return ", ".join(filter(None, limits)) or "any size"
