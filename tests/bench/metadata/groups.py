"""The two groups of three members: their processes, and who leads.

Both on loopback, on ports of their own, with their data below one directory, that is on the same disk. Every member
ends when the benchmark does, even when that is killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import grpc
import psutil

from deploy.local import members, ports, processes
from deploy.local.processes import LocalProcess
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from tests.bench.metadata.driver import REPOSITORY
from tests.bench.report import BenchFailed

MEMBERS = 3
_START_S = 120.0
_CATCH_UP_S = 120.0
# The kernel ends the member when the benchmark is gone.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class Group(Protocol):
    """Three members, known by number."""

    store: str
    endpoints: list[str]
    running: dict[int, LocalProcess]
    """Those that were started last."""

    def start(self, member: int) -> None: ...
    def leader(self) -> int | None:
        """The member whom the others call the leader; None: nobody, or they don't agree."""

    def applied(self, member: int) -> int | None:
        """The log index up to which the member has applied; None: it does not answer."""


def start_all(group: Group) -> None:
    """Raises BenchFailed when the group has no leader in time."""
    for member in range(MEMBERS):
        group.start(member)
    wait_leader(group)


def wait_leader(group: Group, without: int | None = None) -> int:
    """Who leads; waits until that is clear. `without` is a member that is known not to run."""
    found: list[int] = []

    def has_leader() -> bool:
        leader = group.leader()
        found[:] = [] if leader in (None, without) else [leader]
        return bool(found)

    _wait(group, has_leader, _START_S, "has no leader", without)
    return found[0]


def wait_caught_up(group: Group, member: int) -> None:
    """Until the member has applied all that the leader had applied when this was called."""
    _wait(group, lambda: group.applied(wait_leader(group)) is not None, _CATCH_UP_S, "has no leader that answers")
    target = group.applied(wait_leader(group)) or 0
    _wait(group, lambda: (group.applied(member) or -1) >= target, _CATCH_UP_S, f"member {member} has not caught up")


def stop_all(group: Group) -> None:
    processes.stop_all(group.running.values(), deadline_s=10.0)


def cpu_seconds(group: Group) -> float:
    """CPU time of all members since they started."""
    times = [psutil.Process(group.running[member].pid).cpu_times() for member in range(MEMBERS)]
    return sum(time.user + time.system for time in times)


def largest_rss_mb(group: Group) -> float:
    return max(_rss_bytes(group.running[member].pid) for member in range(MEMBERS)) / 1e6


def _rss_bytes(pid: int) -> int:
    """With the processes that the member started, which serve for it."""
    process = psutil.Process(pid)
    return sum(part.memory_info().rss for part in (process, *process.children(recursive=True)))


def _wait(
    group: Group, is_done: Callable[[], bool], deadline_s: float, complaint: str, without: int | None = None
) -> None:
    deadline = time.monotonic() + deadline_s
    while not is_done():
        for member in range(MEMBERS):
            if member != without and not processes.is_alive(group.running[member]):
                raise BenchFailed(
                    f"{group.store}: member {member} has ended; its log says last:\n{_tail(group, member)}"
                )
        if time.monotonic() > deadline:
            raise BenchFailed(f"{group.store} {complaint} after {deadline_s:.0f} s; member 0 says:\n{_tail(group, 0)}")
        time.sleep(0.02)


def _tail(group: Group, member: int) -> str:
    return processes.last_lines(group.running[member])


class GuardianGroup:
    """Three `guardian server` processes of this checkout."""

    store = "guardian"

    def __init__(self, home: Path) -> None:
        self._home = home / "guardian"
        self._members = members.plan_members(MEMBERS, self._home)
        self.running: dict[int, LocalProcess] = {}
        self.endpoints = [member.grpc for member in self._members]
        self._channels = [grpc.insecure_channel(endpoint, options=_QUICK_TO_RECONNECT) for endpoint in self.endpoints]

    def start(self, member: int) -> None:
        own = self._members[member]
        own.data.mkdir(parents=True, exist_ok=True)
        lake = self._home / "lake"
        lake.mkdir(parents=True, exist_ok=True)
        own.config.write_text(members.render_config(own, self._members, lake))
        command = [*_WITH_US, sys.executable, "-m", "guardian.cli.main", "server", "--config", str(own.config)]
        self.running[member] = processes.spawn(command, self._home / f"{own.name}.log", cwd=REPOSITORY)

    def leader(self) -> int | None:
        said = {view.leader for view in map(self._view, range(MEMBERS)) if view}
        names = [member.name for member in self._members]
        return names.index(said.pop()) if len(said) == 1 and said <= set(names) else None

    def applied(self, member: int) -> int | None:
        view = self._view(member)
        return None if view is None else view.applied_index

    def channel(self, member: int) -> grpc.Channel:
        return self._channels[member]

    def is_serving(self, member: int) -> bool:
        """Whether it answers linearizable reads."""
        return members.is_ready(self._members[member])

    def _view(self, member: int) -> federation_pb2.Member | None:
        stub = federation_pb2_grpc.FederationStub(self._channels[member])
        try:
            return stub.GetMember(federation_pb2.GetMemberRequest(), timeout=1.0)
        except grpc.RpcError:
            return None


_QUICK_TO_RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.enable_http_proxy", 0),
]


class EtcdGroup:
    """Three etcd servers: their defaults, but for the limit on operations in a transaction and the quota on space."""

    store = "etcd"

    def __init__(self, home: Path, binary: Path) -> None:
        self._home = home / "etcd"
        self._home.mkdir(parents=True, exist_ok=True)
        self._binary = binary
        self.endpoints = [f"{ports.HOST}:{port}" for port in ports.pick(MEMBERS)]
        self._peers = [f"http://{ports.HOST}:{port}" for port in ports.pick(MEMBERS)]
        self.running: dict[int, LocalProcess] = {}

    def start(self, member: int) -> None:
        client, peer = f"http://{self.endpoints[member]}", self._peers[member]
        options = {
            "name": f"e{member}",
            "data-dir": str(self._home / f"e{member}"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": ",".join(f"e{number}={url}" for number, url in enumerate(self._peers)),
            "max-txn-ops": "10000",
            "quota-backend-bytes": str(8 << 30),
            "logger": "zap",
            "log-level": "error",
        }
        command = [*_WITH_US, str(self._binary), *(f"--{name}={value}" for name, value in options.items())]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        self.running[member] = processes.spawn(command, self._home / f"e{member}.log", env=environment)

    def leader(self) -> int | None:
        views = [self._status(member) for member in range(MEMBERS)]
        leaders = {view.get("leader", "0") for view in views if view}
        if len(leaders) != 1:
            return None
        leader = leaders.pop()
        ids = [view["header"]["member_id"] if view else "" for view in views]
        return ids.index(leader) if leader in ids else None

    def applied(self, member: int) -> int | None:
        status = self._status(member)
        return int(status["raftAppliedIndex"]) if status and "raftAppliedIndex" in status else None

    def version(self) -> str:
        status = self._status(0)
        return str(status["version"]) if status else "?"

    def _status(self, member: int) -> dict[str, Any] | None:
        request = urllib.request.Request(f"http://{self.endpoints[member]}/v3/maintenance/status", data=b"{}")
        try:
            with urllib.request.urlopen(request, timeout=1.0) as answer:  # noqa: S310  # our own process
                status: dict[str, Any] = json.load(answer)
        except OSError:
            return None
        return status
