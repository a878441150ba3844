"""Who leads a tiered partition until its new replica holds enough by itself.

With `follower.fetch.last.tiered.offset.enable` (KIP-1023) a new replica begins after the last tiered offset, with next
to nothing on its disks. As the leader it would serve every consumer that lags a little from the remote store. So an old
replica keeps the lead until the new one holds what is written in the warm-up time, or nearly as much as the leader:

    original   target     meanwhile
    1, 2       3, 2       2, 3        the target, in an order in which a replica that stays comes first
    1, 2       3, 4       1, 3        no replica stays, so one does until broker 3 is warm; broker 4 follows then

The replication factor stays as it is, in both. That leaves out partitions of one replica: theirs is led by the new
broker as soon as it is in sync. Nothing is remembered: what is so follows from Kafka and from the stored task.

The way back is held too: the first of the original replicas may have gone already when a ticket is cancelled, and then
comes back as new as any other. Where none stays, all of them may have: then who leads now does meanwhile.

A hold ends when the new replica is warm, when no old replica can lead any more, and after a limit. A replica that has
been in sync for the warm-up time holds all that was written in it, however little that was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from guardian.model.cluster_state import ClusterObservation, PartitionState
from guardian.model.plan import PartitionMove

# Of the leader's size, in percent: a replica in sync is behind by what is on its way, and was looked at a bit earlier.
_NEARLY_ALL = 95


@dataclass(frozen=True, slots=True)
class WarmUp:
    """`cover_bytes` is what the new leader should have locally, 0 when only the old leader's size tells. Nothing is
    held from `until_ms` on."""

    cover_bytes: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Hold:
    """`brokers` is where the partition is to be meanwhile, `keeper` first."""

    brokers: tuple[int, ...]
    keeper: int
    newcomer: int
    local_bytes: int
    needed_bytes: int

    @property
    def detail(self) -> str:
        """It changes ten times in all: whenever it does, it is stored."""
        share = min(self.local_bytes * 10 // max(self.needed_bytes, 1), 9)
        return (
            f"holds the lead at broker {self.keeper} until broker {self.newcomer} has {_amount(self.needed_bytes)} "
            f"local (now {share * 10}% of it)"
        )


def hold(
    move: PartitionMove, warm_up: WarmUp | None, observation: ClusterObservation, *, back: bool = False
) -> Hold | None:
    """Decide who must keep the lead now, and where; None when the goal may be gone to."""
    state = observation.partitions.get(move.partition)
    if warm_up is None or state is None or not _may_be_held(move) or observation.observed_at_ms >= warm_up.until_ms:
        return None
    goal, other = _goal_and_other(move, back=back)
    if goal[0] in other or state.leader == goal[0]:
        return None
    able = [b for b in _keepers(move, state, back=back) if b in state.isr and b in observation.brokers]
    local, needed = _local_and_needed(move, goal[0], warm_up, state, observation)
    if not able or local >= needed:
        return None
    keeper = state.leader if state.leader in able else able[0]
    return Hold(_meanwhile(goal, keeper), keeper, goal[0], local, needed)


def awaits_keeper(
    move: PartitionMove, warm_up: WarmUp | None, observation: ClusterObservation, *, back: bool = False
) -> tuple[int, ...]:
    """The replicas that stay, when the leader would go while all of them are alive but out of sync: then only new
    replicas could lead."""
    state = observation.partitions.get(move.partition)
    goal, _ = _goal_and_other(move, back=back)
    if warm_up is None or state is None or not _may_be_held(move) or state.leader in goal:
        return ()
    if observation.observed_at_ms >= warm_up.until_ms:
        return ()
    staying = _staying(move)
    if any(broker in state.isr or broker not in observation.brokers for broker in staying):
        return ()
    return staying


def halfway(move: PartitionMove, warm_up: WarmUp | None, *, back: bool = False) -> tuple[frozenset[int], ...]:
    """The replicas, other than the original's and the target's, on which a hold may have left the partition: on the
    way back, that of the way there or its own."""
    if warm_up is None or not _may_be_held(move) or _staying(move):
        return ()
    there, here = move.target_brokers, move.original_brokers
    found = [_meanwhile(there, keeper) for keeper in here]
    if back:
        found += [_meanwhile(here, keeper) for keeper in there]
    return tuple(map(frozenset, found))


def why_cold(
    move: PartitionMove, warm_up: WarmUp | None, observation: ClusterObservation, *, back: bool = False
) -> str:
    """Say, when the lead goes to a new replica that is not warm, how little it has and why; empty when it is warm."""
    state = observation.partitions.get(move.partition)
    goal, other = _goal_and_other(move, back=back)
    if warm_up is None or state is None or goal[0] in other:
        return ""
    local, needed = _local_and_needed(move, goal[0], warm_up, state, observation)
    if local >= needed:
        return ""
    if not _may_be_held(move):
        why = "a partition of one replica can't be held"
    elif observation.observed_at_ms >= warm_up.until_ms:
        why = "its time is over"
    else:
        why = "no other replica can lead" if back else "no old replica can lead"
    return f", which has less than {_amount(needed)} local: {why}"


def _may_be_held(move: PartitionMove) -> bool:
    return len(move.target) > 1


def _staying(move: PartitionMove) -> tuple[int, ...]:
    return tuple(broker for broker in move.target_brokers if broker in move.original_brokers)


def _goal_and_other(move: PartitionMove, *, back: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    there, here = move.target_brokers, move.original_brokers
    return (here, there) if back else (there, here)


def _keepers(move: PartitionMove, state: PartitionState, *, back: bool) -> tuple[int, ...]:
    """Return who may lead meanwhile: nobody once a new replica leads, or while one that is to be back first is out of
    sync.
    """
    if not back:
        return (_staying(move) or move.original_brokers) if state.leader in move.original_brokers else ()
    first, *others = move.original_brokers
    if first in state.replicas and first not in state.isr:
        return ()
    return tuple(others) if _staying(move) or state.leader in others else (state.leader,)


def _meanwhile(goal: tuple[int, ...], keeper: int) -> tuple[int, ...]:
    if keeper in goal:
        return (keeper, *(broker for broker in goal if broker != keeper))
    return (keeper, *goal[:-1])


def _local_and_needed(
    move: PartitionMove, newcomer: int, warm_up: WarmUp, state: PartitionState, observation: ClusterObservation
) -> tuple[int, int]:
    """Return what the newcomer has, and what it should have, in bytes: more than nothing as long as one of both does
    not tell.
    """
    sizes = dict(_sizes(move, observation))
    bounds = [warm_up.cover_bytes] if warm_up.cover_bytes else []
    bounds += [sizes[state.leader] * _NEARLY_ALL // 100] if state.leader in sizes else []
    if newcomer in sizes and bounds:
        return sizes[newcomer], min(bounds)
    return 0, max(min(bounds, default=0), 1)


def _sizes(move: PartitionMove, observation: ClusterObservation) -> Iterator[tuple[int, int]]:
    for log_dir in observation.log_dirs:
        if move.partition in log_dir.replicas:
            yield log_dir.broker, log_dir.replicas[move.partition].size_bytes


def _amount(size: int) -> str:
    """Two digits, so that a sentence stays the same while it grows a little."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{float(f'{size / factor:.2g}'):g} {unit}"
    return f"{size} B"
