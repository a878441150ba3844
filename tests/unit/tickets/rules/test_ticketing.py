"""Who may do what to a ticket, and the sentence when not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from guardian.errors import Conflict, InvalidInput
from guardian.model.acl import AclBinding
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Balance, PlanTask
from guardian.model.throttle import DEFAULT_THROTTLE, MAX_THROTTLE
from guardian.model.ticket import VALID_TRANSITIONS, Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, everybody
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.acl_repair import AclRepair
from guardian.tickets.kinds.throttle_override import ThrottleOverride
from guardian.tickets.rules import ticketing
from guardian.tickets.rules.ticketing import approve, cancel, pause, reject, resume, roll_back, submit

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
            ticketing.set_throttle(ticket(state), "bob", "", 7, 20_000_000, 0, everybody())
        return
    changed = ticketing.set_throttle(ticket(state), "bob", "", 7, 20_000_000, 0, everybody())
    assert (changed.state, changed.reason) == (state, "throttle none -> 20.0 MB/s")


@pytest.mark.parametrize(
    ("throttle", "most", "message"),
    [
        (99_999, 0, "throttle is 99999 bytes/s: use 100000 to"),
        (MAX_THROTTLE + 1, 0, "throttle is 1000000000001 bytes/s"),
        (200_000, 199_999, r"max_throttle is 199999 bytes/s: use 200000 \(throttle\) to"),
    ],
)
def test_rates_have_limits(throttle: int, most: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ticketing.set_throttle(ticket(S.RUNNING), "bob", "", 7, throttle, most, everybody())
    assert ticketing.throttle_asked(0) == DEFAULT_THROTTLE


def strict(author_may_approve: bool = False) -> ApprovalPolicy:
    """Ann and bob may approve what copies up to 100 bytes."""
    rule = ApprovalRule("small", approvers=("ann", "bob"), max_bytes=100, author_may_approve=author_may_approve)
    return ApprovalPolicy((rule,))


def made_by_ann(state: TicketState, throttle: int = 500_000, most: int = 0, approved: int = 0) -> Ticket:
    made = Ticket("t-1", "live", "balance", state, "ann", "h", throttle, 0, 0, moves=1, bytes_to_copy=90)
    return replace(made, max_throttle=most, approved_throttle=approved)


@pytest.mark.parametrize("state", [S.APPROVED, S.RUNNING, S.PAUSED, S.CANCELLING, S.ROLLING_BACK])
def test_above_what_was_approved_only_those_raise_it_who_may_approve_it(state: TicketState) -> None:
    ticket = made_by_ann(state)
    for who in ("ann", "cleo"):
        assert ticketing.require_rate_allowed(strict(), ticket, 500_000, who, 7) == 500_000, "as it is, or less"
        with pytest.raises(
            InvalidInput, match=r"the throttle of ticket t-1 would rise from 500.0 kB/s to 600.0 kB/s, mo"
        ):
            ticketing.require_rate_allowed(strict(), ticket, 600_000, who, 7)
    with pytest.raises(InvalidInput, match="actor is 'ann', the author of ticket t-1: somebody else must approve it"):
        ticketing.set_throttle(ticket, "ann", "", 7, 500_000, 600_000, strict())
    assert ticketing.require_rate_allowed(strict(), ticket, 600_000, "bob", 7) == 600_000
    assert ticketing.require_rate_allowed(strict(author_may_approve=True), ticket, 600_000, "ann", 7) == 600_000


def test_a_ticket_that_was_slowed_may_be_as_fast_again_as_was_approved() -> None:
    slowed = made_by_ann(S.RUNNING, 200_000, approved=500_000)
    assert ticketing.require_rate_allowed(strict(), slowed, 500_000, "cleo", 7) == 500_000
    with pytest.raises(InvalidInput, match="would rise from 500,000 B/s to 500,001 B/s"):
        ticketing.require_rate_allowed(strict(), slowed, 500_001, "cleo", 7)
    may_rise = made_by_ann(S.RUNNING, 200_000, most=400_000)
    assert ticketing.require_rate_allowed(strict(), may_rise, 400_000, "cleo", 7) == 400_000
    unthrottled = made_by_ann(S.RUNNING, 0)
    assert ticketing.require_rate_allowed(strict(), unthrottled, 10**9, "cleo", 7) == MAX_THROTTLE


@pytest.mark.parametrize("state", [S.DRAFT, S.PENDING])
def test_before_it_is_approved_its_author_asks_for_what_he_likes(state: TicketState) -> None:
    ticket = made_by_ann(state)
    assert ticketing.require_rate_allowed(strict(), ticket, 10**9, "ann", 7) == 0
    assert ticketing.require_rate_allowed(strict(), ticket, 100_000, "cleo", 7) == 0
    with pytest.raises(InvalidInput, match="it is not approved: only its author, ann, may ask for more"):
        ticketing.require_rate_allowed(strict(), ticket, 10**9, "bob", 7)


def test_what_is_adopted_needs_whoever_may_approve_the_ticket_with_it() -> None:
    ticket = made_by_ann(S.PAUSED)
    ticketing.require_adoptable(strict(), ticket, 1, 10, "bob", 7)
    with pytest.raises(InvalidInput, match="what ticket t-1 would adopt was not approved with it: actor is 'ann', the"):
        ticketing.require_adoptable(strict(), ticket, 1, 10, "ann", 7)
    with pytest.raises(InvalidInput, match="rule 'small' allows 100 B, and it copies 101 B"):
        ticketing.require_adoptable(strict(), ticket, 1, 11, "bob", 7)


def plan(
    *targets: int, kind: str = "balance", task: PlanTask | None = None, settings: PlannerSettings | None = None
) -> Plan:
    moves = tuple(
        PartitionMove(TopicPartition("t", number), (), (ReplicaPlacement(target),))
        for number, target in enumerate(targets)
    )
    return Plan("live", kind, moves, task=task, settings=settings)


def standing(rate: int, until_ms: int) -> Plan:
    task = ThrottleOverride(1, rate * 1_000_000, until_ms)
    return plan(kind=task.kind, task=task)


ANN, BOB = (AclBinding("TOPIC", "LITERAL", "t", f"User:{name}", "*", "READ", "ALLOW") for name in ("ann", "bob"))


def repair(*rules: AclBinding) -> Plan:
    return plan(kind=AclRepair.kind, task=AclRepair(rules))


def planned(*targets: int, task: PlanTask) -> Plan:
    """As a planner makes it: its moves say what they serve."""
    made = plan(*targets, kind=task.kind, task=task)
    return replace(made, moves=tuple(replace(move, goal="disk") for move in made.moves))


@pytest.mark.parametrize(
    ("made", "asked", "why"),
    [
        (plan(1, 2), plan(1, 2), ""),
        (plan(1), plan(1, 2), ""),  # the other was so already
        (plan(1, 2), plan(1, 3), "that carries another plan"),
        (plan(1, 2), plan(1), "that carries another plan"),
        (plan(1), plan(1, kind="leaders"), "that is balance of cluster live, and this leaders of live"),
        (
            plan(1, settings=PlannerSettings()),
            plan(1, settings=PlannerSettings(max_bytes=2)),
            "that carries another plan",
        ),
        (standing(1, 5), standing(1, 6), ""),
        (standing(1, 5), standing(2, 5), "that carries another plan"),
        (repair(ANN), repair(ANN, BOB), ""),  # the other was so already
        (repair(ANN, BOB), repair(ANN), "that carries another plan"),
        (planned(1, task=Balance()), planned(2, task=Balance()), ""),  # made once more
        (planned(1, task=Balance()), planned(1, task=Balance(("a",))), "that carries another plan"),
        (plan(1), Ask(AskKind.REMOVE, (1,)), "that is balance, and this remove-brokers"),
    ],
)
def test_a_request_that_is_no_repetition_is_told_from_one_that_is(made: Plan, asked: Plan | Ask, why: str) -> None:
    ticket = replace(made_by_ann(S.PENDING), kind=made.kind)
    assert ticketing.why_another(ticket, made, "ann", "live", asked) == why
    assert ticketing.why_another(ticket, made, "bob", "live", asked) == "ann made it, and bob asks"


def test_an_ask_is_repeated_with_the_same_brokers_unless_it_was_amended_since() -> None:
    first, other = Ask(AskKind.REMOVE, (1,)), Ask(AskKind.REMOVE, (2,))
    ticket = replace(made_by_ann(S.PENDING), kind="remove-brokers", ask=first)
    assert ticketing.why_another(ticket, None, "ann", "live", first) == ""
    assert ticketing.why_another(ticket, None, "ann", "live", other) == "that asks for something else"
    why = ticketing.why_another(ticket, None, "ann", "live", plan(1))
    assert why.startswith("that is remove-brokers of cluster live, and")
    elsewhere = "that is remove-brokers of cluster live, and this remove-brokers of bulk"
    assert ticketing.why_another(ticket, None, "ann", "bulk", first) == elsewhere
    amended = replace(ticket, ask=replace(other, revision=1))
    assert ticketing.why_another(amended, None, "ann", "live", first) == ""


@pytest.mark.parametrize(
    ("throttle", "most", "expires_in_ms", "why"),
    [
        (5_000_000, 0, 0, ""),
        (5_000_000, 0, 7_200_000, ""),
        (6_000_000, 0, 0, "that has throttle 5.0 MB/s, and this throttle 6.0 MB/s"),
        (
            5_000_000,
            9_000_000,
            0,
            "that has throttle 5.0 MB/s, and this throttle 5.0 MB/s (up to 9.0 MB/s)",
        ),
        (0, 0, 0, "that has throttle 5.0 MB/s, and this no throttle"),
        (5_000_000, 0, 3_600_000, "that expires after 2 h, and this after 1 h"),
        (5_000_000, 0, -1, "that expires after 2 h, and this never"),
    ],
)
def test_a_repetition_has_the_same_terms(throttle: int, most: int, expires_in_ms: int, why: str) -> None:
    made = replace(made_by_ann(S.PENDING), throttle=5_000_000, created_at_ms=100, expires_at_ms=7_200_100)
    assert ticketing.why_other_terms(made, throttle, most, expires_in_ms) == why


def test_a_ticket_that_does_not_expire_is_repeated_so() -> None:
    made = replace(made_by_ann(S.PENDING), throttle=5_000_000)
    assert ticketing.why_other_terms(made, 5_000_000, 0, -1) == ""
    assert ticketing.why_other_terms(made, 5_000_000, 0, 3_600_000) == "that expires never, and this after 1 h"


def test_the_throttle_of_a_ticket_that_was_changed_since_is_not_compared() -> None:
    lines = [TicketTransition(S.PENDING, at_ms, "ann", "") for at_ms in (1, 2)]
    changed = replace(made_by_ann(S.PENDING), throttle=5_000_000, history=tuple(lines))
    assert ticketing.why_other_terms(changed, 6_000_000, 0, 0) == ""
    assert ticketing.why_other_terms(replace(changed, history=tuple(lines[:1])), 6_000_000, 0, 0)


def test_a_reason_is_no_essay() -> None:
    ticketing.require_reason("x" * 500)
    with pytest.raises(InvalidInput, match="reason has 501 characters: use up to 500"):
        ticketing.require_reason("x" * 501)
