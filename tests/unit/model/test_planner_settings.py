"""What an operator may ask: bad values are refused with the field, the value and the fix."""

from __future__ import annotations

import math
import pickle

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.planner_settings import PlannerSettings
from guardian.model.tasks import (
    Add,
    CreateTopic,
    EmptyDisk,
    ExpandTopic,
    Isolate,
    LogDir,
    MigrateIdc,
    Relieve,
    Remove,
    ReplicationFactor,
)

_MACHINE = Machine("m1", disk_bytes=10)


def test_a_section_of_a_configuration_becomes_settings() -> None:
    settings = PlannerSettings.of(
        {
            "target_spread": 0.2,
            "max_bytes": 10**12,
            "topic_spread": False,
            "excluded_topics": ["__*", "audit"],
            "weights": {"disk": 2},
            "max_replicas": 4000.0,
            "min_leaders": {"orders-*": 1, "orders-eu": 2.0},
        }
    )

    assert settings.target_spread == 0.2
    assert settings.max_bytes == 1e12
    assert settings.weights == (("disk", 2.0),)
    assert settings.excludes("__consumer_offsets")
    assert settings.excludes("audit")
    assert not settings.excludes("audits")
    assert settings.max_replicas == 4000
    assert [settings.leaders_of(topic) for topic in ("orders-us", "orders-eu", "audit")] == [1, 2, 0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"spread": 1}, "planner.spread is not a setting: did you mean disk_spread"),
        ({"target_spread": "much"}, "planner.target_spread is 'much': give a number"),
        ({"target_spread": True}, "planner.target_spread is True: give a number"),
        ({"target_spread": 0}, "planner.target_spread is 0: use more than 0, finite"),
        ({"cpu_limit": 1.5}, "planner.cpu_limit is 1.5: use more than 0, up to 1"),
        ({"max_bytes": -1}, "planner.max_bytes is -1: use at least 0"),
        ({"max_seconds": math.nan}, "planner.max_seconds is nan: give a number"),
        ({"disk_reserve": 1}, "disk_reserve is 1: use at least 0, less than 1"),
        ({"throttle": 0}, "throttle is 0: use more than 0"),
        ({"topic_spread": 1}, "planner.topic_spread is 1: use true or false"),
        ({"excluded_topics": "a"}, "planner.excluded_topics is 'a': give a list, such as"),
        ({"excluded_topics": ["a*b"]}, r"excluded_topics has 'a\*b': use a name, or its beginning and"),
        ({"weights": [1]}, r"planner.weights is \[1\]: write it as a section"),
        ({"weights": {"disk": -1}}, "weights.disk is -1: use a number from 0 up"),
        ({"max_replicas": 0}, "max_replicas is 0: use at least 1"),
        ({"max_replicas": 1.5}, "planner.max_replicas is 1.5: give a whole number"),
        ({"min_leaders": ["t"]}, r"planner.min_leaders is \['t'\]: write it as a section, \[planner.min_leaders\]"),
        ({"min_leaders": {"t": 0}}, "min_leaders.t is 0: use a number from 1, or leave the topic out"),
        ({"min_leaders": {"a*b": 1}}, r"min_leaders has 'a\*b': use a name, or its beginning and"),
        ({"growth_days": -1}, "growth_days is -1: use at least 0, finite"),
        ({"slow_disk": 1}, "slow_disk is 1: use more than 1"),
        ({"disk_io_limit": 0}, "disk_io_limit is 0: use more than 0, up to 1"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_the_fix(table: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PlannerSettings.of(table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Isolate(""), "label is empty: name the label"),
        (lambda: Isolate("gold", release=0), "release is 0: use a number of machines from 1"),
        (lambda: Isolate("gold", release=1, machines=(_MACHINE,)), "grow or shrink, not both"),
        (lambda: Isolate("gold", machines=(_MACHINE, _MACHINE)), "machines names m1 twice"),
        (lambda: Isolate("gold", machines=(Machine("m", cluster="live"),)), "machines has m, which is in cluster live"),
        (lambda: Isolate("gold", headroom=-1), "headroom is -1: use a share"),
        (lambda: Remove(()), "brokers is empty: name those to remove"),
        (lambda: Remove((1, 1)), "brokers names broker 1 twice: keep one"),
        (lambda: Add((-1,)), "broker id is -1: use 0 to"),
        (lambda: MigrateIdc(IdcPolicy("p", (("a", 1),)), ("t",), "acme"), "give one of them, or none for all"),
        (lambda: CreateTopic(Topic("c", "t"), 0, 1), "partitions is 0: use 1 to"),
        (lambda: CreateTopic(Topic("c", "t"), 1, 0), "replication_factor is 0: use 1 to"),
        (lambda: CreateTopic(Topic("c", "t"), 1, 1, -1), "expected_bytes is -1: use a number from 0"),
        (lambda: ExpandTopic("", 3), "topic is empty: name the topic"),
        (lambda: ReplicationFactor((), 3), "topics is empty: name those to change"),
        (lambda: EmptyDisk(()), "log_dirs is empty"),
        (lambda: LogDir(1, "d"), "path of a log dir on broker 1 is 'd': use an absolute path"),
        (lambda: Relieve(limit=0), "limit is 0: use a share of the disk above 0"),
    ],
)
def test_a_wrong_task_is_refused_with_the_field_the_value_and_the_fix(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_task_can_be_sent_to_a_worker() -> None:
    task = Isolate("gold", ("t",), machines=(_MACHINE,))

    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  # our own bytes
