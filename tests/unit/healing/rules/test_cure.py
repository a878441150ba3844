"""What healing asks a planner for, and what of a plan it takes."""

from __future__ import annotations

from dataclasses import replace

from guardian.healing.rules.cure import moved_by, trimmed
from guardian.healing.rules.decision import decide
from guardian.healing.rules.trouble import CureKind, Standing, Trouble
from guardian.health.rules.troubles import brokers_down, log_dirs_offline
from guardian.model.cluster_state import LogDir
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import TicketState
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.tickets.rules.trimming import trimmed_again
from tests.unit.healing.rules.builders import DAY, MINUTE, NOW, POLICY, broken, down, known, move, slow, ticket


def test_what_waits_in_other_plans_or_is_paused_keeps_nothing_from_healing() -> None:
    plan = Plan("live", "balance", (move("t", (1, 2, 3), (1, 2, 4)),))
    pending = ExecutionTask(1, plan.moves[0])
    copying = ExecutionTask(2, move("u", (1, 2, 3), (1, 2, 4)), TaskState.RUNNING)
    work = Execution("t-9", (pending, copying, replace(copying, number=3, state=TaskState.DONE)))
    waits, moves = pending.move.partition, copying.move.partition
    other = replace(ticket(down(3), number=9), kind="balance")
    assert moved_by(other, work, CureKind.HEAL) == {moves}
    assert moved_by(other, plan, CureKind.HEAL) == frozenset()
    assert moved_by(other, work, CureKind.EMPTY_DISK) == {waits, moves}
    assert moved_by(other, plan, CureKind.EMPTY_DISK) == {waits}
    removes = replace(other, ask=Ask(AskKind.REMOVE, (3,)))
    for first in (ticket(down(3)), removes):
        assert moved_by(first, work, CureKind.HEAL) == {waits, moves}
        assert moved_by(replace(first, state=TicketState.PAUSED), work, CureKind.HEAL) == {moves}
    assert moved_by(ticket(down(3)), plan, CureKind.HEAL) == {waits}


def test_a_plan_keeps_only_the_moves_that_the_cure_is_for() -> None:
    def move(number: int, original: list[tuple[int, str]], target: tuple[int, ...]) -> PartitionMove:
        places = tuple(ReplicaPlacement(broker, path) for broker, path in original)
        return PartitionMove(TopicPartition("t", number), places, tuple(map(ReplicaPlacement, target)))

    moves = (
        move(0, [(1, "/d"), (3, ANY_LOG_DIR)], (1, 2)),  # from the dead broker
        move(1, [(1, "/d"), (5, ANY_LOG_DIR)], (1, 2)),  # from one in its grace period
        move(2, [(4, "/d1"), (1, "/d")], (2, 1)),  # from the broken log dir
        move(3, [(4, "/d2"), (1, "/d")], (2, 1)),  # from a sound one beside it
        move(4, [(4, ANY_LOG_DIR), (1, "/d")], (2, 1)),  # from one that nobody knows
        move(5, [(4, "/d1"), (1, "/d")], (4, 1)),  # inside its broker, which Kafka refuses
        move(6, [(1, "/d"), (3, ANY_LOG_DIR)], (1, 2)),  # that somebody moves already
    )
    cure = decide(POLICY, known(down(3), broken(4, "/d1"), down(5, since_ms=NOW)), NOW).cure
    assert cure is not None
    kept = trimmed(Plan("live", "heal", moves), cure, busy={TopicPartition("t", 6)})
    assert [each.partition.partition for each in kept.moves] == [0, 2, 4]


def test_what_would_take_a_replica_off_a_broker_in_its_grace_period_waits_while_two_others_live() -> None:
    def move(number: int, original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
        places, targets = (tuple(map(ReplicaPlacement, brokers)) for brokers in (original, target))
        return PartitionMove(TopicPartition("t", number), places, targets)

    moves = (
        move(0, (1, 2, 3, 5), (1, 2, 6, 7)),  # two others live
        move(1, (1, 3, 5), (1, 6, 7)),  # only one does
        move(2, (1, 2, 3, 5), (1, 2, 6, 5)),  # the spared one keeps what it has
    )
    cure = decide(POLICY, known(down(3), down(5, since_ms=NOW)), NOW).cure
    assert cure is not None
    kept = trimmed(Plan("live", "heal", moves), cure)
    assert [each.partition.partition for each in kept.moves] == [1, 2]


def test_a_plan_that_is_made_anew_for_a_ticket_keeps_only_what_the_ticket_is_for() -> None:
    found = [
        *brokers_down("live", [1], [], {1: 5, 3: 5}),
        *log_dirs_offline("live", [LogDir(4, "/d: 1", error="broken")], {}),
    ]
    troubled = (
        Trouble(each.subject, each.evidence, 0, Standing.PRESENT, each.brokers, each.log_dirs) for each in found
    )
    made = ticket(*troubled)
    places = {0: (3, ANY_LOG_DIR), 1: (5, ANY_LOG_DIR), 2: (4, "/d: 1"), 3: (4, "/d2")}
    moves = tuple(
        PartitionMove(TopicPartition("t", number), (ReplicaPlacement(*place),), (ReplicaPlacement(1),))
        for number, place in places.items()
    )
    anew = Plan("live", "heal", moves)
    assert [move.partition.partition for move in trimmed_again(anew, made).moves] == [0, 2]
    assert trimmed_again(anew, replace(made, author="ann")) is anew
    assert trimmed_again(anew, replace(made, kind="empty-disk")) is anew


def test_what_leaves_a_slow_disk_goes_to_no_other_that_is_slow_or_was_emptied_lately() -> None:
    first, second = slow(1, "/d1", disk="sda"), slow(1, "/d2", disk="sdb", since_ms=NOW - MINUTE)
    together = decide(POLICY, known(first, second), NOW).cure
    assert together is not None
    assert together.log_dirs == {(1, "/d1"), (1, "/d2")}
    emptied = ticket(first, state=TicketState.SUCCEEDED)
    assert emptied.evidence.splitlines()[1] == "empties broker 1, log dir /d1"
    later = decide(POLICY, known(replace(second, since_ms=0), tickets=(emptied,)), NOW + 60 * MINUTE).cure
    assert later is not None
    assert later.log_dirs == {(1, "/d1"), (1, "/d2")}
    other = decide(POLICY, known(slow(2, "/d2"), tickets=(emptied,)), NOW + 60 * MINUTE).cure
    assert other is not None
    assert other.log_dirs == {(2, "/d2")}
    next_day = decide(POLICY, known(replace(second, since_ms=0), tickets=(emptied,)), NOW + DAY).cure
    assert next_day is not None
    assert next_day.log_dirs == {(1, "/d2")}
