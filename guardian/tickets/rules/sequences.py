"""Plans that are larger than a ticket: cut into parts, which tickets carry out one after the other. Pure.

    plan ──▶ in the order in which the executor would start its moves ──▶ parts, each as full as a ticket may be
    part 1 ──SUCCEEDED──▶ part 2 ──SUCCEEDED──▶ ...

Every part is a stretch of the executor's own order, stages first. A planner's stage is safe whatever of it has begun or
ended, so the cluster may stay between two parts for as long as it likes. No disk above its limit, no rack doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from guardian.errors import InvalidInput
from guardian.execution.rules.beginning import in_order
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketPart, TicketState, part_id
from guardian.model.tickets.sequence import MAX_PARTS, where

_WAITED_FOR = (TicketState.ROLLING_BACK, TicketState.CANCELLING)


def cut(plan: Plan, most_bytes: int, size_of: Callable[[PartitionMove], int]) -> tuple[Plan, ...]:
    """Return the plan in parts of at most `most_bytes`, by the stored size of a move; the plan itself where it fits.

    Partitions that a topic gets anew stay together, for Kafka makes them in one request. Raises InvalidInput where
    those of one topic are too many for a ticket, or the parts for a sequence.
    """
    parts: list[list[PartitionMove]] = []
    left = 0
    for group in _together(in_order(plan)):
        size = sum(map(size_of, group))
        if size > most_bytes:
            raise InvalidInput(
                f"partitions of topic {group[0].partition.topic}: more than one ticket holds (got {len(group)} with "
                f"{size} bytes); make up to {len(group) * most_bytes // size} at a time"
            )
        if not parts or size > left:
            parts.append([])
            left = most_bytes
        parts[-1] += group
        left -= size
    if len(parts) > MAX_PARTS:
        raise InvalidInput(
            f"moves of the plan: too many (got {len(plan.moves)}, which is {len(parts)} tickets); make up to "
            f"{MAX_PARTS} of it"
        )
    if len(parts) < 2:
        return (plan,)
    return tuple(
        replace(plan, moves=tuple(moves), notes=(_note(number, len(parts), plan), *plan.notes))
        for number, moves in enumerate(parts, start=1)
    )


def _together(moves: Iterable[PartitionMove]) -> Iterator[list[PartitionMove]]:
    """Yield what must not be cut: each move, and the new partitions of a topic where the first of them comes."""
    new: dict[str, list[PartitionMove]] = {}
    groups: list[list[PartitionMove]] = []
    for move in moves:
        if move.is_new and move.partition.topic in new:
            new[move.partition.topic].append(move)
            continue
        groups.append([move])
        if move.is_new:
            new[move.partition.topic] = groups[-1]
    yield from groups


def _note(number: int, count: int, plan: Plan) -> str:
    return (
        f"part {number} of {count} of one plan with {len(plan.moves)} moves: loads, goals, transfers and seconds are "
        "those of all parts together"
    )


def places_of(first: str, parts: Sequence[Plan]) -> list[TicketPart | None]:
    """Return the place of each part in the sequence that begins with ticket `first`; None for one alone."""
    if len(parts) == 1:
        return [None]
    moves = [len(each.moves) for each in parts]
    sizes = [each.bytes_to_copy for each in parts]
    return [
        TicketPart(first, at + 1, len(parts), sum(moves), sum(sizes), sum(moves[at:]), sum(sizes[at:]))
        for at in range(len(parts))
    ]


def id_in(part: TicketPart | None, first: str) -> str:
    """Return the id of a ticket with this place; without a first one, as in a dry run, none."""
    return part_id(first, part.number) if part is not None and first else first


def why_later(ticket: Ticket, driven: Iterable[Ticket]) -> str:
    """Return which part of its sequence the ticket waits for; empty: it is its turn. `driven` are all tickets of the
    cluster that the executor has work on.

    A part that the executor has no work on is over. Had it not succeeded, those behind it would be over too.
    """
    part = ticket.part
    if part is None or ticket.state not in (TicketState.APPROVED, TicketState.ROLLING_BACK):
        return ""
    is_back = ticket.state is TicketState.ROLLING_BACK
    others = [each for each in driven if each.part is not None and each.part.first == part.first]
    if is_back:
        found = [each for each in others if _number(each) > part.number and each.state in _WAITED_FOR]
    else:
        found = [each for each in others if _number(each) < part.number]
    if not found:
        return ""
    next_one = max(found, key=_number)
    return f"waits for {next_one.id}, {where(next_one)}{', to go back' if is_back else ''}"


def _number(ticket: Ticket) -> int:
    return ticket.part.number if ticket.part is not None else 0


def joined(parts: Sequence[Plan]) -> Plan:
    """Return the plan that was cut into these parts, as far as its moves and what was asked for go."""
    return replace(parts[0], moves=tuple(move for each in parts for move in each.moves))
