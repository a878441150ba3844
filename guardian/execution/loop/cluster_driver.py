"""Drives the tickets of one cluster in a tick: one look at Kafka, then each ticket that may go on.

tickets ──▶ jobs ──▶ observe (all that they touch, at once) ──▶ those of which something is unknown wait
                                                            ──▶ the others, one after the other
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from guardian.errors import GuardianError, Undecided
from guardian.execution.loop.admitting import at_work, copies_under_way, scope_of_job, side_by_side
from guardian.execution.loop.cluster_tick import ClusterTick
from guardian.execution.loop.jobs import Jobs
from guardian.execution.loop.observing import observe, why_wait
from guardian.execution.loop.ports import DriverPorts
from guardian.execution.loop.ticket_driver import TicketDriver
from guardian.execution.rules import expanding, foreign
from guardian.model.cluster_state import ClusterObservation
from guardian.model.execution import Execution, ForeignWork
from guardian.model.ticket import Ticket, TicketState
from guardian.tickets.kinds.registry import kind_of, lowest_rates


class ClusterDriver:
    """Tick clusters. Called from several threads, of different clusters, at once."""

    def __init__(self, ports: DriverPorts, jobs: Jobs, tickets: TicketDriver, now_ms: Callable[[], int]) -> None:
        self._store = ports.store
        self._admin_for = ports.admin_for
        self._surroundings = ports.surroundings
        self._jobs = jobs
        self._tickets = tickets
        self._now_ms = now_ms

    def tick(self, cluster: str, tickets: Sequence[Ticket]) -> list[str]:
        """Drive the cluster's tickets, and return a sentence about each."""
        jobs, sentences = self._jobs.admit(tickets)
        if not jobs:
            return sentences
        try:
            admin = self._admin_for(cluster)
            look_around = self._surroundings.ask(cluster, at_work(jobs)) if self._surroundings else None
            observation = observe(admin, map(scope_of_job, jobs), self._now_ms())
            around = look_around() if look_around else None
        except Undecided as error:
            return sentences + [self._tickets.wait(job, str(error)) for job in jobs]
        except GuardianError as error:
            return sentences + [f"ticket {job.ticket.id} waits: {error}" for job in jobs]
        begun = [(job.ticket.state, job.work) for job in jobs if isinstance(job.work, Execution)]
        expansions = expanding.found(begun, observation)
        whys = {job.ticket.id: why_wait(scope_of_job(job), observation) for job in jobs}
        sentences += [self._tickets.wait(job, whys[job.ticket.id]) for job in jobs if whys[job.ticket.id]]
        jobs = [job for job in jobs if not whys[job.ticket.id]]
        if not jobs:
            return sentences
        tick = ClusterTick(admin, observation, tickets, self._standing_rates(tickets))
        works, others = self._foreign(cluster, tickets, observation)
        copies = copies_under_way(jobs, observation, self._now_ms()) if len(jobs) > 1 else {}
        jobs = side_by_side(jobs) if len(jobs) > 1 else jobs
        jobs = [
            replace(job, around=around, foreign=works, others=others, under_way=copies, expansions=expansions)
            for job in jobs
        ]
        return sentences + [self._tickets.drive(job, tick) for job in jobs]

    def _standing_rates(self, tickets: Sequence[Ticket]) -> dict[int, int]:
        """Return what people said that moves may take of brokers, by tickets that stand for it."""
        limiting = [each for each in tickets if each.state is TicketState.RUNNING and kind_of(each).limits_rates]
        return lowest_rates(self._store.plan(ticket.plan_hash) for ticket in limiting)

    def _foreign(
        self, cluster: str, tickets: Sequence[Ticket], observation: ClusterObservation
    ) -> tuple[tuple[ForeignWork, ...] | None, str]:
        """Return what other tools move on the cluster, and their throttles; None when what is ours is not all known."""
        try:
            executions = [each for ticket in tickets if (each := self._store.execution(ticket.id)) is not None]
            works = foreign.found(observation, executions)
            protected = self._store.protected_keys(cluster) if works else frozenset()
        except GuardianError:
            return None, ""
        return works, foreign.throttles(observation, executions, protected) if works else ""
