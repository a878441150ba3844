"""`guardian ticket approve`, `cancel`, `throttle` and all others that change a ticket, each with a rehearsal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from guardian.cli.options import Output, actor, connect, now_ms
from guardian.cli.printing import echo
from guardian.cli.render import as_dict
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.execution.operations.asking import describe_ask
from guardian.execution.operations.step import amending
from guardian.execution.rules import foreign, previewing, rolling_back
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.units import human_bytes, parse_rate
from guardian.model.wire.previews import preview_to_proto
from guardian.tickets.commands.ticket_acting import (
    Act,
    Decide,
    MaxThrottleOption,
    TicketArgument,
    acting,
    acting_at_length,
)
from guardian.tickets.commands.ticket_telling import say, show_parts, show_preview, throttle_of
from guardian.tickets.rules import ticketing


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
            echo(describe_ask(ticket.ask), err=act.output is Output.JSON)
            revision = ticket.ask.revision if revision is None else revision
        if ticket.part is not None and act.output is not Output.JSON:
            show_parts(client.parts_of(ticket))
        if act.dry_run:
            _rehearse(client, act, (ticket, execution), partial(ticketing.approve, policy=client.approvals()))
            return
        act.tell(client, client.approve(ticket_id, actor(), act.reason, expected_ask_revision=revision))


@acting
def reject(act: Act, ticket_id: TicketArgument) -> None:
    """Reject a pending ticket.

    Example: guardian ticket reject t-1a2b3c4d --reason "after the release"
    """
    act.carry_out(ticket_id, GuardianClient.reject, ticketing.reject)


@acting_at_length
def cancel(act: Act, ticket_id: TicketArgument) -> None:
    """Cancel a ticket: what is on its way goes back, what is done stays, throttles are removed.

    Example: guardian ticket cancel t-1a2b3c4d --reason "consumers lag"
    """
    act.carry_out(ticket_id, GuardianClient.cancel, ticketing.cancel)


@acting
def pause(act: Act, ticket_id: TicketArgument) -> None:
    """Pause a running ticket: what copies goes on to its end, nothing new starts, throttles go when nothing moves.

    Example: guardian ticket pause t-1a2b3c4d --reason "the evening peak"
    """
    act.carry_out(ticket_id, GuardianClient.pause, ticketing.pause)


@acting_at_length
def resume(act: Act, ticket_id: TicketArgument) -> None:
    """Go on with a paused ticket.

    Example: guardian ticket resume t-1a2b3c4d
    """
    act.carry_out(ticket_id, GuardianClient.resume, ticketing.resume)


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
        echo(f"Ticket {changed.id} is {changed.state.name}: {throttle_of(changed).lower()}.")


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
        show_preview(shown, act.output)
    act.rehearse(found, decide, preview=as_dict(preview_to_proto(shown)))


def _rehearse_others(act: Act, ticket: Ticket, execution: Execution | None, state: TicketState) -> None:
    work = foreign.describe(execution.foreign) if execution is not None else ""
    act.rehearse((ticket, execution), lambda _, who, why, at_ms: TicketTransition(state, at_ms, who, why), work)
