"""What Prometheus is told of a member: its Raft state, and what its parts have counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import grpc
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from guardian.activity.store.store import StoreStatus
from guardian.lake.store.writer import LakeStatus
from guardian.member.metrics import (
    activity_metrics,
    call_metrics,
    damage_metrics,
    lake_metrics,
    loop_metrics,
    move_metrics,
    port_metrics,
    progress_metrics,
    raft_metrics,
    refusal_metrics,
    tiering_metrics,
    tls_metrics,
)
from guardian.model.execution import TaskState
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.progress import Progress
from guardian.replication.store.totals import Moves, TicketProgress, Totals
from guardian.security.service.refusals import Why
from guardian.security.service.tls import TlsCounters
from guardian.serving.counting import CallCounters, LoopCounters, Method, PortCounters
from guardian.tiering.service.counting import TieringCounters
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


def samples(metrics: Callable[[], Iterable[Metric]]) -> set[str]:
    return {line for line in text(metrics) if not line.startswith("#")}


def test_what_the_lake_took_and_what_it_did_not_is_measured() -> None:
    status = LakeStatus(30, 500, 4, 9, 2, 1700000000.0, 1700000001.5)
    assert samples(lambda: lake_metrics(status)) == {
        "guardian_lake_waiting_rows 30.0",
        "guardian_lake_written_rows_total 500.0",
        "guardian_lake_written_files_total 4.0",
        "guardian_lake_dropped_rows_total 9.0",
        "guardian_lake_failed_files_total 2.0",
        "guardian_lake_last_write_timestamp_seconds 1.7e+09",
        "guardian_lake_last_failure_timestamp_seconds 1.7000000015e+09",
    }


def test_files_of_the_lake_that_are_set_aside_are_counted() -> None:
    assert samples(lambda: damage_metrics(3)) == {"guardian_lake_damaged_files 3.0"}
    assert samples(lambda: damage_metrics(None)) == set()
    assert [family.name for family in damage_metrics(None)] == ["guardian_lake_damaged_files"]


def test_a_write_that_never_was_is_not_told_as_one_of_1970() -> None:
    assert not [line for line in samples(lambda: lake_metrics(LakeStatus())) if "timestamp" in line]


def test_what_became_of_client_activity_is_measured() -> None:
    status = StoreStatus(True, 1, 2, 3, 4, 5, 6, 7)
    assert samples(lambda: activity_metrics(status)) == {
        "guardian_activity_ready 1.0",
        "guardian_activity_waiting_rows 1.0",
        "guardian_activity_stored_rows_total 2.0",
        'guardian_activity_slices_total{result="stored"} 3.0',
        'guardian_activity_slices_total{result="repeated"} 4.0',
        'guardian_activity_slices_total{result="dropped"} 5.0',
        'guardian_activity_slices_total{result="refused"} 6.0',
        "guardian_activity_failed_inserts_total 7.0",
    }


def test_moves_are_measured_by_state() -> None:
    measured = samples(lambda: move_metrics(Moves({TaskState.RUNNING: 2}, 300)))
    assert 'guardian_moves{state="RUNNING"} 2.0' in measured
    assert 'guardian_moves{state="FAILED"} 0.0' in measured
    assert "guardian_moves_unfinished_bytes 300.0" in measured


def test_calls_are_measured_by_method_and_code() -> None:
    now = [0.0]
    calls = CallCounters(lambda: now[0])
    get, watch = Method.of("/guardian.v1.Tickets/GetTicket"), Method.of("/guardian.v1.Tickets/WatchTicket")
    with calls.one(get, is_unary=True, context=None):
        now[0] = 0.02
    with calls.one(get, is_unary=True, context=None) as call:
        now[0] = 100.0
        call.code = grpc.StatusCode.NOT_FOUND
    with calls.one(watch, is_unary=False, context=None):
        measured = samples(lambda: call_metrics(calls))
    at = 'service="guardian.v1.Tickets"'
    labels = f'method="GetTicket",{at}'
    assert f'guardian_grpc_calls_total{{code="OK",{labels}}} 1.0' in measured
    assert f'guardian_grpc_calls_total{{code="NOT_FOUND",{labels}}} 1.0' in measured
    assert f"guardian_grpc_calls_under_way{{{labels}}} 0.0" in measured
    assert f'guardian_grpc_calls_under_way{{method="WatchTicket",{at}}} 1.0' in measured
    assert f'guardian_grpc_call_seconds_bucket{{le="0.01",{labels}}} 0.0' in measured
    assert f'guardian_grpc_call_seconds_bucket{{le="0.025",{labels}}} 1.0' in measured
    assert f'guardian_grpc_call_seconds_bucket{{le="60.0",{labels}}} 1.0' in measured
    assert f'guardian_grpc_call_seconds_bucket{{le="+Inf",{labels}}} 2.0' in measured
    assert f"guardian_grpc_call_seconds_sum{{{labels}}} 100.0" in measured
    assert not [line for line in measured if "seconds" in line and "WatchTicket" in line]


def test_the_leaders_loops_are_measured_by_name() -> None:
    loops = {"executor": LoopCounters(5, 1, 2.5, 1.25), "lake": LoopCounters()}
    assert samples(lambda: loop_metrics(loops)) == {
        'guardian_leader_tick_seconds_count{loop="executor"} 5.0',
        'guardian_leader_tick_seconds_sum{loop="executor"} 2.5',
        'guardian_leader_tick_seconds_count{loop="lake"} 0.0',
        'guardian_leader_tick_seconds_sum{loop="lake"} 0.0',
        'guardian_leader_failed_ticks_total{loop="executor"} 1.0',
        'guardian_leader_failed_ticks_total{loop="lake"} 0.0',
        'guardian_leader_longest_pause_seconds{loop="executor"} 1.25',
        'guardian_leader_longest_pause_seconds{loop="lake"} 0.0',
    }


def test_refusals_are_measured_by_kind() -> None:
    assert samples(lambda: refusal_metrics({Why.NOT_SIGNED_IN: 3, Why.HELD_UP: 0})) == {
        'guardian_refusals_total{why="not_signed_in"} 3.0',
        'guardian_refusals_total{why="held_up"} 0.0',
    }
    assert samples(lambda: refusal_metrics({})) == set()


def test_connections_that_came_to_nothing_can_be_told_from_others() -> None:
    counters = TlsCounters()
    for peer in ("ipv4:10.0.0.1:1", "ipv4:10.0.0.1:2", "ipv4:10.0.0.1:1"):
        counters.handshake()
        counters.serve(peer)
    counters.refuse("revoked")
    assert samples(lambda: tls_metrics({"grpc_tls": counters})) == {
        'guardian_tls_handshakes_total{use="grpc_tls"} 3.0',
        'guardian_tls_served_connections_total{use="grpc_tls"} 2.0',
        'guardian_tls_refused_total{reason="revoked",use="grpc_tls"} 1.0',
        'guardian_tls_failed_reloads_total{use="grpc_tls"} 0.0',
    }


def test_a_port_tells_its_connections_and_those_that_were_too_many() -> None:
    assert samples(lambda: port_metrics({"grpc": PortCounters(7, 2), "http": PortCounters()})) == {
        'guardian_port_connections{port="grpc"} 7.0',
        'guardian_port_connections{port="http"} 0.0',
        'guardian_port_refused_total{port="grpc"} 2.0',
        'guardian_port_refused_total{port="http"} 0.0',
    }


def test_connections_that_are_remembered_are_bounded() -> None:
    counters = TlsCounters()
    for number in range(10_002):
        counters.serve(f"ipv4:10.0.0.1:{number}")
        counters.serve("ipv4:10.0.0.1:0")
    assert counters.served == 10_002
    assert len(counters._peers) == 10_000


def test_a_ticket_tells_what_is_left_and_when_it_may_be_over_where_that_is_known() -> None:
    first, second = (Ticket(name, "live", "balance", TicketState.RUNNING, "ann", "h", 1, 5, 5) for name in ("a", "b"))
    found = [TicketProgress(first, Progress(900, 300, 50.0, 12_000)), TicketProgress(second, Progress(900, 0))]
    told = text(lambda: progress_metrics(found))
    labels = 'cluster="live",kind="balance",state="RUNNING",ticket='
    assert f'guardian_ticket_left_bytes{{{labels}"a"}} 600.0' in told
    assert f'guardian_ticket_copied_bytes{{{labels}"a"}} 300.0' in told
    assert f'guardian_ticket_eta_seconds{{{labels}"a"}} 12.0' in told
    assert [line for line in told if line.startswith("guardian_ticket_eta_seconds{")] == [
        f'guardian_ticket_eta_seconds{{{labels}"a"}} 12.0'
    ]
