"""What is done to a ticket, and the options that all such commands have: why, --dry-run, --watch, whom to ask.

A rehearsal takes the ticket, and the rules of approval, from a member, and asks the same pure decision that members
take (guardian.tickets.rules.ticketing). What they would refuse is refused here, and nothing is sent. An older member
can't mistake it for the act itself, as it could a request with a field that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import typer

from guardian.cli.exits import NO
from guardian.cli.options import (
    DryRunOption,
    EndpointsOption,
    Output,
    OutputOption,
    ReasonOption,
    actor,
    connect,
    now_ms,
)
from guardian.cli.printing import echo
from guardian.cli.render import print_json
from guardian.cli.shared import made_of
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.execution import Execution, TaskState
from guardian.model.ticket import Ticket, TicketTransition
from guardian.tickets.commands.ticket_telling import said
from guardian.tickets.rules import ticketing

TicketArgument = Annotated[str, typer.Argument(help="The ticket's id.")]
MaxThrottleOption = Annotated[
    str,
    typer.Option(
        "--max-throttle", metavar="RATE", help="Up to which it rises where brokers have room. \\[as the throttle]"
    ),
]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Then follow it until it is over.")]

# (client, ticket id, actor, reason) -> the ticket as it is then
Change = Callable[[GuardianClient, str, str, str], Ticket]
# (ticket, actor, reason, now in ms) -> the transition; raises Conflict, or InvalidInput for who may not
Decide = Callable[[Ticket, str, str, int], TicketTransition]
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Act:
    """What is typed of every act on a ticket."""

    reason: str
    dry_run: bool
    watch: bool
    endpoints: str
    output: Output

    def carry_out(self, ticket_id: str, change: Change, decide: Decide) -> None:
        """Or says what would be done."""
        with connect(self.endpoints) as client:
            if self.dry_run:
                self.rehearse(client.ticket(ticket_id), decide)
            else:
                self.tell(client, change(client, ticket_id, actor(), self.reason))

    def tell(self, client: GuardianClient, ticket: Ticket) -> None:
        """Tell what has become of the ticket, and how it goes on."""
        said(client, ticket, self.watch, self.output)

    def rehearse(
        self,
        found: tuple[Ticket, Execution | None],
        decide: Decide,
        more: str = "",
        preview: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Says what the act would make of the ticket; `more` is what else it would do, and `preview` that for programs.

        Raises Conflict where the ticket's state does not allow it. Whoever may not do it is told so, and exit code 1
        says it: a member may know a person who signed in by another name than this machine does.
        """
        told = self._rehearsal(found, decide, more)
        if self.output is Output.JSON:
            print_json({**told, **preview})
        else:
            echo(_sentence(told))
        if told["refusal"]:
            raise typer.Exit(NO)

    def _rehearsal(self, found: tuple[Ticket, Execution | None], decide: Decide, more: str) -> dict[str, Any]:
        ticket, execution = found
        ticketing.require_reason(self.reason)
        refusal, would_be = "", ticket.state
        try:
            would_be = decide(ticket, actor(), self.reason, now_ms()).state
        except InvalidInput as error:
            refusal = str(error)
        tasks = execution.tasks if execution is not None else ()
        return {
            "ticket": ticket.id,
            "dry_run": True,
            "state": ticket.state.name,
            "would_be": would_be.name,
            "refusal": refusal,
            "more": more,
            "moves_under_way": sum(task.state in (TaskState.RUNNING, TaskState.REVERTING) for task in tasks),
        }


def _sentence(told: Mapping[str, Any]) -> str:
    moves = f" with {told['moves_under_way']} moves under way" if told["moves_under_way"] else ""
    if told["refusal"]:
        would = f"stay so: {told['refusal']}"
    else:
        would = "stay so" if told["would_be"] == told["state"] else f"become {told['would_be']}"
        would += f" ({told['more']})" if told["more"] else ""
    return f"Ticket {told['ticket']} is {told['state']}{moves} and would {would}. Nothing was changed."


def acting(command: Callable[..., _Made]) -> Callable[..., _Made]:
    """The command with the options of an act, of which its first parameter is made. Below typer's decorator."""
    return made_of(_act, command)


def acting_at_length(command: Callable[..., _Made]) -> Callable[..., _Made]:
    """The same for what takes a while: with --watch."""
    return made_of(_followed_act, command)


def _act(
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> Act:
    return Act(reason, dry_run, False, endpoints, output)


def _followed_act(
    reason: ReasonOption = "",
    dry_run: DryRunOption = False,
    watch: WatchOption = False,
    endpoints: EndpointsOption = "",
    output: OutputOption = Output.TABLE,
) -> Act:
    return Act(reason, dry_run, watch, endpoints, output)
