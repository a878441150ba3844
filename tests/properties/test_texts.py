"""Nothing is decided by text that is written for people: noise in its place changes no decision."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from itertools import cycle
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guardian.model
from guardian.cordons import rules as cordoning
from guardian.errors import GuardianError
from guardian.events.rules import calling
from guardian.execution.operations import step as operating
from guardian.execution.rules import (
    beginning,
    brokers,
    creating,
    executing,
    foreign,
    holding,
    labelling,
    last_look,
    losing,
    next_look,
    rolling_back,
)
from guardian.healing.rules import cure, decision, straying, trouble, verdict
from guardian.health.rules import findings, troubles
from guardian.model import eventing
from guardian.model.cordon import Cordon
from guardian.model.effects import was_never_set
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind, Operation, OperationPhase
from guardian.model.text import FOR_PEOPLE, Say, with_texts
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.progress import Progress
from guardian.protection.rules import protecting
from guardian.tickets.rules import approving, barring, progressing, replanning, ticketing, trimming
from tests.properties.stored import SENTENCES, made
from tests.simulation.operations import OperationsWorld
from tests.simulation.test_operation_crashes import absence_world, removal_world, restart_world
from tests.simulation.world import MB, WRITES, World, move

pytestmark = pytest.mark.slow


def progress(ticket: Ticket, execution: Execution | None, now_ms: int) -> Progress:
    """Tell it at the usual pace: how often members look is no text."""
    return progressing.progress(ticket, execution, now_ms)


# What decides from stored things alone: its arguments are made from their types. A new one needs no more than a line.
DECISIONS: tuple[Callable[..., Any], ...] = (
    approving.automatic,
    approving.why_expired,
    approving.why_no_way_back,
    approving.why_not,
    barring.barring,
    beginning.why_stale,
    brokers.brokers_at_work,
    brokers.brokers_held,
    calling.step,
    cure.moved_by,
    cure.trimmed,
    cure.was_withdrawn,
    decision.decide,
    was_never_set,
    creating.deleted,
    creating.topic_configs,
    eventing.standing,
    executing.step,
    findings.findings,
    findings.in_grace,
    foreign.adopted,
    foreign.awaited,
    holding.claimed,
    holding.held,
    labelling.leaving,
    labelling.why_not_emptied,
    last_look.looks_once_more,
    losing.is_lost,
    losing.replaced,
    losing.was_overtaken,
    losing.why_useless,
    losing.without_lost,
    losing.without_stranded,
    next_look.may_soon_be_over,
    operating.holds,
    operating.holds_from_healing,
    progress,
    protecting.released,
    protecting.remembers_alone,
    replanning.counted,
    replanning.grown,
    replanning.why_anew,
    replanning.why_beyond,
    replanning.why_old,
    rolling_back.ending,
    rolling_back.is_back,
    rolling_back.is_gone,
    rolling_back.require_way_back,
    straying.idempotency_key,
    straying.why_not_now,
    ticketing.approve,
    ticketing.by_itself,
    ticketing.cancel,
    ticketing.pause,
    ticketing.resume,
    ticketing.roll_back,
    ticketing.submit,
    ticketing.why_another,
    trouble.covers,
    trouble.is_seen,
    trouble.troubles,
    trouble.why_wait,
    troubles.emptied_by,
    verdict.idle,
    trimming.trimmed_again,
)


@pytest.mark.parametrize("decide", DECISIONS, ids=lambda each: f"{each.__module__.rpartition('.')[2]}.{each.__name__}")
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_noise_in_place_of_texts_changes_no_decision(decide: Callable[..., Any], data: st.DataObject) -> None:
    require_same(decide, data)


@pytest.mark.soak
@pytest.mark.parametrize("decide", DECISIONS)
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_noise_in_place_of_texts_changes_no_decision_however_rare(
    decide: Callable[..., Any], data: st.DataObject
) -> None:
    require_same(decide, data)


def require_same(decide: Callable[..., Any], data: st.DataObject) -> None:
    hints = get_type_hints(decide, include_extras=True)
    answer = hints.pop("return")
    values = {name: data.draw(made(hint, name), label=name) for name, hint in hints.items()}
    plain = decided(decide, values, answer)
    for say in NOISE:
        assert (
            decided(decide, {name: with_texts(each, say, hints[name]) for name, each in values.items()}, answer)
            == plain
        )


def noise(*sentences: str) -> Say:
    """Other texts in turn, each of one line: a few of them must be."""
    others = cycle(" ".join(each.splitlines()) for each in sentences)
    return lambda _: next(others)


NOISE = (noise(*SENTENCES), noise("x", *reversed(SENTENCES)), *map(noise, SENTENCES))


def decided(decide: Callable[..., Any], values: Mapping[str, Any], answer: Any) -> object:
    """The answer without its texts. A sentence that says why not decides by being there."""
    parameters = inspect.signature(decide).parameters.values()
    positional = [values[each.name] for each in parameters if each.kind is not each.KEYWORD_ONLY]
    named = {each.name: values[each.name] for each in parameters if each.kind is each.KEYWORD_ONLY}
    try:
        found = decide(*positional, **named)
    except GuardianError as error:
        return type(error)
    if decide.__name__.startswith("why") or decide is rolling_back.ending:
        return bool(found)
    return with_texts(found, lambda _: "-", answer)


@settings(max_examples=100)
@given(data=st.data())
def test_noise_in_a_cordon_changes_nothing_of_what_is_set(data: st.DataObject) -> None:
    cordons = data.draw(st.lists(made(Cordon), max_size=2, unique_by=lambda each: each.broker_id))
    excluded = data.draw(st.sets(st.sampled_from([1, 2])))
    looks = {broker: data.draw(made(cordoning.BrokerLook)) for broker in {*excluded, *(c.broker_id for c in cordons)}}
    plain = outcome(cordons, cordoning.step("live", excluded, cordons, looks, 5))
    for say in NOISE:
        noisy = with_texts(tuple(cordons), say)
        assert outcome(noisy, cordoning.step("live", excluded, noisy, looks, 5)) == plain


def outcome(before: Collection[Cordon], step: cordoning.CordonStep) -> tuple[object, ...]:
    """Without notes: one that changes alone is stored anew, and that is all."""
    known = set(map(blank, before))
    return set(map(blank, step.put)) - known, set(map(blank, step.dropped)), step.changes


@settings(max_examples=30)
@given(execution=made(Execution), operation=made(Operation))
def test_words_alone_lead_no_ticket_on(execution: Execution, operation: Operation) -> None:
    before = replace(execution, operation=operation)
    for say in NOISE:
        assert not next_look.leads_on(before, replace(before, operation=with_texts(operation, say), note="x"), ())


def blank(value: Any) -> Any:
    return with_texts(value, lambda _: "-")


# What decides from more than what is stored: whole tickets, with noise in all that is stored after each tick.


def comes_back(world: OperationsWorld) -> None:
    world.run()
    world.ask(Ask(AskKind.ONLINE, (4, 5), hook="systemd"), "t-2").run()


def is_rolled_back(world: OperationsWorld) -> None:
    world.run().advance(TicketState.ROLLING_BACK).run()


def is_paused(world: World) -> None:
    world.tick(2)
    execution = world.execution()
    transition = TicketTransition(TicketState.PAUSED, world.kafka.now_ms, "ann", "wait")
    world.store.advance("t-1", TicketState.RUNNING, transition, None, execution.revision)
    world.tick(5).resume().run()


def turns_back(world: World) -> None:
    world.run_until_in_flight("a-0")
    world.cancel().run()
    world.roll_back().run()


def loses_a_broker(world: World) -> None:
    world.run_until_in_flight("a-0")
    world.kafka.kill_broker(3)
    world.tick(400)


def loses_a_topic(world: World) -> None:
    world.run_until_in_flight("a-0")
    world.kafka.delete_topic("a")
    world.run()
    world.roll_back().run()


def is_cancelled(world: OperationsWorld) -> None:
    world.run_until(lambda: world.begun("t-1") and world.operation().phase is not OperationPhase.VALIDATE)
    world.advance(TicketState.CANCELLING).run()


def moving_world() -> World:
    world = World()
    for name in ("a", "b"):
        world.kafka.create_topic(name, {0: (1, 2), 1: (2, 1)}, 5 * MB)
    return world.ticket(move("a-0", 3, 4), move("a-1", 3, 1), move("b-0", 4, 2))


def runs(world: OperationsWorld) -> None:
    world.run()


STORIES: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "absence": (absence_world, comes_back),
    "absence rolled back": (absence_world, is_rolled_back),
    "absence cancelled": (absence_world, is_cancelled),
    "removal": (removal_world, runs),
    "removal cancelled": (removal_world, is_cancelled),
    "restart": (restart_world, runs),
    "moves paused": (moving_world, is_paused),
    "moves cancelled and rolled back": (moving_world, turns_back),
    "moves that lose a broker": (moving_world, loses_a_broker),
    "moves that lose a topic": (moving_world, loses_a_topic),
}
# Of the store nothing: a sentence that changes alone is stored once more.
_SENDS = WRITES - {"advance"} | {"put_exclusions", "lift_exclusions", "set_broker_states", "forget_broker", "start"}


@pytest.mark.parametrize("name", STORIES)
def test_noise_in_the_store_changes_nothing_of_what_is_sent(name: str) -> None:
    assert sent(*STORIES[name], say=NOISE[0]) == sent(*STORIES[name], say=None)


def sent(make: Callable[[], Any], story: Callable[[Any], None], say: Say | None) -> list[object]:
    """All that the story asks Kafka, machines and the federation for, with the states that tickets go through."""
    world, found = make(), list[object]()
    call, tick = world.wire.call, world.tick

    def listened(name: str, function: Callable[..., object], *args: Any) -> object:
        if name in _SENDS:
            found.append((name, blank(tuple(args[0])) if name.endswith("exclusions") else repr(args)))
        return call(name, function, *args)

    def noisy_tick(ticks: int = 1) -> Any:
        for _ in range(ticks):
            tick()
            found.append([(each.id, each.state) for each in world.store.tickets()])
            if say is not None:
                with_noise(world, say)
        return world

    world.wire.call, world.tick = listened, noisy_tick
    story(world)
    return found


def with_noise(world: Any, say: Say) -> None:
    for stored in (world.store._tickets, world.store._executions, world.store._plans):
        stored.update({key: with_texts(value, say) for key, value in stored.items()})
    if isinstance(world, OperationsWorld):
        excluded = world.federation.excluded
        excluded.update({broker: with_texts(exclusion, say) for broker, exclusion in excluded.items()})


def test_what_is_named_as_text_is_declared_as_text() -> None:
    """Else the noise would not reach it. What only looks so is listed: that it is there decides, or it is no text."""
    assert sorted(set(looks_like_text()) - LOOKS_SO) == []
    assert sorted(LOOKS_SO - set(looks_like_text())) == []


_WORDS = ("detail", "note", "reason", "why", "evidence", "sentence", "unmet", "notes", "input", "description", "output")
LOOKS_SO = frozenset({"ExecutionTask.reason"})


def looks_like_text() -> Iterator[str]:
    for module in pkgutil.iter_modules(guardian.model.__path__, "guardian.model."):
        for kind in vars(import_module(module.name)).values():
            if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.name:
                hints = get_type_hints(kind, include_extras=True)
                names = [each.name for each in fields(kind) if each.name in _WORDS]
                yield from (f"{kind.__name__}.{name}" for name in names if FOR_PEOPLE not in repr(hints[name]))
