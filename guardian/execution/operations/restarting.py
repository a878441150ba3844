"""Brokers restarted batch after batch, controllers last; each phase is stored, so whoever leads goes on from it.

    VALIDATE ──▶ GATE ──▶ LEADERS_AWAY ──▶ RESTART ──▶ IN_SYNC ──▶ LEADERS_BACK ──▶ GATE ... ──▶ FINALIZE ──▶ SUCCEEDED
                  │             ▲             │
                  │             └─ it leads ──┤
                  └── a controller ───────────┘          a controller has no leaders, and is in sync when it caught up

    GATE            the cluster was well for a while; then the next batch is chosen: of one rack, as many as ISR allows.
                    Brokers that were out of sync from the start come first: their restart may be the cure
    LEADERS_AWAY    nobody talks to a broker that is about to go
    RESTART         by the hook, once it is seen that it still leads nothing; seen down and up again
    IN_SYNC         every replica of the batch is in its ISR again
    LEADERS_BACK    the order of replicas, and with it the leaders, as before
    FINALIZE        only where it was asked for: `metadata.version` is raised, for good (finalizing)

Brokers that vote in the controllers' quorum, and then the controllers, go one by one, the active one last, and only
while the others are a majority without it. The ticket pauses and touches nothing more when a hook fails or a broker is
not back in time. So it does for harm that is not of the batch's own making (another broker down, a partition that lacks
a replica elsewhere). Resumed, it goes on where it was. Tickets of healing may run between two batches, and on what is
not back in time.
"""

from __future__ import annotations

from dataclasses import replace

from guardian.execution.operations import finalizing, health, hooks, leaders, marking
from guardian.execution.operations.effects import AnyEffect
from guardian.execution.operations.kind import OperationKind
from guardian.execution.operations.turn import MAX_NEW_TASKS, Result, Turn, named
from guardian.model.operation import Ask, BrokerWork, HookAction, OperationPhase, Quorum, Standing
from guardian.model.ticket import TicketState
from guardian.model.topology import BrokerState


def validate(turn: Turn) -> Result:
    """Check whether each of the brokers could be missing for a while at all."""
    asked = [work for work in turn.operation.brokers if work.standing is Standing.WAITING]
    brokers = [work.node for work in asked if not work.is_controller]
    unknown = [broker for broker in brokers if broker not in turn.world.registered]
    if unknown:
        return _refuse(turn, f"{named(unknown)} {'are' if len(unknown) > 1 else 'is'} not in the cluster")
    if asked and all(_why_left_out(turn, work) for work in asked):
        return _refuse(turn, f"{named(brokers)}: {_why_left_out(turn, asked[0])}, and nothing else is asked for")
    why = finalizing.why_never(turn)
    if why:
        return _refuse(turn, why)
    voters = [work.node for work in asked if work.is_controller or _votes(turn.world.quorum, work.node)]
    for voter in voters:
        why = _why_never(turn.world.quorum, voter)
        if why:
            return _refuse(turn, why)
    if not turn.ask.accept_unavailable:
        why = health.counted(
            f"{partition} has {len(state.replicas)} replicas and needs {need} in sync, so it can't do without broker "
            f"{state.replicas[0]}: give it more replicas, or accept that it is unavailable meanwhile"
            for partition, state in turn.world.observation.partitions.items()
            if len(state.replicas) - 1 < (need := max(turn.world.min_isr.get(partition.topic, 1), 1))
            and not set(brokers).isdisjoint(state.replicas)
        )
        if why:
            return _refuse(turn, why)
    # After the first batch nobody can tell what was there before from what the restarts did.
    if not any(work.standing is Standing.DONE for work in turn.operation.brokers):
        lagging = health.out_of_sync(turn.world)
        turn = turn.with_works(
            replace(work, was_out_of_sync=True) for work in asked if not work.is_controller and work.node in lagging
        )
    return turn.go_on(OperationPhase.GATE)


def gate(turn: Turn) -> Result:
    """Well for a while, then the next batch; or what comes after the last one."""
    turn = turn.with_works(
        replace(work, standing=Standing.GONE, detail=why)
        for work in turn.operation.brokers
        if work.standing is Standing.WAITING and (why := _why_left_out(turn, work))
    )
    waiting = [work for work in turn.operation.brokers if work.standing is Standing.WAITING]
    if not waiting and not turn.ask.finalize:
        return _succeed(turn, finalizing.left_at_the_end(turn))
    restarted = [work for work in turn.operation.brokers if work.standing is Standing.DONE]
    is_first = not restarted
    fallen = [work.node for work in restarted if _has_fallen(turn, work)]
    trouble = f"{named(fallen, 'node')} went down again" if fallen else _trouble(turn)
    if trouble:
        turn = turn.with_operation(replace(turn.operation, well_since_ms=0))
        turn, lasts_ms = _harmed(turn, trouble)
        # Before the first batch nothing was done to the cluster: that may wait as long as it likes.
        if not is_first and lasts_ms >= (turn.limits.calm_ms if fallen else turn.back_within_ms):
            return turn.end(TicketState.PAUSED, f"the cluster is not well after a batch: {trouble}")
        return turn.keep(f"waits until the cluster is well: {trouble}")
    turn, _ = _harmed(turn, "")
    if not turn.operation.well_since_ms:
        turn = turn.with_operation(replace(turn.operation, well_since_ms=turn.now_ms))
    # The first batch need not wait: nothing was done to the cluster yet.
    if not is_first and turn.now_ms - turn.operation.well_since_ms < turn.limits.calm_ms:
        return turn.keep(f"looks whether the cluster stays well; {len(waiting)} nodes are left")
    return _begin_batch(turn, _still_out_of_sync(turn) or waiting) if waiting else turn.go_on(OperationPhase.FINALIZE)


def _begin_batch(turn: Turn, waiting: list[BrokerWork]) -> Result:
    batch, why = _next_batch(turn, waiting)
    if not batch:
        return turn.keep(why)
    turn = turn.new_round().with_works(
        replace(
            work,
            standing=Standing.UNDER_WAY,
            was_down=False,
            hook=None,
            # Also where it is the very state that the restart sets: it was not the restart that set it.
            state_before=turn.world.states.get(work.node, work.state_before),
        )
        for work in waiting
        if work.node in batch
    )
    turn = turn.with_operation(replace(turn.operation, batch=tuple(batch)))
    return turn.go_on(OperationPhase.LEADERS_AWAY)


def leaders_away(turn: Turn) -> Result:
    """Nobody talks to the batch any more. After a pause some of it may have been asked to restart already."""
    turn = hooks.watched(turn, turn.in_batch())
    turn, harm = _look_for_harm(turn)
    if harm is not None:
        return harm
    turn, effects = marking.set_state(turn, _brokers(turn), BrokerState.MAINTENANCE)
    busy = {task.move.partition for task in turn.round_tasks() if not task.state.is_over}
    turn = turn.add_moves(leaders.away(turn.world, turn.operation.batch, busy)[: MAX_NEW_TASKS - len(busy)])
    turn, step = turn.move(TicketState.RUNNING)
    if step is not None:
        if turn.is_late:
            return turn.end(TicketState.PAUSED, f"the leaders do not get away: {step.sentence}")
        return turn.keep(f"moves leaders away from {turn.batch_name}: {step.sentence}", *effects, *step.effects)
    still = leaders.still_led(turn.world, turn.operation.batch)
    if effects or still:
        return turn.keep(f"waits until {turn.batch_name} lead nothing: {still}", *effects)
    return turn.go_on(OperationPhase.RESTART)


def restart(turn: Turn) -> Result:
    """Restart the batch by the hook, and wait until that is seen."""
    turn = hooks.watched(turn, turn.in_batch())
    turn, harm = _look_for_harm(turn)
    if harm is not None:
        return harm
    refusal = _why_not_now(turn)
    # After a pause, or behind a refusal: whoever leads again has to give the lead away before its hook takes it down.
    if not refusal and leaders.still_led(turn.world, _about_to_go(turn)):
        return turn.go_on(OperationPhase.LEADERS_AWAY)
    turn, marks = marking.set_state(turn, _brokers(turn), BrokerState.MAINTENANCE)  # again, after a pause
    effects: list[AnyEffect] = [*marks]
    failures = []
    for work in turn.in_batch():
        if refusal and not hooks.has_open_run(work) and not hooks.is_restarted(turn, work) and work.hook is None:
            continue
        hooked = hooks.run(turn, work, HookAction.RESTART)
        turn = turn.with_works([hooked.work])
        effects += [hooked.effect] if hooked.effect and not refusal else []
        failures += [hooked.failure] if hooked.failure else []
    if failures:
        return turn.end(TicketState.PAUSED, "; ".join(failures))
    late = [work.node for work in turn.in_batch() if not hooks.is_restarted(turn, work)]
    if not late:
        return turn.go_on(OperationPhase.IN_SYNC)
    if turn.is_late:
        was_seen = all(work.was_down for work in turn.in_batch() if work.node in late)
        what = "was not back" if was_seen else "was not seen to go down and come back"
        reason = f"{named(late)} {what} {turn.back_within_ms // 1000} s after its restart began"
        return turn.end(TicketState.PAUSED, reason)
    doing = f"hook {turn.ask.hook} restarts {turn.batch_name}: waits for {named(late)}"
    return turn.keep(f"waits to restart {named(late)}: {refusal}" if refusal else doing, *effects)


def in_sync(turn: Turn) -> Result:
    """Wait until what the batch holds is in sync again."""
    turn = hooks.watched(turn, turn.in_batch())
    turn, harm = _look_for_harm(turn)
    if harm is not None:
        return harm
    turn, marks = marking.set_state(turn, _brokers(turn), BrokerState.MAINTENANCE)  # again, after a pause
    down = [work.node for work in turn.in_batch() if not hooks.is_up(turn, work)]
    missing = f"{named(down)} went down again" if down else health.lagging(turn.world, turn.operation.batch)
    if not missing:
        return turn.go_on(OperationPhase.LEADERS_BACK)
    if turn.is_late:
        return turn.end(TicketState.PAUSED, f"not in sync after {turn.back_within_ms // 1000} s: {missing}")
    return turn.keep(f"{turn.batch_name}: {missing}", *marks)


def leaders_back(turn: Turn) -> Result:
    """The order of replicas as it was, and the leaders with it."""
    turn = hooks.watched(turn, turn.in_batch())
    fallen = [work.node for work in turn.in_batch() if not hooks.is_up(turn, work)]
    turn, harm = _look_for_harm(turn, f"{named(fallen, 'node')} went down again" if fallen else "")
    if harm is not None:
        return harm
    turn = leaders.bring_back(turn)
    turn, step = turn.move(TicketState.RUNNING)
    effects = _restored_states(turn)
    if step is not None or not leaders.are_back(turn):
        sentence = step.sentence if step is not None else "there are more"
        if turn.is_late:
            return turn.end(TicketState.PAUSED, f"the leaders do not come back: {sentence}")
        sent = step.effects if step is not None else ()
        return turn.keep(f"gives leaders back to {turn.batch_name}: {sentence}", *effects, *sent)
    if effects:
        return turn.keep(f"{turn.batch_name} are back", *effects)
    turn = turn.with_works(replace(work, standing=Standing.DONE, detail="restarted") for work in turn.in_batch())
    return turn.with_operation(replace(turn.operation, batch=())).new_round().go_on(OperationPhase.GATE)


def finalize(turn: Turn) -> Result:
    """`metadata.version`, once every node is up and supports it."""
    fallen = [
        work.node for work in turn.operation.brokers if work.standing is Standing.DONE and _has_fallen(turn, work)
    ]
    turn, harm = _look_for_harm(turn, f"{named(fallen, 'node')} went down again" if fallen else "")
    if harm is not None:
        return harm
    turn, decision = finalizing.decide(turn)
    match decision:
        case finalizing.Over(sentence):
            return _succeed(turn, sentence)
        case finalizing.Stuck(sentence):
            return turn.end(TicketState.PAUSED, sentence)
        case finalizing.Waits(sentence, effect):
            return turn.keep(sentence, *([effect] if effect is not None else ()))


def amend(turn: Turn) -> Turn:
    """More nodes, or fewer: those of the present batch are finished in any case."""
    asked = {*turn.ask.brokers, *turn.ask.controllers}
    kept = [w for w in turn.operation.brokers if w.node in asked or w.standing is not Standing.WAITING]
    known = {work.node for work in kept}
    new = [work for work in works_of(turn) if work.node not in known]
    is_between = turn.operation.phase in (OperationPhase.VALIDATE, OperationPhase.GATE, OperationPhase.FINALIZE)
    return turn.with_operation(
        replace(
            turn.operation,
            brokers=(*kept, *new),
            ask_revision=turn.ask.revision,
            phase=OperationPhase.VALIDATE if is_between else turn.operation.phase,
        )
    )


def works_of(turn: Turn) -> list[BrokerWork]:
    return [BrokerWork(node) for node in turn.ask.brokers] + [
        BrokerWork(node, is_controller=True) for node in turn.ask.controllers
    ]


def undo(turn: Turn) -> Result:
    """Cancelled: what is being restarted comes back first, then leaders and states are as before. What was restarted
    stays so."""
    turn = hooks.watched(turn, (hooks.answered(turn, work) for work in turn.in_batch()))
    since_ms = turn.now_ms - turn.resumed_at_ms
    unsettled = [work.node for work in turn.in_batch() if _is_unsettled(turn, work)]
    if unsettled and since_ms <= turn.back_within_ms:
        return turn.keep(f"waits until {named(unsettled)} is restarted and back, to give the leaders back to it")
    turn = leaders.bring_back(turn)
    turn, step = turn.move(TicketState.CANCELLING)
    effects = _restored_states(turn)
    if step is not None or not leaders.are_back(turn):
        sentence = step.sentence if step is not None else "gives leaders back"
        return turn.keep(sentence, *effects, *(step.effects if step is not None else ()))
    if effects:
        return turn.keep(f"{turn.batch_name} as before", *effects)
    done = [work.node for work in turn.operation.brokers if work.standing is Standing.DONE]
    away = f"; {named(unsettled)} was not restarted and back, and may lose its leaders yet" if unsettled else ""
    said = f"{named(done, 'node')} restarted, leaders as before{away}" if done else f"leaders as before{away}"
    said = "; ".join(filter(None, (said, finalizing.left_by_a_cancel(turn))))
    if turn.ticket.state is TicketState.ROLLING_BACK:
        return turn.end(TicketState.ROLLED_BACK, f"a restart can't be taken back; {said}")
    return turn.end(TicketState.CANCELLED, said)


def given_back(turn: Turn) -> tuple[Turn, tuple[AnyEffect, ...]]:
    """While it is paused: what was taken down and is not back in time is no longer said to be away for a while, so that
    healing sees it."""
    turn = hooks.watched(turn, turn.in_batch())
    late = [work for work in _brokers(turn) if not hooks.is_up(turn, work) and _is_overdue(turn, work)]
    return turn, marking.unmark(turn, late, BrokerState.MAINTENANCE)


def _is_overdue(turn: Turn, work: BrokerWork) -> bool:
    since_ms = work.hook.asked_at_ms if work.hook is not None else work.down_since_ms
    return turn.now_ms - since_ms > turn.back_within_ms


def _has_fallen(turn: Turn, work: BrokerWork) -> bool:
    """Restarted, and down again by nobody's doing."""
    return not hooks.is_up(turn, work) and work.node not in turn.world.away


def _why_left_out(turn: Turn, work: BrokerWork) -> str:
    """Say why it is not restarted at all; empty when it is. Waiting would not end while somebody keeps it offline."""
    world = turn.world
    if work.is_controller or world.is_alive(work.node) or work.node in world.in_hand:
        return ""
    if work.node not in world.registered:
        return "not in the cluster any more"
    if world.states.get(work.node) is BrokerState.MAINTENANCE:
        return "down and in maintenance, so it is not restarted: bring it online (guardian broker online)"
    return ""


def _is_unsettled(turn: Turn, work: BrokerWork) -> bool:
    """A restart may be under way, or is not over."""
    if not hooks.is_up(turn, work):
        return True
    if hooks.has_open_run(work) and not work.was_down:
        return True
    last = work.hook
    if last is None or (last.ended_at_ms and not last.is_ok):
        return False
    is_recent = turn.now_ms - turn.resumed_at_ms < turn.limits.unseen_ms
    return (is_recent and not hooks.is_restarted(turn, work)) or bool(health.lagging(turn.world, [work.node]))


def _next_batch(turn: Turn, waiting: list[BrokerWork]) -> tuple[list[int], str]:
    """Plain brokers, then those that vote, then controllers; or what there is to wait for."""
    quorum = turn.world.quorum
    plain = [work.node for work in waiting if not work.is_controller and not _votes(quorum, work.node)]
    if plain:
        limit = max(1, int(len(turn.world.observation.brokers) * turn.limits.max_share))
        limit = min(limit, turn.ask.batch_limit or limit)
        still = [broker for broker in plain if broker not in turn.world.moving]
        batch = health.batch_of(still, turn.world, limit, accept_unavailable=turn.ask.accept_unavailable)
        if batch:
            return batch, ""
        whys = ((broker, _why_waits(turn, broker)) for broker in sorted(plain))
        return [], next(f"waits to restart broker {broker}: {why}" for broker, why in whys if why)
    voters = [work.node for work in waiting if not work.is_controller] or [work.node for work in waiting]
    active = quorum.leader if quorum is not None else -1
    # The active one of all that are left goes last, be it a broker too: so controllers may come before it.
    others = [work.node for work in waiting if work.node != active]
    node = min([voter for voter in voters if voter != active] or others or voters)
    why = _why_not_spared(turn, node)
    if not why and node in turn.ask.brokers:
        why = _why_waits(turn, node)
    return ([], f"waits to restart node {node}: {why}") if why else ([node], "")


def _why_waits(turn: Turn, broker: int) -> str:
    if broker in turn.world.moving:
        return f"ticket {turn.world.moving[broker]} moves replicas there"
    if not turn.world.is_alive(broker):
        return f"it is down, by ticket {turn.world.in_hand[broker]}" if broker in turn.world.in_hand else "it is down"
    return health.why_not_down(turn.world, [broker], accept_unavailable=turn.ask.accept_unavailable)


def _why_not_spared(turn: Turn, voter: int) -> str:
    """Say why the controllers' quorum can't do without this voter now; empty when it can."""
    quorum = turn.world.quorum
    if quorum is None:
        return "the controllers' quorum can't be read"
    if voter not in quorum.voters:
        return f"controller {voter} is no voter of the quorum, whose voters are {sorted(quorum.voters)}"
    return health.why_no_majority(turn.world, [voter], "controller")


def _why_not_now(turn: Turn) -> str:
    """Looked at once more right before: topics may have come, and replicas may have fallen behind."""
    brokers = [work.node for work in _brokers(turn)]
    why = health.why_not_down(turn.world, brokers, accept_unavailable=turn.ask.accept_unavailable)
    voters = [work.node for work in turn.in_batch() if work.is_controller or _votes(turn.world.quorum, work.node)]
    return why or next((why for voter in voters if (why := _why_not_spared(turn, voter))), "")


def _about_to_go(turn: Turn) -> list[int]:
    """Return the brokers whose hook is yet to be asked for the first time, or once more."""
    return [work.node for work in _brokers(turn) if hooks.begins_anew(turn, work, HookAction.RESTART)]


def _why_never(quorum: Quorum | None, voter: int) -> str:
    """Say why the controller can never be restarted safely, which waiting does not mend; empty when it can."""
    if quorum is None:
        return "the controllers' quorum can't be read, so no controller can be restarted safely"
    if voter not in quorum.voters:
        return f"controller {voter} is no voter of the quorum, whose voters are {sorted(quorum.voters)}"
    if len(quorum.voters) - 1 < len(quorum.voters) // 2 + 1:
        return (
            f"the quorum has {len(quorum.voters)} voters, so it has no majority without controller {voter}: "
            "restart it by hand"
        )
    return ""


def _votes(quorum: Quorum | None, node: int) -> bool:
    return quorum is not None and node in quorum.voters


def _brokers(turn: Turn) -> list[BrokerWork]:
    return [work for work in turn.in_batch() if not work.is_controller]


def _restored_states(turn: Turn) -> tuple[AnyEffect, ...]:
    return marking.unmark(turn, turn.in_batch(), BrokerState.MAINTENANCE)


def _look_for_harm(turn: Turn, of_batch: str = "") -> tuple[Turn, Result | None]:
    """The turn without harm; or, while there is some, nothing new, and a pause when it lasts. `of_batch` is what is
    wrong with the batch itself."""
    harm = of_batch or _trouble(turn)
    turn, lasts_ms = _harmed(turn, harm)
    if not harm:
        return turn, None
    if lasts_ms >= turn.limits.calm_ms:
        return turn, turn.end(TicketState.PAUSED, f"stopped at the first sign of harm: {harm}")
    return turn, turn.keep(f"holds on: {harm}")


def _trouble(turn: Turn) -> str:
    """Return what is wrong that the restart of the batch, or of a broker that is yet to come, does not explain."""
    cured = {*turn.operation.batch, *(work.node for work in _still_out_of_sync(turn))}
    return health.trouble(turn.world, cured | set(turn.ask.accepted_brokers), turn.ask.accepted_partitions)


def _still_out_of_sync(turn: Turn) -> list[BrokerWork]:
    """Return the brokers that wait for a restart and have been out of sync since before the first one."""
    found = [w for w in turn.operation.brokers if w.standing is Standing.WAITING and w.was_out_of_sync]
    lagging = health.out_of_sync(turn.world) if found else frozenset()
    return [work for work in found if work.node in lagging]


def _harmed(turn: Turn, harm: str) -> tuple[Turn, int]:
    """Record the current harm, empty if there is none, and return for how long there has been some, in ms."""
    operation = turn.operation
    since_ms = max(operation.harm_since_ms or turn.now_ms, turn.resumed_at_ms) if harm else 0
    turn = turn.with_operation(replace(operation, harm=harm, harm_since_ms=since_ms))
    return turn, turn.now_ms - since_ms if harm else 0


def _refuse(turn: Turn, why: str) -> Result:
    """Refuse an amendment or a restart. What was restarted already is not undone because of an amendment."""
    if any(work.standing is Standing.DONE for work in turn.operation.brokers):
        return turn.end(TicketState.PAUSED, f"the ticket as it was amended can't be carried out: {why}")
    return turn.end(TicketState.FAILED, f"nothing was changed: {why}")


def _succeed(turn: Turn, of_version: str) -> Result:
    done = [work.node for work in turn.operation.brokers if work.standing is Standing.DONE]
    gone = [work for work in turn.operation.brokers if work.standing is Standing.GONE]
    said = f"{named(done, 'node')} restarted, leaders as before" if done else "nothing was left to restart"
    words = (said, *(f"broker {work.node}: {work.detail}" for work in gone), of_version)
    return turn.end(TicketState.SUCCEEDED, "; ".join(filter(None, words)))


def _described(ask: Ask, who: str) -> str:
    at_once = f"at most {ask.batch_limit}" if ask.batch_limit else "as many as ISR and racks allow"
    return f"They are restarted by {who}, {at_once} at once."


KIND = OperationKind(
    phases={
        OperationPhase.VALIDATE: validate,
        OperationPhase.GATE: gate,
        OperationPhase.LEADERS_AWAY: leaders_away,
        OperationPhase.RESTART: restart,
        OperationPhase.IN_SYNC: in_sync,
        OperationPhase.LEADERS_BACK: leaders_back,
        OperationPhase.FINALIZE: finalize,
    },
    undo=undo,
    describe=_described,
    amend=amend,
    give_back=given_back,
)
