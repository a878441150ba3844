"""What a ticket would send to Kafka, in order, or what its way back would: found out on the cluster as it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from guardian.errors import Conflict
from guardian.execution.loop.admitting import Job
from guardian.execution.loop.foretelling import Outlook, foretold
from guardian.execution.loop.observing import observe_known, scope_of
from guardian.execution.loop.replanning import why_not_anew
from guardian.execution.operations.step import amended
from guardian.execution.operations.step import begin as begin_operation
from guardian.execution.operations.turn import named
from guardian.execution.rules import previewing, rolling_back
from guardian.execution.rules.beginning import begin, tiered_topics
from guardian.execution.rules.executing import Circumstances, Step, step
from guardian.execution.rules.slots import ExecutionLimits
from guardian.federation.store import directory_of, exclusions_of
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import ClusterObservation
from guardian.model.effects import ConfigKey
from guardian.model.execution import Execution
from guardian.model.operation import Ask
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.preview import Preview
from guardian.replication.store.state import Views
from guardian.replication.store.store import ReplicatedStore
from guardian.throttle.rules.adapting import Around
from guardian.tickets.kinds.registry import kind_of, lowest_rates
from guardian.tickets.kinds.requested import RequestKind
from guardian.tickets.rules.barring import barring, why_barred
from guardian.tickets.rules.describing_tasks import asks_of
from guardian.tickets.rules.sequences import why_later
from guardian.tickets.service.asks import Asks, require_asks


class Previews:
    """`admin_for` opens a new admin connection by the cluster's name; the caller closes it. `limits`,
    `tiered_warm_up_s` and `max_plan_age_s` are the executor's; `around` is what is known of a cluster before anybody
    asked its brokers how they are. `asks` are for tickets of brokers. Brokers with `shared_labels` also hold topics
    without a label.
    """

    def __init__(
        self,
        store: ReplicatedStore,
        admin_for: Callable[[str], KafkaAdmin],
        now_ms: Callable[[], int],
        limits: ExecutionLimits | None = None,
        asks: Asks | None = None,
        shared_labels: Collection[str] = (),
        around: Callable[[str], Around | None] = lambda _: None,
        tiered_warm_up_s: float = 0.0,
        max_plan_age_s: float = 0.0,
    ) -> None:
        self._store = store
        self._admin_for = admin_for
        self._now_ms = now_ms
        self._limits = limits or ExecutionLimits()
        self._asks = asks
        self._shared_labels = shared_labels
        self._around = around
        self._tiered_warm_up_s = tiered_warm_up_s
        self._max_plan_age_ms = int(max_plan_age_s * 1000)

    def of_ticket(self, ticket: Ticket, execution: Execution | None) -> Preview:
        """Return what the ticket would send, or its way back where it is over. Raises Conflict, ClusterUnavailable."""
        plan = self._store.read_local().plan(ticket.plan_hash) if ticket.plan_hash else None
        asks = asks_of(plan) if plan is not None else ()
        return replace(self._preview(ticket, execution), asks=asks)

    def of_plan(self, plan: Plan, throttle: int, max_throttle: int) -> Preview:
        """Return what a ticket of the plan would send. Raises Conflict, ClusterUnavailable."""
        ticket = Ticket(
            "", plan.cluster, plan.kind, TicketState.APPROVED, "", "", throttle, 0, 0, max_throttle=max_throttle
        )
        return replace(self._preview(ticket, None, plan), asks=asks_of(plan))

    def of_amendment(self, ticket: Ticket, execution: Execution | None, ask: Ask) -> Preview:
        """Raises where the ticket can't ask for these brokers and controllers; who may amend it is another question."""
        require_asks(self._asks).check(ticket.cluster, amended(ticket, execution, ask.brokers, ask.controllers))
        return Preview((), f"it would ask for {named((*ask.brokers, *ask.controllers))}")

    def require_way_back(self, ticket: Ticket, execution: Execution | None) -> None:
        """Raises Conflict where the cluster has no room for what would go back; ClusterUnavailable."""
        kind = kind_of(ticket)
        if isinstance(kind, RequestKind) and kind.can_roll_back and execution is not None:
            return
        admin = self._admin_for(ticket.cluster)
        try:
            alive = frozenset(admin.describe_cluster().brokers)
        finally:
            admin.close()
        now = self._now_ms()
        excluded = exclusions_of(self._store.read_local(), ticket.cluster)
        barred = frozenset(id for id, each in excluded.items() if not each.until_ms or now < each.until_ms)
        rolling_back.require_way_back(ticket, execution, alive, barred)

    def _preview(self, ticket: Ticket, execution: Execution | None, plan: Plan | None = None) -> Preview:
        """Preview what is to come; of a ticket that is over, its way back, refused as that would be."""
        if rolling_back.is_rollable(ticket.state):
            self.require_way_back(ticket, execution)
            if ticket.ask is not None:
                return Preview((), "it would be taken back: leaders, exclusions and moves")
        if not previewing.is_moves_only(ticket):
            what = f"ticket {ticket.id} ({ticket.kind})" if ticket.id else f"a plan of kind {ticket.kind}"
            raise Conflict(
                f"{what} is more than moves: `guardian ticket show`, or its command's --dry-run, tells what it does"
            )
        state = ticket.state
        if state.is_over:
            if execution is None or not rolling_back.is_rollable(state):
                raise Conflict(f"ticket {ticket.id} is {state.name}: nothing would be sent")
            state = TicketState.ROLLING_BACK
        elif not state.is_driven:
            state = TicketState.APPROVED
        work = execution or plan or self._plan(ticket)
        admin = self._admin_for(ticket.cluster)
        try:
            scope = scope_of(work, back=state is TicketState.ROLLING_BACK)
            observation = observe_known(admin, scope, self._now_ms())
        finally:
            admin.close()
        begun = (
            begin(ticket, work, tiered_topics(observation), self._tiered_warm_up_s) if isinstance(work, Plan) else work
        )
        meets = replace(
            ticket,
            state=state,
            updated_at_ms=self._now_ms() if ticket.state.is_over else ticket.updated_at_ms,
            expires_at_ms=0 if ticket.state is TicketState.DRAFT else ticket.expires_at_ms,
        )
        first = foretold(meets, work, begun, self._outlook(meets, work, observation))
        around = self._around(ticket.cluster)
        move = partial(
            _step,
            limits=self._limits,
            ticket=ticket,
            around=around,
            standing=self._standing_rates(ticket.cluster),
            since_ms=observation.observed_at_ms if ticket.state.is_over else ticket.updated_at_ms,
        )
        found = replace(previewing.preview(state, begun, observation, move), first=first)
        if around is None or not around.settings.adaptive or not previewing.has_rates(found):
            return found
        return replace(found, remark=f"{found.remark}; {previewing.ADAPTS}")

    def _outlook(self, ticket: Ticket, work: Execution | Plan, observation: ClusterObservation) -> Outlook:
        views, now = self._store.read_local(), self._now_ms()
        driven = views.driven_tickets(ticket.cluster)
        now_on = [each for each in driven if not why_later(each, driven)]
        jobs = [Job(each, found) for each in now_on if (found := self._work(views, each)) is not None]
        barred = anew = ""
        if isinstance(work, Plan):
            directory = directory_of(views, None)
            bars = barring(work, directory.of_cluster(work.cluster), self._shared_labels, now)
            barred, anew = why_barred(work, bars), why_not_anew(work, directory)
        protected = frozenset(map(ConfigKey.of, views.protection(ticket.cluster).intents))
        return Outlook(jobs, observation, barred, anew, self._max_plan_age_ms, now, protected, driven)

    def _work(self, views: Views, ticket: Ticket) -> Execution | Plan | None:
        """Return the work as the driver has it; None where its plan is not stored."""
        execution = views.execution(ticket.id)
        if execution is not None:
            return execution
        return begin_operation(ticket, self._now_ms()) if ticket.ask else views.plan(ticket.plan_hash)

    def _standing_rates(self, cluster: str) -> dict[int, int]:
        """Return the standing rates as the executor finds them, in bytes/s by broker."""
        views = self._store.read_local()
        running = views.open_tickets(cluster, [TicketState.RUNNING])
        plans = [views.plan(each.plan_hash) for each in running if kind_of(each).limits_rates]
        return lowest_rates(plan for plan in plans if plan is not None)

    def _plan(self, ticket: Ticket) -> Plan:
        plan = self._store.read_local().plan(ticket.plan_hash)
        if plan is None:
            raise Conflict(f"plan {ticket.plan_hash!r} of ticket {ticket.id} is not stored: nothing can be shown")
        return plan


def _step(
    state: TicketState,
    execution: Execution,
    observation: ClusterObservation,
    now_ms: int,
    *,
    limits: ExecutionLimits,
    ticket: Ticket,
    around: Around | None,
    standing: Mapping[int, int],
    since_ms: int,
) -> Step:
    return step(
        state,
        execution,
        observation,
        limits,
        ticket.throttle,
        now_ms,
        Circumstances(around=around, max_throttle=ticket.max_throttle, standing=standing, since_ms=since_ms),
    )
