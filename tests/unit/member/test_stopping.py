"""SIGTERM ends a member, at whatever line it comes and whatever runs: also where it begins to wait for the signal."""

from __future__ import annotations

import linecache
import re
import signal
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from deploy.local import ports
from guardian.member import stopping
from guardian.member.stopping import STOP_S, StopDeadline
from protos.guardian.v1 import federation_pb2, federation_pb2_grpc
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

LINES = 20
CUT_OFF = f"stopping takes too long: the process ends at once .*after_s={STOP_S}"
SIGNALLED = f"""
import signal, sys
from pathlib import Path
from guardian.config import ServerConfig
from guardian.member import app

config = ServerConfig("g1", Path("/nowhere"), "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "/nowhere")

def signalled_at(number):
    def trace(frame, event, _):
        nonlocal number
        number -= event == "line"
        if number == 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGTERM)
        return trace
    return trace

for number in range(1, {LINES}):
    app.start = lambda *_: sys.settrace(signalled_at(number))
    app.collect_rarely = lambda: None
    app._log.info = lambda what, **_: None
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
    signal.setitimer(signal.ITIMER_REAL, 0.05)  # where it has fewer lines
    app.serve(config)
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
print("ended each time")
"""


HELD = """
import sys, threading, time
from pathlib import Path
from guardian.cli.main import main as command
from guardian.federation.service.federation import FederationServicer
from guardian.lake.loop import LakeKeeper
from guardian.member import app, leading
from guardian.member.stopping import StopDeadline

def hold(*_):
    print("held", flush=True)
    time.sleep(3600)

what, config = sys.argv[1], Path(sys.argv[2])
if what == "tick":
    leading._LAKE_KEEPING_S = 0.1
    LakeKeeper.tick = hold
elif what == "call":
    FederationServicer.ListClusters = hold
elif what == "start":
    app._health = hold
elif what == "close":
    app._log.info = lambda said, **_: print("held", flush=True) if said == "serving" else None
    app.collect_rarely = lambda: None
    start = app.start
    def start_with_more(config, stack, fail):
        start(config, stack, fail)
        stack.callback(time.sleep, 3600)
    app.start = start_with_more
sys.argv = ["guardian", "server", "--config", str(config)]
command()
"""


@pytest.fixture
def endpoints(tmp_path: Path) -> list[str]:
    found = [f"{ports.HOST}:{port}" for port in ports.pick(3)]
    names = zip(("grpc", "http", "raft"), found, strict=True)
    lines = [f'{name} = "{endpoint}"' for name, endpoint in names]
    lines += ['name = "g1"', f'data = "{tmp_path / "data"}"', f'lake = "{tmp_path / "lake"}"']
    (tmp_path / "g1.toml").write_text("\n".join(lines))
    return found


def started(what: str, tmp_path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HELD, what, str(tmp_path / "g1.toml")]
    with (tmp_path / "log").open("w") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)


def is_held(member: subprocess.Popen[str]) -> bool:
    assert member.stdout is not None
    return any(line == "held\n" for line in member.stdout)


def ended(member: subprocess.Popen[str]) -> tuple[int, bool]:
    """Send SIGTERM; return the exit code, and whether the deadline ended it. What holds it outlasts the test."""
    member.send_signal(signal.SIGTERM)
    code = member.wait(PATIENCE_S)
    assert member.stdout is not None
    return code, any(re.search(CUT_OFF, line) for line in member.stdout)


@pytest.mark.parametrize("what", ["tick", "start", "close"])
def test_a_signal_ends_a_member_in_time_whatever_is_under_way(what: str, tmp_path: Path, endpoints: list[str]) -> None:
    with started(what, tmp_path) as member:
        try:
            assert is_held(member), (tmp_path / "log").read_text()
            code, is_cut_off = ended(member)
        finally:
            member.kill()
    assert code == 0, (tmp_path / "log").read_text()
    assert is_cut_off or what == "tick", "a tick may be left behind before the deadline"


def test_a_call_that_holds_a_thread_and_an_open_stream_end_with_the_member(
    tmp_path: Path, endpoints: list[str]
) -> None:
    with started("call", tmp_path) as member, grpc.insecure_channel(endpoints[0]) as channel:
        try:
            stub = federation_pb2_grpc.FederationStub(channel)
            health = health_pb2_grpc.HealthStub(channel)
            watched = health.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=PATIENCE_S)
            next(watched)
            call = stub.ListClusters.future(federation_pb2.ListClustersRequest(), timeout=PATIENCE_S)
            assert is_held(member), (tmp_path / "log").read_text()
            code, is_cut_off = ended(member)
            assert call.exception(PATIENCE_S) is not None
        finally:
            member.kill()
    assert (code, is_cut_off) == (0, True), (tmp_path / "log").read_text()


def test_a_member_has_ten_seconds_and_three_more_where_a_thread_keeps_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: SimpleQueue[int] = SimpleQueue()
    waited: list[float] = []
    monkeypatch.setattr(stopping, "time", SimpleNamespace(sleep=waited.append))
    StopDeadline(end=ends.put, end_without_interpreter=waited.append).begin()
    assert ends.get(timeout=PATIENCE_S) == 0
    assert waited == [13.0, 10.0]


def test_what_holds_a_member_is_named_and_a_fault_keeps_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    monkeypatch.setattr(linecache, "checkcache", looked_up.append)  # whoever reads source does that first
    ends: SimpleQueue[int] = SimpleQueue()
    armed: list[float] = []
    deadline = StopDeadline(0.01, ends.put, armed.append)
    with capture_logs() as logs:
        deadline.begin("another process has the name g1")
        deadline.begin()
        assert ends.get(timeout=PATIENCE_S) == 2
    assert armed == [pytest.approx(3.01)]
    assert not looked_up, "no source is read"
    (entry,) = [entry for entry in logs if "busy" in entry]
    assert any(each.startswith("MainThread: ") for each in entry["busy"])


def test_a_signal_at_any_line_ends_the_member() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.returncode) == ("ended each time\n", 0), done.stderr
