"""metadata.version at the end of a rolling restart: what is decided from what brokers and controllers say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NoReturn

import pytest

from guardian.execution.operations import finalizing
from guardian.execution.operations.effects import RaiseMetadataVersion
from guardian.execution.operations.finalizing import Over, Stuck, Waits
from guardian.execution.operations.step import begin, operate
from guardian.execution.operations.turn import Turn
from guardian.execution.operations.world import OperationStep, OperationWorld
from guardian.model.cluster_state import BrokerNode, ClusterObservation
from guardian.model.execution import Execution
from guardian.model.operation import Ask, AskKind, MetadataVersion, Operation, OperationPhase, Quorum, Standing
from guardian.model.ticket import Ticket, TicketState

ASK = Ask(AskKind.RESTART, (1, 2), (101,), hook="h", finalize=True)
NAMED = replace(ASK, metadata_version=27)
DONE = Operation(OperationPhase.FINALIZE, 0)
DECIDED = replace(DONE, metadata_version_from=25, metadata_version_to=29)
BOTH = {1: 29, 2: 29}
FOR_GOOD = "which can't be taken back"


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")


def turn(
    ask: Ask = ASK,
    level: int = 25,
    supported: Mapping[int, int] = BOTH,
    refused: Mapping[int, str] | None = None,
    operation: Operation = DONE,
    registered: Collection[int] = (1, 2),
    caught_up: Collection[int] = (101,),
) -> Turn:
    nodes = {broker: BrokerNode(broker, f"h{broker}", 9092, "") for broker in supported}
    world = OperationWorld(
        ClusterObservation(0, nodes, {}, {}, (), {}),
        frozenset(registered),
        {},
        quorum=Quorum(101, frozenset({101}), frozenset(caught_up)),
        metadata_version=MetadataVersion(level, supported, refused or {}),
    )
    ticket = Ticket("t-1", "live", ask.kind.value, TicketState.RUNNING, "ann", "", 1, 0, 0, ask=ask)
    return Turn(ticket, ask, Execution("t-1", (), operation=operation), operation, world, _no_move, 5)


def test_the_highest_level_that_all_take_is_stored_and_asked_for() -> None:
    asked, decision = finalizing.decide(turn(refused={29: "Controller 101 only supports versions 7-28", 28: ""}))
    assert (asked.operation.metadata_version_from, asked.operation.metadata_version_to) == (25, 28)
    assert decision == Waits("raises metadata.version from 25 to 28", RaiseMetadataVersion(28))


def test_what_was_decided_on_is_asked_for_again_until_it_is_in_force() -> None:
    more = {1: 30, 2: 30}
    again, decision = finalizing.decide(turn(supported=more, refused={29: ""}, operation=DECIDED))
    assert again.operation == DECIDED
    assert decision == Waits("raises metadata.version from 25 to 29", RaiseMetadataVersion(29))
    assert finalizing.decide(turn(level=29, supported=more, operation=DECIDED))[1] == Over(
        "metadata.version raised from 25 to 29"
    )


@pytest.mark.parametrize(
    ("now", "decision"),
    [
        (turn(level=29), Over("metadata.version stays 29: it is the highest that all brokers support")),
        (
            turn(level=25, supported={1: 25, 2: 29}),
            Over("metadata.version stays 25: it is the highest that all brokers support"),
        ),
        (turn(NAMED, level=27), Over("metadata.version is 27 already")),
        (turn(NAMED, level=29), Over("metadata.version is 29 already")),
        (turn(), Waits("asks the controllers whether they would raise metadata.version from 25 to 29")),
        (
            turn(supported={1: 29}, refused={29: ""}),
            Waits("waits to raise metadata.version from 25: broker 2 can't be asked which levels it supports"),
        ),
        (
            turn(refused={29: ""}, caught_up=()),
            Waits("waits to raise metadata.version from 25: controller 101 has not caught up"),
        ),
        (
            turn(NAMED, supported={1: 29, 2: 26}),
            Stuck(
                "metadata.version can't be raised from 25 to 27: broker 2 supports up to 26; upgrade it, then resume"
            ),
        ),
        (
            turn(NAMED, refused={27: "Controller 101 only supports versions 7-25"}),
            Stuck(
                "metadata.version can't be raised from 25 to 27: Controller 101 only supports versions 7-25; upgrade "
                "what lacks it, then resume"
            ),
        ),
    ],
)  # fmt: skip
def test_nothing_is_raised(now: Turn, decision: Waits | Stuck | Over) -> None:
    assert finalizing.decide(now) == (now, decision)


def test_nothing_is_decided_from_what_was_not_read() -> None:
    unread = replace(turn(), world=replace(turn().world, metadata_version=None))
    assert finalizing.decide(unread)[1] == Waits("asks the brokers which levels of metadata.version they support")


def test_the_controllers_are_asked_about_levels_above_the_present_one_and_only_at_the_end() -> None:
    version = MetadataVersion(25, {1: 29, 2: 28})
    assert finalizing.candidates(ASK, DONE, version) == (28, 27, 26)
    assert finalizing.candidates(NAMED, DONE, version) == (27,)
    assert finalizing.candidates(ASK, DECIDED, version) == ()  # broker 2 was taken back to an older version
    assert finalizing.candidates(replace(NAMED, metadata_version=29), DONE, version) == ()
    assert finalizing.candidates(replace(ASK, finalize=False), DONE, version) == ()
    assert finalizing.candidates(ASK, replace(DONE, phase=OperationPhase.GATE), version) == ()


def test_levels_are_not_read_in_the_middle_of_a_restart() -> None:
    begun = begin(turn().ticket, 0).operation
    assert begun is not None
    assert finalizing.is_told(ASK, begun)
    assert finalizing.is_told(ASK, DONE)
    works = tuple(replace(work, standing=Standing.DONE) for work in begun.brokers)
    for phase, is_last in ((OperationPhase.GATE, True), (OperationPhase.RESTART, False)):
        assert not finalizing.is_told(ASK, replace(begun, phase=phase))
        assert finalizing.is_told(ASK, replace(begun, phase=phase, brokers=works)) is is_last
    assert not finalizing.is_told(Ask(AskKind.REMOVE, (1,)), DONE)


def validated(ask: Ask, level: int = 25, supported: Mapping[int, int] = BOTH) -> OperationStep:
    now = turn(ask, level, supported, registered=supported.keys())
    return operate(now.ticket, begin(now.ticket, 0), now.world, _no_move, 5)


@pytest.mark.parametrize(
    ("ask", "level", "supported", "why"),
    [
        (NAMED, 29, BOTH, "metadata.version is 29 already, above 27, and is never lowered: name a level above it"),
        (
            NAMED,
            25,
            {1: 29, 2: 29, 3: 26},
            "metadata.version can't be raised from 25 to 27: broker 3 supports up to 26, and is not restarted here",
        ),
    ],
)
def test_what_no_restart_mends_is_refused_before_anything_is_restarted(
    ask: Ask, level: int, supported: Mapping[int, int], why: str
) -> None:
    without_controllers = replace(ask, controllers=())
    refused = validated(without_controllers, level, supported)
    assert refused.transition == (TicketState.FAILED, f"nothing was changed: {why}")
    assert refused.effects == ()


def test_what_is_restarted_may_support_more_when_it_is_back() -> None:
    step = validated(replace(NAMED, controllers=()), 25, {1: 26, 2: 26})
    assert step.transition is None


@pytest.mark.parametrize(
    ("ask", "version", "words"),
    [
        (NAMED, MetadataVersion(25, BOTH), "then metadata.version 25 -> 27, which can't be taken back"),
        (
            NAMED,
            MetadataVersion(25, {1: 26, 2: 29}),
            f"then metadata.version 25 -> 27, {FOR_GOOD}; now broker 1 supports up to 26, so what the hook starts must "
            "support 27",
        ),
        (
            ASK,
            MetadataVersion(25, BOTH),
            f"then metadata.version 25 -> 29, or what all nodes support once they are restarted, {FOR_GOOD}",
        ),
        (
            ASK,
            MetadataVersion(29, BOTH),
            "metadata.version stays 29, or is raised to what all nodes support once they are restarted, which can't be "
            "taken back",
        ),
    ],
)
def test_a_dry_run_tells_that_it_is_for_good(ask: Ask, version: MetadataVersion, words: str) -> None:
    assert finalizing.foretold(ask, version) == words


def test_a_restart_without_it_says_at_its_end_that_there_is_a_higher_level() -> None:
    plain = replace(ASK, finalize=False)
    assert finalizing.left_at_the_end(turn(plain)) == (
        f"metadata.version is 25; all brokers support 29: --finalize of a later restart raises it, {FOR_GOOD}"
    )
    assert finalizing.left_at_the_end(turn(plain, level=29)) == ""
    assert finalizing.left_at_the_end(turn(plain, supported={1: 29})) == ""


def test_a_cancel_says_what_became_of_it() -> None:
    assert finalizing.left_by_a_cancel(turn(replace(ASK, finalize=False))) == ""
    assert finalizing.left_by_a_cancel(turn()) == "metadata.version was not raised"
    assert finalizing.left_by_a_cancel(turn(operation=DECIDED)) == (
        "metadata.version was to be raised from 25 to 29, and is not yet"
    )
    assert finalizing.left_by_a_cancel(turn(level=29, operation=DECIDED)) == (
        "metadata.version was raised from 25 to 29, which can't be taken back"
    )
