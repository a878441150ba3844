"""Findings outlive the leader that saw them: real members, of which the leader is killed while a broker is dead."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local import federation
from deploy.local.federation import Federation
from deploy.local.processes import kill
from guardian.client import GuardianClient
from guardian.errors import Unavailable
from protos.guardian.v1 import insight_pb2 as pb
from tests.patience import CALL_S, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    home: Path = tmp_path_factory.mktemp("findings")
    try:
        yield federation.up(members=3, clusters=1, brokers=3, workload=False, home=home)
    finally:
        federation.wipe(home)


def down(report: pb.FindingsReport) -> list[pb.Finding]:
    return [finding for finding in report.findings if finding.kind == pb.BROKER_DOWN]


def has_looked(report: pb.FindingsReport) -> bool:
    return all(look.looked_at_ms for look in report.looks if look.detector in ("brokers", "replicas", "durability"))


def test_no_answer_lacks_what_is_known_while_another_member_begins_to_lead(local: Federation, guardian: Cli) -> None:
    local.clusters[0].kafka.kill_broker(3)
    with GuardianClient(local.endpoints, timeout_s=CALL_S) as client:
        before = wait_for(
            "that the dead broker is found", lambda: down(client.findings()) or None, despite=(Unavailable,)
        )[0]
        term = client.findings().leads_since_ms
        leader = next(member for member in local.members if member.grpc == client.raft_status().leader_endpoint)
        assert leader.process is not None
        kill(leader.process)
        answers: list[pb.FindingsReport] = []

        def asked() -> bool:
            answers.append(client.findings())
            return answers[-1].leads_since_ms != term and has_looked(answers[-1])

        wait_for("that the next leader has looked everywhere", asked, despite=(Unavailable,))
        assert {each.since_ms for report in answers for each in down(report)} == {before.since_ms}
        assert all(down(report) for report in answers)
    assert guardian(local, "findings", "--fail").returncode == 1
