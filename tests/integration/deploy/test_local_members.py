"""`guardian local` with a group of members and no cluster: no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deploy.local import federation, processes
from deploy.local.federation import Federation
from deploy.local.members import is_ready
from guardian.client import GuardianClient
from protos.guardian.v1 import federation_pb2
from tests.patience import CALL_S, wait_for

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("members")
    yield home
    federation.wipe(home)


@pytest.fixture
def local(home: Path) -> Federation:
    return federation.up(members=3, clusters=0, home=home)


def test_up_returns_when_every_member_is_ready_in_one_group(local: Federation) -> None:
    assert all(is_ready(member) for member in local.members)
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:

        def alike() -> list[federation_pb2.Member] | None:
            views = [client.member_at(endpoint, timeout_s=CALL_S) for endpoint in local.endpoints]
            return views if len({view.leader for view in views}) == 1 and views[0].leader else None

        views = wait_for("all name the same leader", alike)  # an election makes them differ for a moment
    assert [view.name for view in views] == ["g1", "g2", "g3"]
    assert federation.status(local.home)["clusters"] == []


def test_a_killed_member_shows_and_up_starts_only_that_one(local: Federation) -> None:
    before = [member.pid for member in local.members]
    victim = local.members[1].process
    assert victim is not None
    processes.kill(victim)
    assert [member["pid"] for member in federation.status(local.home)["members"]] == [before[0], None, before[2]]
    again = federation.up(members=3, clusters=0, home=local.home)
    after = [member.pid for member in again.members]
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] not in (None, before[1])
    assert [member.grpc for member in again.members] == [member.grpc for member in local.members]


def test_down_ends_the_group_and_up_brings_it_back_on_its_data(local: Federation) -> None:
    pids = [process.pid for process in local.running()]
    assert len(pids) == 3
    assert federation.down(local.home) == 3
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert [member["pid"] for member in federation.status(local.home)["members"]] == [None, None, None]
    again = federation.up(members=3, clusters=0, home=local.home)
    assert [member.data for member in again.members] == [member.data for member in local.members]
    assert all(is_ready(member) for member in again.members)
