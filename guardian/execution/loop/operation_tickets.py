"""Takes the next step of tickets that are more than one plan: brokers are removed, restarted, taken offline."""

from __future__ import annotations

from collections.abc import Callable

from guardian.errors import InvalidInput
from guardian.execution.loop.admitting import Job
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.commits import Commits
from guardian.execution.loop.effect_sender import EffectSender
from guardian.execution.loop.movers import Movers
from guardian.execution.loop.operating import Operations
from guardian.execution.loop.ports import ExecutionStore
from guardian.execution.operations.effects import OperationEffect
from guardian.execution.operations.step import operate
from guardian.model.execution import Execution
from guardian.model.operation import Ask
from guardian.model.ticket import Ticket, TicketState


class OperationTickets:
    """Step tickets with an ask; without `operations` they wait."""

    def __init__(
        self,
        store: ExecutionStore,
        operations: Operations | None,
        movers: Movers,
        commits: Commits,
        sender: EffectSender,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._operations = operations
        self._movers = movers
        self._commits = commits
        self._sender = sender
        self._now_ms = now_ms

    def step(self, job: Job, ask: Ask, execution: Execution, tick: ClusterTick) -> str:
        """Begin the operation or take its next step; say what was done and what is awaited. Raises GuardianError."""
        ticket, operations, observation, admin = job.ticket, self._operations, tick.observation, tick.admin
        if operations is None:
            raise InvalidInput(f"ticket {ticket.id} is {ask.kind}, which this executor was not made for")
        if ticket.state is TicketState.APPROVED:
            reason = f"begins with {', '.join(map(str, (*ask.brokers, *ask.controllers)))}"
            self._commits.advance(ticket, (TicketState.RUNNING, reason), execution, execution.revision, is_led_on=True)
            return reason
        others = self._other_operations(ticket, tick)
        world = operations.world(ticket, ask, observation, admin, job.answer, others, job.moving, execution.operation)
        decided = operate(ticket, execution, world, self._movers.of(job, tick), self._now_ms())
        basis = self._commits.save(ticket, execution, decided)
        operation = decided.execution.operation
        operations.want(ticket, decided.plan_wanted, operation.phase if operation is not None else None)

        def carry_out(effect: OperationEffect) -> str:
            return operations.carry_out(ticket, effect, observation, admin)

        notes = self._sender.send(basis, admin, decided.effects, carry_out)
        waits = (job.withheld, operations.delay(ticket)) if decided.plan_wanted else ()
        return "; ".join((decided.sentence, *filter(None, waits), *notes))

    def _other_operations(self, ticket: Ticket, tick: ClusterTick) -> list[tuple[Ticket, Execution]]:
        """Return them as they are stored now: one of them may have been driven on in this very tick."""
        others = [each for each in tick.tickets_beside(ticket) if each.ask]
        found = [(each, self._store.execution(each.id)) for each in others]
        return [(each, execution) for each, execution in found if execution is not None]
