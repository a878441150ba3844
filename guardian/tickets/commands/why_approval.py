"""`guardian ticket why-approval`: which rules are about a ticket, what is given, and why you may approve it or not."""

from __future__ import annotations

from guardian.cli.options import EndpointsOption, Output, OutputOption, actor, connect
from guardian.cli.printing import echo
from guardian.cli.render import as_dict, human_time, print_json, print_table
from guardian.model.tickets.approval import source_of
from guardian.model.tickets.explanation import ApprovalExplanation, RuleVerdict
from guardian.model.wire.approvals import explanation_to_proto
from guardian.tickets.commands.ticket_acting import TicketArgument


def why_approval(
    ticket_id: TicketArgument, endpoints: EndpointsOption = "", output: OutputOption = Output.TABLE
) -> None:
    """Show which rules are about a ticket, whose approval is needed or given, and why you may approve it or not.

    Example: guardian ticket why-approval t-1a2b3c4d
    """
    with connect(endpoints) as client:
        found = client.explain_approval(ticket_id, actor())
    if output is Output.JSON:
        print_json(as_dict(explanation_to_proto(found)))
        return
    echo(f"Ticket {found.ticket_id} of {found.author} is {found.state}. {_needed(found)}")
    for given in found.given:
        echo(f"Approved by {given.actor} at {human_time(given.at_ms)}: {given.reason}")
    echo(f"You are {found.actor}: {found.refusal or 'you may approve it now'}.")
    echo(f"Rules about it, of {source_of(found.file, found.revision)}:")
    print_table(
        ("RULE", "APPROVED BY", "NOW", "YOU"),
        [
            (verdict.rule, _approvers(verdict), verdict.against_ticket or "holds", verdict.against_actor or "may")
            for verdict in found.verdicts
        ],
    )


def _needed(found: ApprovalExplanation) -> str:
    if not found.needed:
        return "No approval is needed."
    return f"It needs {found.needed} approval, by any one of the rules below."


def _approvers(verdict: RuleVerdict) -> str:
    people = f"{', '.join(verdict.approvers)}{'' if verdict.author_may_approve else ' (not the author)'}"
    parts = ("itself" if verdict.automatic else "", people if verdict.approvers else "")
    return " or ".join(part for part in parts if part)
