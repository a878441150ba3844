"""One partition, Kafka on one side and the goal on the other: what is the next request, or what is awaited?

    replicas ──▶ log dirs ──▶ hold ──▶ leader ──▶ REACHED          each stage is asked for until Kafka shows it

The goal is the move's target, or its original placement when it is taken back. Nothing is remembered between two looks,
so looking again after a crash gives the same answer. What Kafka is doing is ours when it matches one of the two
placements that are committed, or what a hold makes of them (warming.py: an old replica leads a tiered partition until
the new one is warm). All else is another tool's, and is never undone:

    a reassignment or log-dir copy of another tool in flight      WAIT, and say so
    replicas that neither placement names, nothing in flight      TAKEN: the plan no longer fits

A partition that is to be created is there or not. On the way back it stays once it is there: Kafka takes no partition
away, and a topic may hold data by then. Where a move changes the replication factor, the replicas that go do so only
while all that stay are in sync.

Brokers lag behind the controller (KAFKA.md, trap 9), so no end is taken from one answer alone. REACHED, GONE and TAKEN
hold only when the log dirs of the brokers agree with the replicas that the cluster names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from guardian.execution.rules.warming import Hold, WarmUp, awaits_keeper, halfway, hold, why_cold
from guardian.model.cluster_state import ClusterObservation, PartitionState, Reassignment
from guardian.model.effects import AlterReassignments, AlterReplicaLogDirs, CreatePartitions, Effect, ElectLeaders
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.text import Text
from guardian.model.topology import ANY_LOG_DIR, TopicPartition
from guardian.throttle.rules.throttling import Copy


class Standing(Enum):
    """Where a partition stands between Kafka and its goal."""

    REACHED = "seen in Kafka"
    ACT = "the next request is known"
    WAIT = "Kafka, a broker or another tool must move first"
    GONE = "the topic was deleted"
    TAKEN = "another tool moved it"


@dataclass(frozen=True, slots=True)
class Look:
    """`effects` are to be sent in their order. `copies` when they make a broker copy data, so the throttle comes
    first. `detail` is a sentence about it that stays the same while nothing happens."""

    standing: Standing
    detail: Text = ""
    effects: tuple[Effect, ...] = ()
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """Where to: the target, by way of a hold where there is a `warm_up`, or back to the original.

    What `is_given_up` goes nowhere any more: what is in flight for it is cancelled. Replicas on `forgone` brokers lie
    where they should, and are waited for no longer: not to be in sync, nor to lead.
    """

    move: PartitionMove
    back: bool = False
    warm_up: WarmUp | None = None
    is_given_up: bool = False
    forgone: tuple[int, ...] = ()

    @property
    def partition(self) -> TopicPartition:
        return self.move.partition

    @property
    def goal(self) -> tuple[ReplicaPlacement, ...]:
        return self.move.original if self.back else self.move.target

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(replica.broker for replica in self.goal)

    @property
    def other_brokers(self) -> tuple[int, ...]:
        """Those of the placement that is not the goal."""
        return self.move.target_brokers if self.back else self.move.original_brokers

    @property
    def halfway(self) -> tuple[frozenset[int], ...]:
        """Replicas on which a hold may have left it."""
        return halfway(self.move, self.warm_up, back=self.back)

    def hold(self, observation: ClusterObservation) -> Hold | None:
        """Return who must keep the lead now, and where; None when the goal may be gone to."""
        return hold(self.move, self.warm_up, observation, back=self.back)

    def log_dir(self, broker: int) -> str:
        """The log dir that the goal gives to the broker; "any" when it names none."""
        return _log_dir_in(self.goal, broker)

    def other_log_dir(self, broker: int) -> str:
        """The log dir that the other placement gives to the broker; "any" when it names none."""
        return _log_dir_in(self.move.target if self.back else self.move.original, broker)


def _log_dir_in(placements: tuple[ReplicaPlacement, ...], broker: int) -> str:
    return next((replica.log_dir for replica in placements if replica.broker == broker), ANY_LOG_DIR)


class Losses:
    """Where a replica can't be: on a broker that is down, or in a log dir that has failed under a broker that lives."""

    def __init__(self, observation: ClusterObservation) -> None:
        self._observation = observation
        self._failed: defaultdict[int, set[str]] = defaultdict(set)
        for log_dir in observation.log_dirs:
            if log_dir.error:
                self._failed[log_dir.broker].add(log_dir.path)

    def why(self, partition: TopicPartition, replica: ReplicaPlacement) -> str:
        """Say what is lost, in a few words; empty when the replica can be there, or can come."""
        broker = replica.broker
        if broker not in self._observation.brokers:
            return f"broker {broker}"
        if broker not in self._failed:
            return ""
        if replica.log_dir in self._failed[broker]:
            return f"log dir {replica.log_dir} of broker {broker}"
        state = self._observation.partitions.get(partition)
        is_hidden = state is not None and broker in state.replicas
        is_hidden = is_hidden and self._observation.log_dir_of(partition, broker) is None
        return f"a log dir of broker {broker}" if is_hidden else ""

    def of(self, partition: TopicPartition, replicas: Collection[ReplicaPlacement]) -> dict[int, str]:
        """Those of the replicas that are lost: what is, by broker."""
        found = {replica.broker: self.why(partition, replica) for replica in replicas}
        return {broker: why for broker, why in found.items() if why}


def look(aim: Aim, observation: ClusterObservation) -> Look:
    """Find what lies between the partition and its goal."""
    state = observation.partitions.get(aim.partition)
    if state is None:
        return _to_be_created(aim, observation) if aim.move.is_new else _missing(aim.partition, observation)
    if aim.move.is_new and aim.back:
        return Look(Standing.REACHED, "was created and stays: Guardian deletes no partition")
    reassignment = observation.reassignments.get(aim.partition)
    if reassignment is not None:
        return _in_flight(aim, reassignment, observation)
    if set(state.replicas) != set(aim.brokers):
        return _elsewhere(aim, state, observation)
    return _in_place(aim, state, observation)


def copy_of(aim: Aim, observation: ClusterObservation) -> Copy | None:
    """The replicas that are, or will be, on their way because of this move; None when no data has to move.

    What is about to be cancelled counts until Kafka has stopped it. A destination that is down counts as long: it goes
    on copying as soon as it is back. Other brokers that are down are left out: their rates can't be set, and they copy
    nothing.
    """
    state = observation.partitions.get(aim.partition)
    if state is None:
        return None
    reassignment = observation.reassignments.get(aim.partition)
    adding = reassignment.adding if reassignment else ()
    whole = [broker for broker in state.replicas if broker not in adding]
    held = aim.hold(observation)
    arriving = [broker for broker in (held.brokers if held else aim.brokers) if broker not in whole]
    under_way = [broker for broker in (*aim.brokers, *aim.other_brokers) if broker in adding]
    arriving += [broker for broker in under_way if broker not in arriving]
    log_dirs = [broker for broker in whole if _copies_between_log_dirs(aim, broker, observation)]
    alive = observation.brokers
    copy = Copy(
        aim.partition,
        aim.move.write_rate,
        state.leader,
        sources=tuple(broker for broker in whole if broker in alive),
        destinations=tuple(arriving),
        log_dir_brokers=tuple(broker for broker in log_dirs if broker in alive),
        log_dirs=_log_dirs_at_work(aim, state.leader, arriving, log_dirs, observation),
        size_bytes=aim.move.size_bytes,
    )
    return copy if copy.destinations or copy.log_dir_brokers else None


def _log_dirs_at_work(
    aim: Aim, leader: int, arriving: list[int], between: list[int], observation: ClusterObservation
) -> tuple[tuple[int, str], ...]:
    """Return the log dirs that are read and written, as far as they are known: a broker chooses one where the goal
    names none.
    """
    read = [(broker, observation.log_dir_of(aim.partition, broker)) for broker in ([leader] if arriving else [])]
    read += [(broker, observation.log_dir_of(aim.partition, broker)) for broker in between]
    written = [(broker, aim.log_dir(broker)) for broker in (*arriving, *between)]
    return tuple((broker, path) for broker, path in (*read, *written) if path and path != ANY_LOG_DIR)


def has_arrived(move: PartitionMove, observation: ClusterObservation) -> bool:
    """Return whether the replicas have left the original brokers for good: taking that back would copy all of it again.

    What is created has arrived as soon as it is there.
    """
    state = observation.partitions.get(move.partition)
    return (
        state is not None
        and move.partition not in observation.reassignments
        and set(state.replicas) == set(move.target_brokers) != set(move.original_brokers)
    )


def was_moved_away(move: PartitionMove, observation: ClusterObservation) -> str:
    """Say why the move is stale (its partition is on brokers that neither placement names); empty when it is not."""
    state = observation.partitions.get(move.partition)
    if state is None or move.partition in observation.reassignments:
        return ""
    if move.is_new:
        return f"{move.partition}, which the plan creates, exists by now on {list(state.replicas)}"
    if set(state.replicas) in (set(move.original_brokers), set(move.target_brokers)):
        return ""
    return f"{move.partition} is on {list(state.replicas)}, the plan expects it on {list(move.original_brokers)}"


def is_gone(partition: TopicPartition, observation: ClusterObservation) -> bool:
    """Return whether nobody knows the partition any more: neither the cluster nor a log dir."""
    hosted = any(partition in log_dir.replicas for log_dir in observation.log_dirs)
    known = partition in observation.partitions or partition in observation.reassignments
    return not hosted and not known


def _missing(partition: TopicPartition, observation: ClusterObservation) -> Look:
    if not is_gone(partition, observation):
        return _wait("waits for the brokers to agree on whether the topic exists")
    return Look(Standing.GONE, gone(partition))


def gone(partition: TopicPartition) -> str:
    """Say, for people and for the store, that a task's topic went away."""
    return f"topic {partition.topic} was deleted"


def _to_be_created(aim: Aim, observation: ClusterObservation) -> Look:
    """Create the partition, with its log dirs told before, so that the brokers put it there (trap 22)."""
    if not is_gone(aim.partition, observation):
        return _wait("waits for the brokers to agree on whether the topic exists")
    if aim.back:
        return Look(Standing.REACHED, "was never created")
    dead = [broker for broker in aim.brokers if broker not in observation.brokers]
    if dead:
        return _wait(f"waits for {_brokers(dead)}, which {_is_are(dead)} down")
    moved = min((each for each in observation.reassignments if each.topic == aim.partition.topic), default=None)
    if moved is not None:  # Kafka would take all replicas that come and go for those of the topic
        return _wait(f"waits for the reassignment of {moved} to end: meanwhile its topic gets no new partitions")
    ahead = _told_ahead(aim, aim.brokers)
    request = CreatePartitions({aim.partition: aim.brokers})
    return Look(Standing.ACT, f"is created on {_brokers(list(aim.brokers))}", (*ahead, request))


def _in_flight(aim: Aim, reassignment: Reassignment, observation: ClusterObservation) -> Look:
    heading = [broker for broker in reassignment.replicas if broker not in reassignment.removing]
    if aim.back and _must_be_cancelled(aim, reassignment, heading):
        return _cancel(aim, reassignment, heading, observation)
    if set(heading) in (set(aim.brokers), *aim.halfway):
        arriving = list(reassignment.adding) or heading
        return _wait(f"copying to {_brokers(arriving)}{_down(dict.fromkeys((*arriving, *heading)), observation)}")
    return _wait(f"waits for another tool's reassignment to {heading}")


def _cancel(aim: Aim, reassignment: Reassignment, heading: list[int], observation: ClusterObservation) -> Look:
    """Kafka cancels as soon as one replica that stays is in sync: what acks=all needs may be lost with those that go.

    Where that is so for good, the replicas that are in sync take the place of those that are lost.
    """
    in_sync = observation.partitions[aim.partition].isr
    left = len(set(in_sync) - set(reassignment.adding))
    least = observation.min_insync.get(aim.partition.topic, 1)
    if left >= min(least, len(in_sync)):
        return _act("cancels its reassignment", AlterReassignments({aim.partition: None}))
    kept = _kept(aim, reassignment, len(heading), in_sync) if aim.is_given_up else ()
    if kept:
        return _act(f"keeps the replicas that are in sync, {list(kept)}", AlterReassignments({aim.partition: kept}))
    behind = [broker for broker in aim.brokers if broker not in in_sync]
    return _wait(
        f"waits for {_brokers(behind)} to be in sync before it cancels its reassignment: {left} replicas in sync would "
        f"be left, fewer than min.insync.replicas {least}{_down(behind, observation)}"
    )


def _kept(aim: Aim, reassignment: Reassignment, count: int, in_sync: tuple[int, ...]) -> tuple[int, ...]:
    """So many replicas in sync, at which what is in flight ends at once; none where there are not enough.

    All that are being added are among them: one that is added and removed hangs for good.
    """
    if not set(reassignment.adding) <= set(in_sync):
        return ()
    staying = [b for b in aim.brokers if b in in_sync and b not in reassignment.adding]
    kept = (*staying[: count - len(reassignment.adding)], *reassignment.adding)
    return kept if len(kept) == count else ()


def _must_be_cancelled(aim: Aim, reassignment: Reassignment, heading: list[int]) -> bool:
    """Return whether to cancel the reassignment: it goes to the other placement, or hangs. One over which the original
    was submitted never ends (Kafka 4.3: it adds and removes the same replica), but a cancel leads back.

    Two halves of a way may be the same replicas (1, 2 to 3, 4 by way of 1, 3, there and back): what is added tells.
    """
    adding = set(reassignment.adding)
    if aim.is_given_up:
        return set(heading) in (set(aim.brokers), set(aim.other_brokers), *aim.halfway)
    if not adding.isdisjoint(reassignment.removing):
        return set(heading) in (set(aim.brokers), set(aim.other_brokers), *aim.halfway)
    is_halfway_back = set(heading) in aim.halfway and adding and adding <= set(aim.brokers)
    return set(heading) in (set(aim.other_brokers), *aim.halfway) and not is_halfway_back


def _elsewhere(aim: Aim, state: PartitionState, observation: ClusterObservation) -> Look:
    """Nothing in flight, and the replicas are not those of the goal."""
    present = set(state.replicas)
    held = aim.hold(observation)
    if held and present == set(held.brokers):
        return _keep_the_lead(aim, held, state, observation)
    if present in (set(aim.other_brokers), *aim.halfway):
        return _start(aim, held.brokers if held else aim.brokers, state, observation)
    if _is_between(aim, present):
        return _wait("waits for the brokers to agree on its replicas")
    if not _log_dirs_agree(aim, state, observation) or _silent(aim, observation):
        return _wait("waits for the brokers to agree on its replicas")
    doing = "created it on" if aim.move.is_new else "moved it to"
    return Look(Standing.TAKEN, f"another tool {doing} {list(state.replicas)}")


def _is_between(aim: Aim, present: set[int]) -> bool:
    """Return whether the replicas are what a reassignment of ours shows while it lasts. Brokers that have not heard yet
    that it is over show it too.
    """
    ends = (set(aim.brokers), set(aim.other_brokers), *aim.halfway)
    return any(present == one | other for one in ends for other in ends if one != other)


def _keep_the_lead(aim: Aim, held: Hold, state: PartitionState, observation: ClusterObservation) -> Look:
    """Go to where a hold wants the replicas: an order that keeps the lead with the old one, then time."""
    if state.replicas != held.brokers:
        return _act("puts the replicas in order", AlterReassignments({aim.partition: held.brokers}))
    return _wait(held.detail + _down([held.newcomer], observation))


def _in_place(aim: Aim, state: PartitionState, observation: ClusterObservation) -> Look:
    """Nothing in flight, and the right replicas: their order, their being in sync, log dirs and leader remain."""
    held = aim.hold(observation)
    order = held.brokers if held else aim.brokers
    if state.replicas != order:
        return _act("puts the replicas in order", AlterReassignments({aim.partition: order}))
    lagging = [broker for broker in needed(aim) if broker not in state.isr]
    if lagging and not aim.back:
        return _wait(f"waits for {_brokers(lagging)} to be in sync{_down(lagging, observation)}")
    if not _log_dirs_agree(aim, state, observation):
        return _wait("waits for the brokers to agree on its replicas")
    found = _look_at_log_dirs(aim, observation)
    if found is None and held:
        return _keep_the_lead(aim, held, state, observation)
    return found or _look_at_leader(aim, state, observation)


def needed(aim: Aim) -> tuple[int, ...]:
    """The brokers without which the goal is not reached."""
    return tuple([b for b in aim.brokers if b not in aim.forgone and not _may_stay_as_it_is(aim, b)])


def _may_stay_as_it_is(aim: Aim, broker: int) -> bool:
    """Return whether this one may stay as it is, in a move of nothing but the order, or of other replicas between log
    dirs.
    """
    if broker == aim.brokers[0] or set(aim.brokers) != set(aim.other_brokers):
        return False
    return aim.log_dir(broker) in (ANY_LOG_DIR, aim.other_log_dir(broker))


def _log_dirs_agree(aim: Aim, state: PartitionState, observation: ClusterObservation) -> bool:
    """A broker of which a log dir has failed does not tell what lies there."""
    observed = {log_dir.broker for log_dir in observation.log_dirs}
    observed -= {log_dir.broker for log_dir in observation.log_dirs if log_dir.error}
    ours = (set(aim.brokers) | set(aim.other_brokers)) & observed
    return all((observation.log_dir_of(aim.partition, b) is not None) == (b in state.replicas) for b in ours)


def _silent(aim: Aim, observation: ClusterObservation) -> bool:
    """Return whether a broker lives that should know, and does not tell its log dirs."""
    ours = (set(aim.brokers) | set(aim.other_brokers)) & observation.brokers.keys()
    return any(not _tells_log_dirs(broker, observation) for broker in ours)


def _start(aim: Aim, brokers: tuple[int, ...], state: PartitionState, observation: ClusterObservation) -> Look:
    """Begin the way to the goal, or first to where a hold wants it."""
    arriving = [broker for broker in brokers if broker not in state.replicas]
    places = (*aim.goal, *(aim.move.target if aim.back else aim.move.original))
    lost = Losses(observation).of(aim.partition, [_place(places, broker) for broker in brokers])
    if lost:  # also one that is there already: Kafka ends a reassignment only when all of its replicas are in sync
        return _wait(f"waits for {', '.join(lost.values())}, which {_is_are(list(lost))} down")
    if state.leader < 0:
        return _wait("waits for a leader to copy from")
    keepers = awaits_keeper(aim.move, aim.warm_up, observation, back=aim.back)
    if keepers:
        return _wait(f"waits for {_brokers(list(keepers))} to be in sync, to lead until the new replica is warm")
    lagging = [broker for broker in brokers if broker in state.replicas and broker not in state.isr]
    if lagging and len(brokers) < len(state.replicas):
        return _wait(f"waits for {_brokers(lagging)} to be in sync before replicas go{_down(lagging, observation)}")
    request = AlterReassignments({aim.partition: brokers}, len(brokers) != len(state.replicas))
    effects = (*_told_ahead(aim, arriving), request)
    if arriving:
        return Look(Standing.ACT, f"starts to copy to {_brokers(arriving)}", effects, copies=True)
    leaving = [broker for broker in state.replicas if broker not in brokers]
    return _act(f"takes the replica off {_brokers(leaving)}", *effects)


def _place(places: Collection[ReplicaPlacement], broker: int) -> ReplicaPlacement:
    return next((place for place in places if place.broker == broker), ReplicaPlacement(broker))


def _told_ahead(aim: Aim, arriving: Collection[int]) -> tuple[Effect, ...]:
    ahead = {
        (aim.partition, r.broker): r.log_dir for r in aim.goal if r.broker in arriving and r.log_dir != ANY_LOG_DIR
    }
    return (AlterReplicaLogDirs(ahead, ahead=True),) if ahead else ()


def _look_at_log_dirs(aim: Aim, observation: ClusterObservation) -> Look | None:
    """The first thing that keeps the replicas from lying in their log dirs, or None."""
    requests: dict[tuple[TopicPartition, int], str] = {}
    waits: list[str] = []
    losses = Losses(observation)
    for replica in aim.goal:
        lost = losses.why(aim.partition, replica)
        if lost and _must_lie_right(aim, replica.broker):
            waits.append(f"waits for {lost}, which is down")
        if lost:
            continue
        wait = _look_at_log_dir(aim, replica, observation)
        if wait is None:
            requests[aim.partition, replica.broker] = replica.log_dir
        elif wait:
            waits.append(wait)
    if not requests:
        return _wait("; ".join(waits)) if waits else None
    copies = any(observation.log_dir_of(*key) != log_dir for key, log_dir in requests.items())
    doing = "moves between log dirs" if copies else "stops the copy between log dirs"
    found = _act(f"{doing} on {_brokers([broker for _, broker in requests])}", AlterReplicaLogDirs(requests))
    return replace(found, copies=copies)


def _must_lie_right(aim: Aim, broker: int) -> bool:
    """Return whether a replica that is lost holds up the goal. On the way back it does only if it may be on its way
    into another log dir. Its copy, which nobody throttles or owns by then, would go on once the broker is back.
    """
    if aim.back:
        return broker in aim.other_brokers and aim.other_log_dir(broker) not in (ANY_LOG_DIR, aim.log_dir(broker))
    return broker in needed(aim)


def _look_at_log_dir(aim: Aim, replica: ReplicaPlacement, observation: ClusterObservation) -> str | None:
    """Empty when the replica lies right, None when it must be asked for, else what is awaited."""
    broker = replica.broker
    present = observation.log_dir_of(aim.partition, broker)
    future = observation.future_log_dir_of(aim.partition, broker)
    if present is None:
        return f"waits for broker {broker} to tell where its replica is{_down([broker], observation)}"
    lies_right = replica.log_dir in (ANY_LOG_DIR, present)
    if future is None:
        return "" if lies_right else None
    if not lies_right and future == replica.log_dir:
        return f"copying to {future} on broker {broker}"
    if aim.back and lies_right and future == aim.other_log_dir(broker):
        return None  # moving a replica to where it is cancels its copy (trap 12)
    return f"waits for another tool's copy to {future} on broker {broker}"


def _look_at_leader(aim: Aim, state: PartitionState, observation: ClusterObservation) -> Look:
    preferred = aim.brokers[0]
    may_follow = aim.back or preferred in aim.forgone
    if state.leader == preferred or (may_follow and preferred not in state.isr):
        return Look(Standing.REACHED)
    cold = why_cold(aim.move, aim.warm_up, observation, back=aim.back)
    return _act(f"makes broker {preferred} the leader{cold}", ElectLeaders((aim.partition,)))


def _copies_between_log_dirs(aim: Aim, broker: int, observation: ClusterObservation) -> bool:
    present = observation.log_dir_of(aim.partition, broker)
    future = observation.future_log_dir_of(aim.partition, broker)
    goal = aim.log_dir(broker)
    if present is None and future is None and not _tells_log_dirs(broker, observation):
        return goal not in (ANY_LOG_DIR, aim.other_log_dir(broker))  # it may copy
    misplaced = present is not None and goal not in (ANY_LOG_DIR, present)
    return misplaced or (future is not None and future in (goal, aim.other_log_dir(broker)))


def _tells_log_dirs(broker: int, observation: ClusterObservation) -> bool:
    return any(log_dir.broker == broker for log_dir in observation.log_dirs)


def _act(detail: str, *effects: Effect) -> Look:
    return Look(Standing.ACT, detail, effects)


def _wait(detail: str) -> Look:
    return Look(Standing.WAIT, detail)


def _brokers(brokers: list[int]) -> str:
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}"


def _is_are(brokers: list[int]) -> str:
    return "are" if len(brokers) > 1 else "is"


def _down(brokers: Iterable[int], observation: ClusterObservation) -> str:
    dead = [broker for broker in brokers if broker not in observation.brokers]
    return f" ({_brokers(dead)} {_is_are(dead)} down)" if dead else ""
