"""A group of real `guardian server` processes, each in its own network namespace, that a test may break and mend."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import grpc

from protos.guardian.v1 import federation_pb2, federation_pb2_grpc, raft_pb2, raft_pb2_grpc
from tests.integration.faults.digest import Content, content_of
from tests.integration.faults.judge import ROOT
from tests.integration.faults.network import Network
from tests.patience import PATIENCE_S, wait_for

NAMES = ("g1", "g2", "g3")
GRPC_PORT, HTTP_PORT, RAFT_PORT = 9750, 9751, 9752
_SERVER = ("-m", "guardian.cli.main", "server")
_CHANNEL_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 3000),  # that long one attempt may take, on a machine that is busy
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", 64 << 20),
]


class Group:
    """A context manager: what it started ends with it. `settings` are lines of every member's TOML, by section
    ("" for the top); `names` are the members where others share the network."""

    def __init__(
        self,
        home: Path,
        network: Network,
        settings: Mapping[str, Mapping[str, object]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.home = home
        self.network = network
        self.names = tuple(names or network.names)
        self._settings = settings or {}
        self._environments: dict[str, Mapping[str, str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._channels = {
            name: grpc.insecure_channel(self.endpoint(name), options=_CHANNEL_OPTIONS) for name in self.names
        }

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels.values():
            channel.close()
        self.kill(self.names)

    def endpoint(self, name: str) -> str:
        return f"{self.network.address(name)}:{GRPC_PORT}"

    @property
    def endpoints(self) -> list[str]:
        return [self.endpoint(name) for name in self.names]

    def channel(self, name: str) -> grpc.Channel:
        return self._channels[name]

    def data(self, name: str) -> Path:
        return self.home / name / "data"

    def set_environment(self, name: str, environment: Mapping[str, str]) -> None:
        """What a member is started with from now on, besides this process's environment."""
        self._environments[name] = environment

    def start(self, names: Iterable[str] | None = None) -> None:
        """Starts members that do not run; they may not serve yet."""
        for name in self.names if names is None else names:
            if not self.is_running(name):
                self._start(name)

    def kill(self, names: Iterable[str]) -> None:
        """SIGKILL to all of them at once, and waits for their ends."""
        self._signal(names, signal.SIGKILL)

    def stop(self, names: Iterable[str]) -> None:
        """SIGTERM, and waits. Raises AssertionError when one does not end by itself."""
        self._signal(names, signal.SIGTERM)

    def is_running(self, name: str) -> bool:
        process = self._processes.get(name)
        return process is not None and process.poll() is None

    def wait_exit(self, name: str) -> int:
        """The exit code of a member that is to end by itself."""
        try:
            return self._processes[name].wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} still runs after {PATIENCE_S:g} s; it says:\n{self.log(name)}") from None

    def log(self, name: str, lines: int = 30) -> str:
        path = self.home / name / "log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def wait_serving(self, names: Iterable[str] | None = None) -> None:
        """Returns once each of them answers a linearizable read."""
        for name in self.names if names is None else names:
            try:
                wait_for(f"{name} serves", lambda name=name: self._serves(name))  # type: ignore[misc]
            except AssertionError as error:
                raise AssertionError(f"{error}; it says:\n{self.log(name)}") from None

    def status(self, name: str, timeout_s: float = 2.0) -> raft_pb2.RaftStatus | None:
        """None when it does not answer."""
        stub = raft_pb2_grpc.RaftStub(self.channel(name))
        try:
            return stub.GetRaftStatus(raft_pb2.GetRaftStatusRequest(), timeout=timeout_s)
        except grpc.RpcError:
            return None

    def leader(self, among: Sequence[str] | None = None) -> str:
        """The one that says it leads, in the highest term, of those asked."""
        leaders: list[tuple[int, str]] = []

        def is_found() -> bool:
            statuses = [self.status(name) for name in (among or self.names)]
            leaders[:] = [(status.term, status.name) for status in statuses if status and status.state == "leader"]
            return bool(leaders)

        wait_for(f"one of {among or self.names} leads", is_found)
        return max(leaders)[1]

    def followers(self) -> list[str]:
        leader = self.leader()
        return [name for name in self.names if name != leader]

    def wait_equal(self) -> None:
        """Returns once all members have applied the same, and all that is in their logs."""

        def is_equal() -> bool:
            statuses = [self.status(name) for name in self.names]
            indexes = {(s.applied_index, s.last_index) if s else None for s in statuses}
            return len(indexes) == 1 and None not in indexes

        wait_for("all members have applied the same", is_equal)

    def contents(self) -> list[Content]:
        """What each member has stored, at one index of all: the members are stopped for it.

        Raises AssertionError when they do not come to the same index.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.start()
            self.wait_serving()
            self.wait_equal()
            self.stop(self.names)
            contents = [content_of(self.data(name) / "store") for name in self.names]
            # A leader proposes something of its own now and then: it may have come between.
            if len({content.applied_index for content in contents}) == 1:
                return contents
            if time.monotonic() > deadline:
                raise AssertionError(f"the members do not come to the same index: {contents}")

    def require_identical(self) -> None:
        contents = self.contents()
        assert len(set(contents)) == 1, f"the members' stores differ: {dict(zip(self.names, contents, strict=True))}"

    def _start(self, name: str) -> None:
        home = self.home / name
        self.data(name).mkdir(parents=True, exist_ok=True)
        (home / "guardian.toml").write_text(self._config(name))
        command = [sys.executable, *_SERVER, "--config", str(home / "guardian.toml")]
        environment = {**os.environ, **self._environments.get(name, {}), "PYTHONPATH": str(ROOT)}
        with (home / "log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self.network.command(name, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=home,
            )

    def _config(self, name: str) -> str:
        address = self.network.address(name)
        peers = {other: f"{self.network.address(other)}:{RAFT_PORT}" for other in self.names if other != name}
        top = {
            "name": name,
            "data": str(self.data(name)),
            "grpc": f"{address}:{GRPC_PORT}",
            "http": f"{address}:{HTTP_PORT}",
            "raft": f"{address}:{RAFT_PORT}",
            "lake": f"file://{self.home}/lake",
            "allow_plaintext": True,
        }
        sections: dict[str, Mapping[str, object]] = {"peers": peers, "disk": {"reserve_mb": 1}}
        for section, values in self._settings.items():
            if section:
                sections[section] = {**sections.get(section, {}), **values}
        lines = [f"{key} = {_toml(value)}" for key, value in {**top, **self._settings.get("", {})}.items()]
        for section, values in sections.items():
            lines += ["", f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
        return "\n".join(lines) + "\n"

    def _serves(self, name: str) -> bool:
        if not self.is_running(name):
            raise AssertionError(f"{name} does not run; it says last:\n{self.log(name)}")
        stub = federation_pb2_grpc.FederationStub(self.channel(name))
        request = federation_pb2.ListFederationRequest(table=federation_pb2.TENANTS, page_size=1)
        try:
            stub.ListFederation(request, timeout=10.0)
        except grpc.RpcError:
            return False
        return True

    def _signal(self, names: Iterable[str], signal_number: int) -> None:
        processes = {name: self._processes[name] for name in names if self.is_running(name)}
        for process in processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal_number)
        for name, process in processes.items():
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise AssertionError(
                    f"{name} still runs {PATIENCE_S:g} s after signal {signal_number}; it says:\n{self.log(name)}"
                ) from None


def make_group(
    stack: contextlib.ExitStack,
    home: Path,
    names: Sequence[str] = NAMES,
    settings: Mapping[str, Mapping[str, object]] | None = None,
) -> Group:
    """A group in namespaces, nothing started yet; its end is registered with `stack`."""
    network = stack.enter_context(Network(names))
    return stack.enter_context(Group(home, network, settings))


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else f'"{value}"'
