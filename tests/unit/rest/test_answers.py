"""What the answers are made of: placements, loads, executions, rates of the lake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.model.cluster_state import BrokerNode, LiveFacts, LogDir, LogDirReplica, PartitionState, Reassignment
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.tickets.progress import Progress
from guardian.model.topology import TopicPartition
from guardian.rest.cruise_control import reviews, state, user_tasks
from guardian.rest.cruise_control.placing import KB, MB, after, broker_loads, by_host, placement_of
from guardian.rest.cruise_control.state import Concurrency, Driven

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
RATES = Rates({T0: PartitionRate(KB, 2 * KB)}, {1: 100.0, 2: 100.0}, {1: 4, 2: 4})


def held(broker: int, path: str, *partitions: TopicPartition, error: str = "") -> LogDir:
    shown = {partition: LogDirReplica(MB, 0, False) for partition in partitions}
    return LogDir(broker, path, error, 100 * MB, 50 * MB, shown)


FACTS = LiveFacts(
    "live",
    1000,
    {1: BrokerNode(1, "h1", 9092, "a"), 2: BrokerNode(2, "h1", 9093, "b")},
    {T0: PartitionState(1, (1, 2), (1, 2)), T1: PartitionState(2, (2, 3), (2,))},
    {},
    (held(1, "/d0", T0), held(2, "/d0", T0, T1), held(2, "/d1", error="gone")),
)


def test_loads_are_of_those_that_live_and_of_those_that_hold() -> None:
    one, two, three = broker_loads(FACTS, placement_of(FACTS), RATES)
    assert [one.state, two.state, three.state] == ["ALIVE", "BAD_DISKS", "DEAD"]
    assert (one.leader_in_kb, two.follower_in_kb, one.out_kb, two.potential_out_kb) == (1.0, 1.0, 3.0, 3.0)
    assert (one.disk_mb, two.disk_mb, three.disk_mb) == (1.0, 2.0, 1.0)
    assert one.cpu_percent == pytest.approx(12.5), "half of a host that is busy on one of four cores"
    assert (two.disk_capacity_mb, three.disk_percent) == (100.0, -1.0)
    assert [(load.host, load.replicas) for load in by_host((one, two, three))] == [("", 1), ("h1", 3)]


def test_a_reassignment_counts_as_where_it_goes() -> None:
    moving = replace(FACTS, reassignments={T0: Reassignment((1, 2), (2,), (1,))})
    assert [replica.broker for replica in placement_of(moving)[T0].replicas] == [2]


def test_after_a_plan_its_targets_hold_and_their_first_leads() -> None:
    move = PartitionMove(T0, (), (ReplicaPlacement(2, "/d9"), ReplicaPlacement(3)), MB)
    placed = after(placement_of(FACTS), Plan("live", "balance", (move,)))
    assert placed[T0].leader == 2
    assert [(each.broker, each.log_dir, each.size_bytes) for each in placed[T0].replicas] == [
        (2, "/d9", MB),
        (3, "", MB),
    ]
    assert placed[T1] == placement_of(FACTS)[T1]


def ticket(id: str, state: TicketState, **more: object) -> Ticket:
    history = (TicketTransition(state, 5, "ann", "because"),)
    return replace(Ticket(id, "live", "balance", state, "ann", "", 1, 5, 5, history), **more)  # type: ignore[arg-type]


def task(number: int, state: TaskState, *target: int, path: str = "any") -> ExecutionTask:
    original = (ReplicaPlacement(1, "/d0"), ReplicaPlacement(2, "/d0"))
    places = tuple(ReplicaPlacement(broker, path) for broker in target)
    return ExecutionTask(number, PartitionMove(TopicPartition("t", number), original, places, MB), state)


def test_the_executor_is_where_its_tickets_are() -> None:
    tasks = (
        task(1, TaskState.DONE, 1, 3),
        task(2, TaskState.RUNNING, 1, 3),
        task(3, TaskState.PENDING, 1, 2, path="/d1"),
        task(4, TaskState.PENDING, 2, 1),
    )
    running = Driven(
        ticket("t-00000001", TicketState.RUNNING, idempotency_key=user_tasks.key_of("abc", "rebalance")),
        Execution("t-00000001", tasks, note="2 of 4"),
        Progress(4 * MB, MB, 10.0, 1000),
    )
    told = state.executor_document([running], Concurrency(10, 1250), [], verbose=True)
    assert told["state"] == "INTER_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
    assert (told["triggeredUserTaskId"], told["triggeredTaskReason"]) == ("abc", "because")
    assert [told[f"num{which}PartitionMovements"] for which in ("Total", "Finished", "InProgress")] == [2, 1, 1]
    assert (told["numTotalIntraBrokerPartitionMovements"], told["numTotalLeadershipMovements"]) == (1, 1)
    assert (told["finishedDataMovement"], told["totalDataToMove"]) == (1, 4)
    assert told["inProgressPartitionMovement"][0]["proposal"]["newReplicas"] == [1, 3]
    assert told["guardian"]["tickets"][0]["etaMs"] == 1000
    inside = replace(running, execution=Execution("t-00000001", tasks[2:]))
    assert state.executor_state([inside]) == "INTRA_BROKER_REPLICA_MOVEMENT_TASK_IN_PROGRESS"
    leading = replace(running, execution=Execution("t-00000001", tasks[3:]))
    assert state.executor_state([leading]) == "LEADER_MOVEMENT_TASK_IN_PROGRESS"
    stopping = replace(running, ticket=ticket("t-00000001", TicketState.CANCELLING))
    assert state.executor_state([stopping, running]) == "STOPPING_EXECUTION"
    assert (
        state.executor_state([Driven(ticket("t-00000002", TicketState.APPROVED), None, None)]) == "STARTING_EXECUTION"
    )


def test_review_ids_are_tickets_in_hexadecimal() -> None:
    assert reviews.review_id("t-000000ff") == 255
    assert reviews.ticket_id(255) == "t-000000ff"
    assert reviews.review_id("odd") == 0
    shown = {each: reviews.status_of(each) for each in TicketState}
    assert shown[TicketState.PENDING] == "PENDING_REVIEW"
    assert shown[TicketState.EXPIRED] == "DISCARDED"
    assert shown[TicketState.SUCCEEDED] == "SUBMITTED"
    assert reviews.board([ticket("t-00000001", TicketState.DRAFT)]) == []


def test_a_task_that_made_a_ticket_ends_with_it() -> None:
    made = ticket("t-00000001", TicketState.RUNNING, idempotency_key=user_tasks.key_of("abc", "rebalance"))
    known = user_tasks.TaskInfo("abc", "POST /x/rebalance", "10.0.0.1", 4, user_tasks.COMPLETED, "rebalance", "{}")
    for one, status in (
        (made, "InExecution"),
        (replace(made, state=TicketState.SUCCEEDED), "Completed"),
        (replace(made, state=TicketState.REJECTED), "CompletedWithError"),
    ):
        (info,) = user_tasks.infos([known], [one, ticket("t-00000009", TicketState.RUNNING)], "/x")
        assert (info.status, info.client, info.ticket_ids) == (status, "10.0.0.1", ("t-00000001",))
    (alone,) = user_tasks.infos([], [made], "/x")
    assert (alone.url, alone.client) == ("POST /x/rebalance", "ann")
