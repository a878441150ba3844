"""Costs by a price list; what is not known is never zero."""

from __future__ import annotations

import pytest

from guardian.activity.model import CostLine, PriceList, Prices
from guardian.activity.rules.costs import by_tenant, cost_of, dearest_first
from guardian.activity.service.activity import stored_bytes
from guardian.activity.wire import cost_lines, price_list_from_proto, price_list_to_proto, tiered_bytes
from guardian.model.cluster_state import LogDir, LogDirReplica, PartitionState
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import activity_pb2 as pb
from protos.guardian.v1 import tiering_pb2

GB = 10**9
MONTH_MS = 365 * 86_400_000 // 12
PRICES = PriceList(Prices(0.02, 0.01, 0.5, 0.1, 0.02), {"pay": Prices(1.0, 0.0, 0.0, 0.0, 0.0)})
LINE = CostLine("t", "", GB, 2 * GB, 2_000_000, 30 * GB, 100 * GB)


def test_a_line_costs_traffic_requests_and_its_share_of_a_month_of_storage() -> None:
    assert cost_of(LINE, PRICES, MONTH_MS) == pytest.approx(0.02 + 0.02 + 1.0 + 3.0 + 2.0)
    assert cost_of(LINE, PRICES, MONTH_MS // 10) == pytest.approx(0.02 + 0.02 + 1.0 + 0.3 + 0.2)
    assert cost_of(LINE, None, MONTH_MS) is None


def test_a_cost_is_not_known_where_something_with_a_price_is_not() -> None:
    assert cost_of(CostLine("t", "", GB, GB, 5, None, 0), PRICES, MONTH_MS) is None
    assert cost_of(CostLine("t", "pay", GB, None, None, None, None), PRICES, MONTH_MS) == 1.0


def test_tenants_are_sums_and_unknown_where_a_topic_is() -> None:
    lines = (LINE, CostLine("u", "pay", 1, 2, 3, 4, 5, has_shares=True), CostLine("v", "pay", 10, None, 30, 40, 50))
    assert by_tenant(lines) == (
        CostLine("", "", GB, 2 * GB, 2_000_000, 30 * GB, 100 * GB),
        CostLine("", "pay", 11, None, 33, 44, 55, has_shares=True, topics=2),
    )
    assert by_tenant([CostLine("", "", 7)])[0].topics == 0  # bytes of no topic


def test_the_dearest_come_first_and_the_unknown_last() -> None:
    cheap, dear, unknown = CostLine("a", "pay", 1), CostLine("b", "pay", GB), CostLine("c", "pay", None)
    assert dearest_first([cheap, unknown, dear], PRICES, MONTH_MS) == (dear, cheap, unknown)
    large = CostLine("d", "", stored=9)
    assert dearest_first([cheap, large], None, MONTH_MS) == (large, cheap)


def test_storage_counts_every_replica_and_says_where_some_are_missing() -> None:
    partitions = {
        TopicPartition("t", 0): PartitionState(1, (1, 2), (1, 2)),
        TopicPartition("u", 0): PartitionState(1, (1, 2), (1,)),
    }
    replica = LogDirReplica(10, 0, is_future=False)
    gone = TopicPartition("gone", 0)
    log_dirs = [
        LogDir(1, "/a", replicas=dict.fromkeys(partitions, replica)),
        LogDir(2, "/b", replicas={TopicPartition("t", 0): replica, gone: replica}),
    ]
    assert stored_bytes(partitions, log_dirs) == {"t": (20, False), "u": (10, True)}


def test_what_is_absent_on_the_wire_is_not_known() -> None:
    reply = pb.ListTopicUseReply(
        topics=[pb.TopicUse(topic="t", tenant="pay", bytes_produced=0, requests=1), pb.TopicUse(topic="u")]
    )
    assert cost_lines(reply, {"t": 5}) == (CostLine("t", "pay", 0, None, 1, None, 5), CostLine("u", "", tiered=0))
    assert cost_lines(reply, None)[0].tiered is None
    assert price_list_from_proto(pb.PriceList.FromString(price_list_to_proto(PRICES).SerializeToString())) == PRICES


def test_tiered_bytes_are_of_partitions_that_live() -> None:
    claim = tiering_pb2.PartitionClaim(topic="t")
    found = [
        tiering_pb2.PartitionSummary(live_bytes=5, claim=claim),
        tiering_pb2.PartitionSummary(live_bytes=6, claim=claim),
        tiering_pb2.PartitionSummary(live_bytes=7),
        tiering_pb2.PartitionSummary(live_bytes=8, claim=claim, deleted=True),
    ]
    assert tiered_bytes(found) == {"t": 11, "": 7}
