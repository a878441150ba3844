"""Drives the tickets of all clusters: each tick reads, decides, commits the intent, then acts.

    Driver             a round over the clusters, a thread each
      ClusterDriver    admit (jobs.py, admitting.py) ──▶ one look at Kafka (observing.py) ──▶ each ticket
        TicketDriver   begin (plan_start.py) · plan_steps.py · request_tickets.py · operation_tickets.py
          decide       movers.py: rules.executing.step; operations.step.operate; the kind's next step
          commit       commits.py: the intent, compared and set in the store
          send         effect_sender.py: behind a proof that this member leads (proving.py)

The driver keeps nothing that it could not lose: whoever becomes the Raft leader makes a new one and goes on from the
store and from Kafka. It acts only after the store has confirmed, by a commit or a ReadIndex, that it still leads and
that the ticket is still what the decision was made from. Leadership may have gone to another member and come back.

Clusters are driven in a thread each, so that one that does not answer holds up no other. A tick waits `PATIENCE_S` for
them and leaves a slower one to finish by itself. That cluster gets no second thread meanwhile. A tick begins with the
clusters that waited longest, and leaves to the next one what it does not come to in `ROUND_S`. However many there are,
a tick is short.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait

from guardian.execution.loop.cluster_driver import ClusterDriver
from guardian.execution.loop.commits import Commits
from guardian.execution.loop.directory_entries import DirectoryEntries
from guardian.execution.loop.effect_sender import EffectSender, KafkaAnswers
from guardian.execution.loop.jobs import Jobs
from guardian.execution.loop.memory import TicketMemory
from guardian.execution.loop.movers import CopyRemarks, Movers
from guardian.execution.loop.new_plans import NewPlans
from guardian.execution.loop.operation_tickets import OperationTickets
from guardian.execution.loop.plan_start import PlanStart
from guardian.execution.loop.plan_steps import Continuation, PlanSteps
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.loop.request_tickets import RequestTickets
from guardian.execution.loop.ticket_driver import TicketDriver
from guardian.model.ticket import Ticket

PATIENCE_S = 1.0
ROUND_S = 0.28
_AT_ONCE = 4  # more would only wait for each other's turn in the interpreter,
_GIVES_WAY_S = 0.025  # ... but one that has not ended by then waits for its brokers
_MAX_CLUSTERS = 128
_DEFAULTS = DriverSettings()


class Driver:
    """Drive clusters by turns. `pool` is where they are ticked: a thread each, unless a simulation has it otherwise."""

    def __init__(
        self,
        ports: DriverPorts,
        clocks: DriverClocks,
        settings: DriverSettings = _DEFAULTS,
        pool: Executor | None = None,
    ) -> None:
        self._store = ports.store
        self._elapsed_s = clocks.elapsed_s
        self._pool = pool or ThreadPoolExecutor(_MAX_CLUSTERS, thread_name_prefix="executor")
        self._commits = Commits(ports.store, clocks)
        self._clusters, self._memories = _wired(ports, clocks, settings, self._commits)
        self._ticking: dict[str, Future[list[str]]] = {}
        self._turns: dict[str, int] = {}  # the tick in which a cluster had its turn
        self._ticks = 0
        self._is_behind = False
        self._said: dict[str, list[str]] = {}

    def tick(self) -> list[str]:
        """Go round the clusters, those first that waited longest; return one sentence a ticket, of its last turn.

        Raises Unavailable when the store does not answer. What one cluster's thread did not expect is raised too, when
        the others have ended; the next tick tries again.
        """
        self._commits.begin_tick()
        by_cluster: dict[str, list[Ticket]] = {}
        tickets = self._store.driven_tickets()
        driven = {ticket.id for ticket in tickets}
        for memory in self._memories:
            memory.keep_only(driven)
        for ticket in tickets:
            by_cluster.setdefault(ticket.cluster, []).append(ticket)
        wait(self._begin_round(by_cluster), timeout=PATIENCE_S)
        # All that ended are taken out before one of them may raise: else those behind it would never tick again.
        ended = {c: self._ticking.pop(c) for c in sorted(self._ticking) if self._ticking[c].done()}
        self._said = {cluster: said for cluster, said in self._said.items() if cluster in by_cluster}
        for cluster in self._ticking:
            self._said[cluster] = [f"cluster {cluster} has not answered yet: its tickets wait"]
        for cluster, future in ended.items():
            self._said[cluster] = future.result()
        return [sentence for cluster in sorted(self._said) for sentence in self._said[cluster]]

    def has_more(self) -> bool:
        """Tell whether the next tick should come soon. It should when the last one made a step that another may follow,
        or saw what may end at any moment, or did not come to all.
        """
        return self._commits.has_more or self._is_behind

    def close(self) -> None:
        """Return when the ticks under way have ended."""
        self._pool.shutdown()

    def _begin_round(self, by_cluster: Mapping[str, list[Ticket]]) -> set[Future[list[str]]]:
        """Begin all clusters that are free, or as many as it comes to in `ROUND_S`, and return what began."""
        self._ticks += 1
        self._is_behind = False
        self._turns = {cluster: self._turns.get(cluster, 0) for cluster in by_cluster}
        free = sorted(by_cluster.keys() - self._ticking.keys(), key=lambda cluster: (self._turns[cluster], cluster))
        end_s = self._elapsed_s() + ROUND_S
        began: set[Future[list[str]]] = set()
        for cluster in free:
            running = {future for future in began if not future.done()}
            if len(running) >= _AT_ONCE:
                wait(running, timeout=_GIVES_WAY_S, return_when=FIRST_COMPLETED)
            self._is_behind = bool(began) and self._elapsed_s() > end_s
            if self._is_behind:
                break
            self._turns[cluster] = self._ticks
            self._ticking[cluster] = self._pool.submit(self._clusters.tick, cluster, by_cluster[cluster])
            began.add(self._ticking[cluster])
        return began


def _wired(
    ports: DriverPorts, clocks: DriverClocks, settings: DriverSettings, commits: Commits
) -> tuple[ClusterDriver, list[TicketMemory]]:
    """Return what drives a cluster, and all that knows something of tickets from one tick to the next."""
    store, now_ms = ports.store, clocks.now_ms
    answers, remarks = KafkaAnswers(), CopyRemarks(now_ms)
    sender, new_plans = EffectSender(commits, answers, now_ms), NewPlans(ports.replanner, now_ms)
    movers = Movers(store, settings.limits, answers, remarks, now_ms)
    entries = DirectoryEntries(store, ports.labels, settings.shared_labels, now_ms)
    continuation = Continuation(store, new_plans, settings.tiered_warm_up_s, now_ms)
    requests = RequestTickets(store, ports.uses, commits, now_ms)
    tickets = TicketDriver(
        commits,
        PlanStart(store, commits, new_plans, entries, settings, now_ms),
        PlanSteps(movers, continuation, entries, commits, sender),
        requests,
        OperationTickets(store, ports.operations, movers, commits, sender, now_ms),
        now_ms,
    )
    jobs = Jobs(store, ports.operations, ports.admin_for, now_ms)
    memories: list[TicketMemory] = [answers, remarks, sender, new_plans, requests, tickets]
    if ports.operations is not None:
        memories.append(ports.operations)
    return ClusterDriver(ports, jobs, tickets, now_ms), memories
