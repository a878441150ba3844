"""Wall clocks that jump, by hours and both ways, on the leader and on all: nobody loses leadership, a session, or a
write over it, since nothing but what people read depends on them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from protos.guardian.v1 import federation_pb2, federation_pb2_grpc, insight_pb2, insight_pb2_grpc
from tests.integration.faults import probes
from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.judge import LINEARIZABLE, judge
from tests.integration.faults.progress import tell
from tests.integration.faults.recording import Plan, Recording
from tests.integration.faults.shims import JumpingClock
from tests.patience import CALL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

_HOUR_S = 3600.0
_JUMPS_S = (2 * _HOUR_S, -_HOUR_S, 0.0, 30 * 24 * _HOUR_S, 0.0)
_HICCUP_S = 5.0


@pytest.fixture
def clocks(make: Callable[..., Group], tmp_path: Path) -> tuple[Group, dict[str, JumpingClock]]:
    group = make()
    clocks = {name: JumpingClock(tmp_path, name) for name in group.names}
    for name, clock in clocks.items():
        group.set_environment(name, clock.environment)
    group.start()
    group.wait_serving()
    return group, clocks


@pytest.mark.parametrize(
    "whose",
    ["the leader's", pytest.param("a follower's", marks=pytest.mark.soak), pytest.param("all", marks=pytest.mark.soak)],
)
def test_clock_jumps_neither_hold_up_writes_nor_unseat_the_leader(
    clocks: tuple[Group, dict[str, JumpingClock]], whose: str
) -> None:
    group, clock = clocks
    leader = group.leader()
    term = group.status(leader).term  # type: ignore[union-attr]
    jumping = {"the leader's": [leader], "a follower's": group.followers()[:1], "all": list(group.names)}[whose]
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=10) as load:
        load.wait_more(100)
        for jump_s in _JUMPS_S:
            for name in jumping:
                clock[name].set(jump_s)
            load.wait_more(300)
    status = group.status(leader)
    assert status is not None
    assert (status.state, status.term) == ("leader", term)
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()


def test_a_history_under_clock_jumps_is_linearizable(
    clocks: tuple[Group, dict[str, JumpingClock]], tmp_path: Path
) -> None:
    group, clock = clocks
    chooser = random.Random(1)  # noqa: S311  faults, not secrets

    def jump(done: threading.Event) -> None:
        clock[chooser.choice(group.names)].set(chooser.choice(_JUMPS_S))
        done.wait(0.5)

    with Recording("clock-jumps", group.endpoints, tmp_path, Plan(operations=5000, clients=8)) as recording:
        recording.while_running(jump)
        history = recording.finish()
    verdict = judge([history])
    tell(verdict.text)
    assert verdict.code == LINEARIZABLE, verdict.text
    assert history.read_text().count('"unknown"') == 0


@pytest.mark.parametrize(
    "off_s",
    [
        pytest.param(100 * 24 * _HOUR_S, id="100 days ahead"),
        pytest.param(2 * _HOUR_S, id="2 h ahead", marks=pytest.mark.long),
        pytest.param(-2 * _HOUR_S, id="2 h behind", marks=pytest.mark.long),
    ],
)
def test_a_leader_whose_clock_is_off_deletes_nothing_and_is_told_of(
    make: Callable[..., Group], tmp_path: Path, off_s: float
) -> None:
    group = make({"limits": {"audit_days": 1}})
    clocks = {name: JumpingClock(tmp_path, name) for name in group.names}
    for name, clock in clocks.items():
        group.set_environment(name, clock.environment)
    group.start()
    group.wait_serving()
    leader = group.leader()
    probes.put(group.channel(leader), "before", "x")
    clocks[leader].set(off_s)
    probes.put(group.channel(leader), "after", "x")

    def is_told_of() -> bool:
        return any(
            each.kind == insight_pb2.CLOCK_OFF and each.subject == f"member {leader}" for each in findings(group)
        )

    wait_for("a finding says whose clock is off", is_told_of)  # two looks, so housekeeping has looked as well
    for name in group.names:
        subjects = audited(group, name)
        assert {"put tenant before", "put tenant after"} <= set(subjects), f"{name}: {subjects}"
    group.kill([leader])
    group.leader([name for name in group.names if name != leader])


def findings(group: Group) -> list[insight_pb2.Finding]:
    stub = insight_pb2_grpc.InsightStub(group.channel(group.leader()))
    try:
        return list(stub.ListFindings(insight_pb2.ListFindingsRequest(), timeout=CALL_S).findings)
    except grpc.RpcError:
        return []


def audited(group: Group, name: str) -> list[str]:
    """What the audit of changes has, as a member reads it."""
    request = federation_pb2.ListAuditRequest(page_size=1000)
    reply = federation_pb2_grpc.FederationStub(group.channel(name)).ListAudit(request, timeout=PATIENCE_S)
    return [record.subject for record in reply.records]
