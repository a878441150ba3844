"""A standing rate for what Guardian copies on a broker: who set it, why and until when is its ticket. Pure.

    throttle-override ticket ── RUNNING until its end, or until somebody cancels it ──▶ SUCCEEDED, CANCELLED
            └── meanwhile: of every ticket on the cluster that has a throttle, copies on that broker get no more than
                its rate

It sends nothing itself: a throttle acts on the replicas that move (KAFKA.md, trap 17), and those are of other tickets.
What must flow anyway, so that a move ends at all, flows (throttling.py); a ticket that asked for no throttle has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from guardian.core.throttling import Pace
from guardian.errors import InvalidInput
from guardian.model.cluster_state import ClusterDescription
from guardian.model.plan import Plan
from guardian.model.tasks import ThrottleOverride
from guardian.model.ticket import TicketState
from guardian.model.units import human_bytes


def plan_of(cluster: str, standing: ThrottleOverride) -> Plan:
    """Return the plan that carries it."""
    rate = f"{human_bytes(standing.rate)}/s of broker {standing.broker}"
    note = f"copies of all tickets but those without a throttle take no more than {rate}"
    return Plan(cluster, standing.kind, (), input="a standing rate", notes=(note,), task=standing)


def read(plan: Plan) -> ThrottleOverride:
    """Return what a plan of this kind asks for. Raises InvalidInput."""
    if not isinstance(plan.task, ThrottleOverride):
        raise InvalidInput(f"task of the plan is no {ThrottleOverride.kind}: give broker, rate and until_ms")
    return plan.task


def resolved(plan: Plan, description: ClusterDescription) -> Plan:
    """The plan, if it can hold on this cluster. Raises InvalidInput."""
    if plan.moves:
        raise InvalidInput(f"moves of the plan has {len(plan.moves)}: a plan of kind {plan.kind} moves nothing")
    standing = read(plan)
    if standing.broker not in description.brokers:
        names = ", ".join(map(str, sorted(description.brokers)))
        raise InvalidInput(f"broker {standing.broker} is not alive in cluster {plan.cluster}: choose from {names}")
    return plan


def ending(ticket_state: TicketState, plan: Plan, now_ms: int) -> tuple[TicketState, str] | None:
    """The last state of a ticket of this kind and why; None while its rate holds."""
    standing = read(plan)
    if ticket_state is TicketState.CANCELLING:
        return TicketState.CANCELLED, f"broker {standing.broker} has no standing rate any more"
    if now_ms >= standing.until_ms:
        return TicketState.SUCCEEDED, f"its time is over: broker {standing.broker} has no standing rate any more"
    return None


def lowest(standing: Iterable[ThrottleOverride]) -> dict[int, int]:
    """By broker, the rate that holds where several stand."""
    found: dict[int, int] = {}
    for each in standing:
        found[each.broker] = min(each.rate, found.get(each.broker, each.rate))
    return found


def capped(pace: Pace, rates: Mapping[int, int]) -> Pace:
    """The pace with these brokers held to their standing rates."""
    if not pace.asked or not rates:
        return pace
    held = {broker: min(rate, pace.brokers.get(broker, pace.asked)) for broker, rate in rates.items()}
    return replace(pace, brokers={**pace.brokers, **held})
