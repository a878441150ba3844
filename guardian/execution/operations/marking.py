"""What the federation says of the brokers of an operation: no new replicas there, and why they are away.

Marked before anything happens to a broker, unmarked when all is over. Both are asked for until the store shows them, so
they survive any crash. An exclusion is ours when it names this ticket; another one's is left as it is, and
serves as long as it lasts. A broker has one exclusion at a time, so ours comes in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from guardian.execution.operations.effects import AnyEffect, LiftExclusions, PutExclusions, SetBrokerStates
from guardian.execution.operations.turn import Turn
from guardian.model.federation import Exclusion
from guardian.model.operation import BrokerWork, Standing
from guardian.model.topology import BrokerState

# Ours takes the place of one that ends so soon: between the two no new replica would be kept away.
_TAKEN_OVER_MS = 60_000
_MARKED = (Standing.UNDER_WAY, Standing.DONE, Standing.RELEASED)


def exclusion(turn: Turn, broker: int) -> Exclusion:
    """The one that this ticket puts."""
    ticket = turn.ticket
    return Exclusion(
        ticket.cluster, broker, ticket.author, f"{turn.ask.kind.traits.mark} {ticket.id}", by_ticket=ticket.id
    )


def under_way(turn: Turn, works: Iterable[BrokerWork]) -> Turn:
    """Put those works that waited under way, and note what the federation said of each broker until now. It may say
    already, by somebody else's doing, what they will be marked with: that is noted too. A mark of ours that was not
    undone yet is no such thing, and neither is one that another ticket will undo.
    """
    states = {node: state for node, state in turn.world.states.items() if node not in turn.world.in_hand}
    return turn.with_works(
        replace(
            work,
            standing=Standing.UNDER_WAY,
            state_before=work.state_before if work.is_excluded else states.get(work.node, work.state_before),
        )
        for work in works
        if work.standing is Standing.WAITING
    )


def mark(
    turn: Turn, works: Iterable[BrokerWork], state: BrokerState, *, for_good: bool = False
) -> tuple[Turn, tuple[AnyEffect, ...]]:
    """Return what is missing so that the brokers are excluded and in this state; nothing when they are. The works
    remember what is to be undone, before it is done. `for_good`: nobody looks again, so one that ends does not serve.
    """
    wanted = [work for work in works if not work.is_controller]
    turn, effects = set_state(turn, [work for work in wanted if not _is_away(turn, work.node, state)], state)
    bare = [work.node for work in wanted if not _is_excluded(turn, work.node, for_good)]
    if bare:
        kept = [replace(work, is_excluded=True) for work in turn.operation.brokers if work.node in bare]
        turn = turn.with_works(kept)
        effects = (PutExclusions(tuple(exclusion(turn, broker) for broker in bare)), *effects)
    return turn, effects


def set_state(turn: Turn, works: Iterable[BrokerWork], state: BrokerState) -> tuple[Turn, tuple[AnyEffect, ...]]:
    """Return what is missing so that the federation says this state of the brokers."""
    states = turn.world.states
    wrong = [work for work in works if states.get(work.node, state) is not state]
    if not wrong:
        return turn, ()
    before = [replace(work, state_before=states[work.node]) for work in wrong]
    return turn.with_works(before), (SetBrokerStates({work.node: state for work in wrong}),)


def unmark(turn: Turn, works: Iterable[BrokerWork], state: BrokerState) -> tuple[AnyEffect, ...]:
    """Return what is left of the marks to undo: `state` where the federation still says it, and our exclusions. What
    was never marked has none, whatever is said of it. An exclusion that is lifted takes DRAINING along: so states go
    first, and one that was DRAINING before is so again afterwards. DRAINING on behalf of another removal, which says it
    again and again, stays.
    """
    marked = [work for work in works if not work.is_controller and work.standing in _MARKED]
    states = turn.world.states
    others = turn.world.leaving.keys() if state is BrokerState.DRAINING else ()
    stale = {
        work.node: work.state_before
        for work in marked
        if states.get(work.node) is state is not work.state_before and work.node not in others
    }
    taken_along = {
        work.node: work.state_before
        for work in marked
        if work.is_excluded
        and work.state_before is BrokerState.DRAINING
        and states.get(work.node) is BrokerState.ACTIVE
    }
    before = (SetBrokerStates(stale),) if stale else ()
    after = (SetBrokerStates(taken_along),) if taken_along else ()
    return (*before, *lift(turn, marked), *after)


def lift(turn: Turn, works: Iterable[BrokerWork]) -> tuple[AnyEffect, ...]:
    """Return what lifts the rest of our exclusions."""
    nodes = [work.node for work in works if work.is_excluded]
    return lifted(turn, nodes, (turn.ticket.id,))


def lifted(turn: Turn, nodes: Iterable[int], tickets: Collection[str]) -> tuple[AnyEffect, ...]:
    """Return what lifts the brokers' exclusions that these tickets have put."""
    found = (each for node in nodes if (each := turn.world.exclusions.get(node)))
    left = tuple(each for each in found if each.by_ticket in tickets)
    return (LiftExclusions(left),) if left else ()


def _is_away(turn: Turn, broker: int, state: BrokerState) -> bool:
    """A restart says MAINTENANCE of its batch until that is back: each would undo what the other says, for ever."""
    return state is BrokerState.DRAINING and broker in turn.world.in_hand


def _is_excluded(turn: Turn, broker: int, for_good: bool) -> bool:
    found = turn.world.exclusions.get(broker)
    if found is None:
        return False
    return not found.until_ms or (not for_good and found.until_ms > turn.now_ms + _TAKEN_OVER_MS)
