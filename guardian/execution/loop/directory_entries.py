"""What a ticket's plan has to do with the federation's directory: it bars brokers, and gets labels that the plan says.

all moves are done ──▶ intents are stored ──▶ said in the directory ──▶ the ticket is over
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from guardian.execution.loop.ports import ExecutionStore, Labels
from guardian.execution.rules.executing import Step
from guardian.execution.rules.labelling import describe, emptied_by, leaving, owned, remarks, takes_back, to_say
from guardian.kafka.admin import KafkaAdmin
from guardian.model.execution import Execution, TaskState
from guardian.model.plan import PartitionMove, Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import TopicPartition
from guardian.settings.rules import applied, restored
from guardian.tickets.kinds.registry import kind_of_task
from guardian.tickets.rules.barring import barring, why_barred


class DirectoryEntries:
    """Read and change the directory for tickets that carry a plan. Without `labels` nothing is barred or said."""

    def __init__(
        self, store: ExecutionStore, labels: Labels | None, shared_labels: Collection[str], now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._labels = labels
        self._shared_labels = shared_labels
        self._now_ms = now_ms

    def why_barred(self, plan: Plan) -> str:
        """Say what somebody said of the plan's brokers since it was approved; empty: nothing stands against it."""
        if self._labels is None:
            return ""
        directory = self._labels.directory(plan.cluster)
        return why_barred(plan, barring(plan, directory, self._shared_labels, self._now_ms()))

    def say(
        self, ticket: Ticket, stored: Execution, decided: Step, end: tuple[TicketState, str], admin: KafkaAdmin
    ) -> Step:
        """Return the step with what the ticket says of brokers and topics: stored first, then said, and only then it is
        over.

        One that is taken back says what it replaced. Whoever goes on after a crash says the same again. Raises
        GuardianError.
        """
        state, reason = end
        if self._labels is None:
            return decided
        if takes_back(ticket, state):
            if not stored.directory:
                return decided
            self._store.confirm(ticket.id, ticket.state, stored.revision)
            self._labels.say(ticket.cluster, restored(owned(stored.directory)))
            return replace(decided, execution=replace(decided.execution, directory=()))
        plan = self._store.plan(ticket.plan_hash)
        is_last = ticket.part is None or ticket.part.is_last  # what a sequence says, its last part says
        if state is not TicketState.SUCCEEDED or not is_last or not kind_of_task(plan.task).has_directory_intents:
            return decided
        moves = [*self._moved_before(ticket), *_done(decided.execution)]
        directory = self._labels.directory(ticket.cluster)
        held = _held_by(admin, emptied_by(plan.task, moves))
        if not stored.directory:
            factors = {each.topic: len(state.replicas) for each, state in admin.describe_partitions().items()}
            empty = {broker for broker, partitions in held.items() if not partitions}
            intents = to_say(plan, moves, directory, factors, empty)
            if intents:
                sentence = f"says in the directory: {describe(intents)}"
                execution = replace(decided.execution, directory=intents, note=sentence)
                return replace(decided, execution=execution, transition=None, sentence=sentence)
        else:
            self._store.confirm(ticket.id, ticket.state, stored.revision)
            self._labels.say(ticket.cluster, applied(owned(stored.directory)))
        left = {broker: held.get(broker, frozenset()) for broker in leaving(plan, moves)}
        words = "; ".join((reason, *remarks(plan, stored.directory, left, directory)))
        return replace(decided, transition=(state, words))

    def _moved_before(self, ticket: Ticket) -> Iterator[PartitionMove]:
        """Yield what the parts before this one have moved; nothing for a ticket that stands alone."""
        for part in ticket.part.ids[: ticket.part.number - 1] if ticket.part is not None else ():
            execution = self._store.execution(part)
            yield from _done(execution) if execution is not None else ()


def _done(execution: Execution) -> list[PartitionMove]:
    return [task.move for task in execution.tasks if task.state is TaskState.DONE]


def _held_by(admin: KafkaAdmin, brokers: Collection[int]) -> dict[int, frozenset[TopicPartition]]:
    """Return what each broker that tells holds."""
    held: dict[int, frozenset[TopicPartition]] = {}
    for each in admin.describe_log_dirs(brokers) if brokers else ():
        held[each.broker] = held.get(each.broker, frozenset()) | each.replicas.keys() | each.future_replicas.keys()
    return held
