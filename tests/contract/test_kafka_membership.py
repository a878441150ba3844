"""Registrations, the quorum, metadata.version: one suite, on the fake and on real brokers (KAFKA.md, traps 8, 24)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.control import KafkaControl
from guardian.kafka.fake import FakeKafka
from tests.patience import CONTROL_S

DEADLINE_S = 90.0


@dataclass
class Bench:
    """A cluster of brokers 1, 2 and 3, and the hands that stop and start them."""

    admin: KafkaAdmin
    kill: Callable[[int], None]
    start: Callable[[int], None]

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, "it did not come true in time"
            time.sleep(0.05)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "fake":
        fake = FakeKafka(dict.fromkeys((1, 2, 3), "a"), dict.fromkeys((1, 2, 3), ("/disk",)))
        yield Bench(fake, fake.kill_broker, fake.start_broker)
        return
    cluster = request.getfixturevalue("kafka_cluster")
    with closing(KafkaControl(cluster.to_cluster(sasl=False), CONTROL_S)) as control:
        yield Bench(control, cluster.kill_broker, cluster.start_broker)


def test_a_broker_that_died_is_fenced_and_stays_registered_until_it_is_unregistered(bench: Bench) -> None:
    bench.until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: False})
    assert "runs" in bench.admin.unregister_broker(3)
    assert bench.admin.registered_brokers() == {1: False, 2: False, 3: False}

    bench.kill(3)
    bench.until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: True})
    assert bench.admin.unregister_broker(3) == ""
    bench.until(lambda: bench.admin.registered_brokers() == {1: False, 2: False})
    assert bench.admin.unregister_broker(3) == ""

    bench.start(3)
    bench.until(lambda: bench.admin.registered_brokers() == {1: False, 2: False, 3: False})


def test_the_quorum_names_its_leader_and_who_has_caught_up(bench: Bench) -> None:
    quorum = bench.admin.describe_quorum()
    assert quorum is not None
    assert quorum.leader in quorum.voters
    assert quorum.leader in quorum.caught_up <= quorum.voters


def test_each_broker_tells_what_it_supports_and_kafka_refuses_a_level_that_one_lacks(bench: Bench) -> None:
    version = bench.admin.metadata_version()
    assert version.supported.keys() == {1, 2, 3}
    assert 0 < version.level <= version.highest
    refused = bench.admin.raise_metadata_version(version.highest + 1000, validate_only=True)
    assert refused.startswith("INVALID_UPDATE_VERSION: ")
    assert f"Invalid update version {version.highest + 1000} for feature metadata.version" in refused
    assert refused == bench.admin.raise_metadata_version(version.highest + 1000)
    assert bench.admin.raise_metadata_version(version.level) == ""
    assert "INVALID_UPDATE_VERSION" in bench.admin.raise_metadata_version(version.level - 1)
    assert bench.admin.metadata_version() == version


def test_a_broker_that_is_down_tells_nothing(bench: Bench) -> None:
    bench.kill(3)
    bench.until(lambda: bench.admin.metadata_version().supported.keys() == {1, 2})
    bench.start(3)
    bench.until(lambda: bench.admin.metadata_version().supported.keys() == {1, 2, 3})
