"""Each endpoint, carried out: Kafka, the lake and Guardian's own API are asked; proposals.py makes plans.

A request that would change the cluster makes a ticket, pending at once. The approval policy then lets it run, or it
waits on the review board; the answer says which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound
from guardian.kafka.admin import TOPIC
from guardian.lake.model.recent_rates import Rates
from guardian.model.goals import GOALS
from guardian.model.ticket import DRIVEN_STATES, OPEN_STATES, Ticket, TicketState
from guardian.planning.model import UserTaskRecord, UserTaskState
from guardian.rest.cruise_control import cluster_state, failures, loads, reviews, state, user_tasks
from guardian.rest.cruise_control.calls import (
    Call,
    excluded_brokers,
    facts_and_rates,
    note_lines,
    registered,
    ticket_of,
    topics_of,
)
from guardian.rest.cruise_control.cluster_state import Seen
from guardian.rest.cruise_control.endpoints import BY_NAME
from guardian.rest.cruise_control.kept import info_of, lost, progress_of
from guardian.rest.cruise_control.parameters import Asked
from guardian.rest.cruise_control.placing import broker_loads, host_cpu, placement_of
from guardian.rest.cruise_control.proposals import ALIASES, Proposals, stop_tickets
from guardian.rest.cruise_control.state import Concurrency, Driven
from guardian.rest.cruise_control.tasks import Answer, UserTask, UserTasks, progress_document, progress_text
from guardian.rest.cruise_control.user_tasks import TaskInfo
from guardian.rest.parts import RestParts
from guardian.rest.patterns import matching
from guardian.security.model.identity import Role
from protos.guardian.v1 import federation_pb2

_MIN_ISR = "min.insync.replicas"
_TIERED = "remote.storage.enable"
_FINDINGS = 500
_RETOLD = 25  # each reads a plan or an answer, of up to some megabytes
_LATELY = 1_000  # tickets of a cluster that user_tasks and review_board tell of, beside those that are not over


class Operations:
    """Thread-safe; every method waits for whatever it asks, and raises GuardianError."""

    def __init__(self, parts: RestParts, tasks: UserTasks, concurrency: Concurrency) -> None:
        self._parts = parts
        self._tasks = tasks
        self._concurrency = concurrency
        self._proposals = Proposals(parts)
        self._lasting: Mapping[str, Callable[[Call, UserTask], Answer]] = {
            "state": self._state,
            "load": self._load,
            "partition_load": self._partition_load,
            "kafka_cluster_state": self._cluster_state,
            "rightsize": self._proposals.rightsize,
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
        """Answer a task that lasts, in a thread of its own."""
        call = Call(task.cluster, task.asked, task.user, base)
        return self._lasting.get(task.endpoint.name, self._proposals.optimize)(call, task)

    def at_once(self, call: Call) -> Answer:
        """Answer what needs neither a plan nor the lake."""
        return self._short[call.asked.endpoint.name](call)

    # What only tells

    def _state(self, call: Call, task: UserTask) -> Answer:
        client = self._parts.client_for(call.user)
        parts, verbose = call.asked.words("substates"), call.asked.flag("verbose") or call.asked.flag("super_verbose")
        document: dict[str, Any] = {}
        if "monitor" in parts:
            task.step("MonitorState", "which partitions have rates in the newest window")
            facts, rates = self._parts.planner.facts(call.cluster), self._parts.rates(call.cluster)
            rated = len(facts.partitions.keys() & rates.partitions.keys())
            document["MonitorState"] = state.monitor_document(
                len(facts.partitions), rated, rates.remark, self._paused(client, call.cluster)
            )
        if "executor" in parts:
            task.step("ExecutorState", "which tickets are under way")
            document["ExecutorState"] = state.executor_document(
                self._driven(client, call.cluster),
                self._concurrency,
                excluded_brokers(client, call.cluster, self._parts.now_ms()),
                verbose=verbose,
            )
        if "analyzer" in parts:
            goals = [(ALIASES.get(goal.name, goal.name), goal.is_hard) for goal in GOALS]
            document["AnalyzerState"] = state.analyzer_document(goals, verbose=verbose)
        if "anomaly_detector" in parts:
            task.step("AnomalyDetectorState", "what detectors found, and what heals")
            document["AnomalyDetectorState"] = state.anomaly_document(
                client.findings(call.cluster, _FINDINGS),
                client.healing(call.cluster),
                self._proposals.score(call.cluster),
            )
        return Answer({**document, "version": 1}, state.state_text(document))

    def _load(self, call: Call, task: UserTask) -> Answer:
        facts, rates = facts_and_rates(self._parts, call.cluster, task)
        found = broker_loads(facts, placement_of(facts), rates)
        with_disks = call.asked.flag("populate_disk_info")
        if call.asked.flag("capacity_only"):
            document = loads.capacity_document(found)
        else:
            document = loads.load_document(found, with_disks=with_disks)
        notes = _notes(call.asked, rates)
        return Answer(
            {**document, "version": 1, "guardian": {"cluster": call.cluster, "notes": notes}},
            note_lines(notes) + loads.load_text(found, with_disks=with_disks),
        )

    def _partition_load(self, call: Call, task: UserTask) -> Answer:
        asked = call.asked
        facts, rates = facts_and_rates(self._parts, call.cluster, task)
        topics = topics_of(asked, "topic", facts) if asked.text("topic") else None
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
            note_lines(notes) + loads.partition_text(found),
        )

    def _cluster_state(self, call: Call, task: UserTask) -> Answer:
        task.step("ClusterState", "what Kafka says of brokers, log dirs and partitions")
        with closing(self._parts.admin_for(call.cluster)) as admin:
            description = admin.describe_cluster()
            partitions = admin.describe_partitions()
            log_dirs = admin.describe_log_dirs(sorted(description.brokers))
            names = sorted({partition.topic for partition in partitions})
            configs = admin.effective_configs([(TOPIC, name) for name in names], (_MIN_ISR, _TIERED))
            quorum = admin.describe_quorum()
        entry = registered(self._parts.client_for(call.user), call.cluster)
        labels = {broker.id: broker.label for broker in entry.brokers}
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
        asked, now_ms = call.asked, self._parts.now_ms()
        known = [self._info(task, now_ms, wants_json=asked.flag("json")) for task in self._tasks.tasks(call.cluster)]
        client = self._parts.client_for(call.user)
        tickets = {ticket.id: ticket for ticket in _lately(client, call.cluster)}
        stored = self._parts.tasks.tasks(call.cluster)
        kept = {record.id: record for record in stored if record.endpoint in BY_NAME}  # others are the console's
        found = user_tasks.chosen(
            user_tasks.infos([*map(info_of, kept.values()), *known], tickets.values(), call.base),
            asked.words("user_task_ids"),
            asked.words("client_ids"),
            asked.words("endpoints"),
            asked.words("types"),
            asked.number("entries") or 1,
        )
        whole = asked.flag("fetch_completed_task")
        if whole:
            found = self._with_responses(call, client, found, tickets, kept)
        return Answer(
            user_tasks.tasks_document(found, with_responses=whole), user_tasks.tasks_text(found, with_responses=whole)
        )

    def _with_responses(
        self,
        call: Call,
        client: GuardianClient,
        found: Sequence[TaskInfo],
        tickets: Mapping[str, Ticket],
        kept: Mapping[str, UserTaskRecord],
    ) -> list[TaskInfo]:
        """Tell what other members, or this one before its start, answered: of so many tasks at most."""
        told, left = [], _RETOLD
        for info in found:
            if info.response or not left:
                told.append(info)
                continue
            left -= 1
            try:
                told.append(replace(info, response=self._response(call, client, info, tickets, kept.get(info.id))))
            except NotFound:  # removed since the list was read
                continue
        return told

    def _response(
        self,
        call: Call,
        client: GuardianClient,
        info: TaskInfo,
        tickets: Mapping[str, Ticket],
        record: UserTaskRecord | None,
    ) -> str:
        """Return what a task was answered with; where that is not kept, as far as its tickets tell it anew."""
        wants_json = call.asked.flag("json")
        if record is not None and record.state is UserTaskState.ACTIVE:
            document, text = progress_of(record)
            return as_json(document) if wants_json else text
        answer = self._parts.tasks.answer(call.cluster, info.id) if record is not None else None
        if answer is None and info.ticket_ids:
            retold = self._proposals.retold(call, client, [tickets[each] for each in info.ticket_ids])
            return as_json(retold.document) if wants_json else retold.text
        if answer is None and record is not None:
            answer = lost(record)
        if answer is None:
            return ""
        return answer.document if wants_json else answer.text or answer.document

    def _review_board(self, call: Call) -> Answer:
        client, ids = self._parts.client_for(call.user), call.asked.numbers("review_ids")
        found = _reviews(client, call.cluster, ids) if ids else reviews.board(_lately(client, call.cluster))
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

    # What changes something at once

    def _review(self, call: Call) -> Answer:
        client, asked = self._parts.client_for(call.user), call.asked
        approved, discarded = asked.numbers("approve"), asked.numbers("discard")
        if not approved and not discarded:
            raise InvalidInput("approve and discard are missing: give ids of review_board")
        twice = set(approved) & set(discarded)
        if twice:
            raise InvalidInput(f"approve and discard both have {min(twice)}: give it to one of them")
        for review in (*approved, *discarded):
            ticket_of(client, call.cluster, review)  # all of them are there, before anything is done
        for review in approved:
            client.approve(reviews.ticket_id(review), call.actor, asked.text("reason"))
        for review in discarded:
            self._discard(client, ticket_of(client, call.cluster, review), call)
        found = _reviews(client, call.cluster, (*approved, *discarded))
        return Answer(reviews.board_document(found), reviews.board_text(found))

    def _discard(self, client: GuardianClient, ticket: Ticket, call: Call) -> None:
        if ticket.state is TicketState.APPROVED:
            client.cancel(ticket.id, call.actor, call.asked.text("reason"))
        else:
            client.reject(ticket.id, call.actor, call.asked.text("reason"))

    def _stop(self, call: Call) -> Answer:
        said = stop_tickets(
            call, self._parts.client_for(call.user), call.asked.text("reason") or "stop_proposal_execution"
        )
        message = "; ".join(said) if said else "No execution is in progress: there is nothing to stop."
        return Answer({"version": 1, "message": message}, f"{message}\n")

    def _admin(self, call: Call) -> Answer:
        dropped = call.asked.numbers("drop_recently_removed_brokers")
        if not dropped:
            raise InvalidInput("drop_recently_removed_brokers is missing: it is all that can be changed here")
        client = self._parts.client_for(call.user)
        keys = [federation_pb2.ExclusionKey(cluster=call.cluster, broker_id=broker) for broker in dropped]
        client.change_federation(
            [federation_pb2.FederationChange(drop=federation_pb2.FederationKey(exclusion=key)) for key in keys]
        )
        left = excluded_brokers(client, call.cluster, self._parts.now_ms())
        said = f"Exclusions of brokers {list(dropped)} are lifted, left are those of {left}."
        return Answer({"version": 1, "dropRecentBrokersRequest": said}, f"{said}\n")

    def _pause_sampling(self, call: Call) -> Answer:
        return self._sample(call, call.asked.text("reason") or f"pause_sampling by {call.actor}", "paused")

    def _resume_sampling(self, call: Call) -> Answer:
        return self._sample(call, "", "resumed")

    def _sample(self, call: Call, paused: str, what: str) -> Answer:
        client = self._parts.client_for(call.user)
        client.set_sampling(call.cluster, paused)
        message = f"Metric sampling of cluster {call.cluster} {what}."
        return Answer({"version": 1, "message": message}, f"{message}\n")

    # What they have in common

    def _info(self, task: UserTask, now_ms: int, *, wants_json: bool) -> TaskInfo:
        status = user_tasks.ACTIVE
        ids: tuple[str, ...] = ()
        before = self._tasks.before(task)
        document, text = progress_document(task, before, now_ms), progress_text(task, before, now_ms)
        error = task.future.exception() if task.is_done else None
        if error is not None:
            status = user_tasks.FAILED
            document = failures.document_of(error, task.endpoint.method, task.endpoint.name)
            text = document["errorMessage"]
        elif task.is_done:
            answer = task.future.result()
            status, document, text = user_tasks.COMPLETED, answer.document, answer.text
            ids = (answer.ticket_id,) if answer.ticket_id else ()
        response = as_json(document) if wants_json else text
        return TaskInfo(task.id, task.url, task.client, task.started_ms, status, task.endpoint.name, response, ids)

    def _paused(self, client: GuardianClient, cluster: str) -> str:
        return registered(client, cluster).sampling_paused

    def _driven(self, client: GuardianClient, cluster: str) -> list[Driven]:
        return [
            Driven(ticket, client.ticket(ticket.id)[1], progress)
            for ticket, progress in client.walk_tickets(cluster, DRIVEN_STATES)
        ]


def _lately(client: GuardianClient, cluster: str) -> list[Ticket]:
    """Return the newest tickets of the cluster, and all that are not over."""
    newest = [ticket for ticket, _ in islice(client.walk_tickets(cluster), _LATELY)]
    known = {ticket.id for ticket in newest}
    return newest + [ticket for ticket in client.tickets(cluster, OPEN_STATES) if ticket.id not in known]


def _reviews(client: GuardianClient, cluster: str, ids: Collection[int]) -> list[Ticket]:
    """Return the board of these ids, without those that no ticket of the cluster has."""
    found = []
    for review in dict.fromkeys(ids):
        with suppress(NotFound):
            found.append(ticket_of(client, cluster, review))
    return reviews.board(found)


def _notes(asked: Asked, rates: Rates) -> list[str]:
    lacking = [f"rates are not known: {rates.remark}"] if rates.remark else []
    return [*asked.notes, *lacking]


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 1


def as_json(document: Mapping[str, Any]) -> str:
    """Format the document as it is sent."""
    return json.dumps(document)
