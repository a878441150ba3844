"""The rules of a step that a story does not show: order, slots, what a look at Kafka means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from guardian.errors import InvalidInput
from guardian.execution.rules.beginning import begin, why_stale
from guardian.execution.rules.converging import Aim, Look, Standing, look
from guardian.execution.rules.executing import Circumstances, Step, step
from guardian.execution.rules.next_look import leads_on, may_soon_be_over
from guardian.execution.rules.slots import ExecutionLimits
from guardian.model.cluster_state import (
    BrokerNode,
    ClusterObservation,
    LogDir,
    LogDirReplica,
    PartitionState,
    Reassignment,
)
from guardian.model.effects import (
    AlterConfigs,
    AlterReassignments,
    AlterReplicaLogDirs,
    ConfigChange,
    ConfigKey,
    Effect,
    ElectLeaders,
    Refusal,
    SettleDebts,
)
from guardian.model.execution import AdaptedRate, Execution, ExecutionTask, TaskState
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

T0 = TopicPartition("t", 0)
DIRS = ("/d0", "/d1")
REPLICA = LogDirReplica(1, 0, is_future=False)
FUTURE = LogDirReplica(1, 1, is_future=True)


def at(*places: int | str) -> tuple[ReplicaPlacement, ...]:
    split = [str(place).partition(":") for place in places]
    return tuple(ReplicaPlacement(int(broker), path or "any") for broker, _, path in split)


MOVE = PartitionMove(T0, at("1:/d0", "2:/d0"), at("3:/d1", "2:/d0"), size_bytes=10)
DIR_MOVE = PartitionMove(T0, at("1:/d0", "2:/d0"), at("1:/d1", "2:/d0"), size_bytes=10)


def seen(
    replicas: tuple[int, ...],
    leader: int = 0,
    isr: tuple[int, ...] | None = None,
    dirs: Mapping[int, str] | None = None,
    futures: Mapping[int, str] | None = None,
    in_flight: Reassignment | None = None,
    alive: tuple[int, ...] = (1, 2, 3),
) -> ClusterObservation:
    """Partition t-0 as Kafka shows it; replicas lie in /d0 unless `dirs` says else."""
    where = {broker: "/d0" for broker in replicas if broker in alive} | dict(dirs or {})
    log_dirs = tuple(
        LogDir(
            broker,
            path,
            replicas={T0: REPLICA} if where.get(broker) == path else {},
            future_replicas={T0: FUTURE} if (futures or {}).get(broker) == path else {},
        )
        for broker in alive
        for path in DIRS
    )
    state = PartitionState(leader or replicas[0], replicas, replicas if isr is None else isr)
    brokers = {broker: BrokerNode(broker, "host", 9092) for broker in alive}
    return ClusterObservation(0, brokers, {T0: state}, {T0: in_flight} if in_flight else {}, log_dirs, {})


def there(observation: ClusterObservation, move: PartitionMove = MOVE) -> Look:
    return look(Aim(move), observation)


def back(observation: ClusterObservation, move: PartitionMove = MOVE) -> Look:
    return look(Aim(move, back=True), observation)


OURS = Reassignment((3, 2, 1), (3,), (1,))


# One look, on the way there.


def test_a_move_tells_the_log_dir_ahead_of_the_reassignment() -> None:
    found = there(seen((1, 2)))
    assert found.effects == (AlterReplicaLogDirs({(T0, 3): "/d1"}, ahead=True), AlterReassignments({T0: (3, 2)}))
    assert found.copies


def test_what_is_in_flight_to_the_target_is_awaited_and_not_sent_again() -> None:
    found = there(seen((3, 2, 1), in_flight=OURS))
    assert (found.standing, found.effects) == (Standing.WAIT, ())


def test_another_tools_reassignment_is_awaited() -> None:
    found = there(seen((4, 2, 1), in_flight=Reassignment((4, 2, 1), (4,), (1,))))
    assert found == Look(Standing.WAIT, "waits for another tool's reassignment to [4, 2]")


def test_the_order_is_asked_for_without_a_copy() -> None:
    found = there(seen((2, 3), dirs={3: "/d1"}))
    assert found.effects == (AlterReassignments({T0: (3, 2)}),)
    assert not found.copies


def test_a_replica_that_landed_in_another_log_dir_is_moved() -> None:
    assert there(seen((3, 2))).effects == (AlterReplicaLogDirs({(T0, 3): "/d1"}),)


def test_replicas_then_log_dirs_then_the_leader() -> None:
    assert there(seen((3, 2), leader=2, dirs={3: "/d1"})).effects == (ElectLeaders((T0,)),)


@pytest.mark.parametrize(
    ("observation", "detail"),
    [
        (seen((3, 2), isr=(2,), dirs={3: "/d1"}), "waits for broker 3 to be in sync"),
        (seen((3, 2), dirs={3: "/d0"}, futures={3: "/d1"}), "copying to /d1 on broker 3"),
        (seen((3, 2), dirs={3: "/d1"}, futures={2: "/d1"}), "waits for another tool's copy to /d1 on broker 2"),
        (seen((3, 2), dirs={3: "/d1", 1: "/d0"}), "waits for the brokers to agree on its replicas"),
        (seen((1, 2), alive=(1, 2)), "waits for broker 3, which is down"),
        (seen((3, 2, 1), in_flight=OURS, alive=(1, 2)), "copying to broker 3 (broker 3 is down)"),
        (seen((3, 2, 1)), "waits for the brokers to agree on its replicas"),
        (seen((1, 2), leader=-1), "waits for a leader to copy from"),
    ],
)
def test_nothing_counts_as_done_before_all_of_it_is_seen(observation: ClusterObservation, detail: str) -> None:
    assert there(observation) == Look(Standing.WAIT, detail)


def test_it_is_done_when_replicas_order_sync_log_dirs_and_leader_are_right() -> None:
    assert there(seen((3, 2), dirs={3: "/d1"})).standing is Standing.REACHED


def test_replicas_that_the_plan_does_not_know_are_another_tools_work() -> None:
    assert there(seen((2, 4))) == Look(Standing.TAKEN, "another tool moved it to [2, 4]")


def test_a_move_of_another_tool_counts_only_when_the_log_dirs_agree() -> None:
    assert there(seen((2, 4), dirs={1: "/d0"})).standing is Standing.WAIT


def test_a_topic_is_gone_only_when_no_broker_holds_it() -> None:
    gone = ClusterObservation(0, {}, {}, {}, (), {})
    assert there(gone) == Look(Standing.GONE, "topic t was deleted")
    held = ClusterObservation(0, {}, {}, {}, (LogDir(1, "/d0", replicas={T0: REPLICA}),), {})
    assert there(held).standing is Standing.WAIT


ORDER = PartitionMove(T0, at("1:/d0", "2:/d0"), at("2:/d0", "1:/d0"), size_bytes=10)


@pytest.mark.parametrize("alive", [(1, 2, 3), (2, 3)], ids=["out of sync", "down"])
def test_a_move_of_the_order_waits_for_no_replica_but_the_new_leader(alive: tuple[int, ...]) -> None:
    led = seen((2, 1), leader=2, isr=(2,), alive=alive)
    assert there(led, ORDER).standing is Standing.REACHED
    assert there(seen((2, 1), leader=3, isr=(2,), alive=alive), ORDER).effects == (ElectLeaders((T0,)),)
    assert there(seen((2, 1), leader=1, isr=(1,)), ORDER) == Look(Standing.WAIT, "waits for broker 2 to be in sync")


def test_a_replica_that_moves_between_log_dirs_is_waited_for() -> None:
    moves_second = PartitionMove(T0, at("1:/d0", "2:/d0"), at("1:/d0", "2:/d1"), size_bytes=10)
    found = there(seen((1, 2), isr=(1,)), moves_second)
    assert found == Look(Standing.WAIT, "waits for broker 2 to be in sync")


# One look, on the way back.


def test_what_is_in_flight_is_cancelled() -> None:
    assert back(seen((3, 2, 1), in_flight=OURS)).effects == (AlterReassignments({T0: None}),)


def test_a_reassignment_that_hangs_because_the_original_was_submitted_over_it_is_cancelled() -> None:
    hangs = Reassignment((1, 2, 3), (3,), (3,))
    assert back(seen((1, 2, 3), in_flight=hangs)).effects == (AlterReassignments({T0: None}),)


def test_the_order_is_restored_after_a_cancel() -> None:
    """KAFKA.md, trap 4."""
    assert back(seen((2, 1))).effects == (AlterReassignments({T0: (1, 2)}),)


def test_another_tools_reassignment_is_not_cancelled() -> None:
    assert back(seen((4, 2, 1), in_flight=Reassignment((4, 2, 1), (4,), (1,)))).standing is Standing.WAIT


def test_our_copy_between_log_dirs_is_stopped_and_another_tools_is_not() -> None:
    """KAFKA.md, trap 12."""
    ours = back(seen((1, 2), futures={1: "/d1"}), DIR_MOVE)
    assert (ours.effects, ours.copies) == ((AlterReplicaLogDirs({(T0, 1): "/d0"}),), False)
    assert back(seen((1, 2), futures={2: "/d1"}), DIR_MOVE).standing is Standing.WAIT


def test_a_broker_that_is_down_does_not_hold_up_the_way_back() -> None:
    assert back(seen((1, 2), leader=2, isr=(2,), alive=(2, 3))).standing is Standing.REACHED


def test_a_cancel_leaves_as_many_replicas_in_sync_as_acks_all_needs() -> None:
    """Kafka lets go of a new replica as soon as one old one is in sync."""
    to_others = PartitionMove(T0, at(1, 2), at(3, 4))
    moving = Reassignment((3, 4, 1, 2), (3, 4), (1, 2))
    lags = replace(seen((3, 4, 1, 2), leader=1, isr=(1, 3), in_flight=moving), min_insync={"t": 2})
    assert back(lags, to_others) == Look(
        Standing.WAIT,
        "waits for broker 2 to be in sync before it cancels its reassignment: 1 replicas in sync would be left, fewer "
        "than min.insync.replicas 2",
    )
    cancel = (AlterReassignments({T0: None}),)
    assert back(replace(lags, min_insync={"t": 1}), to_others).effects == cancel
    has_no_more = replace(lags, partitions={T0: PartitionState(1, (3, 4, 1, 2), (1,))})
    assert back(has_no_more, to_others).effects == cancel
    caught_up = replace(lags, partitions={T0: PartitionState(1, (3, 4, 1, 2), (1, 2, 3))})
    assert back(caught_up, to_others).effects == cancel


def test_where_a_cancel_would_break_acks_all_for_good_the_replicas_in_sync_stay() -> None:
    moving = Reassignment((3, 2, 1), (3,), (1,))
    lost = seen((3, 2, 1), leader=1, isr=(1, 3), in_flight=moving, alive=(1, 3))
    found = look(Aim(MOVE, back=True, is_given_up=True), replace(lost, min_insync={"t": 2}))
    assert found.effects == (AlterReassignments({T0: (1, 3)}),)
    both = PartitionMove(T0, at(1, 2), at(3, 4))
    hangs = seen((3, 4, 1, 2), isr=(1, 3), in_flight=Reassignment((3, 4, 1, 2), (3, 4), (1, 2)), alive=(1, 3))
    found = look(Aim(both, back=True, is_given_up=True), replace(hangs, min_insync={"t": 2}))
    assert found.standing is Standing.WAIT, "broker 4 would be both added and removed"


# The step.


def plan(*moves: PartitionMove) -> Plan:
    return Plan("live", "balance", moves)


TICKET = Ticket("t-1", "live", "balance", TicketState.APPROVED, "ann", "h", 0, 0, 0)


def test_most_relief_per_byte_comes_first_then_the_name() -> None:
    def move(name: str, size: int, rate: float) -> PartitionMove:
        return PartitionMove(TopicPartition(name, 0), at(1), at(2), size_bytes=size, write_rate=rate)

    moves = (move("b", 10, 5.0), move("a", 10, 5.0), move("c", 10, 50.0), move("d", 1, 5.0))
    tasks = begin(TICKET, plan(*moves)).tasks
    assert [task.move.partition.topic for task in tasks] == ["c", "d", "a", "b"]
    assert [task.number for task in tasks] == [1, 2, 3, 4]


def test_a_plan_that_says_what_its_moves_serve_keeps_its_order() -> None:
    moves = tuple(
        PartitionMove(TopicPartition(name, 0), at(1), at(2), size_bytes=10, write_rate=rate, goal="disk-spread")
        for name, rate in (("b", 1.0), ("c", 9.0), ("a", 5.0))
    )
    assert [task.move.partition.topic for task in begin(TICKET, plan(*moves)).tasks] == ["b", "c", "a"]


LATER = replace(MOVE, partition=TopicPartition("u", 0), stage=1)


def test_a_stage_begins_when_the_one_before_it_is_over() -> None:
    started = run(begin(TICKET, plan(MOVE, LATER)), seen((1, 2)))
    assert [task.state for task in started.tasks] == [TaskState.RUNNING, TaskState.PENDING]
    assert started.tasks[1].detail == "waits for the room that stage 0 makes"
    over = run(started, seen((3, 2), dirs={3: "/d1"}))
    assert [task.state for task in over.tasks] == [TaskState.DONE, TaskState.PENDING]
    assert run(over, both_seen()).tasks[1].state is TaskState.RUNNING


def test_a_stage_does_not_begin_when_a_move_before_it_failed() -> None:
    failed = run(run(begin(TICKET, plan(MOVE, LATER)), seen((1, 2))), seen((2, 4)))
    assert [task.state for task in failed.tasks] == [TaskState.FAILED, TaskState.PENDING]
    ended = step(TicketState.RUNNING, failed, both_seen(), ExecutionLimits(), 0, 6)
    assert ended.execution.tasks[1].detail == "never started: t-0 of stage 0 failed, whose room it may need"
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.FAILED


PATIENT = ExecutionLimits(broker_patience_s=60.0)


def cancelling(execution: Execution, observation: ClusterObservation, now_ms: int) -> Step:
    return step(TicketState.CANCELLING, execution, observation, PATIENT, 0, now_ms)


@pytest.mark.parametrize("lost", [2, 3], ids=["one that stayed", "one that came"])
def test_a_cancelled_move_that_has_arrived_waits_for_a_dead_broker_only_so_long(lost: int) -> None:
    arrived = seen((3, 2), leader=5 - lost, isr=(5 - lost,), dirs={3: "/d1"}, alive=(1, 5 - lost))
    first = cancelling(run(begin(TICKET, plan(MOVE)), seen((1, 2))), arrived, 10)
    assert (first.transition, first.execution.tasks[0].state) == (None, TaskState.RUNNING)
    assert cancelling(first.execution, arrived, 10 + 59_999).transition is None
    ended = cancelling(first.execution, arrived, 10 + 60_000)
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.CANCELLED
    assert ended.execution.tasks[0].detail == f"broker {lost} was down for 1 min, after the copy"
    back_in_time = cancelling(first.execution, seen((3, 2), dirs={3: "/d1"}), 10 + 60_000)
    assert back_in_time.execution.tasks[0].state is TaskState.DONE


def running(execution: Execution, observation: ClusterObservation, now_ms: int) -> Step:
    return step(TicketState.RUNNING, execution, observation, PATIENT, 0, now_ms)


def test_a_move_that_has_arrived_ends_without_a_broker_that_it_only_kept() -> None:
    arrived = seen((3, 2), isr=(3,), dirs={3: "/d1"}, alive=(1, 3))
    first = running(run(begin(TICKET, plan(MOVE)), seen((1, 2))), arrived, 10)
    assert first.execution.tasks[0].detail == "waits for broker 2 to be in sync (broker 2 is down)"
    assert running(first.execution, arrived, 10 + 59_999).transition is None
    ended = running(first.execution, arrived, 10 + 60_000)
    assert ended.transition == (
        TicketState.SUCCEEDED,
        "all 1 moves were seen in Kafka; t-0 without broker 2, which is down",
    )
    assert (ended.execution.tasks[0].state, ended.execution.tasks[0].missing_since_ms) == (TaskState.DONE, 0)


def test_what_has_arrived_still_gets_its_leader_before_it_ends_without_a_kept_broker() -> None:
    three = PartitionMove(T0, at("1:/d0", "2:/d0", "4:/d0"), at("3:/d1", "2:/d0", "4:/d0"), size_bytes=10)
    arrived = seen((3, 2, 4), leader=4, isr=(3, 4), dirs={3: "/d1"}, alive=(1, 3, 4))
    first = running(run(begin(TICKET, plan(three)), seen((1, 2, 4), alive=(1, 2, 3, 4))), arrived, 10)
    assert running(first.execution, arrived, 60_010).effects == (ElectLeaders((T0,)),)


def test_what_has_arrived_at_a_dead_broker_fails_and_is_planned_anew() -> None:
    arrived = seen((3, 2), leader=2, isr=(2,), alive=(1, 2))
    first = running(run(begin(TICKET, plan(MOVE)), seen((1, 2))), arrived, 10)
    ended = running(first.execution, arrived, 60_010)
    assert ended.transition == (
        TicketState.FAILED,
        "1 of 1 moves failed; t-0 failed: broker 3 was down for 1 min, after the copy",
    )


def test_a_move_does_not_start_while_a_broker_that_it_keeps_is_down() -> None:
    waiting = run(begin(TICKET, plan(MOVE)), seen((1, 2), isr=(1,), alive=(1, 3)))
    assert (waiting.tasks[0].state, waiting.tasks[0].detail) == (
        TaskState.PENDING,
        "waits for broker 2, which is down",
    )


def test_an_order_waits_for_no_dead_follower() -> None:
    started = run(begin(TICKET, plan(ORDER)), seen((1, 2), leader=2, isr=(2,), alive=(2, 3)))
    assert (started.tasks[0].state, started.tasks[0].missing_since_ms) == (TaskState.RUNNING, 0)


def test_a_way_back_to_a_dead_broker_is_cancelled_and_the_ticket_ends() -> None:
    started = run(begin(TICKET, plan(MOVE)), seen((1, 2)))
    reverting = cancelling(started, seen((3, 2, 1), in_flight=OURS), 10).execution
    goes_back = seen((1, 2, 3), isr=(2, 3), leader=2, in_flight=Reassignment((1, 2, 3), (1,), (3,)), alive=(2, 3))
    waiting = cancelling(reverting, goes_back, 20)
    assert (waiting.effects, waiting.execution.tasks[0].missing_since_ms) == ((), 20)
    given_up = cancelling(waiting.execution, goes_back, 20 + 60_000)
    assert given_up.effects == (AlterReassignments({T0: None}),)
    assert given_up.execution.tasks[0].state is TaskState.REVERTING
    ended = cancelling(given_up.execution, seen((3, 2), dirs={3: "/d1"}, alive=(2, 3)), 20 + 61_000)
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.CANCELLED
    assert ended.execution.tasks[0].detail == "broker 1 was down for 1 min, on its way back"


def test_a_paused_ticket_puts_a_rate_back_that_is_not_shown_yet_and_then_rests() -> None:
    bare = {("TOPIC", "t"): dict[str, str]()} | {("BROKER", str(broker)): dict[str, str]() for broker in (1, 2, 3)}
    unset = replace(seen((1, 2)), configs=bare)
    started = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), unset, PATIENT, 5000, 5)
    assert started.execution.throttles
    paused = step(TicketState.PAUSED, started.execution, unset, PATIENT, 5000, 6)
    (effect,) = paused.effects
    assert isinstance(effect, AlterConfigs)
    assert set(effect.changes.values()) == {ConfigChange(None, None)}
    rests = step(TicketState.PAUSED, paused.execution, unset, PATIENT, 5000, 7)
    assert (rests.effects, rests.execution.throttles) == ((), ())


def test_another_tools_reassignment_is_not_cancelled_for_a_dead_broker() -> None:
    reverting = cancelling(run(begin(TICKET, plan(MOVE)), seen((1, 2))), seen((3, 2, 1), in_flight=OURS), 10).execution
    theirs = seen((4, 2, 3), isr=(2, 3), leader=2, in_flight=Reassignment((4, 2, 3), (4,), (3,)), alive=(2, 3))
    waiting = cancelling(reverting, theirs, 20).execution
    assert cancelling(waiting, theirs, 90_000).effects == ()


def run(execution: Execution, observation: ClusterObservation) -> Execution:
    return step(TicketState.RUNNING, execution, observation, ExecutionLimits(), 0, 5).execution


def both_seen() -> ClusterObservation:
    """Where the later move's partition is as its plan expects it."""
    found = seen((1, 2))
    log_dirs = tuple(
        replace(each, replicas={**each.replicas, **({LATER.partition: REPLICA} if each.replicas else {})})
        for each in found.log_dirs
    )
    return replace(found, partitions={**found.partitions, LATER.partition: found.partitions[T0]}, log_dirs=log_dirs)


def test_a_plan_is_stale_when_its_partition_is_elsewhere() -> None:
    assert why_stale(plan(MOVE), seen((2, 4))) == "t-0 is on [2, 4], the plan expects it on [1, 2]"
    assert why_stale(plan(MOVE), seen((2, 1))) == ""
    assert why_stale(plan(MOVE), seen((3, 2))) == ""


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="per_broker_in is 0: use at least 1"):
        ExecutionLimits(per_broker_in=0)


def test_a_refusal_of_kafka_is_in_the_tasks_detail_as_long_as_it_is_asked_again() -> None:
    execution = begin(TICKET, plan(MOVE))
    refused = {T0: "broker 3 is full"}
    found = step(TicketState.RUNNING, execution, seen((1, 2)), ExecutionLimits(), 0, 5, Circumstances(refusals=refused))
    assert found.execution.tasks[0].state is TaskState.RUNNING
    assert found.execution.tasks[0].detail == "starts to copy to broker 3; Kafka refused it: broker 3 is full"
    waiting = step(
        TicketState.RUNNING,
        found.execution,
        seen((3, 2, 1), in_flight=OURS),
        ExecutionLimits(),
        0,
        6,
        Circumstances(refusals=refused),
    )
    assert waiting.execution.tasks[0].detail == "copying to broker 3"


@pytest.mark.parametrize(
    ("state", "end"), [(TicketState.RUNNING, TicketState.FAILED), (TicketState.CANCELLING, TicketState.CANCELLED)]
)
def test_what_kafka_never_carries_out_ends_its_ticket_with_kafkas_words(state: TicketState, end: TicketState) -> None:
    execution = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), seen((1, 2)), ExecutionLimits(), 0, 5).execution
    if state is TicketState.CANCELLING:
        execution = replace(
            execution, tasks=tuple(replace(task, state=TaskState.REVERTING) for task in execution.tasks)
        )
    seen_now = seen((1, 2)) if state is TicketState.RUNNING else seen((3, 2))
    refused = {T0: Refusal("POLICY_VIOLATION: three replicas are needed", is_final=True)}
    found = step(state, execution, seen_now, ExecutionLimits(), 0, 6, Circumstances(refusals=refused))
    (task,) = found.execution.tasks
    assert task.state is TaskState.FAILED
    assert task.detail == "Kafka refuses it for good: POLICY_VIOLATION: three replicas are needed"
    assert found.effects == ()
    assert found.transition is not None
    assert found.transition[0] is end
    assert "three replicas are needed" in found.transition[1]


NO_SUCH_BROKER = {T0: Refusal("INVALID_REPLICA_ASSIGNMENT: broker 3 can't have it", names_brokers=True)}


def refused_at(execution: Execution, now_ms: int, registered: Collection[int] | None = None) -> Step:
    at = Circumstances(refusals=NO_SUCH_BROKER, registered=registered)
    return step(TicketState.RUNNING, execution, seen((1, 2)), ExecutionLimits(), 0, now_ms, at)


@pytest.mark.parametrize("registered", [None, (1, 2, 3)])
def test_what_a_broker_keeps_kafka_from_is_asked_for_again_for_as_long_as_one_that_died(
    registered: tuple[int, ...] | None,
) -> None:
    begun = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), seen((1, 2)), ExecutionLimits(), 0, 5).execution
    first = refused_at(begun, 1000, registered)
    assert first.execution.tasks[0].state is TaskState.RUNNING
    assert first.execution.tasks[0].refused_since_ms == 1000
    assert first.effects
    later = refused_at(first.execution, 60_999, registered)
    assert later.execution.tasks[0].state is TaskState.RUNNING
    assert later.effects
    unanswered = step(TicketState.RUNNING, later.execution, seen((1, 2)), ExecutionLimits(), 0, 60_999)
    assert unanswered.execution.tasks[0].refused_since_ms == 1000  # another leader has no answer yet
    ended = refused_at(unanswered.execution, 61_000, registered)
    (task,) = ended.execution.tasks
    assert task.state is TaskState.FAILED
    assert task.detail == "Kafka has refused it for 1 min: INVALID_REPLICA_ASSIGNMENT: broker 3 can't have it"
    assert ended.effects == ()
    assert ended.transition is not None
    assert ended.transition[0] is TicketState.FAILED


def test_what_kafka_takes_after_all_is_no_longer_refused() -> None:
    begun = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), seen((1, 2)), ExecutionLimits(), 0, 5).execution
    first = refused_at(begun, 1000).execution
    going = step(TicketState.RUNNING, first, seen((3, 2, 1), in_flight=OURS), ExecutionLimits(), 0, 2000).execution
    assert going.tasks[0].refused_since_ms == 0
    assert refused_at(going, 70_000).execution.tasks[0].state is TaskState.RUNNING


def test_a_broker_that_the_cluster_does_not_know_is_not_waited_for() -> None:
    begun = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), seen((1, 2)), ExecutionLimits(), 0, 5).execution
    (task,) = refused_at(begun, 1000, (1, 2)).execution.tasks
    assert task.state is TaskState.FAILED
    assert task.detail == (
        "Kafka refuses it, and it does not know broker 3: INVALID_REPLICA_ASSIGNMENT: broker 3 can't have it"
    )


def test_what_may_pass_for_another_reason_is_asked_for_again() -> None:
    execution = step(TicketState.RUNNING, begin(TICKET, plan(MOVE)), seen((1, 2)), ExecutionLimits(), 0, 5).execution
    refused = {T0: Refusal("REASSIGNMENT_IN_PROGRESS: wait")}
    at = Circumstances(refusals=refused)
    found = step(TicketState.RUNNING, execution, seen((1, 2)), ExecutionLimits(), 0, 600_000, at)
    assert found.execution.tasks[0].state is TaskState.RUNNING
    assert found.effects


def test_the_same_observation_gives_the_same_step() -> None:
    execution = begin(TICKET, plan(MOVE))
    first = step(TicketState.RUNNING, execution, seen((1, 2)), ExecutionLimits(), 0, 5)
    again = step(TicketState.RUNNING, execution, seen((1, 2)), ExecutionLimits(), 0, 5)
    assert first == again
    after = step(TicketState.RUNNING, first.execution, seen((1, 2)), ExecutionLimits(), 0, 6)
    assert after.effects == first.effects


# Whether the next look pays soon.


@pytest.mark.parametrize(
    ("state", "size", "throttle", "now_ms", "soon"),
    [
        (TaskState.RUNNING, 50_000_000, 0, 5_999, True),
        (TaskState.RUNNING, 50_000_000, 0, 6_000, False),
        (TaskState.RUNNING, 50_000_000, 0, 4_999, False),  # the leader that began it has a clock that is ahead
        (TaskState.RUNNING, 50_000_001, 0, 5_000, False),
        (TaskState.RUNNING, 10_000_000, 10_000_000, 5_000, True),
        (TaskState.RUNNING, 10_000_001, 10_000_000, 5_000, False),
        (TaskState.REVERTING, 50_000_000, 0, 5_000, True),
        (TaskState.PENDING, 10, 0, 5_000, False),
        (TaskState.DONE, 10, 0, 5_000, False),
    ],
)
def test_what_may_soon_be_over_is_small_and_began_within_a_second(
    state: TaskState, size: int, throttle: int, now_ms: int, soon: bool
) -> None:
    task = ExecutionTask(0, replace(MOVE, size_bytes=size), state, started_at_ms=5_000)
    assert may_soon_be_over(Execution("t-1", (task,)), throttle, now_ms) == soon


def test_a_way_back_that_copies_much_is_not_soon_over() -> None:
    shrunk = PartitionMove(T0, at("1", "2"), at("1"), size_bytes=50_000_001)
    task = ExecutionTask(0, shrunk, TaskState.REVERTING, started_at_ms=5_000)
    assert not may_soon_be_over(Execution("t-1", (task,)), 0, 5_000)


RUNS = ExecutionTask(0, MOVE, TaskState.RUNNING, started_at_ms=5_000)
RATE, ENTRIES = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
THROTTLED = Execution(
    "t-1",
    (RUNS,),
    (OwnedSetting("BROKER", "1", RATE, ("5",), None), OwnedSetting("TOPIC", "t", ENTRIES, ("0:1",), None)),
)


@pytest.mark.parametrize(
    "after",
    [
        replace(THROTTLED, tasks=(replace(RUNS, copied_bytes=1, detail="a tenth"),)),
        replace(THROTTLED, rates=(AdaptedRate(6, 1),), note="faster"),
        replace(THROTTLED, throttles=(replace(THROTTLED.throttles[0], values=("6",)), THROTTLED.throttles[1])),
    ],
)
def test_what_only_tells_how_far_and_how_fast_copies_are_waits_for_the_clock(after: Execution) -> None:
    assert not leads_on(THROTTLED, after, ())


@pytest.mark.parametrize(
    "after",
    [
        replace(THROTTLED, tasks=(replace(RUNS, state=TaskState.DONE),)),
        replace(THROTTLED, tasks=(RUNS, RUNS)),
        replace(THROTTLED, throttles=THROTTLED.throttles[:1]),
        replace(THROTTLED, throttles=(THROTTLED.throttles[0], replace(THROTTLED.throttles[1], values=("0:1", "1:1")))),
    ],
)
def test_what_another_step_may_follow_does_not_wait(after: Execution) -> None:
    assert leads_on(THROTTLED, after, ())


@pytest.mark.parametrize(
    ("effect", "leads"),
    [
        (AlterConfigs({ConfigKey("BROKER", "1", RATE): ConfigChange("5", "6")}), False),
        (AlterConfigs({ConfigKey("BROKER", "1", RATE): ConfigChange(None, "6")}), True),
        (AlterConfigs({ConfigKey("BROKER", "1", RATE): ConfigChange("5", None)}), True),
        (AlterConfigs({ConfigKey("TOPIC", "t", ENTRIES): ConfigChange("0:1", "0:1,1:1")}), True),
        (SettleDebts({ConfigKey("BROKER", "1", RATE): None}), False),
        (ElectLeaders((T0,)), True),
    ],
)
def test_a_rate_in_place_of_another_leads_to_nothing_and_other_requests_do(effect: Effect, leads: bool) -> None:
    assert leads_on(THROTTLED, THROTTLED, (effect,)) == leads
