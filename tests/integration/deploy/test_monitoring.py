"""Dashboards and alerts against what they are for: promtool's parser and rule engine, a real member, real brokers that
Prometheus' service discovery finds."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from deploy.local import ports
from deploy.local.answering import register
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.ports import HOST
from guardian.client import GuardianClient
from guardian.config import ServerConfig
from guardian.member.app import start
from tests.integration.promtool import promtool
from tests.patience import CALL_S, PATIENCE_S, wait_for
from tests.unit.deploy.monitoring import PROMETHEUS, broker_metrics, dashboard_uses, rule_uses

pytestmark = pytest.mark.integration

RULE_FILES = ("recording.yml", "alerts.yml")
# Told only once it has happened.
T = TypeVar("T")
EVENTS = frozenset({"guardian_lake_last_failure_timestamp_seconds", "guardian_topic_tenant"})


def get(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode()
        return text


def samples(page: str) -> dict[str, frozenset[str]]:
    """By name all labels."""
    found: dict[str, frozenset[str]] = {}
    for name, labels in re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ", page, re.MULTILINE):
        found[name] = found.get(name, frozenset()) | set(re.findall(r'(\w+)="', labels))
    return found


@dataclass
class Site:
    """A member, and two brokers whose plugins have registered there."""

    config: ServerConfig
    kafka: KafkaCluster

    def page(self, path: str) -> str:
        return get(f"http://{self.config.http}{path}")

    def targets(self) -> list[dict[str, object]] | None:
        try:
            found: list[dict[str, object]] = json.loads(self.page("/sd/prometheus"))
        except urllib.error.HTTPError:
            return None
        return found if len(found) == len(self.kafka.brokers) else None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("monitoring")
    grpc, http, raft = (f"{ports.HOST}:{port}" for port in ports.pick(3))
    config = ServerConfig("g1", home / "data", grpc, http, raft, str(home / "lake"))
    settings = {"guardian.reporter.http.listener": f"{HOST}:0", "guardian.endpoints": grpc}
    kafka = KafkaCluster.plan(
        ClusterSpec("watched", brokers=2, plugin=True, heap_mb=320, settings=settings), home / "kafka"
    )
    with ExitStack() as stack:
        start(config, stack)
        stack.callback(kafka.stop)
        kafka.launch()
        with GuardianClient([grpc], timeout_s=CALL_S) as client:
            register(client, kafka.to_cluster())
        use(kafka)
        yield Site(config, kafka)


def use(kafka: KafkaCluster) -> None:
    """Somebody writes and somebody reads: only then have brokers all of their metrics."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic("orders", 2, 2)])["orders"].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(100):
        producer.produce("orders", b"x" * 100, partition=number % 2)
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        wait_for("record", lambda: consumer.poll(0.5))
    finally:
        consumer.close()


def test_rules_and_the_example_configuration_are_valid() -> None:
    for arguments in (
        ("check", "rules", "--lint=all", "--lint-fatal", *RULE_FILES),
        ("check", "config", "prometheus.yml"),
    ):
        done = promtool(*arguments, cwd=PROMETHEUS)
        assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_when_they_should() -> None:
    done = promtool("test", "rules", "alerts_test.yml", cwd=PROMETHEUS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_expression_of_the_dashboards_is_promql(tmp_path: Path) -> None:
    uses = list(dashboard_uses())
    assert len(uses) > 100
    rules = [
        {"record": f"parsed:{number}", "expr": each.expr.replace("$__rate_interval", "5m")}
        for number, each in enumerate(uses)
    ]
    file = tmp_path / "dashboards.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    done = promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_members_metrics_are_named_as_prometheus_wants_them(site: Site) -> None:
    for path in ("/metrics", "/metrics/tenants"):
        page = site.page(path)
        assert "guardian_" in page
        done = promtool("check", "metrics", stdin=page)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_what_is_asked_of_members_a_member_serves(site: Site) -> None:
    asked = {name for use in (*dashboard_uses(), *rule_uses()) for name in use.metrics}
    ours = {name for name in asked if re.match("guardian_(?!log_dir_|activity_)", name)} - EVENTS
    assert len(ours) > 30
    page = site.page("/metrics")
    # Without samples yet, such as claims: then its type is there.
    families = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    known = {*samples(page), *families, *(f"{name}_bucket" for name in families)}
    assert ours <= known


def test_the_brokers_are_found_and_serve_all_that_is_asked_of_them(site: Site) -> None:
    found = wait_for("targets", site.targets)
    served: dict[str, frozenset[str]] = {}
    for target, broker in zip(found, site.kafka.brokers, strict=True):
        labels = target["labels"]
        assert isinstance(labels, dict)
        assert isinstance(target["targets"], list)
        assert (labels["cluster"], labels["broker"]) == (site.kafka.name, str(broker.id))
        page = get(f"{labels['__scheme__']}://{target['targets'][0]}{labels['__metrics_path__']}")
        for name, found_labels in samples(page).items():
            served[name] = served.get(name, frozenset()) | found_labels
    missing = {name: labels - served.get(name, frozenset()) for name, labels in broker_metrics().items()}
    assert {name for name in broker_metrics() if name not in served} == set()
    assert {name: labels for name, labels in missing.items() if labels} == {}
