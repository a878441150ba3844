"""What Prometheus is told of a member's Raft state."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from guardian.server.metrics import raft_metrics, tiering_metrics
from guardian.server.totals import Totals
from guardian.tiering.counting import TieringCounters
from protos.guardian.v1 import tiering_pb2 as pb
from raft.configuration import Role
from raft.protocol import MemberStatus, ReplicaStatus

STATUS = ReplicaStatus(
    name="g1",
    leader="g1",
    term=4,
    applied_index=90,
    live_members=("g1", "g2"),
    first_index=10,
    last_index=100,
    commit_index=95,
    staleness_s=0.25,
    members=(
        MemberStatus("g1", "h1:1", Role.VOTER, is_connected=False, match_index=100),
        MemberStatus("g2", "h2:1", Role.VOTER, is_connected=True, match_index=95),
        MemberStatus("g3", "h3:1", Role.LEARNER, is_connected=False, match_index=None),
    ),
    disk_free_bytes=1000,
    disk_reserve_bytes=100,
    is_refusing_writes=True,
    counters={"refused_garbage": 2, "elections": 3, "proposals_waiting": 7},
)


def lines(status: ReplicaStatus) -> list[str]:
    return text(lambda: raft_metrics(status))


def text(metrics: Callable[[], Iterable[Metric]]) -> list[str]:
    class Collector:
        def collect(self) -> list[Metric]:
            return list(metrics())

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry).decode().splitlines()


class Stream:
    followed, waiting = 5, 2


def test_tiering_is_measured() -> None:
    counters = TieringCounters(append_streams=3)
    counters.followers |= {Stream(), Stream()}
    counters.refused_appends[pb.INVALID_TRANSITION] += 4
    granted, refused = pb.Claim(fencing_token=1), pb.Claim(error="no", error_kind=pb.NOT_VERIFIED)
    counters.count_claims([granted, refused, granted])
    measured = text(lambda: tiering_metrics(counters, Totals(7, 60, 5000, 2, 99), 12.5))
    assert {line for line in measured if not line.startswith("#")} == {
        "guardian_tiering_partitions 7.0",
        "guardian_tiering_live_segments 60.0",
        "guardian_tiering_live_bytes 5000.0",
        "guardian_tiering_swept_segments_total 2.0",
        "guardian_tiering_swept_bytes_total 99.0",
        "guardian_tiering_totals_age_seconds 12.5",
        'guardian_tiering_refused_appends_total{kind="FENCED_LEADER_EPOCH"} 0.0',
        'guardian_tiering_refused_appends_total{kind="INVALID_TRANSITION"} 4.0',
        'guardian_tiering_claims_total{result="GRANTED"} 2.0',
        'guardian_tiering_claims_total{result="NOT_VERIFIED"} 1.0',
        "guardian_tiering_append_streams 3.0",
        "guardian_tiering_followers 2.0",
        "guardian_tiering_followed_partitions 10.0",
        "guardian_tiering_unsent_partitions 4.0",
    }


def test_everything_that_a_member_knows_of_the_group_is_measured() -> None:
    assert {line for line in lines(STATUS) if not line.startswith("#")} == {
        "guardian_raft_term 4.0",
        "guardian_raft_first_index 10.0",
        "guardian_raft_last_index 100.0",
        "guardian_raft_commit_index 95.0",
        "guardian_raft_applied_index 90.0",
        "guardian_raft_is_leader 1.0",
        "guardian_raft_has_leader 1.0",
        "guardian_raft_live_members 2.0",
        "guardian_raft_staleness_seconds 0.25",
        "guardian_disk_free_bytes 1000.0",
        "guardian_disk_reserve_bytes 100.0",
        "guardian_raft_refuses_writes 1.0",
        'guardian_raft_member_connected{member="g1"} 1.0',
        'guardian_raft_member_connected{member="g2"} 1.0',
        'guardian_raft_member_connected{member="g3"} 0.0',
        'guardian_raft_member_voter{member="g1"} 1.0',
        'guardian_raft_member_voter{member="g2"} 1.0',
        'guardian_raft_member_voter{member="g3"} 0.0',
        'guardian_raft_member_lag{member="g1"} 0.0',
        'guardian_raft_member_lag{member="g2"} 5.0',
        "guardian_raft_proposals_waiting 7.0",
        'guardian_raft_refused_total{reason="garbage"} 2.0',
        'guardian_raft_events_total{event="elections"} 3.0',
    }


def test_an_unknown_staleness_is_not_told_as_zero() -> None:
    status = ReplicaStatus("g2", None, 1, 0, ("g2",))
    assert not [line for line in lines(status) if line.startswith("guardian_raft_staleness_seconds ")]
    assert "guardian_raft_has_leader 0.0" in lines(status)
