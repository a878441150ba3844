"""Controllers restarted on real brokers: after the brokers, one by one, the active one last, under load.

Three controllers and three brokers, each a process. Nodes are watched as processes, and the quorum by asking Kafka.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.local import broker_hook, processes
from deploy.local.answering import once_answered, register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.operation import Ask, AskKind, Quorum
from guardian.model.ticket import Ticket, TicketState
from guardian.model.topology import Cluster
from guardian.replication.store.store import now_ms
from tests.integration.acked_load import Load
from tests.integration.beside import beside
from tests.integration.placement import placement
from tests.patience import CALL_S, CONTROL_S, MEMBER_KAFKA, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

LOOK_EVERY_S = 0.1
BROKERS = (1, 2, 3)
CONTROLLERS = (101, 102, 103)
SPEC = ClusterSpec(
    "live",
    brokers=len(BROKERS),
    controllers=len(CONTROLLERS),
    log_dirs=1,
    plugin=False,
    heap_mb=192,
    release="4.1",  # of the cluster's feature levels: its nodes know higher ones
    settings={"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"},
)
REFUSES_CONTROLLERS = "import sys; sys.exit('node ' + sys.argv[1] + ' is no broker of mine')"


@dataclass
class Stage:
    kafka: KafkaCluster
    folder: Path
    client: GuardianClient

    @property
    def cluster(self) -> Cluster:
        return self.kafka.to_cluster(sasl=False)

    def pids(self) -> dict[int, int | None]:
        """Of brokers and controllers as hooks have left them; None: it does not run."""
        return {node.id: node.pid for node in broker_hook.load(self.folder).nodes}

    def settled(self, ticket_id: str) -> Ticket:
        """Over, or PAUSED."""
        found: list[Ticket] = []

        def holds() -> bool:
            found[:] = [self.client.ticket(ticket_id)[0]]
            return found[0].state.is_over or found[0].state is TicketState.PAUSED

        wait_for(f"the end of {ticket_id}", holds)
        return found[0]

    def approved(self, ask: Ask) -> str:
        ticket, _ = once_answered(
            lambda: self.client.ask_for("live", ask, author="ann", submit=True, throttle=0, reason="a test")
        )
        self.client.approve(ticket.id, "bob")
        return ticket.id


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("controllers")
    folder = home / "hooks"
    stubborn = json.dumps([sys.executable, "-c", REFUSES_CONTROLLERS, "{broker}"])
    hooks = broker_hook.config_section(folder) + f'[hooks.brokers-only]\nkind = "command"\ncommand = {stubborn}\n'
    with KafkaCluster.start(SPEC, home / "kafka") as kafka:
        broker_hook.save(kafka, folder)
        planned = plan_members(1, home)
        member = start_member(planned[0], planned, home / "lake", home / "g1.log", more=hooks, kafka=MEMBER_KAFKA)
        try:
            wait_ready([member])
            with GuardianClient([member.grpc], timeout_s=CALL_S) as client:
                register(client, kafka.to_cluster(sasl=False))
                yield Stage(kafka, folder, client)
        finally:
            assert member.process is not None
            processes.stop_all([member.process])
            for node, known in zip(kafka.nodes, broker_hook.load(folder).nodes, strict=True):
                node.process = known.process


@dataclass
class Watch:
    """The nodes that did not run, each time that changed; and what the quorum said of itself, with the time (ms)."""

    stage: Stage
    away: list[frozenset[int]] = field(default_factory=list)
    quorums: list[tuple[int, Quorum]] = field(default_factory=list)

    def __call__(self, over: threading.Event) -> None:
        with closing(KafkaControl(self.stage.cluster, CONTROL_S)) as admin:
            while not over.wait(LOOK_EVERY_S):
                away = frozenset(node for node, pid in self.stage.pids().items() if pid is None)
                if not self.away or self.away[-1] != away:
                    self.away.append(away)
                try:
                    quorum = admin.describe_quorum()
                except GuardianError:
                    continue  # between two leaders
                assert quorum is not None
                self.quorums.append((now_ms(), quorum))

    def last_before(self, at_ms: int) -> Quorum:
        return [quorum for seen_ms, quorum in self.quorums if seen_ms <= at_ms][-1]


@pytest.mark.long
def test_a_hook_that_knows_no_controllers_pauses_the_ticket_and_takes_nobody_down(stage: Stage) -> None:
    before = stage.pids()
    ticket_id = stage.approved(Ask(AskKind.RESTART, (), CONTROLLERS[:1], hook="brokers-only"))
    paused = stage.settled(ticket_id)
    assert paused.state is TicketState.PAUSED
    assert "hook brokers-only could not restart node 101" in paused.history[-1].reason
    assert "node 101 is no broker of mine" in paused.history[-1].reason
    stage.client.cancel(ticket_id, "ann")
    wait_for("the cancel", lambda: stage.client.ticket(ticket_id)[0].state is TicketState.CANCELLED)
    assert stage.pids() == before


def test_controllers_are_restarted_after_the_brokers_one_by_one_and_the_quorum_keeps_its_majority(stage: Stage) -> None:
    data.create_topics(
        stage.cluster, {"orders": {n: (1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3) for n in range(6)}}, {}, PATIENCE_S
    )
    with closing(KafkaControl(stage.cluster, CONTROL_S)) as admin:
        before = placement(admin, "orders")
        version = admin.metadata_version()
        started = stage.pids()
        watch = Watch(stage)
        with Load(stage.cluster, "orders") as load, beside(watch):
            ask = Ask(AskKind.RESTART, BROKERS, CONTROLLERS, hook="local", finalize=True)
            ticket_id = stage.approved(ask)
            ticket = stage.settled(ticket_id)
        assert ticket.state is TicketState.SUCCEEDED, ticket.history[-1].reason
        assert load.failures == []
        assert load.sent > 100

        execution = stage.client.ticket(ticket_id)[1]
        assert execution is not None
        assert execution.operation is not None
        runs = {work.node: work.hook for work in execution.operation.brokers if work.hook is not None}
        assert runs.keys() == {*BROKERS, *CONTROLLERS}
        order = sorted(runs, key=lambda node: runs[node].asked_at_ms)
        assert set(order[: len(BROKERS)]) == set(BROKERS)
        assert all(runs[one].ended_at_ms <= runs[other].asked_at_ms for one, other in pairwise(order))
        # Who is active may change at any election; what counts is who was when the ticket chose.
        active = {node: watch.last_before(runs[node].asked_at_ms).leader for node in order[len(BROKERS) :]}
        assert [node for node in active if node == active[node]] == order[-1:], active

        now = stage.pids()
        assert all(now[node] not in (None, started[node]) for node in started)
        assert max(map(len, watch.away)) == 1, watch.away
        assert {node for away in watch.away for node in away} >= set(CONTROLLERS), watch.away
        assert {quorum.voters for _, quorum in watch.quorums} == {frozenset(CONTROLLERS)}
        # One that is elected has heard of nobody in its first moments, which are none of the ticket's doing.
        begun = [watch.last_before(runs[node].asked_at_ms) for node in order]
        assert all(len(quorum.caught_up - {node}) >= 2 for node, quorum in zip(order, begun, strict=True)), begun
        assert ticket.history[-1].reason.endswith(f"metadata.version raised from {version.level} to {version.highest}")
        assert version.level < version.highest
        wait_for("all brokers to hear of the level", lambda: admin.metadata_version().level == version.highest)
        wait_for(
            "the leaders of before",
            lambda: placement(admin, "orders") == before,
        )
