"""Sends what a step decided, each effect behind a proof of its own, and keeps what Kafka answered for the next step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from guardian import tracing
from guardian.execution.loop.commits import Basis, Commits
from guardian.execution.loop.memory import forget_others
from guardian.execution.loop.sending import Outcome, send
from guardian.execution.operations.effects import AnyEffect, OperationEffect
from guardian.kafka.admin import KafkaAdmin
from guardian.model.effects import ConfigKey, SettleDebts
from guardian.model.topology import TopicPartition

_SETTLE_PAUSE_MS = 10_000


class KafkaAnswers:
    """Keep Kafka's answers of the last tick, by ticket."""

    def __init__(self) -> None:
        # Only for people, so a new leader may start without them.
        self._refusals: dict[str, dict[TopicPartition, str]] = {}
        # What a controller has put back since the last tick: asked for again, it does so again.
        self._settled: dict[str, frozenset[ConfigKey]] = {}

    def keep(self, ticket_id: str, outcome: Outcome) -> None:
        """Add the outcome to those of the tick."""
        if outcome.refusals:
            self._refusals.setdefault(ticket_id, {}).update(outcome.refusals)
        if outcome.settled:
            self._settled[ticket_id] = outcome.settled

    def take(self, ticket_id: str) -> Outcome:
        """Return what was answered since the last call: it is told once."""
        return Outcome(self._refusals.pop(ticket_id, {}), settled=self._settled.pop(ticket_id, frozenset()))

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._refusals, ticket_ids)
        forget_others(self._settled, ticket_ids)


class EffectSender:
    """Send effects in their order. Called from several threads, of different clusters, at once."""

    def __init__(self, commits: Commits, answers: KafkaAnswers, now_ms: Callable[[], int]) -> None:
        self._commits = commits
        self._answers = answers
        self._now_ms = now_ms
        self._next_settling_ms: dict[str, int] = {}

    def send(
        self,
        basis: Basis,
        admin: KafkaAdmin,
        effects: Sequence[AnyEffect],
        carry_out: Callable[[OperationEffect], str] | None = None,
    ) -> list[str]:
        """Send each effect after a confirmation of its own: a commit just now, or a ReadIndex and a look at the ticket.

        Return what there is to say of it. `carry_out` does what operations ask for. Raises GuardianError.
        """
        notes: list[str] = []
        proof, confirmed = self._commits.proof(basis), basis.proven_at_s is not None
        for effect in effects:
            if isinstance(effect, SettleDebts) and self._settles_later(basis.ticket_id):
                continue
            if not confirmed:
                proof.renew()
            confirmed = False
            span = tracing.span("executor.send", basis.ticket_id, effect=type(effect).__name__)
            with span, admin.each_change_proven_by(proof.require):
                if isinstance(effect, OperationEffect):
                    proof.require()
                    notes += filter(None, [carry_out(effect)] if carry_out is not None else ())
                    continue
                outcome = send(admin, effect)
            self._answers.keep(basis.ticket_id, outcome)
            notes += outcome.notes
        return notes

    def _settles_later(self, ticket_id: str) -> bool:
        """Tell whether controllers were asked lately: those that can't be reached cost seconds at each attempt."""
        if self._now_ms() < self._next_settling_ms.get(ticket_id, 0):
            return True
        self._next_settling_ms[ticket_id] = self._now_ms() + _SETTLE_PAUSE_MS
        return False

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._next_settling_ms, ticket_ids)
