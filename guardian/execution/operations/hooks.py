"""A node is stopped, started or restarted by a hook, and seen to be so.

    intent stored ──▶ RunHook, again each step ──▶ answer stored ──▶ the node is seen down, up, or down and up again

What counts is what is seen: an answer that says yes is believed when the node shows it. Where there is no hook, a
person does it and is waited for. Whoever leads after a crash knows no answer, and asks for the same run again.
Stopping, starting and restarting twice comes to the same, and leaders are away all the while.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from guardian.execution.operations.effects import AnyEffect, RunHook
from guardian.execution.operations.turn import Result, Turn, named
from guardian.model.operation import BrokerWork, HookAction, HookKey, HookRun
from guardian.model.ticket import TicketState


@dataclass(frozen=True, slots=True)
class Hooked:
    """The work with what is known of its run now; `failure` only in the step in which the answer came."""

    work: BrokerWork
    effect: RunHook | None = None
    failure: str = ""


def run(turn: Turn, work: BrokerWork, action: HookAction) -> Hooked:
    """Asks for the hook until it has answered. A run that failed, or that had no effect, is followed by another one:
    the ticket paused because of it, so somebody has looked."""
    if not turn.ask.hook:
        return Hooked(work)
    last = work.hook
    if last is None or begins_anew(turn, work, action):
        attempt = last.attempt + 1 if last is not None else 1
        last = HookRun(action, attempt, turn.now_ms)
        work = replace(work, hook=last, was_down=False)
    if last.ended_at_ms:
        return Hooked(work)
    work = answered(turn, replace(work, hook=last))
    ended = work.hook or last
    if not ended.ended_at_ms:
        return Hooked(work, RunHook(HookKey(work.node, action, last.attempt), turn.ask.hook))
    said = f": {ended.output}" if ended.output else ""
    return Hooked(
        work, failure="" if ended.is_ok else f"hook {turn.ask.hook} could not {action} node {work.node}{said}"
    )


def begins_anew(turn: Turn, work: BrokerWork, action: HookAction) -> bool:
    """Return whether `run` would ask for a run that is not on the way yet."""
    return work.hook is None or work.hook.action is not action or _is_spent(turn, work, work.hook)


def answered(turn: Turn, work: BrokerWork) -> BrokerWork:
    """Return the work with the answer of its run, where that has come."""
    last = work.hook
    if last is None or last.ended_at_ms:
        return work
    answer = turn.world.hooks.get(HookKey(work.node, last.action, last.attempt))
    if answer is None:
        return work
    return replace(work, hook=replace(last, ended_at_ms=turn.now_ms, is_ok=answer.is_ok, output=answer.output))


def run_all(
    turn: Turn, works: Iterable[BrokerWork], action: HookAction
) -> tuple[Turn, tuple[AnyEffect, ...], tuple[str, ...]]:
    """The hook for each of these that is not yet as wanted, or whose run has not ended. A broker is fenced long before
    its process is gone, and whatever comes next must not race with the hook. Also what failed where it matters.

    One that looks down is stopped all the same, once: it may run, cut off from the controllers.
    """
    effects: list[AnyEffect] = []
    failures: list[str] = []
    for work in works:
        is_missing = is_up(turn, work) is (action is HookAction.STOP)
        if is_missing or has_open_run(work) or (action is HookAction.STOP and work.hook is None):
            hooked = run(turn, work, action)
            turn = turn.with_works([hooked.work])
            effects += [hooked.effect] if hooked.effect else []
            failures += [hooked.failure] if hooked.failure and is_missing else []
    return turn, tuple(effects), tuple(failures)


def let_end(turn: Turn) -> tuple[Turn, Result | None]:
    """Nothing is undone while a hook may yet take a node down. An answer that does not come, as when who asked for it
    crashed, is waited for no longer than a node may be away. Meanwhile what copies goes on as in a paused ticket.
    """
    turn, running = still_open(turn, turn.operation.brokers)
    if not running or turn.now_ms - turn.resumed_at_ms > turn.back_within_ms:
        return turn, None
    turn, step = turn.move(TicketState.PAUSED)
    effects = step.effects if step is not None else ()
    return turn, turn.keep(f"waits until hook {turn.ask.hook} has ended on {named(running)}", *effects)


def still_open(turn: Turn, works: Iterable[BrokerWork]) -> tuple[Turn, list[int]]:
    """Return the turn with the answers that came, and the nodes that a hook may yet take down."""
    nodes = {work.node for work in works}
    turn = watched(turn, (answered(turn, work) for work in turn.operation.brokers if work.node in nodes))
    open_runs = [work for work in turn.operation.brokers if work.node in nodes and has_open_run(work)]
    return turn, [work.node for work in open_runs if not is_surely_down(turn, work)]


def has_open_run(work: BrokerWork) -> bool:
    return work.hook is not None and not work.hook.ended_at_ms


def is_restarted(turn: Turn, work: BrokerWork) -> bool:
    """Tell whether the hook said so, and the node was seen down. Or, where the hook's word is worth that much, so long
    has passed that it must have been a quick one.
    """
    last = work.hook
    if last is None or last.action is not HookAction.RESTART or not last.ended_at_ms or not last.is_ok:
        return False
    is_over = not turn.world.must_be_seen and turn.now_ms - last.ended_at_ms >= turn.limits.unseen_ms
    return is_up(turn, work) and (work.was_down or is_over)


def is_up(turn: Turn, work: BrokerWork) -> bool:
    if work.is_controller:
        return turn.world.quorum is not None and work.node in turn.world.quorum.caught_up
    return turn.world.is_alive(work.node)


def is_surely_down(turn: Turn, work: BrokerWork) -> bool:
    """Not only for the moment: a broker that was fenced by a hiccup must not be taken out of the cluster."""
    return bool(work.down_since_ms) and turn.now_ms - work.down_since_ms >= turn.limits.settle_ms


def watched(turn: Turn, works: Iterable[BrokerWork]) -> Turn:
    """Return the turn with what is seen of these nodes now: since when they are down."""
    return turn.with_works(_watched(turn, work) for work in works)


def _watched(turn: Turn, work: BrokerWork) -> BrokerWork:
    if is_up(turn, work):
        return replace(work, down_since_ms=0)
    # Before the phase began nobody looked all the time: it may have been up in between.
    is_watched = work.down_since_ms >= turn.since_ms
    return replace(work, down_since_ms=work.down_since_ms if is_watched else turn.now_ms, was_down=True)


def _is_spent(turn: Turn, work: BrokerWork, last: HookRun) -> bool:
    """It failed, or it was without effect, before the ticket was resumed."""
    if not last.ended_at_ms or turn.resumed_at_ms <= last.ended_at_ms:
        return False
    is_vain = last.action is HookAction.RESTART and turn.world.must_be_seen and not work.was_down
    return not last.is_ok or is_vain or (last.action is HookAction.STOP and is_up(turn, work))
