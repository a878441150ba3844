"""Takes the next step of tickets that move nothing: read what they are about, store, send what is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from guardian.execution.loop.commits import Basis, Commits
from guardian.execution.loop.memory import forget_others
from guardian.execution.loop.ports import ExecutionStore
from guardian.execution.loop.request_facts import TopicUses, read_facts
from guardian.execution.loop.sending import send_request
from guardian.kafka.admin import KafkaAdmin
from guardian.model.effects import RequestEffect
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.kinds.requested import Moment, RequestKind


class RequestTickets:
    """Step tickets of request kinds, and remember what Kafka refused them."""

    def __init__(
        self, store: ExecutionStore, uses: TopicUses | None, commits: Commits, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._uses = uses
        self._commits = commits
        self._now_ms = now_ms
        self._refused: dict[str, tuple[str, ...]] = {}
        self._refused_since_ms: dict[str, int] = {}
        self._rests: dict[tuple[str, TicketState], int] = {}  # until when there is nothing to read again

    def step(self, kind: RequestKind[Any], ticket: Ticket, execution: Execution, admin: KafkaAdmin) -> str:
        """Take the step, and say what was done and what is awaited. Raises GuardianError."""
        if self._now_ms() < self._rests.get((ticket.id, ticket.state), 0):
            return execution.note
        plan, refused = self._store.plan(ticket.plan_hash), self._refused.pop(ticket.id, ())
        if not refused:
            self._refused_since_ms.pop(ticket.id, None)
        task, moment = kind.task_of(plan), self._moment(ticket, execution)
        facts = read_facts(admin, ticket.cluster, kind.query(task, moment), self._uses)
        decided = kind.next_step(task, moment, facts, refused)
        if ticket.state is TicketState.PAUSED and not decided.transition:
            decided = replace(decided, effects=(), deleted=(), sentence=kind.idle)
        deleted = tuple(sorted({*execution.deleted_topics, *decided.deleted}))
        noted = replace(execution, note=decided.sentence, deleted_topics=deleted)
        is_led_on = noted != execution or bool(decided.effects)
        basis = self._commits.save_execution(ticket, execution, noted, decided.transition, is_led_on=is_led_on)
        self._rests[ticket.id, ticket.state] = self._now_ms() + decided.rests_ms
        self._send(basis, admin, decided.effects)
        return decided.sentence

    def _moment(self, ticket: Ticket, execution: Execution) -> Moment:
        return Moment(
            ticket.state,
            next((past.at_ms for past in ticket.history if past.state is TicketState.RUNNING), 0),
            self._now_ms(),
            ticket.updated_at_ms,
            frozenset(execution.deleted_topics),
            self._refused_since_ms.get(ticket.id, 0),
        )

    def _send(self, basis: Basis, admin: KafkaAdmin, effects: Sequence[RequestEffect]) -> None:
        """Send all behind the proof of the commit, or, where nothing was stored, each behind one of its own."""
        ticket_id, proof = basis.ticket_id, self._commits.proof(basis)
        for effect in effects:
            if basis.proven_at_s is None:
                proof.renew()
            with admin.each_change_proven_by(proof.require):
                self._refused[ticket_id] = (*self._refused.get(ticket_id, ()), *send_request(admin, effect))
        if self._refused.get(ticket_id):
            self._refused_since_ms.setdefault(ticket_id, self._now_ms())

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._refused, ticket_ids)
        forget_others(self._refused_since_ms, ticket_ids)
        self._rests = {key: until_ms for key, until_ms in self._rests.items() if key[0] in ticket_ids}
