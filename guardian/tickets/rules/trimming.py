"""Tickets of healing's, and what of a plan such a ticket is for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from guardian.health.model.finding import FindingKind
from guardian.model.actor import Agent
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import Heal
from guardian.model.ticket import Ticket, TicketTrouble
from guardian.model.topology import ANY_LOG_DIR


def is_healing(ticket: Ticket) -> bool:
    """Return whether healing made it to heal: such a ticket goes before others, a person's of this kind does not."""
    return ticket.author is Agent.HEALING and ticket.kind == Heal.kind


def trimmed_again(plan: Plan, ticket: Ticket) -> Plan:
    """Return a plan that was made anew for a ticket of healing's, without what the ticket is not for."""
    if not is_healing(ticket) or not ticket.troubles:
        return plan
    return only_from(plan, ticket.troubles)


def only_from(plan: Plan, found: Collection[TicketTrouble]) -> Plan:
    """Return the plan with the moves only that leave a dead broker or a broken log dir of these."""
    dead, broken = dead_brokers(found), log_dirs_of(found)
    return with_moves(plan, [move for move in plan.moves if _leaves(move, dead, broken)])


def with_moves(plan: Plan, moves: list[PartitionMove]) -> Plan:
    """Return the plan with some of its moves only."""
    return plan if len(moves) == len(plan.moves) else replace(plan, moves=tuple(moves))


def _leaves(move: PartitionMove, dead: frozenset[int], broken: frozenset[tuple[int, str]]) -> bool:
    left = [place for place in move.original if place.broker not in move.target_brokers]
    return any(
        place.broker in dead
        or (place.broker, place.log_dir) in broken
        # A log dir that failed does not tell what was on it.
        or (place.log_dir == ANY_LOG_DIR and any(place.broker == broker for broker, _ in broken))
        for place in left
    )


def dead_brokers(found: Iterable[TicketTrouble]) -> frozenset[int]:
    """Return the brokers that these troubles say are down."""
    return frozenset(broker for each in found if each.kind == FindingKind.BROKER_DOWN for broker in each.brokers)


def log_dirs_of(found: Iterable[TicketTrouble]) -> frozenset[tuple[int, str]]:
    """Return the log dirs that these troubles name, as (broker, path)."""
    return frozenset((broker, path) for each in found for broker in each.brokers for path in each.log_dirs)
