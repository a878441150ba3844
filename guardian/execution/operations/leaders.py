"""Leaders away from brokers, and back: moves that only change the order of replicas, so they copy nothing.

    original 1, 2, 3 (1 leads)    away from 1: 2, 3, 1 (2 leads)    back: 1, 2, 3 (1 leads)

The order is what remembers: the way back is the original of the move, which is stored with its task. Of the brokers
that may lead instead, the one with the fewest leaders takes over, so that nobody gets the load of a whole broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from guardian.execution.operations.turn import MAX_NEW_TASKS, Turn
from guardian.execution.operations.world import OperationWorld
from guardian.model.cluster_state import PartitionState
from guardian.model.execution import ExecutionTask, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import TopicPartition

GOAL = "leaders away"


def away(world: OperationWorld, nodes: Collection[int], busy: Collection[TopicPartition]) -> list[PartitionMove]:
    """The moves of what is led by these brokers, or would be again by itself; not of what is `busy` or being moved."""
    going = frozenset(nodes)
    led = Counter(state.leader for state in world.observation.partitions.values())
    moves = []
    for partition, state in sorted(world.observation.partitions.items()):
        if partition in busy or partition in world.observation.reassignments or not _concerns(state, going):
            continue
        chosen = _successor(state, going, world, led)
        if chosen is None:
            continue
        led[chosen] += 1
        led[state.leader] -= 1
        moves.append(_move(partition, state, chosen, going))
    return moves


def still_led(world: OperationWorld, nodes: Collection[int]) -> str:
    """Say which partition these brokers still lead though another one could; empty when none."""
    going = frozenset(nodes)
    for partition, state in world.observation.partitions.items():
        if state.leader in going and _successor(state, going, world, Counter()) is not None:
            return f"broker {state.leader} still leads {partition}"
    return ""


def bring_back(turn: Turn) -> Turn:
    """The turn with its round's leaders on their way back, as many as one command bears. A move under way is left to
    whoever cancels: what was sent for it may still arrive, so it is looked at twice."""
    never = [
        replace(task, state=TaskState.REVERTED, detail="never started", ended_at_ms=turn.now_ms)
        for task in turn.round_tasks()
        if task.state is TaskState.PENDING
    ]
    busy = sum(not task.state.is_over for task in turn.round_tasks())
    there = [task for task in turn.round_tasks() if _is_away(task)]
    going = [
        replace(task, state=TaskState.REVERTING, detail="", ended_at_ms=0)
        for task in there[: max(MAX_NEW_TASKS - busy, 0)]
    ]
    return turn.with_tasks((*never, *going))


def are_back(turn: Turn) -> bool:
    """Return whether none of the round's moves is left that took leaders away."""
    return not any(_is_away(task) for task in turn.round_tasks())


def _is_away(task: ExecutionTask) -> bool:
    return task.state is TaskState.DONE and task.move.goal == GOAL


def restored(
    world: OperationWorld, remembered: Iterable[PartitionMove], tasks: Iterable[ExecutionTask]
) -> list[PartitionMove]:
    """The ways back of moves of other tickets, newest first, where the replicas are still in the order that those left
    and who gets the lead may have it. None twice: two orders may each be what the other one left."""
    known = list(tasks)
    taken = {task.move.partition for task in known if not task.state.is_over}
    gone_back = {(task.move.partition, task.move.target_brokers) for task in known}
    moves: dict[TopicPartition, PartitionMove] = {}
    for move in remembered:
        partition = move.partition
        state = world.observation.partitions.get(partition)
        if state is None or move.goal != GOAL or partition in taken or (partition, move.original_brokers) in gone_back:
            continue
        if state.replicas == move.target_brokers and move.original_brokers[0] in state.isr:
            taken.add(partition)
            moves[partition] = replace(
                move,
                original=move.target,
                target=move.original,
                goal="leaders back",
                reason="its broker is online again",
            )
    return [moves[partition] for partition in sorted(moves)]


def _concerns(state: PartitionState, going: frozenset[int]) -> bool:
    """A preferred leader would get the lead back from the controller's own rebalancing."""
    return state.leader in going or state.replicas[0] in going


def _successor(state: PartitionState, going: frozenset[int], world: OperationWorld, led: Counter[int]) -> int | None:
    able = [b for b in state.replicas if b not in going and b in state.isr and world.is_alive(b)]
    # One that is about to go as well would only have to give it away again.
    lasting = [broker for broker in able if broker not in world.away] or able
    if state.leader in lasting:
        return state.leader
    return min(lasting, key=lambda broker: led[broker]) if lasting else None


def _move(partition: TopicPartition, state: PartitionState, chosen: int, going: frozenset[int]) -> PartitionMove:
    others = [broker for broker in state.replicas if broker != chosen]
    order = (chosen, *(b for b in others if b not in going), *(b for b in others if b in going))
    return PartitionMove(
        partition,
        tuple(map(ReplicaPlacement, state.replicas)),
        tuple(map(ReplicaPlacement, order)),
        reason=f"leaves the lead to broker {chosen}",
        goal=GOAL,
    )
