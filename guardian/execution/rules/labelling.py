"""What a ticket says in the directory, of brokers and topics, once it has succeeded; and takes back. Pure.

Which entries a kind of ticket changes, and how, is said by the kind (guardian/tickets/kinds).

What it will say is stored with what that replaces, then said, and only then the ticket is over. Both ways by the
changes of the engine (settings/rules.py): what somebody else said meanwhile stays. A ticket that never said anything
takes nothing back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from guardian.model.directory import Directory
from guardian.model.execution import DirectoryIntent, Subject
from guardian.model.owned_setting import OwnedSetting
from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import PlanTask
from guardian.model.text import some
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.tickets.kinds.registry import kind_of_task


def to_say(
    plan: Plan,
    moves: Sequence[PartitionMove],
    directory: Directory,
    factors: Mapping[str, int],
    empty: Collection[int],
) -> tuple[DirectoryIntent, ...]:
    """Return what the plan sets when `moves` of it are done, and what that replaces in the directory as it is.

    `factors` are the cluster's topics with their replication factors, `empty` brokers without replicas.
    """
    return kind_of_task(plan.task).directory_intents(plan, plan.task, moves, directory, factors, empty)


def owned(intents: Sequence[DirectoryIntent]) -> list[OwnedSetting]:
    """Return the intents as settings of single entries. They are stored by groups: a cluster has many topics."""
    return [
        OwnedSetting(each.subject.value, name, each.field, (each.value,), each.replaced)
        for each in intents
        for name in each.names
    ]


def takes_back(ticket: Ticket, state: TicketState) -> bool:
    """Return whether a ticket that becomes `state` takes back what it said, or was about to: one that has not succeeded
    says nothing. Where a way back was stopped halfway it stays said, until the rest has gone back too.
    """
    if state is TicketState.ROLLED_BACK:
        return True
    states = {state, *(past.state for past in ticket.history)}
    return TicketState.SUCCEEDED not in states


def describe(intents: Sequence[DirectoryIntent]) -> str:
    """Describe the intents in words, for people."""
    return "; ".join(
        f"{each.field} {each.value or 'none'} instead of {each.replaced or 'none'} of {each.subject.value} "
        f"{some(each.names)}"
        for each in intents
    )


def leaving(plan: Plan, moves: Sequence[PartitionMove]) -> frozenset[int]:
    """The brokers that a plan which gives machines back means to empty."""
    emptied = emptied_by(plan.task, moves)
    marked = {load.broker for load in plan.loads if load.is_leaving and not load.log_dir}
    return emptied & marked if marked else emptied


def why_not_emptied(plan: Plan, partitions: Mapping[TopicPartition, Collection[int]], alive: Collection[int]) -> str:
    """Say which of the brokers that a plan gives back would keep what, as the plan does not know of it; empty: none
    would.

    `partitions` are all of the cluster, with their brokers.
    """
    moves = {move.partition: move.target_brokers for move in plan.moves}
    for broker in sorted(leaving(plan, plan.moves) & set(alive)):
        left = [
            each for each, brokers in partitions.items() if broker in moves.get(each, brokers) and broker in brokers
        ]
        if left:
            return (
                f"broker {broker} would not become empty: it holds {some(sorted(left))}, which the "
                "plan leaves there; wait until they are collected (guardian collection), then plan again"
            )
    return ""


def remarks(
    plan: Plan,
    intents: Sequence[DirectoryIntent],
    held: Mapping[int, Collection[TopicPartition]],
    directory: Directory,
) -> list[str]:
    """Return what the end of the ticket has to say besides: what was meant and could not be said. `held` is what the
    brokers hold that were to be emptied.
    """
    said = {name for each in intents if each.subject is Subject.BROKER for name in each.names}
    words = [
        f"broker {broker} is not empty and keeps its label: it holds {some(sorted(partitions))}"
        for broker, partitions in sorted(held.items())
        if partitions and str(broker) not in said
    ]
    return [*words, *kind_of_task(plan.task).remarks(plan.task, directory)]


def emptied_by(task: PlanTask | None, moves: Sequence[PartitionMove]) -> frozenset[int]:
    """Return the brokers that a task which gives machines back takes replicas off, and puts none on. `moves` are what
    was done."""
    return kind_of_task(task).emptied(task, moves)
