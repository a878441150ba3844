"""Each endpoint, carried out: Kafka, the lake, the planner and Guardian's own API are asked, and answered from.

A request that would change the cluster makes a ticket, pending at once. The approval policy then lets it run, or it
waits on the review board; the answer says which.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from guardian.client import GuardianClient
from guardian.client.tickets import TicketOptions
from guardian.core.approving import automatic
from guardian.errors import Conflict, GuardianError, InvalidInput, NotFound
from guardian.kafka.admin import TOPIC
from guardian.model.identity import LOCAL, Identity, Role
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.rest.cruise_control import cluster_state, loads, optimization, reviews, state, user_tasks
from guardian.rest.cruise_control.cluster_state import Seen
from guardian.rest.cruise_control.optimization import Proposed
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.cruise_control.placing import after, broker_loads, cpu_of, host_cpu, placement_of
from guardian.rest.cruise_control.requests import INSIDE_BROKERS, REMOVAL, pretext, settings_of, task_of
from guardian.rest.cruise_control.state import Concurrency, Driven
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks
from guardian.rest.parts import RestParts
from guardian.rest.patterns import matching
from guardian.rest.rates import Rates
from protos.guardian.v1 import federation_pb2
from spark_analytics.goals.registry import GOALS
from spark_analytics.readers.live import LiveFacts

_POLICY_S = 5.0  # the leader looks every second for what a rule approves by itself
_POLL_S = 0.2
_MIN_ISR = "min.insync.replicas"
_TIERED = "remote.storage.enable"
_FINDINGS = 500
_ALIASES = {goal.name: goal.aliases[0] for goal in GOALS if goal.aliases}


@dataclass(frozen=True, slots=True)
class Call:
    """One request of somebody, about one cluster. `base` is the path of the API that was asked."""

    cluster: str
    asked: Asked
    user: Identity
    base: str

    @property
    def actor(self) -> str:
        """While security is off nobody is known, and who says for whom he acts is believed."""
        return (self.asked.text("doas") if self.user == LOCAL else "") or self.user.name


class Operations:
    """Thread-safe; every method waits for whatever it asks, and raises GuardianError."""

    def __init__(self, parts: RestParts, tasks: UserTasks, concurrency: Concurrency) -> None:
        self._parts = parts
        self._tasks = tasks
        self._concurrency = concurrency
        self._scores: dict[str, float] = {}  # how even each cluster was when it was last planned
        self._lasting: Mapping[str, Callable[[Call, UserTask], Answer]] = {
            "state": self._state,
            "load": self._load,
            "partition_load": self._partition_load,
            "kafka_cluster_state": self._cluster_state,
            "rightsize": self._rightsize,
        }
        self._short: Mapping[str, Callable[[Call], Answer]] = {
            "user_tasks": self._user_tasks,
            "review_board": self._review_board,
            "permissions": self._permissions,
            "review": self._review,
            "stop_proposal_execution": self._stop,
            "admin": self._admin,
            "pause_sampling": self._pause_sampling,
            "resume_sampling": self._resume_sampling,
        }

    def lasting(self, task: UserTask, base: str) -> Answer:
        """In a thread of the task's own."""
        call = Call(task.cluster, task.asked, task.user, base)
        return self._lasting.get(task.endpoint.name, self._optimize)(call, task)

    def at_once(self, call: Call) -> Answer:
        """What needs neither a plan nor the lake."""
        return self._short[call.asked.endpoint.name](call)

    # What only tells

    def _state(self, call: Call, task: UserTask) -> Answer:
        client = self._client(call)
        parts, verbose = call.asked.words("substates"), call.asked.flag("verbose") or call.asked.flag("super_verbose")
        document: dict[str, Any] = {}
        if "monitor" in parts:
            task.progress.step("MonitorState", "which partitions have rates in the newest window")
            facts, rates = self._parts.planner.facts(call.cluster), self._parts.rates(call.cluster)
            rated = len(facts.partitions.keys() & rates.partitions.keys())
            document["MonitorState"] = state.monitor_document(
                len(facts.partitions), rated, rates.remark, self._paused(client, call.cluster)
            )
        if "executor" in parts:
            task.progress.step("ExecutorState", "which tickets are under way")
            document["ExecutorState"] = state.executor_document(
                self._driven(client, call.cluster),
                self._concurrency,
                self._excluded(client, call.cluster),
                verbose=verbose,
            )
        if "analyzer" in parts:
            goals = [(_ALIASES.get(goal.name, goal.name), goal.is_hard) for goal in GOALS]
            document["AnalyzerState"] = state.analyzer_document(goals, verbose=verbose)
        if "anomaly_detector" in parts:
            task.progress.step("AnomalyDetectorState", "what detectors found, and what heals")
            document["AnomalyDetectorState"] = state.anomaly_document(
                client.findings(call.cluster, _FINDINGS),
                client.healing(call.cluster),
                self._scores.get(call.cluster, -1.0),
            )
        return Answer({**document, "version": 1}, state.state_text(document))

    def _load(self, call: Call, task: UserTask) -> Answer:
        facts, rates = self._seen(call.cluster, task)
        found = broker_loads(facts, placement_of(facts), rates)
        with_disks = call.asked.flag("populate_disk_info")
        if call.asked.flag("capacity_only"):
            document = loads.capacity_document(found)
        else:
            document = loads.load_document(found, with_disks=with_disks)
        notes = _notes(call.asked, rates)
        return Answer(
            {**document, "version": 1, "guardian": {"cluster": call.cluster, "notes": notes}},
            _told(notes) + loads.load_text(found, with_disks=with_disks),
        )

    def _partition_load(self, call: Call, task: UserTask) -> Answer:
        asked = call.asked
        facts, rates = self._seen(call.cluster, task)
        topics = self._topics(asked, "topic", facts) if asked.text("topic") else None
        found = loads.partition_loads(
            placement_of(facts),
            rates,
            host_cpu(facts, rates),
            resource=asked.text("resource"),
            topics=topics,
            partitions=asked.partitions(),
            brokers=asked.numbers("brokerid"),
            entries=asked.number("entries") or 1,
        )
        notes = _notes(asked, rates)
        return Answer(
            {**loads.partition_document(found), "guardian": {"cluster": call.cluster, "notes": notes}},
            _told(notes) + loads.partition_text(found),
        )

    def _cluster_state(self, call: Call, task: UserTask) -> Answer:
        task.progress.step("ClusterState", "what Kafka says of brokers, log dirs and partitions")
        with closing(self._parts.admin_for(call.cluster)) as admin:
            description = admin.describe_cluster()
            partitions = admin.describe_partitions()
            log_dirs = admin.describe_log_dirs(sorted(description.brokers))
            names = sorted({partition.topic for partition in partitions})
            configs = admin.effective_configs([(TOPIC, name) for name in names], (_MIN_ISR, _TIERED))
            quorum = admin.describe_quorum()
        labels = {broker.id: broker.label for broker in _registered(self._client(call), call.cluster).brokers}
        seen = Seen(
            frozenset(description.brokers),
            partitions,
            tuple(log_dirs),
            labels,
            {name: _whole(configs.get((TOPIC, name), {}).get(_MIN_ISR)) for name in names},
            frozenset(name for name in names if configs.get((TOPIC, name), {}).get(_TIERED) == "true"),
            quorum.leader if quorum is not None else -1,
        )
        asked = call.asked
        topics = frozenset(matching("topic", asked.text("topic"), names)) if asked.text("topic") else None
        verbose = asked.flag("verbose")
        return Answer(
            cluster_state.cluster_document(seen, topics, verbose=verbose),
            cluster_state.cluster_text(seen, topics, verbose=verbose),
        )

    def _user_tasks(self, call: Call) -> Answer:
        asked = call.asked
        known = [_info(task, wants_json=asked.flag("json")) for task in self._tasks.tasks(call.cluster)]
        found = user_tasks.chosen(
            user_tasks.infos(known, self._client(call).tickets(call.cluster), call.base),
            asked.words("user_task_ids"),
            asked.words("client_ids"),
            asked.words("endpoints"),
            asked.words("types"),
            asked.number("entries") or 1,
        )
        whole = asked.flag("fetch_completed_task")
        return Answer(
            user_tasks.tasks_document(found, with_responses=whole), user_tasks.tasks_text(found, with_responses=whole)
        )

    def _review_board(self, call: Call) -> Answer:
        found = reviews.board(self._client(call).tickets(call.cluster), call.asked.numbers("review_ids"))
        return Answer(reviews.board_document(found), reviews.board_text(found))

    def _permissions(self, call: Call) -> Answer:
        """Cruise Control knows three roles, each of which includes those before it."""
        pairs = ((Role.VIEWER, "VIEWER"), (Role.OPERATOR, "USER"), (Role.ADMIN, "ADMIN"))
        roles = [name for role, name in pairs if call.user.may(role, call.cluster)]
        own = [role.value for role in Role if call.user.may(role, call.cluster)]
        return Answer(
            {"version": 1, "roles": roles, "guardian": {"user": call.user.name, "roles": own}},
            f"Roles of {call.user.name}: {', '.join(roles) or 'none'}\n",
        )

    # What makes plans

    def _optimize(self, call: Call, task: UserTask) -> Answer:
        review = call.asked.number("review_id")
        if review is not None:
            return self._reviewed(call, task, review)
        proposed = self._proposed(call, task)
        notes = list(call.asked.notes)
        if call.asked.is_dry:
            said = "This is a dry run: nothing is changed."
            return self._answer(call, proposed, None, said if call.asked.endpoint.acting else "", notes)
        client = self._client(call)
        if call.asked.flag("stop_ongoing_execution"):
            notes += self._stopped(call, client, "another execution was asked for")
        is_removal = call.asked.endpoint.name == REMOVAL
        if not proposed.plan.moves and not is_removal:
            return self._answer(call, proposed, None, "There is nothing to move: no ticket is made.", notes)
        task.progress.step("Ticket", "the plan becomes a ticket")
        ticket = self._settled(client, self._made(call, client, task, proposed.plan))
        return self._answer(call, proposed, ticket, _what_becomes_of(ticket), notes)

    def _made(self, call: Call, client: GuardianClient, task: UserTask, plan: Plan) -> Ticket:
        asked, key = call.asked, user_tasks.key_of(task.id, call.asked.endpoint.name)
        reason = asked.text("reason") or f"asked for by {task.url}"
        options = TicketOptions(throttle=asked.number("replication_throttle") or 0, submit=True, reason=reason[:500])
        if asked.endpoint.name == REMOVAL:
            ask = Ask(AskKind.REMOVE, asked.numbers("brokerid"))
            return client.ask_for(call.cluster, ask, author=call.actor, idempotency_key=key, **options)[0]
        return client.create_ticket(plan, author=call.actor, idempotency_key=key, **options)[0]

    def _proposed(self, call: Call, task: UserTask) -> Proposed:
        asked, planner = call.asked, self._parts.planner
        facts, rates = self._seen(call.cluster, task)
        excluded = self._topics(asked, "excluded_topics", facts) if asked.text("excluded_topics") else ()
        wanted = task_of(asked, self._topics(asked, "topic", facts) if asked.text("topic") else ())
        settings = settings_of(asked, planner.settings, excluded, INSIDE_BROKERS)
        task.progress.step("OptimizationProposals", f"the plan of kind {wanted.kind} is made and checked")
        began = time.monotonic()
        plan = planner.plan(call.cluster, wanted, settings)
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
            tuple(self._excluded(self._client(call), call.cluster)),
            _ALIASES,
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
            + _told(told)
            + optimization.text(proposed, pretext(call.asked), verbose=verbose),
            ticket.id if ticket is not None else "",
        )

    def _reviewed(self, call: Call, task: UserTask, review: int) -> Answer:
        """The second step of a review: the ticket runs by itself once it is approved, so that this only tells of it."""
        client = self._client(call)
        ticket = self._ticket(client, call.cluster, review)
        made_by = user_tasks.endpoint_of(ticket)
        if made_by and made_by != call.asked.endpoint.name:
            raise InvalidInput(f"review_id is {review}, which is one of {made_by}: send it there")
        status = reviews.status_of(ticket.state)
        if status == "PENDING_REVIEW":
            raise Conflict(f"review {review} is {status}: {_what_becomes_of(ticket)}")
        if status == "DISCARDED":
            last = ticket.history[-1].reason if ticket.history else ""
            raise Conflict(f"review {review} is {status}: ticket {ticket.id} is {ticket.state.name} ({last})")
        facts, rates = self._seen(call.cluster, task)
        plan = client.plan(ticket.plan_hash) if ticket.plan_hash else Plan(call.cluster, ticket.kind, ())
        proposed = self._proposed_of(call, facts, rates, plan, ())
        return self._answer(call, proposed, ticket, _what_becomes_of(ticket), call.asked.notes)

    def _rightsize(self, call: Call, task: UserTask) -> Answer:
        asked, client = call.asked, self._client(call)
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
            wanted = task_of(asked, self._topics(asked, "topic", facts) if asked.text("topic") else ())
            task.progress.step("OptimizationProposals", "where the new partitions go")
            plan = self._parts.planner.plan(call.cluster, wanted)
            ticket = self._settled(client, self._made(call, client, task, plan))
            document |= {"partitionCount": count, "topic": asked.text("topic")}
            said = f"COMPLETED || {_what_becomes_of(ticket)}"
        document["provisionerState"] = said
        document["guardian"] = {"cluster": call.cluster, "ticket": ticket.id if ticket else ""}
        return Answer(document, f"Provisioner State: {said}\n", ticket.id if ticket else "")

    # What changes something at once

    def _review(self, call: Call) -> Answer:
        client, asked = self._client(call), call.asked
        approved, discarded = asked.numbers("approve"), asked.numbers("discard")
        if not approved and not discarded:
            raise InvalidInput("approve and discard are missing: give ids of review_board")
        twice = set(approved) & set(discarded)
        if twice:
            raise InvalidInput(f"approve and discard both have {min(twice)}: give it to one of them")
        for review in (*approved, *discarded):
            self._ticket(client, call.cluster, review)  # all of them are there, before anything is done
        for review in approved:
            client.approve(reviews.ticket_id(review), call.actor, asked.text("reason"))
        for review in discarded:
            self._discard(client, self._ticket(client, call.cluster, review), call)
        found = reviews.board(client.tickets(call.cluster), (*approved, *discarded))
        return Answer(reviews.board_document(found), reviews.board_text(found))

    def _discard(self, client: GuardianClient, ticket: Ticket, call: Call) -> None:
        if ticket.state is TicketState.APPROVED:
            client.cancel(ticket.id, call.actor, call.asked.text("reason"))
        else:
            client.reject(ticket.id, call.actor, call.asked.text("reason"))

    def _stop(self, call: Call) -> Answer:
        said = self._stopped(call, self._client(call), call.asked.text("reason") or "stop_proposal_execution")
        message = "; ".join(said) if said else "No execution is in progress: there is nothing to stop."
        return Answer({"version": 1, "message": message}, f"{message}\n")

    def _stopped(self, call: Call, client: GuardianClient, reason: str) -> list[str]:
        told = []
        for ticket in client.tickets(call.cluster):
            if ticket.state.is_driven and ticket.state is not TicketState.CANCELLING:
                stopped = client.cancel(ticket.id, call.actor, reason)
                told.append(f"Proposal execution stopped: ticket {ticket.id} ({ticket.kind}) is {stopped.state.name}")
        return told

    def _admin(self, call: Call) -> Answer:
        dropped = call.asked.numbers("drop_recently_removed_brokers")
        if not dropped:
            raise InvalidInput("drop_recently_removed_brokers is missing: it is all that can be changed here")
        client = self._client(call)
        keys = [federation_pb2.ExclusionKey(cluster=call.cluster, broker_id=broker) for broker in dropped]
        client.change_federation(
            [federation_pb2.FederationChange(drop=federation_pb2.FederationKey(exclusion=key)) for key in keys]
        )
        left = self._excluded(client, call.cluster)
        said = f"Exclusions of brokers {list(dropped)} are lifted, left are those of {left}."
        return Answer({"version": 1, "dropRecentBrokersRequest": said}, f"{said}\n")

    def _pause_sampling(self, call: Call) -> Answer:
        return self._sample(call, call.asked.text("reason") or f"pause_sampling by {call.actor}", "paused")

    def _resume_sampling(self, call: Call) -> Answer:
        return self._sample(call, "", "resumed")

    def _sample(self, call: Call, paused: str, what: str) -> Answer:
        client = self._client(call)
        client.set_sampling(call.cluster, paused)
        message = f"Metric sampling of cluster {call.cluster} {what}."
        return Answer({"version": 1, "message": message}, f"{message}\n")

    # What they have in common

    def _client(self, call: Call) -> GuardianClient:
        return self._parts.client_for(call.user)

    def _seen(self, cluster: str, task: UserTask) -> tuple[LiveFacts, Rates]:
        task.progress.step("ClusterModel", "what Kafka shows, and what the newest samples say")
        return self._parts.planner.facts(cluster), self._parts.rates(cluster)

    def _topics(self, asked: Asked, parameter: str, facts: LiveFacts) -> tuple[str, ...]:
        names = sorted({partition.topic for partition in facts.partitions})
        return matching(parameter, asked.text(parameter), names)

    def _excluded(self, client: GuardianClient, cluster: str) -> list[int]:
        entries = client.federation(federation_pb2.EXCLUSIONS, cluster)
        now_ms = self._parts.now_ms()
        return sorted(
            entry.exclusion.broker_id
            for entry in entries
            if not entry.exclusion.until_ms or now_ms < entry.exclusion.until_ms
        )

    def _paused(self, client: GuardianClient, cluster: str) -> str:
        return _registered(client, cluster).sampling_paused

    def _driven(self, client: GuardianClient, cluster: str) -> list[Driven]:
        found = []
        for ticket, progress in client.tickets_with_progress(cluster):
            if ticket.state.is_driven:
                _, execution = client.ticket(ticket.id)
                found.append(Driven(ticket, execution, progress))
        return found

    def _ticket(self, client: GuardianClient, cluster: str, review: int) -> Ticket:
        with suppress(NotFound):
            ticket, _ = client.ticket(reviews.ticket_id(review))
            if ticket.cluster == cluster:
                return ticket
        raise NotFound(f"review {review} does not exist in cluster {cluster}: see review_board")

    def _settled(self, client: GuardianClient, ticket: Ticket) -> Ticket:
        """When a rule approves it by itself, the leader does so within a second or two: then it is told as approved."""
        try:
            rule = automatic(client.approvals(), ticket, self._parts.now_ms())
        except GuardianError:
            return ticket
        deadline = time.monotonic() + _POLICY_S
        while rule is not None and ticket.state is TicketState.PENDING and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            ticket, _ = client.ticket(ticket.id)
        return ticket


def _what_becomes_of(ticket: Ticket) -> str:
    """In one sentence."""
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


def _registered(client: GuardianClient, name: str) -> Cluster:
    found = next((cluster for cluster in client.list_clusters() if cluster.name == name), None)
    if found is None:
        raise NotFound(f"cluster {name!r} is not registered: see `guardian cluster list`")
    return found


def _notes(asked: Asked, rates: Rates) -> list[str]:
    lacking = [f"rates are not known: {rates.remark}"] if rates.remark else []
    return [*asked.notes, *lacking]


def _told(notes: Sequence[str]) -> str:
    return "".join(f"Note: {note}.\n" for note in notes)


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 1


def _info(task: UserTask, *, wants_json: bool) -> user_tasks.TaskInfo:
    status, response, ticket_id = user_tasks.ACTIVE, "", ""
    if task.has_failed:
        status, response = user_tasks.FAILED, str(task.future.exception())
    elif task.is_done:
        answer = task.future.result()
        status, ticket_id = user_tasks.COMPLETED, answer.ticket_id
        response = as_json(answer.document) if wants_json else answer.text
    return user_tasks.TaskInfo(
        task.id, task.url, task.client, task.started_ms, status, task.endpoint.name, response, ticket_id
    )


def as_json(document: Mapping[str, Any]) -> str:
    """As it is sent."""
    return json.dumps(document)
