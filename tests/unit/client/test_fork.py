"""A process that speaks gRPC can start others by fork, as PySpark does with its JVM."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from guardian.client import GuardianClient
from tests.unit.member.member import Member

CHILDREN = 200


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.mark.slow
def test_a_child_that_is_forked_while_grpc_runs_lives_to_execute_its_program(member: Member) -> None:
    """With gRPC's own handlers for a fork about one in twenty is aborted."""
    with GuardianClient([member.endpoint], timeout_s=30) as client:
        for _ in range(CHILDREN):
            client.list_clusters()
            # With a preexec_fn Python forks, as PySpark makes it; else it would use vfork.
            child = subprocess.run(
                ["true"],
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
                check=False,
            )
            assert child.returncode == 0
