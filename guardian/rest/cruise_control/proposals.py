"""Endpoints that make plans: proposals, and the tickets that they become. A dry run stores nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from guardian.client import GuardianClient
from guardian.client.tickets import TicketOptions
from guardian.errors import Conflict, GuardianError, InvalidInput
from guardian.lake.model.recent_rates import Rates
from guardian.model.cluster_state import LiveFacts
from guardian.model.goals import GOALS
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.tasks import Remove, Task
from guardian.model.ticket import DRIVEN_STATES, Ticket, TicketState
from guardian.rest.cruise_control import optimization, reviews, user_tasks
from guardian.rest.cruise_control.calls import (
    Call,
    excluded_brokers,
    facts_and_rates,
    note_lines,
    require_brokers,
    ticket_of,
    topics_of,
)
from guardian.rest.cruise_control.optimization import Proposed
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.cruise_control.placing import after, broker_loads, cpu_of, placement_of
from guardian.rest.cruise_control.requests import (
    INSIDE_BROKERS,
    REMOVAL,
    by_factor,
    pretext,
    require_disjoint,
    settings_of,
    task_of,
)
from guardian.rest.cruise_control.tasks import Answer, UserTask
from guardian.rest.parts import RestParts
from guardian.tickets.rules.approving import automatic
from protos.guardian.v1 import federation_pb2

ALIASES = {goal.name: goal.aliases[0] for goal in GOALS if goal.aliases}
_POLICY_S = 5.0  # the leader looks every second for what a rule approves by itself
_POLL_S = 0.2


class Proposals:
    """Thread-safe; every method waits for whatever it asks, and raises GuardianError."""

    def __init__(self, parts: RestParts) -> None:
        self._parts = parts
        self._scores: dict[str, float] = {}  # how even each cluster was when it was last planned

    def score(self, cluster: str) -> float:
        """Return how even the cluster was when it was last planned; -1: not known."""
        return self._scores.get(cluster, -1.0)

    def optimize(self, call: Call, task: UserTask) -> Answer:
        """Make a plan, and of it a ticket unless the request is a dry run."""
        review = call.asked.number("review_id")
        if review is not None:
            return self._reviewed(call, task, review)
        calls = [replace(call, asked=asked) for asked in by_factor(call.asked)]
        proposals = self._proposals(calls, task)
        notes = list(call.asked.notes)
        if call.asked.is_dry:
            said = "This is a dry run: nothing is changed." if call.asked.endpoint.acting else ""
            return joined([self._answer(each, found, None, said, notes) for each, found in proposals])
        client = self._parts.client_for(call.user)
        if call.asked.flag("stop_ongoing_execution"):
            notes += stop_tickets(call, client, "another execution was asked for")
        return joined([self._carried_out(each, client, task, found, notes) for each, found in proposals])

    def _carried_out(
        self, call: Call, client: GuardianClient, task: UserTask, proposed: Proposed, notes: Sequence[str]
    ) -> Answer:
        """Make a ticket of a plan that moves something."""
        if not proposed.plan.moves and call.asked.endpoint.name != REMOVAL:
            return self._answer(call, proposed, None, "There is nothing to move: no ticket is made.", notes)
        task.step("Ticket", "the plan becomes a ticket")
        ticket = self._settled(client, self._made(call, client, task, proposed.plan))
        return self._answer(call, proposed, ticket, _what_becomes_of(ticket), notes)

    def rightsize(self, call: Call, task: UserTask) -> Answer:
        """Say which machines are free, or make a ticket that gives a topic more partitions."""
        asked, client = call.asked, self._parts.client_for(call.user)
        more, count = asked.number("num_brokers_to_add"), asked.number("partition_count")
        if more is None and count is None:
            raise InvalidInput("num_brokers_to_add and partition_count are missing: give one of them")
        if more is not None and count is not None:
            raise InvalidInput("num_brokers_to_add and partition_count are both given: give one of them")
        document: dict[str, Any] = {"version": 1}
        ticket: Ticket | None = None
        if more is not None:
            document["numBrokersToAdd"] = more
            free = [each.machine for each in client.federation(federation_pb2.MACHINES) if not each.machine.cluster]
            names = ", ".join(machine.host for machine in free[:more])
            enough = f"{len(free)} machines are free, {more} were asked for"
            said = f"IGNORED || Guardian starts no machines: {enough}" + (
                f"; start brokers on {names}, then add_broker gives them their share" if names else "; add some first"
            )
        else:
            facts = self._parts.planner.facts(call.cluster)
            wanted = self._wanted(asked, facts)
            task.step("OptimizationProposals", "where the new partitions go")
            plan = self._parts.planner.plan(task.job, call.cluster, wanted)
            ticket = self._settled(client, self._made(call, client, task, plan))
            document |= {"partitionCount": count, "topic": asked.text("topic")}
            said = f"COMPLETED || {_what_becomes_of(ticket)}"
        document["provisionerState"] = said
        document["guardian"] = {"cluster": call.cluster, "ticket": ticket.id if ticket else ""}
        return Answer(document, f"Provisioner State: {said}\n", ticket.id if ticket else "")

    def _made(self, call: Call, client: GuardianClient, task: UserTask, plan: Plan) -> Ticket:
        asked = call.asked
        part = str(asked.factors[0].replication_factor) if len(task.asked.factors) > 1 else ""
        key = user_tasks.key_of(task.id, asked.endpoint.name, part)
        reason = asked.text("reason") or f"asked for by {task.url}"
        options = TicketOptions(throttle=asked.number("replication_throttle") or 0, submit=True, reason=reason[:500])
        if asked.endpoint.name == REMOVAL:
            ask = Ask(AskKind.REMOVE, asked.numbers("brokerid"))
            return client.ask_for(call.cluster, ask, author=call.actor, idempotency_key=key, **options)[0]
        return client.create_ticket(plan, author=call.actor, idempotency_key=key, **options)[0]

    def _proposals(self, calls: Sequence[Call], task: UserTask) -> list[tuple[Call, Proposed]]:
        """Make all plans, so that none becomes a ticket where another can't be made."""
        cluster = calls[0].cluster
        facts, rates = facts_and_rates(self._parts, cluster, task)
        require_brokers(self._parts, calls[0], facts)
        wanted = [self._wanted(call.asked, facts) for call in calls]
        require_disjoint(wanted)
        return [
            (call, self._proposed(call, task, facts, rates, each)) for call, each in zip(calls, wanted, strict=True)
        ]

    def _wanted(self, asked: Asked, facts: LiveFacts) -> Task:
        return task_of(asked, topics_of(asked, "topic", facts) if asked.text("topic") else ())

    def _proposed(self, call: Call, task: UserTask, facts: LiveFacts, rates: Rates, wanted: Task) -> Proposed:
        asked, planner = call.asked, self._parts.planner
        excluded = topics_of(asked, "excluded_topics", facts) if asked.text("excluded_topics") else ()
        settings = settings_of(asked, planner.settings, excluded, INSIDE_BROKERS)
        task.step("OptimizationProposals", f"the plan of kind {wanted.kind} is made and checked")
        began = time.monotonic()
        plan = _plan_of_nothing(call.cluster, wanted, facts) or planner.plan(task.job, call.cluster, wanted, settings)
        took_ms = int(1000 * (time.monotonic() - began))
        proposed = self._proposed_of(call, facts, rates, plan, settings.excluded_topics, took_ms)
        document = optimization.document(proposed, {})
        self._scores[call.cluster] = document["summary"]["onDemandBalancednessScoreBefore"]
        return proposed

    def _proposed_of(
        self, call: Call, facts: LiveFacts, rates: Rates, plan: Plan, excluded: Sequence[str], took_ms: int = 0
    ) -> Proposed:
        placement = placement_of(facts)
        rated = len(facts.partitions.keys() & rates.partitions.keys())
        return Proposed(
            plan,
            broker_loads(facts, placement, rates, cpu_of(plan, is_after=False)),
            broker_loads(facts, after(placement, plan), rates, cpu_of(plan, is_after=True)),
            {str(move.partition): placed.leader for move in plan.moves if (placed := placement.get(move.partition))},
            len({partition.topic for partition in facts.partitions}),
            100.0 * rated / len(facts.partitions) if facts.partitions else 100.0,
            tuple(excluded),
            tuple(excluded_brokers(self._parts.client_for(call.user), call.cluster, self._parts.now_ms())),
            ALIASES,
            took_ms,
        )

    def _answer(self, call: Call, proposed: Proposed, ticket: Ticket | None, said: str, notes: Sequence[str]) -> Answer:
        plan, verbose = proposed.plan, call.asked.flag("verbose")
        told = [*notes, *plan.notes, *plan.unmet]
        more: dict[str, Any] = {"cluster": call.cluster, "message": said, "notes": told, "input": plan.input}
        if ticket is not None:
            more |= {
                "ticket": ticket.id,
                "state": ticket.state.name,
                "reviewId": reviews.review_id(ticket.id),
                "reviewStatus": reviews.status_of(ticket.state),
            }
        return Answer(
            optimization.document(proposed, more, verbose=verbose),
            (f"{said}\n" if said else "")
            + note_lines(told)
            + optimization.text(proposed, pretext(call.asked), verbose=verbose),
            ticket.id if ticket is not None else "",
        )

    def _reviewed(self, call: Call, task: UserTask, review: int) -> Answer:
        """The second step of a review: the ticket runs by itself once it is approved, so that this only tells of it."""
        client = self._parts.client_for(call.user)
        ticket = ticket_of(client, call.cluster, review)
        made_by = user_tasks.endpoint_of(ticket)
        if made_by and made_by != call.asked.endpoint.name:
            raise InvalidInput(f"review_id is {review}, which is one of {made_by}: send it there")
        status = reviews.status_of(ticket.state)
        if status == "PENDING_REVIEW":
            raise Conflict(f"review {review} is {status}: {_what_becomes_of(ticket)}")
        if status == "DISCARDED":
            last = ticket.history[-1].reason if ticket.history else ""
            raise Conflict(f"review {review} is {status}: ticket {ticket.id} is {ticket.state.name} ({last})")
        facts, rates = facts_and_rates(self._parts, call.cluster, task)
        proposed = self._proposed_of(call, facts, rates, _plan_of(client, ticket), ())
        return self._answer(call, proposed, ticket, _what_becomes_of(ticket), call.asked.notes)

    def retold(self, call: Call, client: GuardianClient, tickets: Sequence[Ticket]) -> Answer:
        """Return what the user task was answered with that made these tickets, as far as they tell.

        What brokers carried then is known to nobody any more.
        """
        return joined(
            [
                self._answer(
                    call,
                    Proposed(_plan_of(client, ticket), (), (), {}, 0, 0.0, aliases=ALIASES),
                    ticket,
                    _what_becomes_of(ticket),
                    (),
                )
                for ticket in tickets
            ]
        )

    def _settled(self, client: GuardianClient, ticket: Ticket) -> Ticket:
        """Wait until a rule has approved the ticket by itself, which the leader does within a second or two: then it is
        told as approved.
        """
        try:
            rule = automatic(client.approvals(), ticket, self._parts.now_ms())
        except GuardianError:
            return ticket
        deadline = time.monotonic() + _POLICY_S
        while rule is not None and ticket.state is TicketState.PENDING and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            ticket, _ = client.ticket(ticket.id)
        return ticket


def stop_tickets(call: Call, client: GuardianClient, reason: str) -> list[str]:
    """Cancel all tickets that are under way; return a sentence for each."""
    told = []
    for ticket in client.tickets(call.cluster, DRIVEN_STATES):
        if ticket.state is not TicketState.CANCELLING:
            stopped = client.cancel(ticket.id, call.actor, reason)
            told.append(f"Proposal execution stopped: ticket {ticket.id} ({ticket.kind}) is {stopped.state.name}")
    return told


def _plan_of(client: GuardianClient, ticket: Ticket) -> Plan:
    """Return the ticket's plan; of one that asks for brokers what it planned so far, each partition's last move."""
    if ticket.plan_hash:
        return client.plan(ticket.plan_hash)
    _, execution = client.ticket(ticket.id)
    moves = {task.move.partition: task.move for task in (execution.tasks if execution is not None else ())}
    return Plan(ticket.cluster, ticket.kind, tuple(moves.values()))


def _plan_of_nothing(cluster: str, wanted: Task, facts: LiveFacts) -> Plan | None:
    """Return the plan of a removal of empty brokers: they may be down, and the planner then knows nothing of them."""
    if not isinstance(wanted, Remove) or any(
        broker in wanted.brokers for partition in facts.partitions for broker in facts.replicas_of(partition)
    ):
        return None
    names = ", ".join(map(str, wanted.brokers))
    return Plan(cluster, wanted.kind, (), notes=(f"Nothing is on brokers {names}: no replica has to move.",))


def joined(answers: Sequence[Answer]) -> Answer:
    """Return one answer of those to the parts of a request; its ticket is the first that was made."""
    if len(answers) == 1:
        return answers[0]
    return Answer(
        optimization.joined([answer.document for answer in answers]),
        "\n".join(answer.text for answer in answers),
        next((answer.ticket_id for answer in answers if answer.ticket_id), ""),
    )


def _what_becomes_of(ticket: Ticket) -> str:
    """Say in one sentence what becomes of the ticket."""
    review = reviews.review_id(ticket.id)
    match ticket.state:
        case TicketState.PENDING:
            return (
                f"Ticket {ticket.id} waits for approval as the policy says: review?approve={review}, or "
                f"guardian ticket approve {ticket.id}."
            )
        case TicketState.APPROVED:
            last = ticket.history[-1]
            return f"Ticket {ticket.id} is approved ({last.reason}) and starts by itself."
        case _:
            approved = (past.reason for past in ticket.history if past.state is TicketState.APPROVED)
            why = next((f" ({reason})" for reason in approved), "")
            return f"Ticket {ticket.id} is {ticket.state.name}{why}: guardian ticket watch {ticket.id} shows it."
