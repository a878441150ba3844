"""What counts as another tool's work, and what a ticket is told about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.errors import Conflict
from guardian.execution.rules import foreign
from guardian.model.cluster_state import ClusterObservation, Reassignment
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution, ExecutionTask, ForeignWork, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
RATE = "leader.replication.throttled.rate"


def observed(
    reassignments: dict[TopicPartition, Reassignment], configs: dict[tuple[str, str], dict[str, str]] | None = None
) -> ClusterObservation:
    return ClusterObservation(0, {}, {}, reassignments, (), configs or {})


def task(partition: TopicPartition, before: tuple[int, ...], after: tuple[int, ...]) -> ExecutionTask:
    original, target = (tuple(map(ReplicaPlacement, brokers)) for brokers in (before, after))
    return ExecutionTask(1, PartitionMove(partition, original, target), TaskState.RUNNING)


OURS = Execution("t-1", (task(T0, (1, 2), (3, 2)),))
THEIRS = ForeignWork(T1, (2, 1), (4, 2))


def ticket(state: TicketState = TicketState.RUNNING) -> Ticket:
    return Ticket("t-1", "live", "balance", state, "ann", "h", 0, 0, 0)


@pytest.mark.parametrize(
    "reassignment",
    [Reassignment((3, 2, 1), (3,), (1,)), Reassignment((1, 2, 3), (1,), (3,)), Reassignment((2, 3, 1), (3,), (1,))],
    ids=["there", "back", "in another order"],
)
def test_what_goes_between_the_placements_of_a_task_is_ours(reassignment: Reassignment) -> None:
    assert foreign.found(observed({T0: reassignment}), [OURS]) == ()


def test_all_else_is_not() -> None:
    elsewhere = observed({T0: Reassignment((4, 2, 1), (4,), (1,)), T1: Reassignment((4, 2, 1), (4,), (1,))})
    assert foreign.found(elsewhere, [OURS]) == (ForeignWork(T0, (2, 1), (4, 2)), THEIRS)
    assert foreign.found(elsewhere, [replace(OURS, tasks=(task(T0, (1, 2), (4, 2)),))]) == (THEIRS,)


def test_a_running_ticket_pauses_once_and_lists_what_it_found() -> None:
    noticed = foreign.notice(ticket(), OURS, (THEIRS,))
    assert noticed is not None
    assert noticed.transition is not None
    assert noticed.transition[0] is TicketState.PAUSED
    assert noticed.execution.foreign == (THEIRS,)
    assert foreign.notice(ticket(), noticed.execution, (THEIRS,)) is None
    assert foreign.notice(ticket(), OURS, ()) is None


def test_what_is_awaited_lets_the_ticket_go_on_when_all_of_it_is_over() -> None:
    waiting = foreign.awaited(ticket(TicketState.PAUSED), replace(OURS, foreign=(THEIRS,)))
    more = ForeignWork(T0, (1,), (4,))
    grown = foreign.notice(ticket(TicketState.PAUSED), waiting, (THEIRS, more))
    assert grown is not None
    assert all(work.is_awaited for work in grown.execution.foreign)
    ended = foreign.notice(ticket(TicketState.PAUSED), grown.execution, ())
    assert ended is not None
    assert ended.transition == (TicketState.RUNNING, "what other tools moved is over")


def test_who_lets_a_ticket_go_on_awaits_nothing_any_more() -> None:
    """Else a pause for another reason would end by itself with the move that was awaited before."""
    waiting = foreign.awaited(ticket(TicketState.PAUSED), replace(OURS, foreign=(THEIRS,)))
    running = foreign.notice(ticket(), waiting, (THEIRS,))
    assert running is not None
    assert (running.transition, running.execution.foreign) == (None, (THEIRS,))
    ended = foreign.notice(ticket(TicketState.PAUSED), running.execution, ())
    assert ended is not None
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.PAUSED


def test_of_very_many_reassignments_the_first_are_kept_and_all_are_counted() -> None:
    many = tuple(ForeignWork(TopicPartition("u", number), (1,), (4,)) for number in range(5000))
    paused = foreign.notice(ticket(), OURS, many)
    assert paused is not None
    assert paused.execution.foreign == many[:1000]
    assert "u-0 to [4], u-1 to [4], u-2 to [4] and 4997 more" in paused.sentence
    assert "makes that this ticket's, 1000 at a time" in paused.sentence
    later = foreign.notice(ticket(), paused.execution, many[10:])
    assert later is not None
    assert later.transition is None, "it was resumed beside them"
    assert foreign.notice(ticket(), later.execution, many[10:]) is None


def test_what_is_on_the_brokers_of_another_ticket_is_not_adopted() -> None:
    paused = replace(OURS, foreign=(THEIRS,))
    assert foreign.why_not_adopted(paused, {4: "t-2", 9: "t-3"}) == "broker 4 is held by t-2"
    assert foreign.why_not_adopted(paused, {4: "t-2", 1: "t-3"}) == "brokers 1, 4 are held by t-2, t-3"
    assert foreign.why_not_adopted(paused, {9: "t-3"}) == ""
    assert foreign.why_not_adopted(None, {4: "t-2"}) == ""


def test_an_adopted_reassignment_is_a_task_that_is_under_way() -> None:
    adopted = foreign.adopted(ticket(TicketState.PAUSED), replace(OURS, foreign=(THEIRS,)), now_ms=5)
    assert adopted.foreign == ()
    assert [each.number for each in adopted.tasks] == [1, 2]
    last = adopted.tasks[-1]
    assert (last.state, last.is_adopted, last.started_at_ms) == (TaskState.RUNNING, True, 5)
    assert (last.move.original_brokers, last.move.target_brokers) == ((2, 1), (4, 2))
    assert foreign.found(observed({T1: Reassignment((4, 2, 1), (4,), (1,))}), [adopted]) == ()


def test_there_must_be_something_to_adopt_or_to_wait_for() -> None:
    with pytest.raises(Conflict, match="t-1 is RUNNING: only a PAUSED one"):
        foreign.adopted(ticket(), replace(OURS, foreign=(THEIRS,)), 0)
    for execution in (None, OURS):
        with pytest.raises(Conflict, match="guardian ticket resume t-1"):
            foreign.awaited(ticket(TicketState.PAUSED), execution)


def test_rates_that_no_ticket_recorded_are_somebody_elses() -> None:
    configs = {
        ("BROKER", "2"): {RATE: "5"},
        ("BROKER", "1"): {RATE: "7"},
        ("BROKER", "3"): {"log.cleaner.threads": "1"},
    }
    mine = replace(OURS, throttles=(OwnedSetting("BROKER", "1", RATE, ("7",), None),))
    assert foreign.throttles(observed({}, configs), [mine]) == "throttles that are not Guardian's stand on broker 2"
    assert foreign.throttles(observed({}, configs), [OURS]).endswith("stand on brokers 1, 2")
    protected = {ConfigKey("BROKER", "2", RATE)}
    assert foreign.throttles(observed({}, configs), [OURS], protected).endswith("stand on broker 1")
    assert foreign.throttles(observed({}), [OURS]) == ""
