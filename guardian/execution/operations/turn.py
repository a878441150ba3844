"""One step of an operation, as its phases see it, and what a phase may come to.

keep     the phase goes on: what was found is stored, effects are sent
go_on    the next phase begins, in the same step when nothing has to be sent or awaited before
end      the ticket's state changes
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from guardian.execution.operations.effects import AnyEffect
from guardian.execution.operations.world import Mover, OperationLimits, OperationWorld
from guardian.execution.rules.executing import Step
from guardian.model.execution import ACTIVE, Execution, ExecutionTask
from guardian.model.operation import Ask, BrokerWork, Operation, OperationPhase, PlanRequest, Standing
from guardian.model.plan import PartitionMove
from guardian.model.text import some
from guardian.model.ticket import Ticket, TicketState

MAX_NEW_TASKS = 1000  # in one step: all of them ride in one command


@dataclass(frozen=True, slots=True)
class Result:
    """`goes_on`: another phase began, and may be looked at in the same step."""

    execution: Execution
    transition: tuple[TicketState, str] | None = None
    effects: tuple[AnyEffect, ...] = ()
    plan_wanted: PlanRequest | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What a phase decides from. `operation` is the execution's, never None here."""

    ticket: Ticket
    ask: Ask
    execution: Execution
    operation: Operation
    world: OperationWorld
    mover: Mover
    now_ms: int

    @property
    def limits(self) -> OperationLimits:
        return self.world.limits

    @property
    def since_ms(self) -> int:
        """Since when the phase has been going on in one piece: a pause, or an amendment, begins it anew."""
        return max(self.operation.since_ms, self.resumed_at_ms)

    @property
    def resumed_at_ms(self) -> int:
        changes = [line.at_ms for line in self.ticket.history if line.state is self.ticket.state]
        return max(changes, default=0)

    @property
    def back_within_ms(self) -> int:
        return self.ask.back_within_ms or self.limits.back_within_ms

    @property
    def is_late(self) -> bool:
        return self.now_ms - self.since_ms > self.back_within_ms

    def under_way(self) -> tuple[BrokerWork, ...]:
        return tuple(work for work in self.operation.brokers if work.standing is Standing.UNDER_WAY)

    def in_batch(self) -> tuple[BrokerWork, ...]:
        return tuple(work for work in self.operation.brokers if work.node in self.operation.batch)

    @property
    def batch_name(self) -> str:
        is_controller = any(work.is_controller for work in self.in_batch())
        return named(self.operation.batch, "controller" if is_controller else "broker")

    def with_operation(self, operation: Operation) -> Turn:
        return replace(self, operation=operation, execution=replace(self.execution, operation=operation))

    def with_works(self, works: Iterable[BrokerWork]) -> Turn:
        """The works with these in place of those of the same nodes."""
        changed = {work.node: work for work in works}
        brokers = tuple(changed.get(work.node, work) for work in self.operation.brokers)
        return self.with_operation(replace(self.operation, brokers=brokers))

    def with_execution(self, execution: Execution) -> Turn:
        return replace(self, execution=replace(execution, operation=self.operation))

    def keep(self, detail: str, *effects: AnyEffect, plan: PlanRequest | None = None) -> Result:
        turn = self.with_operation(replace(self.operation, detail=detail))
        return Result(turn.execution, None, effects, plan)

    def go_on(self, phase: OperationPhase, detail: str = "") -> Result:
        operation = replace(
            self.operation,
            phase=phase,
            since_ms=self.now_ms,
            detail=detail,
            harm="",
            harm_since_ms=0,
            well_since_ms=0,
        )
        return Result(self.with_operation(operation).execution, goes_on=True)

    def end(self, state: TicketState, reason: str) -> Result:
        turn = self.with_operation(replace(self.operation, detail=reason))
        return Result(turn.execution, (state, reason))

    # The moves of the present round are those from `first_task` on.

    def round_tasks(self) -> tuple[ExecutionTask, ...]:
        return tuple(task for task in self.execution.tasks if task.number >= self.operation.first_task)

    def has_active_tasks(self) -> bool:
        return any(task.state in ACTIVE for task in self.round_tasks())

    def new_round(self) -> Turn:
        """The next tasks are a round of their own: what failed in those before is none of theirs."""
        return self.with_operation(replace(self.operation, first_task=self._next_number()))

    def add_moves(self, moves: Iterable[PartitionMove]) -> Turn:
        number = self._next_number()
        tasks = tuple(ExecutionTask(number + index, move) for index, move in enumerate(moves))
        return self.with_tasks((*self.execution.tasks, *tasks))

    def with_tasks(self, tasks: Iterable[ExecutionTask]) -> Turn:
        """The tasks with these in place of those with the same numbers; further ones come behind."""
        changed = {task.number: task for task in tasks}
        merged = [changed.pop(task.number, task) for task in self.execution.tasks]
        return self.with_execution(replace(self.execution, tasks=(*merged, *changed.values())))

    def move(self, state: TicketState) -> tuple[Turn, Step | None]:
        """Drives the round's tasks; the step is None when they are over and have left nothing."""
        tasks = self.round_tasks()
        if not tasks and not self.execution.throttles and not self.execution.lifted:
            return self, None
        step = self.mover(state, replace(self.execution, tasks=tasks))
        earlier = tuple(task for task in self.execution.tasks if task.number < self.operation.first_task)
        turn = self.with_execution(replace(step.execution, tasks=(*earlier, *step.execution.tasks)))
        is_over = step.transition is not None and not step.effects and all(t.state.is_over for t in turn.round_tasks())
        return turn, None if is_over else step

    def _next_number(self) -> int:
        return max((task.number for task in self.execution.tasks), default=0) + 1


def named(nodes: Iterable[int], what: str = "broker") -> str:
    """Such as "broker 4", "brokers 4, 5"; as many as a sentence can hold."""
    every = sorted(nodes)
    return f"{what}{'' if len(every) == 1 else 's'} {some(every, 10)}"
