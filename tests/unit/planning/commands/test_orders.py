"""Whatever a person may order is ordered alike by options of the command line and by a message."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.model.tasks import (
    Add,
    Balance,
    EmptyDisk,
    ExpandTopic,
    Heal,
    Leaders,
    LogDir,
    Relieve,
    Remove,
    ReplicationFactor,
)
from guardian.model.topology import Cluster
from guardian.model.wire.orders import order_from_proto, order_to_proto
from guardian.planning.commands.plan import carrying_out
from guardian.planning.orders import CreateTopicOrder, IsolateOrder, MigrateIdcOrder, PlanOrder
from tests.cases import orders as cases
from tests.command_line import app

Option = tuple[str, object]


class Member:
    """Remembers what it was asked for."""

    planner = Struct()

    def __init__(self) -> None:
        self.asked: list[PlanOrder] = []

    def member(self) -> Member:
        return self

    def make_plan(self, cluster: str, order: PlanOrder, _: Callable[[Any], None]) -> Plan:
        self.asked.append(order_from_proto(order_to_proto(cluster, order)))
        return Plan(cluster, order.task.kind, ())


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Member:
    made = Member()
    monkeypatch.setattr(carrying_out, "connect", lambda _: contextlib.nullcontext(made))
    directory = Directory(clusters=(Cluster("live", "h:9092"),))
    monkeypatch.setattr(carrying_out, "read_directory", lambda _: directory)
    return made


def many(name: str, values: tuple[object, ...]) -> list[Option]:
    return [(name, value) for value in values]


def some(name: str, value: object) -> list[Option]:
    return [(name, value)] if value else []


def dirs(log_dirs: tuple[LogDir, ...]) -> list[Option]:
    return [("--log-dir", f"{each.broker}:{each.path}") for each in log_dirs]


def typed(order: PlanOrder) -> tuple[str, list[Option], list[str]]:  # noqa: PLR0911  a line for each task
    """Return the command, its options with a value, and its flags."""
    match order.task:
        case Balance(topics):
            return "balance", many("--topic", topics), []
        case Leaders(topics, away):
            return "leaders", [*many("--topic", topics), *many("--away-from", away)], []
        case IsolateOrder() as task:
            options = [("--label", task.label), *many("--topic", task.topics), *some("--tenant", task.tenant)]
            options += [*many("--broker", task.brokers), *some("--release", task.release)]
            return "isolate", [*options, ("--headroom", task.headroom)], ["--from-pool"] * task.from_pool
        case MigrateIdcOrder(policy, topics, tenant):
            return "migrate-idc", [("--policy", policy), *many("--topic", topics), *some("--tenant", tenant)], []
        case Remove(brokers, balance):
            return "remove", many("--broker", brokers), ["--balance"] * balance
        case Add(brokers):
            return "add", many("--broker", brokers), []
        case CreateTopicOrder() as new:
            options = [("--topic", new.topic), ("--partitions", new.partitions)]
            options += [("--replication-factor", new.replication_factor), *some("--expected-size", new.expected_bytes)]
            return "preallocate", [*options, *many("--config", tuple(map("=".join, new.configs)))], []
        case ExpandTopic(topic, partitions):
            return "preallocate", [("--topic", topic), ("--partitions", partitions)], ["--expand"]
        case ReplicationFactor(topics, factor):
            return "replication-factor", [*many("--topic", topics), ("--to", factor)], []
        case EmptyDisk(log_dirs):
            return "empty-disk", dirs(log_dirs), []
        case Relieve(limit, brokers, log_dirs):
            return "relieve", [("--below", limit), *many("--broker", brokers), *dirs(log_dirs)], []
        case Heal():
            return "heal", [], []


def toml_of(order: PlanOrder) -> Iterator[str]:
    yield "[planner]"
    for name, value in order.changes.items():
        if value is None:
            continue
        if name in ("min_leaders", "weights"):
            inside = ", ".join(f"{json.dumps(key)} = {each}" for key, each in value)
            yield f"{name} = {{{inside}}}"
        else:
            yield f"{name} = {'inf' if value == math.inf else json.dumps(value)}"


@given(cases.orders)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_options_order_what_a_message_orders(member: Member, tmp_path: Path, order: PlanOrder) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("\n".join(toml_of(order)))
    name, options, flags = typed(order)
    options += (
        [("--settings", file), ("--window", f"{order.window_ms}ms")] if order.window_ms else [("--settings", file)]
    )
    options += many("--exclude-topic", order.exclude_topics)
    words = [f"{option}={value}" for option, value in options]
    result = CliRunner().invoke(app, ["plan", name, "--cluster", "live", "--dry-run", *words, *flags])
    assert result.exit_code == 0, result.exception
    named = {name: value for name, value in order.changes.items() if value is not None}  # which no file can say
    assert member.asked.pop() == PlanOrder(order.task, named, order.exclude_topics, order.window_ms)
