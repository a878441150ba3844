"""What may be amended, what an operation holds, and what it is not for."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import pytest

from guardian.errors import Conflict, InvalidInput
from guardian.execution.operations.step import (
    amended,
    amending,
    begin,
    holds,
    holds_from_healing,
    in_hand,
    leaving,
    operate,
    why_unapproved,
)
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind, OperationPhase, Standing
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.approval import everybody
from guardian.model.topology import TopicPartition

REMOVE = Ask(AskKind.REMOVE, (4, 5))
RUNNING = Ticket("t-1", "live", "remove-brokers", TicketState.RUNNING, "ann", "", 1, 0, 0, ask=REMOVE)
MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(4),), (ReplicaPlacement(2),))


def test_it_begins_with_its_first_phase_and_nothing_done() -> None:
    execution = begin(replace(RUNNING, ask=replace(REMOVE, revision=3)), 77)
    assert execution.operation is not None
    assert (execution.tasks, execution.operation.phase, execution.operation.since_ms) == (
        (),
        OperationPhase.VALIDATE,
        77,
    )
    assert execution.operation.ask_revision == 3
    assert [work.node for work in execution.operation.brokers] == [4, 5]


def test_it_holds_what_it_is_about_and_what_it_moves() -> None:
    execution = replace(begin(RUNNING, 0), tasks=(ExecutionTask(1, MOVE), ExecutionTask(2, MOVE, TaskState.DONE)))
    assert holds(REMOVE, execution) == {2, 4, 5}
    assert holds(REMOVE, None) == {4, 5}


RESTART = Ask(AskKind.RESTART, (1, 2, 3), (101, 102), hook="h")


def restarting(batch: tuple[int, ...], down_since_ms: int = 0) -> Execution:
    execution = begin(replace(RUNNING, ask=RESTART), 0)
    assert execution.operation is not None
    works = tuple(
        replace(work, standing=Standing.UNDER_WAY, down_since_ms=down_since_ms) if work.node in batch else work
        for work in execution.operation.brokers
    )
    return replace(execution, operation=replace(execution.operation, brokers=works, batch=batch))


def test_a_restart_holds_all_its_nodes_but_from_healing_only_the_batch() -> None:
    execution = restarting((2,))
    assert holds(RESTART, execution) == {1, 2, 3, 101, 102}
    assert holds_from_healing(RESTART, execution, is_paused=False) == {2}
    moving = replace(execution, tasks=(ExecutionTask(1, MOVE),))
    assert holds_from_healing(RESTART, moving, is_paused=False) == {2, 4}
    assert holds_from_healing(REMOVE, begin(RUNNING, 0), is_paused=False) == {4, 5}


def test_what_of_a_batch_does_not_come_back_is_left_to_healing_while_the_restart_is_paused() -> None:
    execution = restarting((2,), down_since_ms=7)
    assert holds_from_healing(RESTART, execution, is_paused=False) == {2}
    assert holds_from_healing(RESTART, execution, is_paused=True) == frozenset()
    assert holds_from_healing(RESTART, restarting((2,)), is_paused=True) == {2}


def test_in_hand_is_what_may_go_down_at_any_moment_and_nothing_that_is_only_emptied() -> None:
    assert in_hand(RESTART, restarting((101,))) == {101}
    execution = begin(RUNNING, 0)
    assert execution.operation is not None
    works = tuple(replace(work, standing=Standing.UNDER_WAY) for work in execution.operation.brokers)
    under_way = replace(execution, operation=replace(execution.operation, brokers=works))
    assert in_hand(REMOVE, under_way) == frozenset()
    assert in_hand(Ask(AskKind.OFFLINE, (4, 5)), under_way) == {4, 5}


def test_only_what_is_under_way_counts_as_leaving() -> None:
    execution = begin(RUNNING, 0)
    assert leaving(execution) == frozenset()
    assert execution.operation is not None
    works = tuple(replace(work, standing=Standing.UNDER_WAY) for work in execution.operation.brokers[:1])
    assert leaving(replace(execution, operation=replace(execution.operation, brokers=works))) == {4}


def test_an_amendment_keeps_all_but_the_brokers() -> None:
    assert amended(RUNNING, begin(RUNNING, 0), [6, 4]) == replace(REMOVE, brokers=(4, 6))


def test_an_amendment_that_is_rehearsed_leaves_the_ticket_in_its_state_or_is_refused() -> None:
    execution = begin(RUNNING, 0)

    def by(actor: str, *brokers: int) -> TicketState:
        ask = replace(REMOVE, brokers=brokers)
        return amending(RUNNING, actor, "", 7, execution, ask, everybody(author_may_approve=False)).state

    assert by("bob", 4, 5, 6) is TicketState.RUNNING
    assert by("ann", 4) is TicketState.RUNNING
    with pytest.raises(InvalidInput, match="broker 6 would come to an approved ticket"):
        by("ann", 4, 5, 6)
    with pytest.raises(InvalidInput, match="nothing to amend"):
        by("bob", 4, 5)


@pytest.mark.parametrize(
    ("ticket", "brokers", "error", "message"),
    [
        (RUNNING, [4, 5], InvalidInput, "asks for brokers 4, 5 already: nothing to amend"),
        (RUNNING, [], InvalidInput, "brokers of remove-brokers is empty"),
        (replace(RUNNING, ask=None), [4], InvalidInput, "asks for no brokers: it carries a plan"),
        (replace(RUNNING, state=TicketState.CANCELLING), [4], Conflict, "t-1 is CANCELLING: it can't be amended any"),
        (
            replace(RUNNING, ask=Ask(AskKind.OFFLINE, (4,))),
            [5],
            Conflict,
            "is offline-brokers, which can't be amended: make another ticket",
        ),
    ],
)
def test_what_can_not_be_amended_is_refused(
    ticket: Ticket, brokers: list[int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        amended(ticket, None, brokers)


@pytest.mark.parametrize(
    ("state", "actor", "nodes", "is_refused"),
    [
        (TicketState.RUNNING, "ann", (4, 5, 6), True),
        (TicketState.APPROVED, "ann", (4, 5, 6), True),
        (TicketState.RUNNING, "bob", (4, 5, 6), False),
        (TicketState.RUNNING, "ann", (4,), False),
        (TicketState.PENDING, "ann", (4, 5, 6), False),
    ],
)
def test_what_was_approved_grows_only_by_the_hand_of_somebody_who_may_approve_it(
    state: TicketState, actor: str, nodes: tuple[int, ...], is_refused: bool
) -> None:
    policy = everybody(author_may_approve=False)
    why = why_unapproved(policy, replace(RUNNING, state=state), nodes, actor, 0)
    said = "broker 6 would come to an approved ticket: actor is 'ann', the author of ticket t-1"
    assert why.startswith(said) if is_refused else why == ""


@pytest.mark.parametrize("state", [TicketState.DRAFT, TicketState.PENDING])
def test_what_is_not_approved_grows_only_by_its_authors_hand(state: TicketState) -> None:
    waiting = replace(RUNNING, state=state)
    why = why_unapproved(everybody(), waiting, (4, 5, 6), "bob", 0)
    assert why == "broker 6 would come to ann's ticket, which is not approved: make one of your own"
    assert why_unapproved(everybody(), waiting, (4,), "bob", 0) == ""
    assert why_unapproved(everybody(), waiting, (4, 5, 6), "ann", 0) == ""


def test_what_is_done_stays_in_the_ticket() -> None:
    execution = begin(RUNNING, 0)
    assert execution.operation is not None
    works = tuple(replace(work, standing=Standing.DONE) for work in execution.operation.brokers)
    done = replace(execution, operation=replace(execution.operation, brokers=works))
    with pytest.raises(Conflict, match="broker 5 is done already: keep it in the ticket"):
        amended(RUNNING, done, [4, 6])


def test_a_ticket_with_a_plan_is_not_for_it() -> None:
    world = OperationWorld(ClusterObservation(0, {}, {}, {}, (), {}), frozenset(), {})
    with pytest.raises(InvalidInput, match="asks for no brokers: it carries a plan"):
        operate(replace(RUNNING, ask=None), begin(RUNNING, 0), world, _no_move, 0)
    with pytest.raises(InvalidInput, match="has no operation"):
        operate(RUNNING, Execution("t-1", ()), world, _no_move, 0)


def _no_move(state: TicketState, execution: Execution) -> NoReturn:
    raise AssertionError(f"nothing is to be moved: {state} {execution}")
