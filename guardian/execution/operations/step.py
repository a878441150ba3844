"""What to do about a ticket that is more than one plan: each tick, from what is stored and what is seen.

    operate(ticket, execution, world) -> what to store, then what to send, and which plan is wanted

Intent before effect, as for any ticket: phase, batch, runs of hooks and exclusions to come are in the execution that
is stored; then the effects are sent. A step that is repeated after a crash sees in the world what was done, and asks
for the rest. Phases that have nothing to send or to wait for follow one another within one step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from guardian.errors import Conflict, InvalidInput
from guardian.execution.operations import hooks
from guardian.execution.operations.effects import AnyEffect
from guardian.execution.operations.registry import OPERATIONS
from guardian.execution.operations.turn import Result, Turn, named
from guardian.execution.operations.world import Mover, OperationStep, OperationWorld
from guardian.model.execution import Execution
from guardian.model.operation import Ask, BrokerWork, Operation, OperationPhase, Standing
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.tickets.rules import approving

_MAX_HOPS = 12  # phases in one step: more than any kind has
_AMENDABLE = (TicketState.DRAFT, TicketState.PENDING, TicketState.APPROVED, TicketState.RUNNING, TicketState.PAUSED)


def begin(ticket: Ticket, now_ms: int) -> Execution:
    """The execution of an APPROVED ticket with an ask, when it becomes RUNNING."""
    ask = _ask(ticket)
    works = [BrokerWork(node) for node in ask.brokers]
    works += [BrokerWork(node, is_controller=True) for node in ask.controllers]
    operation = Operation(OperationPhase.VALIDATE, now_ms, tuple(works), ask_revision=ask.revision)
    return Execution(ticket.id, (), operation=operation)


def operate(ticket: Ticket, execution: Execution, world: OperationWorld, move: Mover, now_ms: int) -> OperationStep:
    """Decide what to do about a RUNNING, PAUSED, CANCELLING or ROLLING_BACK ticket now. `move` is `executing.step` with
    all else bound.
    """
    ask, operation = _ask(ticket), execution.operation
    kind = OPERATIONS[ask.kind]
    if operation is None:
        raise InvalidInput(f"the execution of ticket {ticket.id} has no operation: it carries out a plan")
    turn = Turn(ticket, ask, execution, operation, world, move, now_ms)
    if ticket.state is TicketState.PAUSED:
        return _stepped(turn, _paused(turn))
    if ticket.state in (TicketState.CANCELLING, TicketState.ROLLING_BACK):
        return _stepped(turn, kind.undo(turn))
    if operation.ask_revision != ask.revision and kind.amend is not None:
        turn = kind.amend(turn)
    turn, released = kind.let_go(turn)
    effects: list[AnyEffect] = [*released]
    result = Result(turn.execution)
    for _ in range(_MAX_HOPS):
        result = kind.phases[turn.operation.phase](turn)
        effects += result.effects
        if not result.goes_on or result.execution.operation is None:
            break
        turn = replace(turn, execution=result.execution, operation=result.execution.operation)
    if released and result.transition is not None and result.transition[0].is_over:
        # Nobody would ask for it any more: a ticket ends when nothing of it is left.
        result = turn.keep("undoes what was done to brokers that are no longer asked for")
    return _stepped(turn, replace(result, effects=tuple(effects)))


def holds(ask: Ask, execution: Execution | None) -> frozenset[int]:
    """The nodes that nobody else should touch meanwhile: those asked for, and those of moves that are not over."""
    return frozenset((*ask.brokers, *ask.controllers)) | _moved(execution)


def holds_from_healing(ask: Ask, execution: Execution | None, *, is_paused: bool) -> frozenset[int]:
    """Those of them that even healing should not touch. A rolling restart, which may take days, keeps from it only its
    batch. While it is paused, it keeps only what of the batch is not down: nobody else would mend that. A removal that
    is paused mends nothing that dies meanwhile either, and keeps only what it is at (holding.py).
    """
    operation = execution.operation if execution is not None else None
    if ask.kind.traits.empties and is_paused:
        return frozenset()
    if not ask.kind.traits.has_batches or operation is None:
        return holds(ask, execution)
    batch = [work for work in operation.brokers if work.node in operation.batch]
    return frozenset(work.node for work in batch if not (is_paused and work.down_since_ms)) | _moved(execution)


def _moved(execution: Execution | None) -> frozenset[int]:
    tasks = execution.tasks if execution is not None else ()
    moves = [task.move for task in tasks if not task.state.is_over]
    return frozenset(broker for move in moves for broker in (*move.original_brokers, *move.target_brokers))


def in_hand(ask: Ask, execution: Execution) -> frozenset[int]:
    """The nodes that it may take down at any moment, so that nobody else counts on them: a batch, or what goes offline.
    What a removal empties is counted on until it is empty."""
    operation = execution.operation
    works = operation.brokers if operation is not None and not ask.kind.traits.empties else ()
    return frozenset(work.node for work in works if work.standing is Standing.UNDER_WAY)


def leaving(execution: Execution) -> frozenset[int]:
    """The brokers that a removal has under way: what another one asks for twice is not done twice."""
    operation = execution.operation
    works = operation.brokers if operation is not None else ()
    return frozenset(work.node for work in works if work.standing in (Standing.UNDER_WAY, Standing.DONE))


def amended(
    ticket: Ticket, execution: Execution | None, brokers: Collection[int], controllers: Collection[int] = ()
) -> Ask:
    """The ticket's ask with other brokers; its revision is still that of the ask which it replaces.

    Raises Conflict when the ticket can't be amended (any more), InvalidInput when these brokers can't be.
    """
    ask = _ask(ticket)
    if OPERATIONS[ask.kind].amend is None:
        raise Conflict(f"ticket {ticket.id} is {ask.kind}, which can't be amended: make another ticket")
    if ticket.state not in _AMENDABLE:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: it can't be amended any more")
    wanted = replace(ask, brokers=tuple(brokers), controllers=tuple(controllers))
    if (wanted.brokers, wanted.controllers) == (ask.brokers, ask.controllers):
        raise InvalidInput(f"ticket {ticket.id} asks for {named(wanted.brokers)} already: nothing to amend")
    operation = execution.operation if execution is not None else None
    over = [
        work.node
        for work in (operation.brokers if operation is not None else ())
        if work.standing is Standing.DONE and work.node not in (*wanted.brokers, *wanted.controllers)
    ]
    if over:
        raise Conflict(f"{named(over)} {'are' if len(over) > 1 else 'is'} done already: keep it in the ticket")
    stopped = [
        work.node
        for work in (operation.brokers if operation is not None else ())
        if ask.kind.traits.empties and work.hook is not None and work.node not in wanted.brokers
    ]
    if stopped:
        what = "are stopped already, or about to be" if len(stopped) > 1 else "is stopped already, or about to be"
        raise Conflict(f"{named(stopped)} {what}: keep it in the ticket, or cancel the ticket and start it by hand")
    return wanted


def why_unapproved(policy: ApprovalPolicy, ticket: Ticket, nodes: Collection[int], actor: str, now_ms: int) -> str:
    """Say why the actor may not make these the ticket's brokers and controllers; empty when that is in order. What was
    approved grows only by the hand of somebody who may approve it, or he who let it grow could approve what is his own.
    What was not approved grows only by its author's hand.
    """
    ask = _ask(ticket)
    more = sorted(set(nodes) - {*ask.brokers, *ask.controllers})
    if not more:
        return ""
    if ticket.state in (TicketState.DRAFT, TicketState.PENDING):
        whose = f"{ticket.author}'s ticket, which is not approved: make one of your own"
        return "" if actor == ticket.author else f"{named(more)} would come to {whose}"
    why = approving.why_not(policy, ticket, actor, now_ms)
    return f"{named(more)} would come to an approved ticket: {why}" if why else ""


def amending(
    ticket: Ticket,
    actor: str,
    reason: str,
    now_ms: int,
    execution: Execution | None,
    ask: Ask,
    policy: ApprovalPolicy,
) -> TicketTransition:
    """Return what an amendment to these brokers and controllers makes of the ticket: it stays in its state. Raises
    Conflict, and InvalidInput for who may not.
    """
    amended(ticket, execution, ask.brokers, ask.controllers)
    why = why_unapproved(policy, ticket, (*ask.brokers, *ask.controllers), actor, now_ms)
    if why:
        raise InvalidInput(why)
    return TicketTransition(ticket.state, now_ms, actor, reason)


def _ask(ticket: Ticket) -> Ask:
    if ticket.ask is None:
        raise InvalidInput(f"ticket {ticket.id} asks for no brokers: it carries a plan")
    return ticket.ask


def _paused(turn: Turn) -> Result:
    """Step a paused ticket. What copies goes on as in any paused ticket, and what a hook answers is kept; nothing else
    begins.
    """
    works = turn.in_batch() or turn.under_way()
    turn = turn.with_works(hooks.answered(turn, work) for work in works)
    turn, effects = OPERATIONS[turn.ask.kind].give_back(turn)
    turn, step = turn.move(TicketState.PAUSED)
    return turn.keep(turn.operation.detail, *effects, *(step.effects if step is not None else ()))


def _stepped(turn: Turn, result: Result) -> OperationStep:
    operation = result.execution.operation or turn.operation
    sentence = operation.detail
    if result.transition is not None:
        sentence = f"{result.transition[0].name}: {result.transition[1]}"
    phase = operation.phase.name.lower().replace("_", " ")
    said = sentence if result.transition is not None else f"{phase}: {sentence}"
    if turn.ticket.state is not TicketState.RUNNING and result.transition is None:
        said = f"{turn.ticket.state.name}: {sentence}"
    stored = replace(result.execution, note=said)
    return OperationStep(stored, result.transition, result.effects, result.plan_wanted, said)
