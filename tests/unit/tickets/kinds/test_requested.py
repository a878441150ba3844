"""A request that Kafka never carries out ends its ticket at once; one that it may take later gets time."""

from __future__ import annotations

import pytest

from guardian.model.acl import AclBinding
from guardian.model.effects import Refusal
from guardian.model.ticket import TicketState
from guardian.tickets.kinds.acl_repair import KIND, AclRepair
from guardian.tickets.kinds.requested import PATIENCE_MS, Facts, Moment

RULE = AclBinding("TOPIC", "LITERAL", "orders", "User:ann", "*", "READ", "ALLOW")
NOW_MS = 10 * PATIENCE_MS
FINAL = Refusal("POLICY_VIOLATION: not here", is_final=True)
PASSING = Refusal("CLUSTER_AUTHORIZATION_FAILED: not now")


@pytest.mark.parametrize(
    ("state", "present", "end"),
    [
        (TicketState.RUNNING, (), TicketState.FAILED),
        (TicketState.CANCELLING, (RULE,), TicketState.CANCELLED),
        (TicketState.ROLLING_BACK, (RULE,), TicketState.ROLLED_BACK),
    ],
)
def test_a_final_refusal_ends_it_with_kafkas_words(
    state: TicketState, present: tuple[AclBinding, ...], end: TicketState
) -> None:
    moment = Moment(state, 1, NOW_MS, refused_since_ms=NOW_MS)
    decided = KIND.next_step(AclRepair((RULE,)), moment, Facts(frozenset(), present), (PASSING, FINAL))
    assert decided.transition == (end, "Kafka refuses it for good: POLICY_VIOLATION: not here")
    assert decided.effects == ()


def test_what_is_done_meanwhile_succeeds_whatever_was_refused() -> None:
    moment = Moment(TicketState.RUNNING, 1, NOW_MS, refused_since_ms=NOW_MS)
    decided = KIND.next_step(AclRepair((RULE,)), moment, Facts(frozenset(), (RULE,)), (FINAL,))
    assert decided.transition is not None
    assert decided.transition[0] is TicketState.SUCCEEDED


@pytest.mark.parametrize(("for_ms", "is_over"), [(0, False), (PATIENCE_MS - 1, False), (PATIENCE_MS, True)])
def test_another_refusal_is_waited_out(for_ms: int, is_over: bool) -> None:
    moment = Moment(TicketState.RUNNING, 1, NOW_MS, refused_since_ms=NOW_MS - for_ms)
    decided = KIND.next_step(AclRepair((RULE,)), moment, Facts(frozenset()), (PASSING,))
    assert (decided.transition is not None) is is_over
