"""What each rule says of a ticket and of who asks, and what is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, everybody, parse_window
from guardian.model.tickets.explanation import ApprovalExplanation, GivenApproval, RuleVerdict
from guardian.model.wire.approvals import explanation_from_proto, explanation_to_proto
from guardian.tickets.rules.approving import explain, why_not

NIGHT = ApprovalRule("night", approvers=("eve",), windows=(parse_window("22:00-06:00"),))
SMALL = ApprovalRule("small", kinds=("balance",), approvers=("sre-*",), automatic=True, max_moves=5)
OTHERS = ApprovalRule("others", clusters=("bulk",), approvers=("*",))
POLICY = ApprovalPolicy((NIGHT, SMALL, OTHERS), file="/etc/guardian/approvals.toml")
NOON_MS = 12 * 3_600_000
PENDING = Ticket("t-00000001", "live", "balance", TicketState.PENDING, "ann", "h", 0, 0, 0, moves=9)


def explained(
    ticket: Ticket, actor: str, policy: ApprovalPolicy = POLICY, role_refusal: str = ""
) -> ApprovalExplanation:
    return explain(policy, ticket, actor, NOON_MS, role_refusal)


def test_each_rule_about_the_ticket_says_what_it_has_against_it_and_who_asks() -> None:
    found = explained(PENDING, "sre-1")
    assert found.verdicts == (
        RuleVerdict(
            "night", ("eve",), against_ticket="holds 22:00-06:00 (UTC), and it is Thu 12:00", against_actor="lets eve"
        ),
        RuleVerdict("small", ("sre-*",), automatic=True, against_ticket="allows 5 moves, and it has 9"),
    )
    assert (found.needed, found.given, found.file) == (1, (), "/etc/guardian/approvals.toml")
    assert found.refusal == why_not(POLICY, PENDING, "sre-1", NOON_MS)
    assert "rule 'small' allows 5 moves, and it has 9" in found.refusal


def test_who_may_is_told_so() -> None:
    assert explained(replace(PENDING, moves=3), "sre-1").refusal == ""


def test_the_author_is_told_that_it_is_his_own() -> None:
    found = explained(PENDING, "ann", everybody(author_may_approve=False))
    assert found.refusal == "actor is 'ann', the author of ticket t-00000001: somebody else must approve it"
    assert found.verdicts[0].against_actor == "does not let the author approve"
    assert explained(PENDING, "ann", everybody()).refusal == ""


def test_a_role_that_is_missing_comes_before_the_rules() -> None:
    assert explained(PENDING, "sre-1", role_refusal="sre-1 is not approver").refusal == "sre-1 is not approver"


def test_a_ticket_that_expires_says_so() -> None:
    assert "was not approved before" in explained(replace(PENDING, expires_at_ms=1), "sre-1").refusal


@pytest.mark.parametrize(
    ("state", "needed"), [(TicketState.DRAFT, 1), (TicketState.APPROVED, 0), (TicketState.FAILED, 0)]
)
def test_what_does_not_wait_for_an_approval_says_so(state: TicketState, needed: int) -> None:
    found = explained(replace(PENDING, state=state), "eve", role_refusal="eve is not approver")
    assert found.refusal == f"ticket t-00000001 is {state.name}: only a PENDING ticket can be approved"
    assert found.needed == needed


def test_what_was_given_is_told_once_though_it_was_amended() -> None:
    history = (
        TicketTransition(TicketState.PENDING, 1, "ann", "submitted"),
        TicketTransition(TicketState.APPROVED, 2, "eve", "fine"),
        TicketTransition(TicketState.APPROVED, 3, "ann", "slower"),
    )
    found = explained(replace(PENDING, state=TicketState.APPROVED, history=history), "eve")
    assert found.given == (GivenApproval("eve", 2, "fine"),)


def test_it_goes_over_the_wire_whole() -> None:
    history = (TicketTransition(TicketState.APPROVED, 2, "eve", "fine"),)
    for ticket in (PENDING, replace(PENDING, state=TicketState.APPROVED, history=history)):
        found = explained(ticket, "sre-1")
        assert explanation_from_proto(explanation_to_proto(found)) == found
