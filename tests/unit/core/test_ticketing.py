"""Who may do what to a ticket, and the sentence when not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from guardian.core import ticketing
from guardian.core.ticketing import approve, cancel, pause, reject, resume, roll_back, submit
from guardian.errors import Conflict, InvalidInput
from guardian.model.approval import everybody
from guardian.model.ticket import VALID_TRANSITIONS, Ticket, TicketState, TicketTransition

Act = Callable[[Ticket], TicketTransition]
FOUR_EYES = everybody(author_may_approve=False)

ACTS: dict[str, Act] = {
    "submit": lambda ticket: submit(ticket, "bob", "", 7),
    "approve": lambda ticket: approve(ticket, "bob", "", 7, FOUR_EYES),
    "reject": lambda ticket: reject(ticket, "bob", "", 7),
    "cancel": lambda ticket: cancel(ticket, "bob", "", 7),
    "pause": lambda ticket: pause(ticket, "bob", "", 7),
    "resume": lambda ticket: resume(ticket, "bob", "", 7),
    "roll back": lambda ticket: roll_back(ticket, "bob", "", 7, FOUR_EYES),
}
S = TicketState
ALLOWED = {
    ("submit", S.DRAFT): S.PENDING,
    ("approve", S.PENDING): S.APPROVED,
    ("reject", S.PENDING): S.REJECTED,
    ("cancel", S.DRAFT): S.REJECTED,
    ("cancel", S.PENDING): S.REJECTED,
    ("cancel", S.APPROVED): S.REJECTED,
    ("cancel", S.RUNNING): S.CANCELLING,
    ("cancel", S.PAUSED): S.CANCELLING,
    ("cancel", S.ROLLING_BACK): S.CANCELLING,
    ("pause", S.RUNNING): S.PAUSED,
    ("resume", S.PAUSED): S.RUNNING,
    ("roll back", S.SUCCEEDED): S.ROLLING_BACK,
    ("roll back", S.FAILED): S.ROLLING_BACK,
    ("roll back", S.CANCELLED): S.ROLLING_BACK,
}


def ticket(state: TicketState) -> Ticket:
    return Ticket("t-1", "live", "balance", state, "ann", "hash", 0, 0, 0)


@pytest.mark.parametrize("state", TicketState)
@pytest.mark.parametrize("act", ACTS)
def test_an_act_leads_where_the_table_says_or_is_refused(act: str, state: TicketState) -> None:
    target = ALLOWED.get((act, state))
    if target is None:
        with pytest.raises(Conflict, match=f"ticket t-1 is {state.name}: only a"):
            ACTS[act](ticket(state))
        return
    transition = ACTS[act](ticket(state))
    assert (transition.state, transition.at_ms, transition.actor) == (target, 7, "bob")
    assert transition.reason
    assert target in VALID_TRANSITIONS[state]


def test_a_succeeded_ticket_that_is_approved_answers_with_the_rule() -> None:
    with pytest.raises(Conflict, match=r"^ticket t-1 is SUCCEEDED: only a PENDING ticket can be approved$"):
        approve(ticket(S.SUCCEEDED), "bob", "", 7, FOUR_EYES)


def test_the_author_is_not_the_approver() -> None:
    with pytest.raises(InvalidInput, match="actor is 'ann', the author of ticket t-1: somebody else"):
        approve(ticket(S.PENDING), "ann", "", 7, FOUR_EYES)


def test_the_author_may_approve_where_the_policy_allows_it() -> None:
    assert approve(ticket(S.PENDING), "ann", "", 7, everybody()).state is S.APPROVED


def test_a_given_reason_is_kept() -> None:
    assert cancel(ticket(S.RUNNING), "bob", "the disk is slow", 7).reason == "the disk is slow"


def test_nobody_is_no_actor() -> None:
    with pytest.raises(InvalidInput, match="actor is empty"):
        submit(ticket(S.DRAFT), "", "", 7)


@pytest.mark.parametrize("state", TicketState)
def test_a_throttle_is_changed_until_the_ticket_is_over(state: TicketState) -> None:
    if state.is_over:
        with pytest.raises(Conflict, match=f"ticket t-1 is {state.name}: only one that is not over"):
            ticketing.set_throttle(ticket(state), "bob", "", 7, 20_000_000, 0)
        return
    changed = ticketing.set_throttle(ticket(state), "bob", "", 7, 20_000_000, 0)
    assert (changed.state, changed.reason) == (state, "throttle 0 -> 20000000 bytes/s")


@pytest.mark.parametrize(
    ("throttle", "most", "message"),
    [
        (99_999, 0, "throttle is 99999 bytes/s: use 100000 to"),
        (ticketing.MAX_THROTTLE + 1, 0, "throttle is 1000000000001 bytes/s"),
        (200_000, 199_999, r"max_throttle is 199999 bytes/s: use 200000 \(throttle\) to"),
    ],
)
def test_rates_have_limits(throttle: int, most: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ticketing.set_throttle(ticket(S.RUNNING), "bob", "", 7, throttle, most)
    assert ticketing.throttle_asked(0) == ticketing.DEFAULT_THROTTLE


def test_a_reason_is_no_essay() -> None:
    ticketing.require_reason("x" * 500)
    with pytest.raises(InvalidInput, match="reason has 501 characters: use up to 500"):
        ticketing.require_reason("x" * 501)
