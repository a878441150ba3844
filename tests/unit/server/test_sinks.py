"""Every event reaches every sink that wants it, in order, whatever fails in between."""

from __future__ import annotations

import http.server
import json
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from guardian.core.notifying import Post
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.sink import Sink, sinks_of
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import Cluster, TopicPartition
from guardian.server.sinks import EventSinks, NotTaken, Refused, post
from guardian.server.store import ReplicatedStore
from guardian.wire.federation import cluster_to_proto
from metastore.levels import LEVEL
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from metastore.views import Views
from protos.guardian.v1 import events_pb2, records_pb2
from raft.inmem import InMemoryReplica

DEADLINE_S = 30.0
MOVE = PartitionMove(TopicPartition("t", 0), (ReplicaPlacement(1),), (ReplicaPlacement(2),))


class Clock:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


class Receiver:
    """Notes what it was sent; fails as often as it is told."""

    def __init__(self) -> None:
        self.got: dict[str, list[int]] = {}
        self.failures = 0
        self.refuses: set[int] = set()

    def __call__(self, sink: Sink, wanted: Post) -> None:
        number = json.loads(wanted.body)["id"]
        if number in self.refuses:
            raise Refused("h answers 400 Bad Request")
        if self.failures:
            self.failures -= 1
            raise NotTaken("h does not take it")
        self.got.setdefault(sink.name, []).append(number)


@pytest.fixture
def store() -> ReplicatedStore:
    machine = MetastoreStateMachine(MemoryStore())
    store = ReplicatedStore(InMemoryReplica("g1", machine), machine, lambda: 1000)
    store.put_cluster(cluster_to_proto(Cluster("live", "h:1", "id")))
    return store


def sinks(*names: str) -> tuple[Sink, ...]:
    return sinks_of([{"name": name, "kind": "webhook", "url": "http://h:1"} for name in names])


def add_tickets(store: ReplicatedStore, *names: str) -> None:
    plan_hash = store.put_plan(Plan("live", "balance", (MOVE,)))
    for name in names:
        history = (TicketTransition(TicketState.PENDING, 1000, "ann", ""),)
        store.add_ticket(
            Ticket(name, "live", "balance", TicketState.PENDING, "ann", plan_hash, 1, 1000, 1000, history, name)
        )


def settle(loop: EventSinks) -> list[str]:
    """Ticks until nothing is under way and nothing can be."""
    said: list[str] = []
    deadline = time.monotonic() + DEADLINE_S
    quiet = 0
    while quiet < 2:
        assert time.monotonic() < deadline
        said += loop.tick()
        work = [line.work for line in loop._lines if line.work is not None]
        wait(work, timeout=DEADLINE_S)
        quiet = 0 if work else quiet + 1
    return said


def ids(store: ReplicatedStore) -> list[int]:
    return [event.id for event in store.read().events(0, 1000)]


def test_a_new_sink_gets_what_happens_from_then_on(store: ReplicatedStore) -> None:
    add_tickets(store, "old")
    receiver = Receiver()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    assert settle(loop) == ["sink a is new: it gets what happens from now on"]
    add_tickets(store, "new-1", "new-2")
    settle(loop)
    assert receiver.got["a"] == ids(store)[1:]
    assert loop.counters()["a"].delivered == 2
    loop.close()


def test_what_failed_comes_again_in_order_and_holds_up_no_other_sink(store: ReplicatedStore) -> None:
    receiver, clock = Receiver(), Clock()
    loop = EventSinks(store, sinks("a", "b"), 1 << 40, lambda: 1000, receiver, clock)
    settle(loop)
    add_tickets(store, "t1", "t2", "t3")
    receiver.failures = 1
    said = settle(loop)
    assert any("gets its events later: h does not take it" in sentence for sentence in said)
    assert sorted(map(len, receiver.got.values())) == [3]
    clock.s += 0.5
    settle(loop)
    assert len(receiver.got) == 1, "it pauses"
    clock.s += 1.0
    settle(loop)
    assert list(receiver.got.values()) == [ids(store)] * 2
    loop.close()


def test_the_next_leader_goes_on_where_the_last_one_was(store: ReplicatedStore) -> None:
    receiver = Receiver()
    first = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(first)
    add_tickets(store, "t1")
    settle(first)
    first.close()
    add_tickets(store, "t2", "t3")
    second = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(second)
    assert receiver.got["a"] == ids(store)
    second.close()


def test_what_a_sink_refuses_for_ever_is_passed_over(store: ReplicatedStore) -> None:
    receiver = Receiver()
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, receiver)
    settle(loop)
    add_tickets(store, "t1", "t2", "t3")
    bad = ids(store)[1]
    receiver.refuses.add(bad)
    [said] = settle(loop)
    assert said == f"sink a refuses event {bad}, which is passed over: h answers 400 Bad Request"
    assert receiver.got["a"] == [ids(store)[0], ids(store)[2]]
    assert loop.counters()["a"].passed_over == 1
    loop.close()


def test_no_snapshot_is_held_while_a_sink_thinks(store: ReplicatedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    held: weakref.WeakSet[Views] = weakref.WeakSet()
    read = store.read

    def noted() -> Views:
        views = read()
        held.add(views)
        return views

    seen: list[int] = []
    loop = EventSinks(store, sinks("a"), 1 << 40, lambda: 1000, lambda _, __: seen.append(len(held)))
    settle(loop)
    add_tickets(store, "t1", "t2")
    monkeypatch.setattr(store, "read", noted)
    settle(loop)
    loop.close()
    assert seen == [0, 0]


def test_an_alertmanager_is_told_again_of_what_lasts_and_not_of_what_is_over(store: ReplicatedStore) -> None:
    store.raise_level(LEVEL)
    sent: list[list[dict[str, dict[str, str]]]] = []
    clock = Clock()
    [sink] = sinks_of([{"name": "a", "kind": "alertmanager", "url": "http://h:1"}])
    loop = EventSinks(store, (sink,), 1 << 40, lambda: 5000, lambda _, it: sent.append(json.loads(it.body)), clock)
    settle(loop)
    add_tickets(store, "t1", "t2")
    storm = events_pb2.Call(cluster="live", finding="storm healing", sentence="6 of 10 brokers", since_ms=900)
    store.propose(records_pb2.Command(put_events=events_pb2.PutEvents(raised=[storm])))
    settle(loop)
    assert sum(map(len, sent)) == 3
    approved = TicketTransition(TicketState.APPROVED, 2000, "ben", "fine")
    store.advance("t1", TicketState.PENDING, approved, None, 0)
    settle(loop)
    sent.clear()
    clock.s += 61
    settle(loop)
    [reminder] = sent
    assert [alert["labels"]["alertname"] for alert in reminder] == ["GuardianTicketPending", "GuardianCallsPerson"]
    assert reminder[0]["labels"]["ticket"] == "t2"
    assert {str(alert["endsAt"]) for alert in reminder} == {"1970-01-08T00:00:05.000Z"}
    clock.s += 59
    settle(loop)
    assert len(sent) == 1
    loop.close()


def test_old_events_are_forgotten(store: ReplicatedStore) -> None:
    add_tickets(store, "t1", "t2")
    loop = EventSinks(store, (), 500, lambda: 1400)
    assert loop.tick() == []
    assert len(ids(store)) == 2
    late = EventSinks(store, (), 500, lambda: 1600)
    assert late.tick() == ["2 old events were forgotten"]
    assert ids(store) == []
    loop.close()
    late.close()


class Hook(http.server.BaseHTTPRequestHandler):
    status = 200
    seen: list[tuple[str, str | None, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append((self.path, self.headers["Authorization"], body))
        self.send_response(type(self).status)
        self.end_headers()
        self.wfile.write(b"no such template\nmore")

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    handler = type("Handler", (Hook,), {"seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(DEADLINE_S)
    server.server_close()


def sink_at(url: str, **settings: object) -> Sink:
    [made] = sinks_of([{"name": "s", "kind": "webhook", "url": url, **settings}])
    return made


def test_a_post_goes_to_the_address_with_its_token(hook: tuple[type[Hook], str], tmp_path: Path) -> None:
    handler, url = hook
    (tmp_path / "token").write_text("s3cret\n")
    wanted = Post("/api/v2/alerts", "application/json", b"[]")
    post(sink_at(f"{url}/alerts/?team=a", token_file=str(tmp_path / "token")), wanted)
    post(sink_at(url), Post("", "text/plain", b"hi"))
    assert handler.seen == [("/alerts/api/v2/alerts?team=a", "Bearer s3cret", b"[]"), ("/", None, b"hi")]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Refused),
        (422, Refused),
        (404, NotTaken),
        (410, NotTaken),
        (401, NotTaken),
        (403, NotTaken),
        (407, NotTaken),
        (429, NotTaken),
        (500, NotTaken),
        (302, NotTaken),
    ],
)
def test_what_the_answer_says_decides_whether_it_comes_again(
    hook: tuple[type[Hook], str], status: int, error: type[Exception]
) -> None:
    handler, url = hook
    handler.status = status
    with pytest.raises(error, match=rf"127.0.0.1 answers {status} .*: no such template$"):
        post(sink_at(url), Post("", "text/plain", b"hi"))


def test_who_is_not_there_or_whose_address_is_missing_is_asked_later(tmp_path: Path) -> None:
    with pytest.raises(NotTaken, match="does not take it"):
        post(sink_at("http://127.0.0.1:1"), Post("", "text/plain", b""))
    [secret] = sinks_of([{"name": "s", "kind": "slack", "url_file": str(tmp_path / "url")}])
    with pytest.raises(NotTaken, match=r"url_file .* can't be read: No such file"):
        post(secret, Post("", "text/plain", b""))
    (tmp_path / "url").write_text("ftp://s3cret")
    with pytest.raises(NotTaken, match="is no address") as refused:
        post(secret, Post("", "text/plain", b""))
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("content", ["s3cret\nsecond", "s3cr\u00e9t", "\n"])
def test_a_token_that_is_no_line_is_not_told(hook: tuple[type[Hook], str], tmp_path: Path, content: str) -> None:
    handler, url = hook
    (tmp_path / "token").write_text(content)
    with pytest.raises(NotTaken) as refused:
        post(sink_at(url, token_file=str(tmp_path / "token")), Post("", "text/plain", b"hi"))
    assert str(refused.value) == f"token_file {tmp_path}/token holds no token: give one line"
    assert handler.seen == []
