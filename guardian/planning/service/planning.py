"""Plans that can't wait for Spark: made at once by the member that leads, from what Kafka shows now.

    admin ── brokers, partitions, log dirs ──┐
    store ── racks, labels, exclusions ──────┼──▶ worker process: live model ─▶ planner ─▶ checker ──▶ Plan, or why not
    lake  ── newest rates, where it has any ─┘

For a removal's rounds, for tickets whose plan went stale, for healing, and for people who ask over HTTP or gRPC. Each
is made in a job of the desk (guardian.planning.service.desk), which bounds them. The planners and the checker are the
very same as Spark's. A worker that does not answer in time is killed, and so is one whose plan nobody waits for any
more: who asked gets a sentence, and may ask again.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from guardian.errors import ClusterUnavailable, GuardianError, Unavailable
from guardian.kafka.admin import KafkaAdmin
from guardian.model.cluster_state import LiveFacts
from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import Task
from guardian.model.wire.plans import plan_from_proto, plan_hash, plan_to_bytes
from guardian.planning.model import Lane, PlansConfig
from guardian.planning.rules.mid_move import notes_on_moves
from guardian.planning.service.desk import Desk, Job
from guardian.planning.service.planning_worker import Question, error_of
from protos.guardian.v1 import tickets_pb2

_LOOKS = 4
_REMEMBERED = 1000  # plans
_LOOK_AGAIN_S = 0.5


class LivePlanner:
    """Thread-safe. `connect` opens an admin connection by the cluster's name, `directory` reads what people said of the
    federation; `lake_url` may be empty. `settings` hold where nobody gives others. What is asked for is work of
    its `desk`, within `limits`."""

    def __init__(
        self,
        connect: Callable[[str], KafkaAdmin],
        directory: Callable[[], Directory],
        lake_url: str,
        settings: PlannerSettings,
        now_ms: Callable[[], int],
        limits: PlansConfig | None = None,
    ) -> None:
        self._connect = connect
        self._directory = directory
        self._lake_url = lake_url
        self._settings = settings
        self._now_ms = now_ms
        limits = limits or PlansConfig()
        self._desk = Desk(limits.lanes, limits.wait_s, now_ms)
        self._deadline_s = limits.deadline_s
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[object, Job[Plan]]] = {}
        self._plans: OrderedDict[str, None] = OrderedDict()

    @property
    def settings(self) -> PlannerSettings:
        """Return the settings that hold where nobody gives others."""
        return self._settings

    @property
    def desk(self) -> Desk:
        """Return where work is asked for that makes plans."""
        return self._desk

    def close(self) -> None:
        """Give up all that was asked for, and end the workers."""
        self._desk.close()

    def has_made(self, plan: Plan) -> bool:
        """Return whether this is one of the last plans that it made, unchanged."""
        digest = plan_hash(plan_to_bytes(plan))
        with self._lock:
            return digest in self._plans

    def facts(self, cluster: str) -> LiveFacts:
        """Return what Kafka shows of the cluster now. Raises NotFound or ClusterUnavailable."""
        return self._facts(cluster)

    def plan(
        self,
        job: Job[Any],
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        complete_metrics: bool = False,
        window_ms: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Plan:
        """Return a checked plan, which may have no moves; blocks up to the deadline, within a job of the desk.

        `window_ms` is how much of the newest samples counts, where 0 is what is usual and more than can be read is
        refused; `notes` are added to the plan's own. `complete_metrics`: where the lake knows brokers of the cluster,
        but lacks some, there is no plan, since what they can carry can't be told.

        Raises GuardianError: NotFound and ClusterUnavailable where the cluster can't be read, InvalidInput where the
        task can't be done at all, and the job's own once it is given up. What only a part of it can't is in the plan's
        `unmet`.
        """
        facts = self._facts(cluster)
        job.require_wanted()
        question = Question(
            facts, self._directory(), self._lake_url, task, settings or self._settings, complete_metrics, window_ms
        )
        return self._remembered(self._answer(job, question), (*notes, *notes_on_moves(task, facts.reassignments)))

    def plan_for(
        self,
        person: str,
        is_awaited: Callable[[], bool],
        cluster: str,
        task: Task,
        *,
        complete_metrics: bool = False,
    ) -> Plan:
        """Return the plan that a person asks for; waits for his turn too, and gives up once it is awaited no longer.

        Raises as `plan`, and Overloaded at once where too much waits already.
        """
        job: Job[Plan] = self._desk.submit(
            Lane.PEOPLE,
            person,
            f"{task.kind} of cluster {cluster}",
            lambda job: self.plan(job, cluster, task, complete_metrics=complete_metrics),
        )
        while True:
            try:
                return job.future.result(_LOOK_AGAIN_S)
            except TimeoutError:
                if job.future.done():
                    raise
                if not is_awaited():
                    job.cancel("nobody waits for this plan any more: ask again")

    def ask(
        self,
        key: str,
        cluster: str,
        task: Task,
        settings: PlannerSettings | None = None,
        *,
        complete_metrics: bool = False,
        lane: Lane = Lane.TICKETS,
    ) -> Plan | GuardianError | None:
        """Plan as `plan` does, without waiting: None while the plan is being made, so ask again with the same key.

        An answer is kept for its key and task until it is forgotten; another task under the key begins anew. Each key
        has its turn, as a person has.
        """
        wanted = (cluster, task, settings, complete_metrics)
        with self._lock:
            known = self._asked.get(key)
            if known is None or known[0] != wanted:
                if known is not None:
                    known[1].cancel(f"another plan is asked for instead, for cluster {cluster}")
                try:
                    job: Job[Plan] = self._desk.submit(
                        lane,
                        key,
                        f"{task.kind} of cluster {cluster}",
                        lambda job: self.plan(job, cluster, task, settings, complete_metrics=complete_metrics),
                    )
                except Unavailable:
                    return None
                known = (wanted, job)
                self._asked[key] = known
        if not known[1].future.done() or known[1].is_given_up:
            return None
        try:
            return known[1].future.result()
        except GuardianError as error:
            return error
        except Exception as error:  # noqa: BLE001  one cluster's plan is no reason to stop those of all others
            return ClusterUnavailable(f"the plan for cluster {cluster} could not be made: {error!r}")

    def forget(self, key: str) -> None:
        """The next `ask` with this key begins anew."""
        with self._lock:
            known = self._asked.pop(key, None)
        if known is not None:
            known[1].cancel("nobody asks for this plan any more")

    def _facts(self, cluster: str) -> LiveFacts:
        """Brokers lag behind one another, so a replica that is on no log dir yet is looked for a few times."""
        with closing(self._connect(cluster)) as admin:
            for look in range(_LOOKS):
                if look:
                    time.sleep(_LOOK_AGAIN_S)
                description = admin.describe_cluster()
                reassignments = admin.list_reassignments()
                partitions = admin.describe_partitions()
                log_dirs = admin.describe_log_dirs(sorted(description.brokers))
                facts = LiveFacts(
                    cluster, self._now_ms(), description.brokers, partitions, reassignments, tuple(log_dirs)
                )
                if not any(True for _ in facts.unseen()):
                    break
        return facts

    def _answer(self, job: Job[Any], question: Question) -> Plan:
        cluster = question.facts.cluster
        worker = subprocess.Popen(
            [sys.executable, "-m", "guardian.planning.service.planning_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is for the members, which end it
        )
        try:
            with job.ending(worker.kill):
                answer, _ = worker.communicate(pickle.dumps(question), self._deadline_s)
        except subprocess.TimeoutExpired:
            raise GuardianError(
                f"the plan for cluster {cluster} was not made within {self._deadline_s:g} s: ask again, or plan with "
                "guardian plan"
            ) from None
        finally:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
        job.require_wanted()
        if worker.returncode != 0 or not answer:
            raise ClusterUnavailable(
                f"the process that plans for cluster {cluster} ended with {worker.returncode}: see the log, ask again"
            )
        if answer[:1] == b"E":
            raise error_of(answer)
        return plan_from_proto(tickets_pb2.Plan.FromString(answer[1:]))

    def _remembered(self, plan: Plan, notes: tuple[str, ...]) -> Plan:
        plan = replace(plan, notes=(*plan.notes, *notes))
        digest = plan_hash(plan_to_bytes(plan))
        with self._lock:
            self._plans[digest] = None
            if len(self._plans) > _REMEMBERED:
                self._plans.popitem(last=False)
        return plan
