"""Brokers that came back on a new disk: real ones, whose machines are lost with all they held."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing

import pytest

from guardian.errors import ClusterUnavailable
from guardian.health.loop.troubles import TroubleLooks
from guardian.health.model.finding import FindingKind
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.faults.event import Cut, Lose, Start
from guardian.model.faults.stories import story
from tests.integration.predictions.lab import FaultLab
from tests.patience import CONTROL_S, PATIENCE_S, wait_for
from tests.unit.member.member import Member

pytestmark = pytest.mark.integration

LEADER, LOST = 1, 3
THREE, ONE = "three-replicas", "one-replica"
RECORDS, BYTES = 300, 10_000


def test_an_empty_disk_and_a_topic_that_went_with_it_are_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    with ExitStack() as stack:
        lab = stack.enter_context(FaultLab(tmp_path_factory.mktemp("lost")))
        _fill(lab)
        control = stack.enter_context(closing(KafkaControl(lab.cluster, CONTROL_S)))
        member = Member()
        stack.callback(member.stop)
        looks = TroubleLooks(member.store, lambda _: control)

        def found() -> set[tuple[FindingKind, str]]:
            sightings = looks.replicas(lab.cluster, round(time.time() * 1000))
            return {(each.subject.kind, each.subject.name) for each in sightings}

        wait_for("a look that finds nothing", lambda: found() == set(), despite=(ClusterUnavailable,))
        lab.carry_out(story("a machine is lost", (0.0, Lose(LOST))))
        wait_for(
            "a look without it",
            lambda: found() is not None and LOST not in control.describe_cluster().brokers,
            despite=(ClusterUnavailable,),
        )
        found()
        # It reaches the controllers and not the leader, so that nothing is copied while it is looked at.
        cut = Cut(frozenset({LOST}), frozenset({LEADER}))
        lab.carry_out(story("it is back on a new disk", (0.0, cut), (0.5, Start(LOST))))
        expected = {(FindingKind.REPLICAS_EMPTY, f"broker {LOST}"), (FindingKind.TOPIC_LOST, f"topic {ONE}")}
        wait_for("both findings", lambda: expected <= found(), despite=(ClusterUnavailable,), every_s=1.0)
        lab.heal()
        lab.wait_in_sync([THREE])
        wait_for(
            "that it is copied anew",
            lambda: not any(kind is FindingKind.REPLICAS_EMPTY for kind, _ in found()),
            despite=(ClusterUnavailable,),
        )
        assert (FindingKind.TOPIC_LOST, f"topic {ONE}") in found()


def _fill(lab: FaultLab) -> None:
    """Make a topic of three replicas and one of a single one, on the broker that is to be lost, with some megabytes."""
    data.create_topics(lab.cluster, {THREE: {0: (LEADER, 2, LOST)}, ONE: {0: (LOST,)}}, {}, PATIENCE_S)
    producer = data.producer(lab.cluster, acks="all", linger_ms=50)
    for topic in (THREE, ONE):
        for _ in range(RECORDS):
            producer.produce(topic, bytes(BYTES), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    lab.wait_in_sync([THREE])
