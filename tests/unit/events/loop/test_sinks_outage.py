"""Sinks over real HTTP whose receiver fails, hangs, drips and comes back: all arrives, in order, and nobody waits."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import suppress

import pytest

from guardian.events.loop.sinks import EventSinks
from guardian.events.model import Sink, sinks_of
from guardian.replication.store.store import ReplicatedStore
from tests.patience import PATIENCE_S, until
from tests.unit.events.loop.test_sinks import Clock, add_tickets, ids, store

__all__ = ["store"]

HANG = 0


class Receiver(http.server.ThreadingHTTPServer):
    """Answers by its script, then 200 to all. HANG: takes the event and does not answer before `release` is set."""

    daemon_threads = True

    def __init__(self, *script: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = deque(script)
        self.asked: list[int] = []
        self.taken: list[int] = []
        self.hangs = threading.Event()
        self.release = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Who asked has gone: that is what a hang is for."""

    def close(self) -> None:
        self.release.set()
        self.shutdown()
        self._thread.join(PATIENCE_S)
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        number = int(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["id"])
        self.server.asked.append(number)
        status = self.server.script.popleft() if self.server.script else 200
        if status in (HANG, 200):
            self.server.taken.append(number)
        if status == HANG:
            self.server.hangs.set()
            self.server.release.wait(PATIENCE_S)
        self.send_response(status or 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


Receiving = Callable[..., Receiver]


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    made: list[Receiver] = []

    def make(*script: int) -> Receiver:
        made.append(Receiver(*script))
        return made[-1]

    yield make
    for each in made:
        each.close()


def sinks(timeout_s: float, **urls: str) -> tuple[Sink, ...]:
    return sinks_of(
        "sinks", [{"name": name, "kind": "webhook", "url": url, "timeout_s": timeout_s} for name, url in urls.items()]
    )


def run_until(loop: EventSinks, clock: Clock, holds: Callable[[], bool]) -> list[str]:
    """Ticks, a second of the loop's clock each, which costs no time where nothing is under way."""
    said: list[str] = []

    def tick() -> None:
        said.extend(loop.tick())
        wait([line.work for line in loop._lines if line.work is not None], timeout=0.05)
        clock.s += 1.0

    until(holds, every_s=0, meanwhile=tick, story=lambda: said)
    return said


def is_known(store: ReplicatedStore, *names: str) -> Callable[[], bool]:
    return lambda: all(store.read().event_delivered(name) is not None for name in names)


@pytest.mark.slow
def test_after_an_outage_each_event_is_there_in_order_and_a_repetition_is_of_what_failed(
    store: ReplicatedStore, receiving: Receiving
) -> None:
    receiver, clock = receiving(200, 503, 503, 503, 200, HANG, 503), Clock()
    loop = EventSinks(store, sinks(1.0, a=receiver.url), 1 << 40, lambda: 1000, clock_s=clock)
    run_until(loop, clock, is_known(store, "a"))
    add_tickets(store, "t1", "t2", "t3", "t4", "t5")
    wanted = ids(store)
    said = run_until(loop, clock, lambda: store.read().event_delivered("a") == wanted[-1])
    said += run_until(loop, clock, lambda: loop.errors()["a"] == "")
    loop.close()
    counted = loop.counters()["a"]
    assert list(dict.fromkeys(receiver.taken)) == wanted
    assert receiver.taken == sorted(receiver.taken)
    assert (counted.delivered, counted.passed_over, counted.lost) == (5, 0, 0)
    assert counted.failures >= 5
    # One more attempt for each that failed, and no other.
    assert len(receiver.asked) <= counted.delivered + counted.failures
    assert len(receiver.taken) - len(wanted) <= counted.failures - 4
    assert "sink a gets its events later: 127.0.0.1 answers 503 Service Unavailable" in said
    assert "sink a gets its events later: 127.0.0.1 does not take it (timed out)" in said
    assert said[-1] == "sink a takes its events again"


@pytest.mark.slow
def test_a_sink_that_hangs_holds_up_neither_tickets_nor_metrics_nor_another_sink(
    store: ReplicatedStore, receiving: Receiving
) -> None:
    hung, well, clock = receiving(HANG), receiving(), Clock()
    now_ms = 1000
    loop = EventSinks(store, sinks(60.0, a=hung.url, b=well.url), 1 << 40, lambda: now_ms, clock_s=clock)
    run_until(loop, clock, is_known(store, "a", "b"))
    add_tickets(store, "t1")
    run_until(loop, clock, hung.hangs.is_set)

    add_tickets(store, "t2", "t3")
    now_ms = 61_000
    assert len(ids(store)) == 3
    run_until(loop, clock, lambda: store.read().event_delivered("b") == ids(store)[-1])
    assert well.taken == ids(store)
    assert loop.behind_ms(store.read()) == {"a": 60_000, "b": 0}
    assert hung.asked == ids(store)[:1]

    hung.release.set()
    run_until(loop, clock, lambda: store.read().event_delivered("a") == ids(store)[-1])
    loop.close()
    assert hung.taken == ids(store)
    assert loop.behind_ms(store.read()) == {"a": 0, "b": 0}


def test_closing_does_not_wait_for_a_sink_that_hangs_nor_for_what_waits_behind_it(
    store: ReplicatedStore, receiving: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardian.events.loop.sinks._CLOSE_S", 0.1)
    hung, clock = receiving(HANG), Clock()
    loop = EventSinks(store, sinks(60.0, a=hung.url), 1 << 40, lambda: 1000, clock_s=clock)
    run_until(loop, clock, is_known(store, "a"))
    add_tickets(store, "t1", "t2")
    run_until(loop, clock, hung.hangs.is_set)
    [work] = [line.work for line in loop._lines if line.work is not None]
    loop.close()
    assert not work.done()
    hung.release.set()
    wait([work], PATIENCE_S)
    assert work.done()
    assert hung.asked == ids(store)[:1], "the second one is the next leader's"
    assert store.read().event_delivered("a") == ids(store)[0]


def test_a_sink_that_drips_bytes_fails_in_its_time_and_gets_the_event_again(store: ReplicatedStore) -> None:
    is_over = threading.Event()

    def drip(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    while not is_over.wait(0.02):
                        connection.sendall(b"H")

    clock = Clock()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        loop = EventSinks(store, sinks(0.3, a=url), 1 << 40, lambda: 1000, clock_s=clock)
        run_until(loop, clock, is_known(store, "a"))
        add_tickets(store, "t1")
        run_until(loop, clock, lambda: loop.counters()["a"].failures >= 2)
        loop.close()
        is_over.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)
    assert "timed out" in loop.errors()["a"]
    assert store.read().event_delivered("a") < ids(store)[0]  # type: ignore[operator]
