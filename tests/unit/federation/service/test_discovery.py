"""Prometheus learns of the brokers' pages from what is registered, and nothing wrong from a member that lags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from guardian.errors import Unavailable
from guardian.federation.service.discovery import MAX_STALENESS_S, BrokerTargets, targets
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


def test_each_broker_with_a_page_is_a_target_with_its_place() -> None:
    brokers = (
        Broker(2, "r2", "sh", metrics_url="https://b2.example:9094/kafka/metrics"),
        Broker(1, metrics_url="http://[::1]:9094/metrics"),
        Broker(3, "r3"),
    )
    assert targets([Cluster("live", "h:9092", brokers=brokers), Cluster("empty", "h:9093")]) == [
        {
            "targets": ["[::1]:9094"],
            "labels": {"cluster": "live", "broker": "1", "__scheme__": "http", "__metrics_path__": "/metrics"},
        },
        {
            "targets": ["b2.example:9094"],
            "labels": {
                "cluster": "live",
                "broker": "2",
                "rack": "r2",
                "idc": "sh",
                "__scheme__": "https",
                "__metrics_path__": "/kafka/metrics",
            },
        },
    ]


def test_what_is_registered_is_answered(member: Member) -> None:
    assert BrokerTargets(member.store).json() == b"[]"
    brokers = (Broker(1, metrics_url="http://b1:9094/metrics"),)
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    assert json.loads(BrokerTargets(member.store).json())[0]["targets"] == ["b1:9094"]


@pytest.mark.parametrize("staleness_s", [None, MAX_STALENESS_S + 1])
def test_a_member_that_may_lag_answers_an_error_so_that_prometheus_keeps_its_targets(
    member: Member, monkeypatch: pytest.MonkeyPatch, staleness_s: float | None
) -> None:
    status = replace(member.replica.status(), staleness_s=staleness_s)
    monkeypatch.setattr(member.replica, "status", lambda: status)
    with pytest.raises(Unavailable, match="ask another one"):
        BrokerTargets(member.store).json()
