"""Binds `executing.step` to what a ticket meets in a tick: rates around it, other tickets, Kafka's last answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from guardian.errors import GuardianError
from guardian.execution.loop.admitting import Job, beside_of
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.effect_sender import KafkaAnswers
from guardian.execution.loop.memory import forget_others
from guardian.execution.loop.ports import ExecutionStore
from guardian.execution.operations.world import Mover
from guardian.execution.rules import gaining
from guardian.execution.rules.copies import under_way
from guardian.execution.rules.executing import Circumstances, Step, step
from guardian.execution.rules.holding import held
from guardian.execution.rules.last_look import looks_once_more
from guardian.execution.rules.slots import ExecutionLimits, line_shares
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import ConfigKey, names_brokers
from guardian.model.execution import Execution
from guardian.model.ticket import Ticket, TicketState

_GAINS_PAUSE_MS = 5_000


@dataclass(frozen=True, slots=True)
class _Gains:
    """What is left of a ticket's copies, and what was said of it; looked at again at `next_ms`."""

    next_ms: int
    gains: Mapping[gaining.Way, gaining.Gain] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class CopyRemarks:
    """Watch what is left of tickets' copies, to say what does not come forward: only for people."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._gains: dict[str, _Gains] = {}

    def of(self, ticket: Ticket, execution: Execution, observation: ClusterObservation) -> tuple[str, ...]:
        """Return what to say of its copies; of none where nothing of it is throttled."""
        if not execution.throttles:
            self._gains.pop(ticket.id, None)
            return ()
        now_ms = self._now_ms()
        known = self._gains.get(ticket.id, _Gains(now_ms))
        if known.next_ms <= now_ms:
            gains = gaining.watched(known.gains, under_way(execution, observation, now_ms), observation, now_ms)
            said = gaining.remarks(gains, execution.throttles, observation, now_ms)
            known = self._gains[ticket.id] = _Gains(now_ms + _GAINS_PAUSE_MS, gains, said)
        return known.remarks

    def keep_only(self, ticket_ids: Collection[str]) -> None:
        """Forget all other tickets: they are driven no longer."""
        forget_others(self._gains, ticket_ids)


class Movers:
    """Make the function that decides what to do about a ticket's tasks now."""

    def __init__(
        self,
        store: ExecutionStore,
        limits: ExecutionLimits,
        answers: KafkaAnswers,
        remarks: CopyRemarks,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._limits = limits
        self._answers = answers
        self._remarks = remarks
        self._now_ms = now_ms

    def of(self, job: Job, tick: ClusterTick) -> Mover:
        """Return `step` with all else bound; what Kafka answered to the last tick is told once."""
        ticket, around, others, observation = job.ticket, job.around, job.under_way, tick.observation
        idcs = around.idcs if around is not None else {}
        answered = self._answers.take(ticket.id)
        registered = _registered(tick.admin) if any(map(names_brokers, answered.refusals.values())) else None

        def move(state: TicketState, execution: Execution) -> Step:
            share = replace(around, lines=line_shares(around.lines, ticket.id, others, idcs)) if around else None
            decided = step(
                state,
                execution,
                observation,
                self._limits,
                ticket.throttle,
                self._now_ms(),
                Circumstances(
                    around=share,
                    max_throttle=ticket.max_throttle,
                    standing=tick.standing,
                    refusals=answered.refusals,
                    settled=answered.settled,
                    others=[copy for other, copies in others.items() if other != ticket.id for copy in copies],
                    beside=beside_of(job),
                    held_by_others=self._held_by_others(job, tick) if looks_once_more(execution) else frozenset(),
                    since_ms=ticket.updated_at_ms,
                    remarks=self._remarks.of(ticket, execution, observation),
                    registered=registered,
                ),
            )
            if others:  # those that come later in this tick see what it starts
                others[ticket.id] = under_way(decided.execution, observation, self._now_ms())
                job.holds[ticket.id] = held(decided.execution)
            return decided

        return move

    def _held_by_others(self, job: Job, tick: ClusterTick) -> frozenset[ConfigKey]:
        """Return the configuration keys that other tickets and the protection of disks hold, as they are stored now."""
        others = tick.tickets_beside(job.ticket)
        executions = [execution for each in others if (execution := self._store.execution(each.id)) is not None]
        held = {ConfigKey.of(intent) for execution in executions for intent in execution.throttles}
        return self._store.protected_keys(job.ticket.cluster) | held


def _registered(admin: KafkaAdmin) -> Collection[int] | None:
    """Return the brokers that the cluster knows; None where no controller tells now."""
    try:
        return admin.registered_brokers()
    except GuardianError:
        return None
