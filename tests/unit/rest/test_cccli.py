"""Cruise Control's own client, cccli, unchanged, signs in where security is on: a token in its address, or in netrc."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import ports
from guardian.serving.http import HttpServer
from tests.unit.member.guarded_web import GuardedWeb

pytestmark = pytest.mark.slow

TIMEOUT_S = 60


class Served:
    """A guarded member's HTTP port, and cccli on the way to it."""

    def __init__(self, folder: Path) -> None:
        self.web = GuardedWeb(folder)
        self.endpoint = f"{ports.HOST}:{ports.pick(1)[0]}"
        self.netrc = folder / "netrc"
        self._http = HttpServer(self.endpoint, self.web.app)
        self._http.start()

    def close(self) -> None:
        self._http.stop()
        self.web.close()

    def cccli(self, user: str, *arguments: str) -> str:
        """What it prints: the answer, whatever the status is. `user` as before the @ of an address."""
        address = f"{user}@{self.endpoint}" if user else self.endpoint
        command = [
            str(Path(sys.executable).parent / "cccli"),
            "-a",
            f"{address}/clusters/live",
            *arguments,
            "--json",
            "true",
        ]
        environment = {**os.environ, "NETRC": str(self.netrc), "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write_netrc(self, user: str, token: str) -> None:
        self.netrc.write_text(f"machine {ports.HOST}\nlogin {user}\npassword {token}\n")
        self.netrc.chmod(0o600)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("cccli"))
    yield served
    served.close()


@pytest.fixture(autouse=True)
def patient(served: Served) -> None:
    """Failures of earlier tests hold nobody up."""
    served.web.guarded.clock += 3600
    served.netrc.unlink(missing_ok=True)


@pytest.mark.parametrize("user", ["vic", ""])
def test_the_token_in_the_address(served: Served, user: str) -> None:
    document = json.loads(served.cccli(f"{user}:{served.web.guarded.token['vic']}", "user_tasks"))
    assert "userTasks" in document


def test_the_token_in_netrc(served: Served) -> None:
    served.write_netrc("vic", served.web.guarded.token["vic"])
    assert "RequestInfo" in json.loads(served.cccli("", "review_board"))


def test_a_change_goes_by_the_role(served: Served) -> None:
    for name, is_done in (("vic", False), ("ann", True)):
        served.write_netrc(name, served.web.guarded.token[name])
        told = served.cccli("", "stop_proposal_execution")
        assert ("message" in told and "errorMessage" not in told) is is_done, told
    route = "POST /clusters/live/kafkacruisecontrol/stop_proposal_execution"
    assert {who for who, what, _ in served.web.guarded.refused() if what == route} == {"vic"}


@pytest.mark.parametrize("netrc", [None, ("vic", "gone"), ("root", "vic"), ("late", "late")])
def test_who_is_not_known_is_refused_and_recorded(served: Served, netrc: tuple[str, str] | None) -> None:
    if netrc is not None:
        served.write_netrc(netrc[0], served.web.guarded.token[netrc[1]])
    before = len(served.web.guarded.refused())
    assert "userTasks" not in served.cccli("", "user_tasks")
    newest = served.web.guarded.refused()
    assert len(newest) > before
    assert newest[0][:2] == ("nobody", "GET /clusters/live/kafkacruisecontrol/user_tasks")
