"""Over a slow line commands take longer, and work: more than a second each way, and few bytes a second."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.cli.options import Connection, use
from guardian.client import GuardianClient
from tests.command_line import app
from tests.unit.member.member import Member, plan

ONE_WAY_S = 1.2
BYTES_PER_S = 20_000
TIMEOUT = "120s"


class SlowLine:
    """A TCP proxy that holds back what it forwards. `endpoint` is where to connect."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self.endpoint = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                self._forward(near, far)
                self._forward(far, near)

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def take() -> None:
            free_at = time.monotonic()
            with suppress(OSError):
                while piece := source.recv(4096):
                    free_at = max(free_at, time.monotonic()) + len(piece) / BYTES_PER_S
                    held.put((free_at + ONE_WAY_S, piece))
            held.put((time.monotonic() + ONE_WAY_S, b""))

        def give() -> None:
            with suppress(OSError):
                while True:
                    at, piece = held.get()
                    time.sleep(max(0.0, at - time.monotonic()))
                    if not piece:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(piece)

        for run in (take, give):
            threading.Thread(target=run, daemon=True).start()


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def line(member: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowLine]:
    """Commands are told only of the address behind the line."""
    monkeypatch.setenv("GUARDIAN_CONFIG", str(tmp_path / "config.yaml"))
    line = SlowLine(member.endpoint)
    monkeypatch.setenv("GUARDIAN_ENDPOINTS", line.endpoint)
    monkeypatch.setenv("GUARDIAN_TIMEOUT", TIMEOUT)
    yield line
    line.stop()
    use(Connection())


@pytest.mark.slow
def test_reads_and_changes_work_over_a_slow_line(member: Member, line: SlowLine) -> None:
    with GuardianClient([member.endpoint]) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)
    began = time.monotonic()
    listed = CliRunner().invoke(app, ["ticket", "list", "-o", "json"], catch_exceptions=False)
    assert [each["id"] for each in json.loads(listed.stdout)] == [ticket.id]
    assert time.monotonic() - began > 2 * ONE_WAY_S, "the line is not slow"
    cancelled = CliRunner().invoke(app, ["ticket", "cancel", ticket.id, "-o", "json"], catch_exceptions=False)
    assert json.loads(cancelled.stdout)["state"] == "REJECTED"
