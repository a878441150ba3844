"""Finds the jobs of a cluster: its tickets with what they work from, of those that may go on now (admitting.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from guardian.errors import GuardianError
from guardian.execution.loop.admitting import Job, admit, moves_between
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.ports import ExecutionStore
from guardian.execution.operations.step import begin
from guardian.execution.rules.brokers import brokers_of
from guardian.kafka.admin import KafkaAdmin
from guardian.model.execution import Execution
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket
from guardian.tickets.rules.sequences import why_later


class Jobs:
    """Read what tickets work from, and the plans that operations wait for."""

    def __init__(
        self,
        store: ExecutionStore,
        operations: Operations | None,
        admin_for: Callable[[str], KafkaAdmin],
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._operations = operations
        self._admin_for = admin_for
        self._now_ms = now_ms

    def admit(self, tickets: Sequence[Ticket]) -> tuple[list[Job], list[str]]:
        """Return the tickets that may go on now, and what is said of the others."""
        sentences: list[str] = []
        found: list[Job] = []
        for ticket in tickets:
            later = why_later(ticket, tickets)
            if later:
                sentences.append(f"ticket {ticket.id} {later}")
                continue
            try:
                found.append(Job(ticket, self._work(ticket)))
            except GuardianError as error:
                sentences.append(f"ticket {ticket.id} waits: {error}")
        moving = self._moving(tickets)
        admitted, waiting = admit(found, moving, lambda job, holders: self._with_answer(job, holders, moving))
        return admitted, sentences + [f"ticket {ticket_id} {why}" for ticket_id, why in waiting.items()]

    def _work(self, ticket: Ticket) -> Execution | Plan:
        execution = self._store.execution(ticket.id)
        if execution is not None:
            return execution
        return begin(ticket, self._now_ms()) if ticket.ask else self._store.plan(ticket.plan_hash)

    def _moving(self, tickets: Sequence[Ticket]) -> dict[int, set[str]]:
        """Return by broker the tickets that move replicas to or from it now. Read only where an operation may wait."""
        found: dict[int, set[str]] = {}
        if all(ticket.ask is None for ticket in tickets):
            return found
        for ticket in tickets:
            execution = self._store.execution(ticket.id)
            for broker in moves_between(ticket, execution) if execution is not None else ():
                found.setdefault(broker, set()).add(ticket.id)
        return found

    def _with_answer(self, job: Job, before: Mapping[int, str], moving: Mapping[int, Collection[str]]) -> Job:
        """Return the job with the plan that its operation waits for, once nobody else moves replicas between the same
        brokers. What is planned while a ticket runs keeps out of the way of others as those keep out of its.
        """
        ticket = job.ticket
        if ticket.ask is None or self._operations is None:
            return job
        answer = self._operations.plan_answer(ticket, lambda: self._admin_for(ticket.cluster))
        if answer is None or answer.plan is None:
            return replace(job, answer=answer)
        planned = brokers_of(answer.plan)
        others = {each for broker in planned for each in moving.get(broker, ()) if each != ticket.id}
        others |= {before[broker] for broker in planned if broker in before}
        if others:
            return replace(job, withheld=f"its plan waits for {', '.join(sorted(others))}, on the same brokers")
        return replace(job, answer=answer)
