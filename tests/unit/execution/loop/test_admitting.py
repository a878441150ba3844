"""Which tickets of a cluster go on in a tick, on values."""

from __future__ import annotations

from dataclasses import replace

from guardian.execution.loop.admitting import Job, admit, beside_of, side_by_side
from guardian.execution.rules.holding import Hold
from guardian.model.actor import Agent
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind, BrokerWork, Operation, OperationPhase
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

MOVE = PartitionMove(TopicPartition("t", 0), tuple(map(ReplicaPlacement, (1, 2))), tuple(map(ReplicaPlacement, (1, 3))))


def job(ticket_id: str, state: TicketState, task: TaskState | None = None, kind: str = "balance") -> Job:
    """Of one move, which was not begun where there is no `task`."""
    ticket = Ticket(ticket_id, "live", kind, state, "ann", ticket_id, 1, 0, 0)
    if task is None:
        return Job(ticket, Plan("live", kind, (MOVE,)))
    return Job(ticket, Execution(ticket_id, (ExecutionTask(1, MOVE, task),)))


def removal(ticket_id: str, state: TicketState) -> Job:
    ask = Ask(AskKind.REMOVE, (2,))
    operation = Operation(OperationPhase.EXECUTE, 0, (BrokerWork(2),))
    ticket = replace(job(ticket_id, state).ticket, kind=ask.kind, ask=ask)
    return Job(ticket, Execution(ticket_id, (ExecutionTask(1, MOVE),), operation=operation))


def admitted(*jobs: Job) -> tuple[list[str], list[str]]:
    found, sentences = admit(jobs, {}, lambda each, _: each)
    return [each.ticket.id for each in found], [f"ticket {waits} {why}" for waits, why in sentences.items()]


def healing(ticket_id: str, state: TicketState, task: TaskState | None = None) -> Job:
    """As healing makes it."""
    made = job(ticket_id, state, task, kind="heal")
    return replace(made, ticket=replace(made.ticket, author=Agent.HEALING))


HEALS = healing("t-heal", TicketState.APPROVED)


def test_a_persons_heal_goes_before_nobody() -> None:
    waits, heal = job("t-1", TicketState.APPROVED), job("t-2", TicketState.APPROVED, kind="heal")
    assert admitted(waits, heal) == (["t-1"], ["ticket t-2 waits for t-1, on the same brokers"])


def test_of_what_did_not_begin_what_heals_goes_first_whoever_waits_longer() -> None:
    waits, runs = job("t-1", TicketState.APPROVED), removal("t-0", TicketState.RUNNING)
    assert admitted(waits, HEALS) == (["t-heal"], ["ticket t-1 waits for t-heal, on the same brokers"])
    back = job("t-2", TicketState.ROLLING_BACK, TaskState.DONE)
    assert admitted(back, HEALS) == (["t-heal"], ["ticket t-2 waits for t-heal, on the same brokers"])
    _, sentences = admitted(runs, waits, HEALS)
    assert sentences[0] == "ticket t-heal waits for t-0, on the same brokers"


def test_what_heals_waits_for_no_plan_and_for_no_removal_that_is_paused() -> None:
    for state in (TicketState.RUNNING, TicketState.PAUSED, TicketState.CANCELLING):
        for task in (TaskState.PENDING, TaskState.RUNNING):
            assert admitted(job("t-1", state, task), HEALS) == (["t-1", "t-heal"], [])
    assert admitted(removal("t-1", TicketState.PAUSED), HEALS) == (["t-1", "t-heal"], [])
    assert admitted(removal("t-1", TicketState.RUNNING), HEALS)[0] == ["t-1"]
    goes_back = job("t-1", TicketState.ROLLING_BACK, TaskState.REVERTING)
    assert admitted(goes_back, HEALS)[0] == ["t-1"]
    assert admitted(healing("t-1", TicketState.RUNNING, TaskState.PENDING), HEALS)[0] == ["t-1"]
    assert admitted(healing("t-1", TicketState.PAUSED, TaskState.PENDING), HEALS)[0] == ["t-1", "t-heal"]


def test_another_plan_still_waits_for_all_that_a_ticket_which_began_may_touch() -> None:
    for state in (TicketState.RUNNING, TicketState.PAUSED):
        assert admitted(job("t-1", state, TaskState.PENDING), job("t-2", TicketState.APPROVED))[0] == ["t-1"]


def test_what_heals_claims_what_it_is_still_to_move_from_all_but_those_before_it() -> None:
    first, second, other = (
        healing("t-1", TicketState.RUNNING, TaskState.PENDING),
        healing("t-2", TicketState.RUNNING, TaskState.PENDING),
        job("t-0", TicketState.RUNNING, TaskState.PENDING),
    )
    found = {each.ticket.id: each for each in side_by_side([other, first, second])}
    assert list(found) == ["t-0", "t-1", "t-2"]
    assert beside_of(found["t-1"]).partitions == {}
    assert beside_of(found["t-2"]).partitions == {MOVE.partition: "t-1"}
    assert beside_of(found["t-0"]).partitions[MOVE.partition] in ("t-1", "t-2")
    assert set(beside_of(found["t-0"]).brokers) == {1, 2, 3}
    found["t-0"].holds["t-0"] = Hold(frozenset({1}), frozenset({MOVE.partition}))  # started it in this tick
    assert beside_of(found["t-1"]).partitions == {MOVE.partition: "t-0"}


def test_what_is_paused_or_did_not_begin_claims_nothing() -> None:
    other = job("t-0", TicketState.RUNNING, TaskState.PENDING)
    for heals in (healing("t-1", TicketState.PAUSED, TaskState.PENDING), HEALS):
        found = {each.ticket.id: each for each in side_by_side([other, heals])}
        assert beside_of(found["t-0"]).brokers == {}


def test_an_expansion_does_not_wait_for_the_brokers_of_moves() -> None:
    runs, waits = job("t-1", TicketState.RUNNING, TaskState.RUNNING), job("t-3", TicketState.APPROVED)
    new = PartitionMove(TopicPartition("t", 1), (), (ReplicaPlacement(1), ReplicaPlacement(3)), is_new=True)
    grows = replace(job("t-2", TicketState.APPROVED), work=Plan("live", "expand-topic", (new,)))
    assert admitted(runs, grows, waits) == (["t-1", "t-2"], ["ticket t-3 waits for t-1, on the same brokers"])
