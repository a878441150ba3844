"""Brokers taken offline for a while, and brought online again by another ticket, with everything as it was.

    offline   VALIDATE ──▶ EXCLUDE ──▶ LEADERS_AWAY ──▶ SHUT_DOWN (where asked for) ──▶ SUCCEEDED
    online    VALIDATE ──▶ START ──▶ IN_SYNC ──▶ LEADERS_BACK ──▶ CLEAN_UP ──▶ SUCCEEDED

What the one did, the other finds in the store: the order of replicas in the moves of the offline tickets, the
exclusions by the tickets that they name. Cancelled or rolled back, an offline ticket gives all of it back itself; a
broker that was stopped stays down until somebody starts it.
"""

from __future__ import annotations

from dataclasses import replace

from guardian.execution.operations import health, hooks, leaders, marking
from guardian.execution.operations.effects import SetBrokerStates
from guardian.execution.operations.kind import OperationKind
from guardian.execution.operations.turn import MAX_NEW_TASKS, Result, Turn, named
from guardian.model.operation import Ask, BrokerWork, HookAction, OperationPhase, Standing
from guardian.model.ticket import TicketState
from guardian.model.topology import BrokerState


def validate_offline(turn: Turn) -> Result:
    """All of them will be missing at once."""
    asked = [work.node for work in turn.operation.brokers]
    unknown = [broker for broker in asked if broker not in turn.world.registered]
    if unknown:
        return _refuse(turn, f"{named(unknown)} {'are' if len(unknown) > 1 else 'is'} not in the cluster")
    why = _why_not_down(turn)
    if why:
        return _refuse(turn, f"{named(asked)} must not be offline at once: {why}")
    turn = marking.under_way(turn, turn.operation.brokers)
    return turn.go_on(OperationPhase.EXCLUDE)


def exclude(turn: Turn) -> Result:
    """They get no new replicas, and nobody wonders that they are away."""
    turn, effects = marking.mark(turn, turn.under_way(), BrokerState.MAINTENANCE)
    if effects:
        return turn.keep(f"marks {named(work.node for work in turn.under_way())} as away", *effects)
    return turn.go_on(OperationPhase.LEADERS_AWAY)


def leaders_away(turn: Turn) -> Result:
    """Nobody talks to them any more."""
    nodes = [work.node for work in turn.under_way()]
    busy = {task.move.partition for task in turn.round_tasks() if not task.state.is_over}
    turn = turn.add_moves(leaders.away(turn.world, nodes, busy)[: MAX_NEW_TASKS - len(busy)])
    turn, step = turn.move(TicketState.RUNNING)
    if step is not None:
        return turn.keep(f"moves leaders away from {named(nodes)}: {step.sentence}", *step.effects)
    still = leaders.still_led(turn.world, nodes)
    if still:
        return turn.keep(f"waits until {named(nodes)} lead nothing: {still}")
    return turn.go_on(OperationPhase.SHUT_DOWN)


def shut_down(turn: Turn) -> Result:
    """Stopped by the hook or by a person, where that was asked for."""
    turn = hooks.watched(turn, turn.under_way())
    nodes = [work.node for work in turn.under_way()]
    up = [work for work in turn.under_way() if hooks.is_up(turn, work) or hooks.has_open_run(work)]
    if not turn.ask.shutdown or not up:
        words = "down" if not up else "without leaders, may be stopped"
        turn = turn.with_works(replace(work, standing=Standing.DONE, detail=words) for work in turn.under_way())
        return turn.end(TicketState.SUCCEEDED, f"{named(nodes)} {words}; online-brokers brings back what was")
    why = _why_not_down(turn)
    if why and not any(hooks.has_open_run(work) for work in up):
        return turn.keep(f"waits to stop {named(nodes)}: {why}")
    turn, effects, failures = hooks.run_all(turn, up, HookAction.STOP)
    waits = named(work.node for work in up)
    if failures:
        return turn.end(TicketState.PAUSED, f"{'; '.join(failures)}: stop it by hand or mend the hook, then resume")
    if turn.ask.hook and turn.is_late:
        return turn.end(TicketState.PAUSED, f"{waits} did not go down within {turn.back_within_ms // 1000} s")
    how = f"hook {turn.ask.hook} stops" if turn.ask.hook else "no hook was named: stop by hand"
    return turn.keep(f"{how} {waits}", *effects)


def undo_offline(turn: Turn) -> Result:
    """Leaders, exclusions and states as before; who was stopped stays down."""
    turn, waits = hooks.let_end(turn)
    if waits is not None:
        return waits
    turn = leaders.bring_back(turn)
    effects = marking.unmark(turn, turn.operation.brokers, BrokerState.MAINTENANCE)
    turn, step = turn.move(TicketState.CANCELLING)
    if step is not None or not leaders.are_back(turn):
        sentence = step.sentence if step is not None else "gives leaders back"
        return turn.keep(sentence, *effects, *(step.effects if step is not None else ()))
    if effects:
        return turn.keep("lifts the exclusions", *effects)
    down = [work.node for work in turn.operation.brokers if not turn.world.is_alive(work.node)]
    remark = f"; {named(down)} {'are' if len(down) > 1 else 'is'} down and must be started by hand" if down else ""
    state = TicketState.ROLLED_BACK if turn.ticket.state is TicketState.ROLLING_BACK else TicketState.CANCELLED
    return turn.end(state, f"leaders and exclusions as before{remark}")


def validate_online(turn: Turn) -> Result:
    """They must be known."""
    asked = [work.node for work in turn.operation.brokers]
    unknown = [broker for broker in asked if broker not in turn.world.registered]
    if unknown and not turn.ask.hook:
        return _refuse(
            turn, f"{named(unknown)} {'are' if len(unknown) > 1 else 'is'} not in the cluster: start it first"
        )
    turn = turn.with_works(replace(work, standing=Standing.UNDER_WAY) for work in turn.operation.brokers)
    return turn.go_on(OperationPhase.START)


def start(turn: Turn) -> Result:
    """Start the brokers by the hook, or wait for a person to; what is up needs neither."""
    turn = hooks.watched(turn, turn.under_way())
    down = [work for work in turn.under_way() if not hooks.is_up(turn, work) or hooks.has_open_run(work)]
    if not down:
        return turn.go_on(OperationPhase.IN_SYNC)
    turn, effects, failures = hooks.run_all(turn, down, HookAction.START)
    waits = named(work.node for work in down)
    if failures:
        return turn.end(TicketState.PAUSED, f"{'; '.join(failures)}: start it by hand or mend the hook, then resume")
    if turn.ask.hook and turn.is_late:
        return turn.end(TicketState.PAUSED, f"{waits} did not come up within {turn.back_within_ms // 1000} s")
    how = f"hook {turn.ask.hook} starts" if turn.ask.hook else "no hook was named: start by hand"
    return turn.keep(f"{how} {waits}", *effects)


def in_sync(turn: Turn) -> Result:
    """Wait until what the brokers hold is in sync again."""
    nodes = [work.node for work in turn.under_way()]
    if not all(turn.world.is_alive(node) for node in nodes):
        return turn.go_on(OperationPhase.START)
    missing = health.lagging(turn.world, nodes)
    return turn.keep(missing) if missing else turn.go_on(OperationPhase.LEADERS_BACK)


def leaders_back(turn: Turn) -> Result:
    """Each partition in the order that it had before an offline ticket changed it."""
    moves = leaders.restored(turn.world, turn.world.remembered, turn.execution.tasks)
    turn = turn.add_moves(moves[:MAX_NEW_TASKS])
    turn, step = turn.move(TicketState.RUNNING)
    if step is None:
        return turn.go_on(OperationPhase.CLEAN_UP)
    return turn.keep(f"gives leaders back: {step.sentence}", *step.effects)


def clean_up_online(turn: Turn) -> Result:
    """The exclusions of offline tickets go; another person's stays."""
    nodes = [work.node for work in turn.under_way()]
    exclusions = turn.world.exclusions
    away = {node: BrokerState.ACTIVE for node in nodes if turn.world.states.get(node) is BrokerState.MAINTENANCE}
    effects = marking.lifted(turn, nodes, turn.world.offline_tickets)
    effects += (SetBrokerStates(away),) if away else ()
    if effects:
        return turn.keep("lifts the exclusions", *effects)
    turn = turn.with_works(replace(work, standing=Standing.DONE, detail="online") for work in turn.under_way())
    foreign = [node for node in nodes if node in exclusions]
    remark = f"; {named(foreign)} stays excluded: {exclusions[foreign[0]].why}" if foreign else ""
    return turn.end(TicketState.SUCCEEDED, f"{named(nodes)} online, leaders as before{remark}")


def undo_online(turn: Turn) -> Result:
    """Undo the moves of leaders that are under way. What leaders came back stay so, or leave again as those of any
    ticket; brokers stay up.
    """
    turn, step = turn.move(turn.ticket.state)
    if step is not None:
        return turn.keep(step.sentence, *step.effects)
    state = TicketState.ROLLED_BACK if turn.ticket.state is TicketState.ROLLING_BACK else TicketState.CANCELLED
    return turn.end(state, "brokers stay as they are")


def works_of(turn: Turn) -> list[BrokerWork]:
    return [BrokerWork(node) for node in turn.ask.brokers]


def _why_not_down(turn: Turn) -> str:
    nodes = [work.node for work in turn.operation.brokers]
    why = health.why_no_majority(turn.world, nodes)
    return why or health.why_not_down(turn.world, nodes, accept_unavailable=turn.ask.accept_unavailable)


def _refuse(turn: Turn, why: str) -> Result:
    return turn.end(TicketState.FAILED, f"nothing was changed: {why}")


def _described_offline(ask: Ask, who: str) -> str:
    if ask.shutdown:
        return f"Once they lead nothing, they are stopped by {who}."
    return "They lead nothing then, and stay up."


OFFLINE = OperationKind(
    phases={
        OperationPhase.VALIDATE: validate_offline,
        OperationPhase.EXCLUDE: exclude,
        OperationPhase.LEADERS_AWAY: leaders_away,
        OperationPhase.SHUT_DOWN: shut_down,
    },
    undo=undo_offline,
    describe=_described_offline,
)
ONLINE = OperationKind(
    phases={
        OperationPhase.VALIDATE: validate_online,
        OperationPhase.START: start,
        OperationPhase.IN_SYNC: in_sync,
        OperationPhase.LEADERS_BACK: leaders_back,
        OperationPhase.CLEAN_UP: clean_up_online,
    },
    undo=undo_online,
    describe=lambda _, who: f"They are started by {who}, and lead what they led before.",
    outcome=lambda _: "in sync again, they lead what they led before, and the exclusions of offline tickets are lifted",
)
