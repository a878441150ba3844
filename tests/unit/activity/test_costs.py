"""`guardian audit costs` of a member with Kafka in memory and an activity store that stands for ClickHouse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from guardian.activity.rules.database import Question
from guardian.activity.store.store import ActivityStore
from guardian.activity.wire import cost_lines
from protos.guardian.v1 import activity_pb2 as pb
from tests.command_line import app
from tests.unit.member.member import Member

GB = 10**9


class Activity:
    """Tells of topic t: 2 GB were written; it was read, and nobody counted how much."""

    def __init__(self, slices: int) -> None:
        self.slices = slices

    def ask(self, question: Question) -> list[dict[str, Any]]:
        if "AS slices" in question.sql:
            return [{"slices": self.slices, "brokers": 3, "sum_dropped": 0, "sum_lost": 0}]
        if "first_time" in question.sql:
            return [{"first_time": datetime(2020, 1, 1, tzinfo=UTC)}]
        sums = {"sum_produced": 2 * GB, "sum_fetched": 0, "writes": 10, "reads": 5, "is_shared": False}
        return [{"resource": "t", **sums}]


def serving(slices: int | None) -> Iterator[Member]:
    member = Member(activity=None if slices is None else cast("ActivityStore", Activity(slices)))
    member.kafka.create_topic("quiet", {0: (1, 2)}, 3 * GB)
    yield member
    member.stop()


@pytest.fixture
def member() -> Iterator[Member]:
    yield from serving(9)


@pytest.fixture
def blind() -> Iterator[Member]:
    """Of a group that keeps no activity."""
    yield from serving(None)


def costs(member: Member, *more: str, code: int = 0) -> Any:
    words = ("audit", "costs", "--cluster", "live", "--endpoints", member.endpoint, *more)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if "json" in more else result


def test_what_was_counted_is_told_and_what_was_not_is_not_known(member: Member) -> None:
    lines = {each["topic"]: each for each in costs(member, "-o", "json")["lines"]}
    assert (lines["t"]["produced"], lines["t"]["fetched"], lines["t"]["requests"]) == (2 * GB, None, 15)
    assert (lines["quiet"]["produced"], lines["quiet"]["fetched"], lines["quiet"]["stored"]) == (0, 0, 6 * GB)
    assert lines["quiet"]["tiered"] == 0
    assert {each["cost"] for each in lines.values()} == {None}


def test_prices_make_a_cost_unless_what_they_price_is_not_known(member: Member, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[default]\nproduced_gb = 0.5\nstored_gb_month = 73\n")
    result = costs(member, "--prices", str(prices), "--since", "1h")
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert rows[1:] == [
        "t (no tenant) 2.0 GB ? 15 20 B 0 B 1.00",
        "quiet (no tenant) 0 B 0 B 0 6.0 GB 0 B 0.60",  # 6 GB for one of 730 hours
    ]
    prices.write_text("[default]\nfetched_gb = 0.5\n")
    assert "?" in costs(member, "--prices", str(prices)).stdout.splitlines()[-1].split()[-1]


def test_without_activity_there_is_storage_and_a_note(blind: Member) -> None:
    result = costs(blind, "--tenants")
    assert "Not known: traffic: audit.url is not set" in result.stderr
    assert result.stdout.splitlines()[1].split()[:5] == ["(no", "tenant)", "2", "?", "?"]


def test_without_activity_and_kafka_nothing_is_known(blind: Member) -> None:
    blind.kafka.reachable = False
    result = costs(blind, code=4)
    assert "Not known: storage: " in result.stderr


def test_of_a_topic_without_tiered_bytes_it_is_known_where_all_have_a_name() -> None:
    reply = pb.ListTopicUseReply(topics=[pb.TopicUse(topic="t"), pb.TopicUse(topic="quiet")])
    for tiered, shown in ((None, [None, None]), ({"t": 5}, [5, 0]), ({"t": 5, "": 7}, [5, None]), ({}, [0, 0])):
        assert [line.tiered for line in cost_lines(reply, tiered)] == shown
