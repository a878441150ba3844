"""Events of a ticket on real brokers, told by three members of which the leader is killed in the middle.

Whoever follows gets each event once; each sink gets each at least once, in order: a webhook, a chat, an Alertmanager.
"""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby

import pytest

from deploy.local import members as local_members
from deploy.local import processes
from deploy.local.answering import once_answered, register
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import KafkaCluster
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.model.event import Event, EventKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Balance
from guardian.model.ticket import TicketState
from guardian.model.topology import TopicPartition
from tests.integration.leading import who_leads
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]
PARTITIONS, RECORDS, RECORD_BYTES = 4, 300, 10_000


class Receiver(http.server.ThreadingHTTPServer):
    """Takes what sinks send; by path, the bodies."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: dict[str, list[object]] = {}
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def got(self, path: str) -> list[object]:
        with self.lock:
            return list(self.bodies.get(path, ()))


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.setdefault(self.path, []).append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, daemon=True)
        thread.start()
        yield receiver
        receiver.shutdown()
        thread.join(PATIENCE_S)


@pytest.fixture(scope="module")
def members(
    tmp_path_factory: pytest.TempPathFactory, kafka_cluster: KafkaCluster, receiver: Receiver
) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("events")
    sinks = f"""
[[sinks]]
name = "all"
kind = "webhook"
url  = "{receiver.url}/all"
kinds = ["TICKET_CREATED", "TICKET_MOVED", "TICKET_AMENDED", "THROTTLE_CHANGED"]
timeout_s = 60

[[sinks]]
name = "chat"
kind = "slack"
url  = "{receiver.url}/chat"
states = ["SUCCEEDED"]

[[sinks]]
name = "alerts"
kind = "alertmanager"
url  = "{receiver.url}"

[[sinks]]
name = "nobody"
kind = "webhook"
url  = "http://127.0.0.1:1"
"""
    planned = local_members.plan_members(3, home)
    group = Federation(home, [])
    try:
        for member in planned:
            log = home / f"{member.name}.log"
            group.members.append(local_members.start_member(member, planned, home / "lake", log, more=sinks))
        local_members.wait_ready(group.members)
        with GuardianClient(group.endpoints, timeout_s=CALL_S) as client:
            register(client, kafka_cluster.to_cluster(sasl=False))
        yield group
    finally:
        processes.stop_all([member.process for member in group.members if member.process is not None])


def fill(kafka_cluster: KafkaCluster, topic: str) -> None:
    cluster = kafka_cluster.to_cluster(sasl=False)
    data.create_topics(cluster, {topic: dict.fromkeys(range(PARTITIONS), (1, 2))}, {}, PATIENCE_S)
    producer = data.producer(cluster, acks="all", linger_ms=50)
    for partition in range(PARTITIONS):
        for sequence in range(RECORDS):
            producer.produce(topic, sequence.to_bytes(RECORD_BYTES, "big"), partition=partition)
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def test_each_event_reaches_who_follows_once_and_each_sink_in_order_though_the_leader_dies(
    guardian: Cli,
    members: Federation,
    receiver: Receiver,
    kafka_cluster: KafkaCluster,
    new_topic: Callable[[], str],
) -> None:
    with GuardianClient(members.endpoints, timeout_s=CALL_S) as client:
        wait_for(
            "the sinks know where they begin", lambda: all(s.delivered for s in client.sinks() if s.name != "nobody")
        )
    topic = new_topic()
    fill(kafka_cluster, topic)
    moves = tuple(
        PartitionMove(TopicPartition(topic, n), (), (ReplicaPlacement(3), ReplicaPlacement(1)))
        for n in range(PARTITIONS)
    )
    followed: list[Event] = []
    is_over = threading.Event()

    with (
        GuardianClient(members.endpoints, timeout_s=60.0) as client,
        GuardianClient(members.endpoints, timeout_s=CALL_S) as watching,
    ):

        def follow(ticket_id: str) -> None:
            for event in watching.follow_events(ticket_id=ticket_id):
                followed.append(event)
                if event.to_state is TicketState.SUCCEEDED and event.kind is EventKind.TICKET_MOVED:
                    break
            is_over.set()

        ticket, _ = once_answered(
            lambda: client.create_ticket(
                Plan("shared", "balance", moves, task=Balance()),
                author="ann",
                throttle=500_000,
                submit=True,
                reason="skew",
            )
        )
        thread = threading.Thread(target=follow, args=(ticket.id,), daemon=True)
        thread.start()
        client.approve(ticket.id, "ben", "tonight")
        wait_for("a throttle is told", lambda: any(e.kind is EventKind.THROTTLE_CHANGED for e in followed))

        metrics = ""

        def tells_what_is_left() -> bool:
            nonlocal metrics
            leads = who_leads(client)
            leader = next(member for member in members.members if member.name == leads)
            with suppress(OSError), urllib.request.urlopen(f"http://{leader.http}/metrics", timeout=10.0) as answer:
                metrics = answer.read().decode()
            return (
                f'guardian_ticket_left_bytes{{cluster="shared",kind="balance",state="RUNNING",ticket="{ticket.id}"}}'
                in (metrics)
            )

        wait_for("the metrics tell of the ticket", tells_what_is_left)
        assert f'ticket="{ticket.id}"' in next(
            line for line in metrics.splitlines() if line.startswith("guardian_ticket_copied_bytes{")
        )

        leads = who_leads(client)
        victim = next(member for member in members.members if member.name == leads)
        assert victim.process is not None
        processes.kill(victim.process)
        assert is_over.wait(PATIENCE_S), [event.summary for event in followed]

        events = client.events(ticket_id=ticket.id)
        wait_for("the webhook got all", lambda: _ids(receiver, ticket.id)[-1:] == [events[-1].id])
        wait_for("the chat was told of the end", lambda: bool(_chat(receiver, ticket.id)))
        wait_for("the alert has ended", lambda: len(_begins(receiver, ticket.id)) >= 2)

    assert [event.id for event in followed] == [event.id for event in events if event.id <= followed[-1].id]
    check_told(events)
    check_sent(receiver, ticket.id, events)
    check_shown(guardian, members, ticket.id)


def check_told(events: list[Event]) -> None:
    told = [
        (event.kind, event.from_state, event.to_state)
        for event in events
        if event.kind is not EventKind.THROTTLE_CHANGED
    ]
    assert told == [
        (EventKind.TICKET_CREATED, None, TicketState.PENDING),
        (EventKind.TICKET_MOVED, TicketState.PENDING, TicketState.APPROVED),
        (EventKind.TICKET_MOVED, TicketState.APPROVED, TicketState.RUNNING),
        (EventKind.TICKET_MOVED, TicketState.RUNNING, TicketState.SUCCEEDED),
    ]
    throttles = [event for event in events if event.kind is EventKind.THROTTLE_CHANGED]
    assert any(change.key == "follower.replication.throttled.rate" for event in throttles for change in event.changes)
    last: dict[tuple[str, str], str] = {}
    for event in throttles:
        last |= {(change.scope, change.key): change.after for change in event.changes}
    assert last
    assert set(last.values()) == {""}, "what was set was told to be gone"


def check_sent(receiver: Receiver, ticket_id: str, events: list[Event]) -> None:
    # At least once and in order: an answer was lost for what the leader sent that died, and for nothing else.
    got = _ids(receiver, ticket_id)
    assert list(dict.fromkeys(got)) == [event.id for event in events]
    assert max(Counter(got).values()) <= 2
    assert "SUCCEEDED" in json.dumps(_chat(receiver, ticket_id)[0])
    assert _begins(receiver, ticket_id)[:2] == [True, False], "it waited for approval, then no longer"


def check_shown(guardian: Cli, members: Federation, ticket_id: str) -> None:
    shown = guardian(members, "events", "--ticket", ticket_id)
    assert shown.returncode == 0, shown.stderr
    assert "went from PENDING to APPROVED by ben: tonight" in shown.stdout
    as_json = guardian(members, "events", "--ticket", ticket_id, "--kind", "TICKET_MOVED", "-o", "json")
    assert [event["to_state"] for event in json.loads(as_json.stdout)] == ["APPROVED", "RUNNING", "SUCCEEDED"]
    sinks = guardian(members, "events", "--sinks")
    assert sinks.returncode == 0, sinks.stderr
    [nobody] = [line for line in sinks.stdout.splitlines() if line.startswith("nobody")]
    assert "127.0.0.1 does not take it" in nobody
    wrong = guardian(members, "events", "--kind", "ALL")
    assert wrong.returncode != 0
    assert "--kind is 'ALL': use TICKET_CREATED" in wrong.stderr


def _ids(receiver: Receiver, ticket_id: str) -> list[int]:
    bodies = receiver.got("/all")
    return [int(body["id"]) for body in bodies if isinstance(body, dict) and body["ticket_id"] == ticket_id]


def _chat(receiver: Receiver, ticket_id: str) -> list[object]:
    return [body for body in receiver.got("/chat") if ticket_id in json.dumps(body)]


def _begins(receiver: Receiver, ticket_id: str) -> list[bool]:
    """Whether the ticket's alerts begin or end; what lasts is told again."""
    alerts = [
        alert for body in receiver.got("/api/v2/alerts") for alert in _list(body) if _ticket_of(alert) == ticket_id
    ]
    return [is_begin for is_begin, _ in groupby("startsAt" in alert for alert in alerts)]


def _list(body: object) -> list[dict[str, object]]:
    assert isinstance(body, list)
    return body


def _ticket_of(alert: dict[str, object]) -> object:
    labels = alert["labels"]
    assert isinstance(labels, dict)
    return labels["ticket"]
