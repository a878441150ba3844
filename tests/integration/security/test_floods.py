"""A member process whose system allows few open files, and clients that open more connections than that."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from deploy.local.members import Member, plan_members, render_config
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from protos.guardian.v1 import federation_pb2

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

PATIENCE_S = 180.0
OPEN_FILES = 1100
FLOOD = 1500  # of each port: together far more than the process may have open
OTHER = "127.0.0.2"


def until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def command(member: Member, open_files: int) -> list[str]:
    limit = ["prlimit", f"--nofile={open_files}:{open_files}", "--"]
    return [*limit, sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]


def written(home: Path) -> Member:
    (member,) = plan_members(1, home)
    member.data.mkdir(parents=True)
    member.config.write_text(render_config(member, [member], home / "lake"))
    return member


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Member]:
    member = written(tmp_path)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command(member, OPEN_FILES), stdout=log, stderr=subprocess.STDOUT)
    try:
        until("it serves", lambda: probe(member, "/readyz"))
        yield member
        assert process.poll() is None, (tmp_path / "log").read_text()[-3000:]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def probe(member: Member, path: str, address: str = "127.0.0.1") -> bool:
    host, port = member.http.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(address, 0))
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def flood(endpoint: str) -> Iterator[None]:
    host, port = endpoint.rsplit(":", 1)
    with ExitStack() as stack:
        for _ in range(FLOOD):
            with suppress(OSError):
                stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
        yield


def writes(client: GuardianClient, name: str) -> bool:
    tenant = federation_pb2.FederationEntry(tenant=federation_pb2.Tenant(name=name, owner="floods"))
    try:
        client.change_federation([federation_pb2.FederationChange(put=tenant)])
    except GuardianError:
        return False
    return True


def test_more_idle_connections_than_a_member_may_have_files_end_nothing_and_hold_nobody_up(running: Member) -> None:
    with GuardianClient([running.grpc], timeout_s=30.0) as client:
        assert writes(client, "before")
        with flood(running.http), flood(running.grpc), flood(running.raft):
            for address in ("127.0.0.1", OTHER):
                until("probes are answered", lambda address=address: probe(running, "/healthz", address))  # type: ignore[misc]
            until("the store and the journal are written", lambda: writes(client, "meanwhile"))
            with GuardianClient([running.grpc], timeout_s=30.0) as newcomer:
                until("who comes newly is answered", lambda: writes(newcomer, "newcomer"))
        until("it serves", lambda: probe(running, "/readyz"))
        with GuardianClient([running.grpc], timeout_s=30.0) as later:
            until("everything is served again", lambda: writes(later, "later"))


def test_a_member_does_not_start_where_its_files_are_too_few(tmp_path: Path) -> None:
    member = written(tmp_path)
    ended = subprocess.run(command(member, 1000), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode != 0
    assert "(got 1000, at least 1024 are needed); raise the hard limit (LimitNOFILE=" in ended.stdout + ended.stderr
