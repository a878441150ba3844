"""Flipped bytes in the files of real members: the damaged one hands over, says why and ends with a code of its own;
the others serve all that was acknowledged, and show the reason as a finding."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from protos.guardian.v1 import insight_pb2, insight_pb2_grpc
from tests.integration.faults import probes
from tests.integration.faults.damage import flip, tables
from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.progress import tell
from tests.patience import CALL_S, wait_for

pytestmark = pytest.mark.integration

_DAMAGED = 65
_OFTEN = {"disk": {"verify_h": 0.001, "reserve_mb": 1}}
_STORE = "store/gen-1"

AT_REST: dict[str, Callable[[Path], Path]] = {
    "a table": lambda data: tables(data)[0],
    "the manifest": lambda data: next((data / _STORE).glob("MANIFEST-*")),
    "RocksDB's CURRENT": lambda data: data / _STORE / "CURRENT",
    "the store's CURRENT": lambda data: data / "store" / "CURRENT",
    "the log": lambda data: max((data / "raft").glob("log-*")),
    "the vote": lambda data: data / "raft" / "vote.json",
}


def stop_reason(group: Group, leader: str, name: str) -> str:
    """What the leader's finding says of a member that stopped; empty while there is none."""
    request = insight_pb2.ListFindingsRequest()
    try:
        report = insight_pb2_grpc.InsightStub(group.channel(leader)).ListFindings(request, timeout=CALL_S)
    except grpc.RpcError:
        return ""
    of_it = (each for each in report.findings if each.subject == f"member {name}")
    return next((each.evidence for each in of_it if each.kind == insight_pb2.MEMBER_STOPPED), "")


def last_words(group: Group, by: str, name: str) -> str:
    """Why `name` stopped, as the member `by` heard it; empty when it did not, or is back."""
    status = group.status(by, timeout_s=10.0)
    return next((each.stop_reason for each in status.members if each.name == name), "") if status else ""


def require_finding(group: Group, name: str) -> str:
    others = [other for other in group.names if other != name]
    found: list[str] = []

    def is_found() -> bool:
        found[:] = [stop_reason(group, group.leader(others), name)]
        return bool(found[0])

    wait_for(f"a finding says why {name} stopped", is_found)
    return found[0]


def test_a_running_leader_whose_tables_are_damaged_hands_over_and_ends(make: Callable[..., Group]) -> None:
    group = make(_OFTEN)
    group.start()
    group.wait_serving()
    leader = group.leader()
    others = group.followers()
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=10) as load:
        load.wait_more(500)
        wait_for("a table is on the disk", lambda: bool(tables(group.data(leader))))
        flipped: set[Path] = set()

        def has_ended() -> bool:
            """A compaction that had read a table already replaces it, damage and all: then the new one is damaged."""
            fresh = set(tables(group.data(leader))) - flipped
            for each in fresh:
                with contextlib.suppress(FileNotFoundError):  # replaced just now
                    flip(each)
            flipped.update(fresh)
            return not group.is_running(leader)

        wait_for("the damaged leader ends", has_ended)
        assert group.wait_exit(leader) == _DAMAGED, group.log(leader)
        load.wait_more(500)
        evidence = require_finding(group, leader)
        assert f"member {leader} stopped: " in evidence
        assert "checksum mismatch" in evidence
        group.leader(others)
    for name in others:
        load.require_all(group.channel(name))


@pytest.mark.long
def test_damage_in_each_kind_of_file_at_rest_is_found_told_and_never_served(make: Callable[..., Group]) -> None:
    group = make(_OFTEN)
    group.start()
    group.wait_serving()
    damaged = group.followers()[0]
    others = [name for name in group.names if name != damaged]
    for number in range(50):
        probes.put(group.channel(others[0]), f"r{number}", "x" * 200)
    wait_for("a table is on the disk", lambda: bool(tables(group.data(damaged))))
    for what, of in AT_REST.items():
        group.stop([damaged])
        path = of(group.data(damaged))
        flip(path)
        group.start([damaged])
        served: set[str | None] = set()

        def has_ended(served: set[str | None] = served) -> bool:
            with contextlib.suppress(grpc.RpcError):
                served.add(probes.get(group.channel(damaged), "r7", 1.0))
            return not group.is_running(damaged)

        wait_for(f"the member with damage in {what} ends", has_ended)
        assert group.wait_exit(damaged) == _DAMAGED, f"{what}: {group.log(damaged)}"
        assert served <= {"x" * 200}, what
        for other in others:
            wait_for(f"{other} knows the reason", lambda other=other: bool(last_words(group, other, damaged)))  # type: ignore[misc]
            assert path.relative_to(group.data(damaged)).parts[0] in last_words(group, other, damaged), what
        wait_for("the others go on", lambda: probes.refusal_of_put(group.channel(others[0]), "r", what) is None)  # noqa: B023
        flip(path)
        group.start([damaged])
        group.wait_serving([damaged])
        assert probes.get(group.channel(damaged), "r", 30.0) == what
        assert not last_words(group, others[0], damaged)
        tell(f"{what}: {path.name}")
    group.require_identical()
