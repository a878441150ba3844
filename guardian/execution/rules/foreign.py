"""Other tools' reassignments on the cluster: a ticket that runs stops for them, says so, and is told what to do. Pure.

    RUNNING ── a reassignment that no ticket started ──▶ PAUSED     nothing new starts; what is under way goes on
    PAUSED  ── adopt  ──▶ RUNNING     it becomes a task of the ticket: throttled, watched, taken back with it
            ── wait   ──▶ PAUSED ──▶ RUNNING     by itself, once no other tool moves anything
            ── resume ──▶ RUNNING     beside it: only what is new stops the ticket again

What is ours is known by the stored intents alone. It is a reassignment between the replicas of a task's original and
target, in whatever direction, of whichever ticket runs on the cluster. Throttles that stand there besides are named,
and left alone (throttling.py): many a cluster has some for good.

A ticket keeps the first `_MOST` of them. While there are more, nothing counts as new: it was said that there are many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from guardian.errors import Conflict
from guardian.model.cluster_state import ClusterObservation, Reassignment
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution, ExecutionTask, ForeignWork, TaskState
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.text import some
from guardian.model.throttle import FOLLOWER_RATE, LEADER_RATE, LOG_DIR_RATE
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition

_RATES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Notice:
    """What is to be stored of a ticket because of other tools, and what to say; nothing is sent."""

    execution: Execution
    transition: tuple[TicketState, str] | None
    sentence: str


def found(observation: ClusterObservation, executions: Iterable[Execution]) -> tuple[ForeignWork, ...]:
    """The reassignments in flight that none of these executions, all that run on the cluster, started or adopted."""
    ours: dict[TopicPartition, set[int]] = {}
    for execution in executions:
        for task in execution.tasks:
            brokers = ours.setdefault(task.move.partition, set())
            brokers.update(task.move.original_brokers, task.move.target_brokers)
    return tuple(
        _work(partition, reassignment, observation)
        for partition, reassignment in sorted(observation.reassignments.items())
        if not set(_heading(reassignment)) <= ours.get(partition, set())
    )


def notice(ticket: Ticket, execution: Execution, now: tuple[ForeignWork, ...], others: str = "") -> Notice | None:
    """Decide what the ticket does about `now`, what other tools move at this moment; None when it goes on as it is.

    `others` names their throttles, for the sentence.
    """
    known = {_key(work): work for work in execution.foreign}
    # Whoever lets the ticket go on before that awaits it no longer: a pause for another reason is not theirs to end.
    is_awaited = ticket.state is TicketState.PAUSED and any(work.is_awaited for work in execution.foreign)
    new = [work for work in now if _key(work) not in known] if len(known) < _MOST else []
    listed = tuple(replace(known.get(_key(work), work), is_awaited=is_awaited) for work in now[:_MOST])
    stored = replace(execution, foreign=listed)
    if ticket.state is TicketState.RUNNING and new:
        sentence = _conflict(ticket, new, others)
        return Notice(stored, (TicketState.PAUSED, sentence), sentence)
    if ticket.state is TicketState.PAUSED and is_awaited and not now:
        reason = "what other tools moved is over"
        return Notice(stored, (TicketState.RUNNING, reason), f"goes on: {reason}")
    if ticket.state is TicketState.PAUSED and execution.foreign and not now:
        reason = f"what other tools moved is over: guardian ticket resume {ticket.id}"
        return Notice(stored, (TicketState.PAUSED, reason), f"stays paused: {reason}")
    if stored != execution:
        return Notice(stored, None, f"other tools move {_named(now)}" if now else "what other tools moved is over")
    return None


def awaited(ticket: Ticket, execution: Execution | None) -> Execution:
    """The ticket goes on by itself when all of it is over. Raises Conflict when there is nothing to wait for."""
    paused = _require_work(ticket, execution)
    return replace(paused, foreign=tuple(replace(work, is_awaited=True) for work in paused.foreign))


def why_not_adopted(execution: Execution | None, held: Mapping[int, str]) -> str:
    """Say which tickets' brokers other tools move replicas to or from; empty where they are nobody's.

    `held` are the brokers of all other tickets that are under way, by ticket: two that share one would set its rates
    against each other.
    """
    works = execution.foreign if execution is not None else ()
    brokers = {broker for work in works for broker in (*work.replicas, *work.target)}
    holders = sorted({held[broker] for broker in brokers if broker in held})
    shared = sorted(broker for broker in brokers if broker in held)
    return f"{_brokers(shared)} {'are' if len(shared) > 1 else 'is'} held by {', '.join(holders)}" if holders else ""


def adopted(ticket: Ticket, execution: Execution | None, now_ms: int) -> Execution:
    """Make what other tools move the ticket's own. A task of its own on the same partition gives way to it.

    Raises Conflict when there is nothing to adopt.
    """
    paused = _require_work(ticket, execution)
    taken = {work.partition for work in paused.foreign}
    tasks = tuple(_give_way(task, taken, now_ms) for task in paused.tasks)
    first = 1 + max((task.number for task in tasks), default=0)
    new = tuple(_task(number, work, now_ms) for number, work in enumerate(paused.foreign, start=first))
    return replace(paused, tasks=(*tasks, *new), foreign=())


def describe(works: Iterable[ForeignWork]) -> str:
    """Describe what other tools move, for people."""
    return _named(tuple(works))


def throttles(
    observation: ClusterObservation, executions: Iterable[Execution], protected: Collection[ConfigKey] = ()
) -> str:
    """The brokers whose rates somebody else has set, in words; empty where there are none. `protected` are the keys
    that the protection of disks holds."""
    ours = {
        (*ConfigKey.of(setting), value)
        for execution in executions
        for setting in execution.throttles
        for value in setting.values
    }
    brokers = sorted(
        int(name)
        for (kind, name), values in observation.configs.items()
        if kind == "BROKER"
        and any(
            (kind, name, key, values[key]) not in ours and ConfigKey(kind, name, key) not in protected
            for key in _set_rates(values)
        )
    )
    return f"throttles that are not Guardian's stand on {_brokers(brokers)}" if brokers else ""


def _set_rates(values: Mapping[str, str]) -> list[str]:
    return [key for key in _RATES if key in values]


def _require_work(ticket: Ticket, execution: Execution | None) -> Execution:
    if ticket.state is not TicketState.PAUSED:
        raise Conflict(f"ticket {ticket.id} is {ticket.state.name}: only a PAUSED one can adopt or await others' work")
    if execution is None or not execution.foreign:
        raise Conflict(
            f"no other tool moves anything that ticket {ticket.id} is paused for: guardian ticket resume {ticket.id}"
        )
    return execution


def _give_way(task: ExecutionTask, taken: set[TopicPartition], now_ms: int) -> ExecutionTask:
    if task.state.is_over or task.move.partition not in taken:
        return task
    detail = "gave way to what another tool does with the partition, which was adopted"
    return replace(task, state=TaskState.FAILED, detail=detail, ended_at_ms=now_ms)


def _task(number: int, work: ForeignWork, now_ms: int) -> ExecutionTask:
    """Under way from the start: its request reached Kafka long ago."""
    move = PartitionMove(
        work.partition,
        original=tuple(map(ReplicaPlacement, work.replicas)),
        target=tuple(map(ReplicaPlacement, work.target)),
        size_bytes=work.size_bytes,
        reason="another tool's reassignment, adopted",
    )
    return ExecutionTask(number, move, TaskState.RUNNING, started_at_ms=now_ms, is_adopted=True)


def _work(partition: TopicPartition, reassignment: Reassignment, observation: ClusterObservation) -> ForeignWork:
    """The order of before is lost: Kafka puts the target first."""
    before = tuple(broker for broker in reassignment.replicas if broker not in reassignment.adding)
    sizes = [d.replicas[partition].size_bytes for d in observation.log_dirs if partition in d.replicas]
    return ForeignWork(partition, before, _heading(reassignment), max(sizes, default=0))


def _heading(reassignment: Reassignment) -> tuple[int, ...]:
    return tuple(broker for broker in reassignment.replicas if broker not in reassignment.removing)


def _key(work: ForeignWork) -> tuple[TopicPartition, tuple[int, ...]]:
    return work.partition, work.target


def _conflict(ticket: Ticket, new: list[ForeignWork], others: str) -> str:
    more = f"; {others}" if others else ""
    part = f", {_MOST} at a time" if len(new) > _MOST else ""
    return (
        f"another tool moves {_named(new)}{more}: guardian ticket adopt {ticket.id} makes that this ticket's{part}, "
        f"wait {ticket.id} goes on after it, resume {ticket.id} beside it"
    )


def _named(works: Iterable[ForeignWork]) -> str:
    return some(f"{work.partition} to {list(work.target)}" for work in works)


def _brokers(brokers: list[int]) -> str:
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}"
