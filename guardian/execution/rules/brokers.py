"""Which brokers a ticket touches, keeps from others, and is at work on. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from guardian.model.effects import BROKER
from guardian.model.execution import ACTIVE, Execution
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import TicketState


def brokers_of(execution: Execution | Plan) -> frozenset[int]:
    """All brokers that a ticket may touch. Tickets that share one share its rates, so they run one after the other."""
    moves = execution.moves if isinstance(execution, Plan) else [task.move for task in execution.tasks]
    return brokers_of_moves(moves)


def brokers_held(work: Execution | Plan, state: TicketState) -> frozenset[int]:
    """Those that a ticket keeps from others: all of its own, unless rates are all that is left of it, as on a broker
    that is down."""
    if (
        isinstance(work, Plan)
        or state is TicketState.ROLLING_BACK
        or not all(task.state.is_over for task in work.tasks)
    ):
        return brokers_of(work)
    if not work.throttles or any(intent.resource_type != BROKER for intent in work.throttles):
        return brokers_of(work)
    return frozenset(int(intent.resource_name) for intent in work.throttles)


def brokers_at_work(work: Execution | Plan) -> frozenset[int]:
    """Those whose load a decision about rates needs: of the tasks under way; of all when none is yet."""
    if isinstance(work, Plan):
        return brokers_of(work)
    active = [task.move for task in work.tasks if task.state in ACTIVE]
    return brokers_of_moves(active or [task.move for task in work.tasks if not task.state.is_over])


def brokers_of_moves(moves: Iterable[PartitionMove]) -> frozenset[int]:
    """Return the brokers that the moves copy from or to."""
    return frozenset([replica.broker for move in moves for replica in (*move.original, *move.target)])
