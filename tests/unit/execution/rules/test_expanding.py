"""Which moves give way to an expansion of their topic, on values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from guardian.execution.rules.expanding import (
    Expansions,
    cancelled_for,
    expanded_topics,
    found,
    give_way,
    only_expands,
    topics_expanded,
)
from guardian.model.actor import Agent
from guardian.model.cluster_state import BrokerNode, ClusterObservation, PartitionState, Reassignment
from guardian.model.execution import Execution, ExecutionTask, TaskReason, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

T0, T1, T2, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2), TopicPartition("u", 0)
COPYING = Reassignment((3, 4, 1, 2), (3, 4), (1, 2))
BEFORE, AFTER = (1, 2), (3, 4)
OTHERS = Expansions({"t": ("t-2",)})


def move(
    partition: TopicPartition, target: tuple[int, ...] = AFTER, original: tuple[int, ...] = BEFORE
) -> PartitionMove:
    return PartitionMove(partition, tuple(map(ReplicaPlacement, original)), tuple(map(ReplicaPlacement, target)))


def new(partition: TopicPartition, *target: int, stage: int = 0) -> PartitionMove:
    return PartitionMove(partition, (), tuple(map(ReplicaPlacement, target)), is_new=True, stage=stage)


def execution(*states: TaskState, ticket_id: str = "t-1") -> Execution:
    moves = (move(T0), move(T1), move(U0))
    tasks = tuple(
        ExecutionTask(number, each, state, started_at_ms=5 * (state is not TaskState.PENDING), topic_partitions=2)
        for number, (each, state) in enumerate(zip(moves, states, strict=False), start=1)
    )
    return Execution(ticket_id, tasks)


def seen(
    in_flight: Mapping[TopicPartition, Reassignment] | None = None,
    replicas: Mapping[TopicPartition, tuple[int, ...]] | None = None,
    alive: tuple[int, ...] = (1, 2, 3, 4),
) -> ClusterObservation:
    known = {T0: BEFORE, T1: BEFORE, U0: BEFORE} | dict(replicas or {})
    states = {each: PartitionState(brokers[0], brokers, brokers) for each, brokers in known.items()}
    return ClusterObservation(0, {b: BrokerNode(b, "h", 1) for b in alive}, states, dict(in_flight or {}), (), {})


def ticket(state: TicketState = TicketState.RUNNING) -> Ticket:
    return Ticket("t-1", "live", "balance", state, "ann", "", 0, 0, 0)


def states(execution: Execution) -> list[str]:
    return [task.state.name for task in execution.tasks]


def test_what_copies_is_cancelled_and_made_again_in_one_step() -> None:
    before = execution(TaskState.RUNNING, TaskState.PENDING, TaskState.RUNNING)
    given = give_way(ticket(), before, OTHERS, seen({T0: COPYING, U0: COPYING}), 9)
    assert given is not None
    assert states(given.execution) == ["REVERTING", "PENDING", "RUNNING", "PENDING"]
    assert given.sentence == "ticket t-2 expands topic t, so t-0 to [3, 4] is cancelled and planned again after that"
    cancelled, *_, again = given.execution.tasks
    assert cancelled.reason is TaskReason.GAVE_WAY
    assert again == ExecutionTask(4, move(T0), topic_partitions=2)
    repeated = give_way(ticket(), given.execution, OTHERS, seen({T0: COPYING, U0: COPYING}), 9)
    assert repeated is None, "what goes back already is not cancelled twice, nor what waits behind it"


def test_a_hold_that_is_cancelled_gets_the_whole_time_on_its_way_back_and_once_more() -> None:
    held = replace(execution(TaskState.RUNNING).tasks[0], hold_ms=100, cover_bytes=7, started_at_ms=20)
    given = give_way(ticket(), Execution("t-1", (held,)), OTHERS, seen({T0: COPYING}), 50)
    assert given is not None
    assert [(task.hold_ms, task.cover_bytes) for task in given.execution.tasks] == [(130, 7), (100, 7)]


def test_nothing_is_cancelled_that_is_not_in_the_way() -> None:
    running = execution(TaskState.RUNNING)
    assert give_way(ticket(), running, OTHERS, seen(replicas={T0: AFTER}), 9) is None, "all of it has arrived"
    assert give_way(ticket(), running, Expansions({"t": ("t-1",)}), seen({T0: COPYING}), 9) is None, "its own topic"
    assert give_way(ticket(), running, Expansions(), seen({T0: COPYING}), 9) is None
    leads = Execution("t-1", (ExecutionTask(1, move(T0, (2, 1)), TaskState.RUNNING),))
    assert give_way(ticket(), leads, OTHERS, seen(), 9) is None, "a new order is Kafka's at once"
    heals = replace(ticket(), author=Agent.HEALING, kind="heal")
    assert give_way(heals, running, OTHERS, seen({T0: COPYING}), 9) is None
    for state in (TicketState.CANCELLING, TicketState.ROLLING_BACK):
        assert give_way(ticket(state), running, OTHERS, seen({T0: COPYING}), 9) is None


def test_a_request_of_a_dead_leader_that_comes_late_is_cancelled_too() -> None:
    waiting = execution(TaskState.PENDING)
    given = give_way(ticket(), waiting, OTHERS, seen({T0: COPYING}), 9)
    assert given is not None
    assert states(given.execution) == ["REVERTING", "PENDING"]
    elsewhere = Reassignment((4, 5, 1, 2), (4, 5), (1, 2))
    assert give_way(ticket(), waiting, OTHERS, seen({T0: elsewhere}), 9) is None, "another tool's"


def test_a_copy_that_came_before_its_cancel_goes_on_and_is_not_made_again() -> None:
    given = give_way(ticket(), execution(TaskState.RUNNING), OTHERS, seen({T0: COPYING}), 9)
    assert given is not None
    kept = give_way(ticket(), given.execution, Expansions(), seen(replicas={T0: AFTER}), 11)
    assert kept is not None
    assert (states(kept.execution), kept.sentence) == (["RUNNING", "REVERTED"], "")
    assert kept.execution.tasks[0].reason is TaskReason.NONE


def test_a_topic_is_expanded_when_its_turn_has_come_and_its_brokers_live() -> None:
    def topics(*moves: PartitionMove, **more: object) -> frozenset[str]:
        tasks = tuple(ExecutionTask(number, each) for number, each in enumerate(moves, start=1))
        return expanded_topics(Execution("t-2", tasks), seen(**more))  # type: ignore[arg-type]

    assert topics(new(T2, 3, 4)) == {"t"}
    assert topics(new(T2, 3, 4), alive=(1, 2, 3)) == frozenset()
    assert topics(new(T2, 3, 4), replicas={T2: AFTER}) == frozenset(), "it is there"
    assert topics(new(T2, 3, 4, stage=1), move(U0)) == frozenset(), "a stage before it is not over"
    assert topics(new(TopicPartition("fresh", 0), 3, 4)) == frozenset(), "it has no moves yet"


def test_the_expansion_waits_for_all_that_is_in_flight_but_not_for_what_has_arrived() -> None:
    grows = Execution("t-2", (ExecutionTask(1, new(T2, 3, 4)),))
    moves = execution(TaskState.RUNNING, TaskState.RUNNING)

    def moving(state: TicketState, observation: ClusterObservation) -> Mapping[str, str]:
        under_way = [(TicketState.RUNNING, grows), (state, moves)]
        return found(under_way, observation).moved_by_others("t-2")

    assert moving(TicketState.RUNNING, seen({T0: COPYING})) == {"t": "t-1"}
    assert moving(TicketState.CANCELLING, seen({T0: COPYING})) == {"t": "t-1"}
    assert moving(TicketState.RUNNING, seen(replicas={T0: AFTER, T1: AFTER})) == {}
    paused = [(TicketState.PAUSED, grows), (TicketState.RUNNING, moves)]
    assert found(paused, seen({T0: COPYING})) == Expansions(), "nobody gives way to an expansion that is paused"


def test_a_dry_run_says_what_is_cancelled_and_what_is_waited_for() -> None:
    moves = execution(TaskState.RUNNING, TaskState.RUNNING, TaskState.RUNNING)
    observation = seen({T0: COPYING, T1: COPYING})
    assert cancelled_for({"t"}, ticket(), moves, observation) == (
        "cancels 2 moves of ticket t-1, which makes them again afterwards: t-0 to [3, 4], t-1 to [3, 4]"
    )
    assert cancelled_for({"u"}, ticket(), execution(TaskState.RUNNING), observation) == ""
    back = replace(moves, tasks=tuple(replace(task, state=TaskState.REVERTING) for task in moves.tasks))
    assert cancelled_for({"u"}, ticket(TicketState.ROLLING_BACK), back, observation) == (
        "waits for moves of ticket t-1, which takes them back: u-0 to [3, 4]"
    )


def test_a_plan_only_expands_when_it_creates_no_topic_and_moves_nothing() -> None:
    grows, makes = new(T2, 3, 4), new(TopicPartition("fresh", 0), 1)
    assert only_expands(Plan("live", "expand-topic", (grows,)))
    assert not only_expands(Plan("live", "run-plan", (grows, makes)))
    assert not only_expands(Plan("live", "run-plan", (grows, move(U0))))
    assert not only_expands(Plan("live", "run-plan", ()))
    assert topics_expanded(Plan("live", "run-plan", (grows, makes, move(U0)))) == {"t"}
