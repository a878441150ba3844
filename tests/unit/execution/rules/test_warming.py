"""Who leads a tiered partition until its new replica is warm: every stage, from one look at Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from guardian.execution.rules.beginning import begin, tiered_topics
from guardian.execution.rules.converging import Aim, Look, Standing, copy_of, has_arrived, look
from guardian.execution.rules.executing import step
from guardian.execution.rules.slots import ExecutionLimits
from guardian.execution.rules.warming import WarmUp
from guardian.model.cluster_state import (
    BrokerNode,
    ClusterObservation,
    LogDir,
    LogDirReplica,
    PartitionState,
    Reassignment,
)
from guardian.model.effects import AlterReassignments, ElectLeaders
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.model.wire.tickets import execution_from_proto, execution_to_proto

T0 = TopicPartition("t", 0)
MB = 1_000_000
WARM_UP = WarmUp(61 * MB, until_ms=1_200_000)
FULL = 500 * MB
TICKET = Ticket("t-1", "live", "balance", TicketState.APPROVED, "ann", "h", 0, 0, 0)


def at(*brokers: int) -> tuple[ReplicaPlacement, ...]:
    return tuple(map(ReplicaPlacement, brokers))


STAYS = PartitionMove(T0, at(1, 2), at(3, 2))  # broker 2 stays
NONE_STAYS = PartitionMove(T0, at(1, 2), at(3, 4))
SINGLE = PartitionMove(T0, at(1), at(3))


def seen(
    replicas: tuple[int, ...],
    leader: int,
    cold: Mapping[int, int] | None = None,
    isr: tuple[int, ...] | None = None,
    in_flight: Reassignment | None = None,
    alive: tuple[int, ...] = (1, 2, 3, 4),
    now_ms: int = 1000,
) -> ClusterObservation:
    """Partition t-0 as Kafka shows it; a replica has all of it locally unless `cold` says how much."""
    sizes = dict.fromkeys(replicas, FULL) | dict(cold or {})
    log_dirs = tuple(
        LogDir(broker, "/d", replicas={T0: LogDirReplica(sizes[broker], 0, is_future=False)} if broker in sizes else {})
        for broker in alive
    )
    brokers = {broker: BrokerNode(broker, "host", 9092) for broker in alive}
    state = PartitionState(leader, replicas, replicas if isr is None else isr)
    return ClusterObservation(now_ms, brokers, {T0: state}, {T0: in_flight} if in_flight else {}, log_dirs, {})


def there(observation: ClusterObservation, move: PartitionMove = STAYS, warm_up: WarmUp | None = WARM_UP) -> Look:
    return look(Aim(move, warm_up=warm_up), observation)


def back(observation: ClusterObservation, move: PartitionMove = STAYS) -> Look:
    return look(Aim(move, back=True, warm_up=WARM_UP), observation)


def asks_for(*brokers: int) -> tuple[AlterReassignments, ...]:
    return (AlterReassignments({T0: brokers}),)


# A replica stays.


def test_it_starts_in_an_order_that_gives_the_lead_to_the_replica_that_stays() -> None:
    found = there(seen((1, 2), leader=1))
    assert (found.effects, found.copies) == (asks_for(2, 3), True)


def test_the_lead_is_held_and_the_sentence_says_until_when() -> None:
    found = there(seen((2, 3), leader=2, cold={3: 13 * MB}))
    assert found == Look(Standing.WAIT, "holds the lead at broker 2 until broker 3 has 61 MB local (now 20% of it)")


def test_the_sentence_stays_the_same_while_little_changes() -> None:
    assert there(seen((2, 3), 2, cold={3: 13 * MB})) == there(seen((2, 3), 2, cold={3: 15 * MB}))


def test_once_it_is_warm_the_order_is_put_right_and_then_the_leader() -> None:
    assert there(seen((2, 3), leader=2, cold={3: 61 * MB})).effects == asks_for(3, 2)
    assert there(seen((3, 2), leader=2, cold={3: 61 * MB})).effects == (ElectLeaders((T0,)),)
    assert there(seen((3, 2), leader=3, cold={3: 61 * MB})).standing is Standing.REACHED


def test_nearly_as_much_as_the_leader_has_is_enough() -> None:
    """All of it is never seen while records come: the replica gets them a moment after the leader."""
    assert there(seen((2, 3), leader=2, cold={2: 9 * MB, 3: 9 * MB})).effects == asks_for(3, 2)
    assert there(seen((2, 3), leader=2, cold={2: 10 * MB, 3: 9_500_000})).effects == asks_for(3, 2)
    assert there(seen((2, 3), leader=2, cold={2: 10 * MB, 3: 9_499_999})).standing is Standing.WAIT


def test_without_a_known_write_rate_only_the_leaders_size_tells() -> None:
    unknown = WarmUp(0, WARM_UP.until_ms)
    assert there(seen((2, 3), 2, cold={3: FULL * 9 // 10}), warm_up=unknown).standing is Standing.WAIT
    assert there(seen((2, 3), 2), warm_up=unknown).effects == asks_for(3, 2)


def test_an_order_that_would_give_the_lead_to_the_cold_replica_is_put_right() -> None:
    assert there(seen((3, 2), leader=2, cold={3: MB})).effects == asks_for(2, 3)


def test_a_new_replica_that_leads_already_keeps_the_lead() -> None:
    assert there(seen((3, 2), leader=3, cold={3: MB})).standing is Standing.REACHED


@pytest.mark.parametrize(
    ("move", "observation", "why"),
    [
        (STAYS, seen((3, 2), 2, cold={3: MB}, now_ms=WARM_UP.until_ms), "its time is over"),
        (NONE_STAYS, seen((3, 4), 4, cold={3: MB}), "no old replica can lead"),
        (SINGLE, seen((3,), -1, cold={3: MB}), "a partition of one replica can't be held"),
    ],
)
def test_what_ends_a_hold_early_is_said(move: PartitionMove, observation: ClusterObservation, why: str) -> None:
    found = there(observation, move)
    assert found.effects == (ElectLeaders((T0,)),)
    assert found.detail == f"makes broker 3 the leader, which has less than 61 MB local: {why}"


def test_without_a_warm_up_nothing_is_held() -> None:
    assert there(seen((1, 2), leader=1), warm_up=None).effects == asks_for(3, 2)
    assert there(seen((3, 2), leader=2, cold={3: 0}), warm_up=None).effects == (ElectLeaders((T0,)),)


def test_an_old_replica_that_is_to_lead_is_not_held_back() -> None:
    assert there(seen((1, 2), leader=1), PartitionMove(T0, at(1, 2), at(2, 3))).effects == asks_for(2, 3)


def test_the_leader_does_not_go_while_the_replica_that_stays_is_out_of_sync() -> None:
    found = there(seen((1, 2), leader=1, isr=(1,)))
    assert found == Look(Standing.WAIT, "waits for broker 2 to be in sync, to lead until the new replica is warm")
    dead = there(seen((1, 2), leader=1, isr=(1,), alive=(1, 3, 4)))
    assert dead == Look(Standing.WAIT, "waits for broker 2, which is down"), "the move would end only with it"


# None stays.


def test_where_none_stays_one_old_replica_does_meanwhile() -> None:
    assert there(seen((1, 2), leader=1), NONE_STAYS).effects == asks_for(1, 3)
    assert there(seen((1, 2), leader=2), NONE_STAYS).effects == asks_for(2, 3)


def test_what_is_in_flight_to_there_is_ours() -> None:
    ours = Reassignment((1, 3, 2), (3,), (2,))
    found = there(seen((1, 3, 2), 1, cold={3: 0}, isr=(1, 2), in_flight=ours), NONE_STAYS)
    assert found == Look(Standing.WAIT, "copying to broker 3")
    assert there(seen((1, 3, 2), 1, in_flight=ours), STAYS).detail == "waits for another tool's reassignment to [1, 3]"


def test_there_the_lead_is_held_and_nothing_is_copied() -> None:
    observation = seen((1, 3), leader=1, cold={3: MB})
    found = there(observation, NONE_STAYS)
    assert found.detail == "holds the lead at broker 1 until broker 3 has 61 MB local (now 0% of it)"
    assert copy_of(Aim(NONE_STAYS, warm_up=WARM_UP), observation) is None
    assert not has_arrived(NONE_STAYS, observation)


def test_from_there_it_goes_on_to_the_target_when_warm_or_when_the_old_replica_is_gone() -> None:
    warm = there(seen((1, 3), leader=1, cold={3: 70 * MB}), NONE_STAYS)
    assert (warm.effects, warm.copies) == (asks_for(3, 4), True)
    gone = there(seen((1, 3), leader=3, cold={3: MB}, isr=(3,), alive=(2, 3, 4)), NONE_STAYS)
    assert gone.effects == asks_for(3, 4)


def test_what_goes_on_to_the_target_is_not_called_back_when_the_size_falls_again() -> None:
    ours = Reassignment((3, 4, 1), (4,), (1,))
    observation = seen((3, 4, 1), 1, cold={3: MB, 4: 0}, isr=(1, 3), in_flight=ours)
    assert there(observation, NONE_STAYS) == Look(Standing.WAIT, "copying to broker 4")
    copy = copy_of(Aim(NONE_STAYS, warm_up=WARM_UP), observation)
    assert copy is not None
    assert copy.destinations == (4,)


def test_without_a_hold_these_replicas_are_another_tools_work() -> None:
    assert there(seen((1, 3), leader=1), NONE_STAYS, warm_up=None).standing is Standing.TAKEN
    assert there(seen((1, 4), leader=1), NONE_STAYS).standing is Standing.TAKEN


def test_brokers_that_still_name_the_replicas_of_the_reassignment_are_waited_for() -> None:
    assert there(seen((1, 2, 3), leader=1), NONE_STAYS).detail == "waits for the brokers to agree on its replicas"


def test_a_partition_of_one_replica_is_moved_as_kafka_does_it() -> None:
    assert there(seen((1,), leader=1), SINGLE).effects == asks_for(3)


# The way back.


def test_halfway_is_taken_back_and_what_is_in_flight_to_there_cancelled() -> None:
    assert back(seen((1, 3), leader=1, cold={3: MB}), NONE_STAYS).effects == asks_for(1, 2)
    ours = Reassignment((1, 3, 2), (3,), (2,))
    in_flight = seen((1, 3, 2), 1, cold={3: 0}, isr=(1, 2), in_flight=ours)
    assert back(in_flight, NONE_STAYS).effects == (AlterReassignments({T0: None}),)


def test_an_original_leader_that_comes_back_cold_waits_for_the_lead_too() -> None:
    assert back(seen((2, 3), leader=2)).effects == asks_for(2, 1)
    found = back(seen((2, 1), leader=2, cold={1: MB}))
    assert found.detail == "holds the lead at broker 2 until broker 1 has 61 MB local (now 0% of it)"
    assert back(seen((2, 1), leader=2)).effects == asks_for(1, 2)


def test_an_original_leader_that_is_down_does_not_hold_up_the_way_back() -> None:
    assert back(seen((1, 2), leader=2, isr=(2,), alive=(2, 3, 4))).standing is Standing.REACHED


def test_where_none_stays_and_the_cancel_came_too_late_the_new_leader_keeps_the_lead_on_the_way_back() -> None:
    """(3, 4) was reached just before; 1 and 2 would both come back cold."""
    start = back(seen((3, 4), leader=3), NONE_STAYS)
    assert (start.effects, start.copies) == (asks_for(3, 1), True)
    ours = Reassignment((3, 1, 4), (1,), (4,))
    assert back(seen((3, 1, 4), 3, cold={1: 0}, isr=(3, 4), in_flight=ours), NONE_STAYS) == Look(
        Standing.WAIT, "copying to broker 1"
    )
    found = back(seen((3, 1), leader=3, cold={1: MB}), NONE_STAYS)
    assert found.detail == "holds the lead at broker 3 until broker 1 has 61 MB local (now 0% of it)"
    assert back(seen((3, 1), leader=3), NONE_STAYS).effects == asks_for(1, 2)
    assert back(seen((4, 1), leader=4), NONE_STAYS).effects == asks_for(1, 2)


def test_a_reassignment_on_the_way_back_that_hangs_is_cancelled() -> None:
    hangs = Reassignment((3, 1, 4), (1, 4), (4,))
    in_flight = seen((3, 1, 4), 3, cold={1: 0}, isr=(3,), in_flight=hangs)
    assert back(in_flight, NONE_STAYS).effects == (AlterReassignments({T0: None}),)


def test_the_way_back_waits_for_the_replica_that_stays_until_its_time_is_over() -> None:
    found = back(seen((3, 2), leader=3, isr=(3,)))
    assert found == Look(Standing.WAIT, "waits for broker 2 to be in sync, to lead until the new replica is warm")
    over = seen((3, 2), leader=3, isr=(3,), now_ms=WARM_UP.until_ms)
    assert back(over).effects == asks_for(1, 2)


def test_it_is_said_when_the_lead_goes_back_to_a_cold_replica() -> None:
    found = back(seen((1, 2), leader=2, cold={1: MB}, now_ms=WARM_UP.until_ms))
    assert found.detail == "makes broker 1 the leader, which has less than 61 MB local: its time is over"


def test_a_cancel_long_after_the_start_has_the_whole_time_for_its_hold() -> None:
    task = begin(TICKET, Plan("live", "balance", (STAYS,)), {"t"}, warm_up_s=600.0).tasks[0]
    running = replace(task, state=TaskState.RUNNING, started_at_ms=7000)
    late = 7000 + 9_000_000
    execution = Execution("t-1", (running,))
    in_flight = Reassignment((3, 2, 1), (3,), (1,))
    cancelled = step(
        TicketState.CANCELLING,
        execution,
        seen((3, 2, 1), 1, isr=(1, 2), in_flight=in_flight, now_ms=late),
        ExecutionLimits(),
        0,
        late,
    ).execution
    for passed, effects in ((1_199_999, ()), (1_200_000, asks_for(1, 2))):
        cold = seen((2, 1), 2, cold={1: MB}, now_ms=late + passed)
        assert step(TicketState.CANCELLING, cancelled, cold, ExecutionLimits(), 0, late + passed).effects == effects


# The task.


def test_what_is_to_be_held_is_settled_when_the_execution_begins_and_stored() -> None:
    moves = (replace(STAYS, write_rate=100_000.0), PartitionMove(TopicPartition("u", 0), at(1, 2), at(3, 2)))
    execution = begin(TICKET, Plan("live", "balance", moves), {"t"}, warm_up_s=600.0)
    held = {task.move.partition.topic: (task.cover_bytes, task.hold_ms) for task in execution.tasks}
    assert held == {"t": (60 * MB, 1_200_000), "u": (0, 0)}
    assert execution_from_proto(execution_to_proto(execution)) == execution


def test_a_warm_up_of_zero_switches_it_off() -> None:
    task = begin(TICKET, Plan("live", "balance", (STAYS,)), {"t"}, warm_up_s=0.0).tasks[0]
    assert task == ExecutionTask(1, STAYS)


def test_topics_are_tiered_that_say_so() -> None:
    configs = {("TOPIC", "t"): {"remote.storage.enable": "true"}, ("TOPIC", "u"): {"remote.storage.enable": "false"}}
    observation = replace(seen((1, 2), 1), configs={**configs, ("BROKER", "1"): {}})
    assert tiered_topics(observation) == {"t"}


def test_the_same_look_gives_the_same_step_and_the_time_of_a_hold_runs_from_the_start() -> None:
    execution = begin(TICKET, Plan("live", "balance", (STAYS,)), {"t"}, warm_up_s=600.0)
    first = step(TicketState.RUNNING, execution, seen((1, 2), 1, now_ms=7000), ExecutionLimits(), 0, 7000)
    assert first.effects == asks_for(2, 3)
    held = seen((2, 3), 2, cold={3: MB}, now_ms=7000 + 1_199_999)
    waiting = step(TicketState.RUNNING, first.execution, held, ExecutionLimits(), 0, held.observed_at_ms)
    again = step(TicketState.RUNNING, waiting.execution, held, ExecutionLimits(), 0, held.observed_at_ms)
    assert waiting.execution.tasks == again.execution.tasks
    assert "holds the lead at broker 2" in again.sentence
    assert not waiting.effects
    over = replace(held, observed_at_ms=7000 + 1_200_000)
    assert step(TicketState.RUNNING, again.execution, over, ExecutionLimits(), 0, over.observed_at_ms).effects == (
        asks_for(3, 2)
    )
