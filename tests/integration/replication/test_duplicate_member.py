"""Two processes of one member: the younger is refused by all others, says so, and ends. No JVM."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.local import federation, ports
from deploy.local.federation import Federation
from deploy.local.members import Member, render_config
from deploy.local.ports import HOST
from guardian.client import GuardianClient
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("members")
    federation.up(members=3, clusters=0, home=home)
    # Nobody writes to the data while it is copied.
    federation.down(home)
    shutil.copytree(home / "members" / "g1" / "data", home / "copied")
    yield federation.up(members=3, clusters=0, home=home)
    federation.wipe(home)


def seat(client: GuardianClient) -> str:
    """Which process of g1 sits among the collectors; "" for none yet."""
    found = client.collection().seats.get("g1")
    return found.incarnation if found is not None else ""


def sees_all(client: GuardianClient, endpoint: str) -> bool:
    return sorted(client.member_at(endpoint, timeout_s=CALL_S).live_members) == ["g1", "g2", "g3"]


def copy_of(member: Member, data: Path) -> Member:
    """As on a machine that was cloned, or on the same one at other ports."""
    grpc, http, raft = (f"{HOST}:{port}" for port in ports.pick(3))
    return replace(member, data=data, grpc=grpc, http=http, raft=raft, process=None)


def run(member: Member, local: Federation) -> subprocess.CompletedProcess[str]:
    """`guardian server`, until it ends by itself."""
    config = member.data.parent / "copy.toml"
    config.write_text(render_config(member, local.members, local.home / "lake"))
    command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(config)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_a_second_process_of_a_member_ends_with_one_sentence_and_the_first_goes_on(
    local: Federation,
) -> None:
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
        wait_for("the first process collects", lambda: seat(client))
        before = seat(client)
        done = run(copy_of(local.members[0], local.home / "copied"), local)
        assert done.returncode == 2, done.stderr
        told = done.stderr.splitlines()[-1]
        assert told.startswith("Error: name is 'g1', and another process of the name 'g1' is connected to g"), (
            done.stderr
        )
        assert told.endswith(": stop that one, or give this member a name and data of its own")
        # The first has its seat still, and all three are there. Terms say nothing: a slow machine elects as well.
        assert seat(client) == before
        assert all(member.pid is not None for member in local.members)
        wait_for("all three see each other", lambda: all(sees_all(client, endpoint) for endpoint in local.endpoints))
