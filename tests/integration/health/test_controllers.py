"""What real controllers tell of their quorum: one that is killed, one that is cut off, and a log that grows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from deploy.local import processes
from deploy.local.kafka_cluster import ClusterSpec
from guardian.errors import ClusterUnavailable
from guardian.health.loop.troubles import TroubleLooks
from guardian.health.model.finding import FindingKind, Sighting
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.lab import BrokerLab
from tests.patience import CONTROL_S, PATIENCE_S, wait_for
from tests.unit.member.member import Member

pytestmark = pytest.mark.integration

_TOPICS, _PARTITIONS = 10, 100


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerLab]:
    spec = ClusterSpec("quorum", brokers=1, controllers=3, log_dirs=1, plugin=False, heap_mb=256)
    with BrokerLab(tmp_path_factory.mktemp("quorum"), spec) as running:
        yield running


class Looking:
    """Look at the cluster as the leader's detectors do, over one connection."""

    def __init__(self, lab: BrokerLab, stack: ExitStack) -> None:
        self._cluster = lab.cluster
        admin = stack.enter_context(closing(KafkaControl(self._cluster, CONTROL_S)))
        member = Member()
        stack.callback(member.stop)
        self._looks = TroubleLooks(member.store, lambda _: admin)

    def look(self) -> dict[FindingKind, Sighting]:
        found = self._looks.controllers(self._cluster, round(time.time() * 1000))
        return {each.subject.kind: each for each in found}

    def wait(self, *kinds: FindingKind) -> dict[FindingKind, Sighting]:
        """Return what a look sees that sees just these kinds."""
        return wait_for(
            f"that a look sees {kinds}",
            lambda: (found,) if set(found := self.look()) == set(kinds) else None,
            every_s=1.0,
            despite=(ClusterUnavailable,),
        )[0]


@pytest.fixture
def looking(lab: BrokerLab) -> Iterator[Looking]:
    with ExitStack() as stack:
        yield Looking(lab, stack)


def _follower(lab: BrokerLab) -> int:
    active = witness.quorum(lab.listener(lab.brokers[0])).leader
    return next(each for each in lab.controllers if each != active)


def test_a_voter_that_is_killed_leaves_a_quorum_at_risk_until_it_is_back(lab: BrokerLab, looking: Looking) -> None:
    looking.wait()
    voter = _follower(lab)
    process = lab.kafka.node(voter).process
    assert process is not None
    processes.kill(process)
    found = looking.wait(FindingKind.CONTROLLERS_AT_RISK, FindingKind.CONTROLLER_BEHIND)
    assert f"controllers {voter} are behind" in found[FindingKind.CONTROLLERS_AT_RISK].evidence
    assert found[FindingKind.CONTROLLER_BEHIND].subject.name == f"controller {voter}"
    lab.kafka.start_node(voter, PATIENCE_S)
    looking.wait()


def test_a_voter_that_is_cut_off_is_told_as_one_that_is_dead(lab: BrokerLab, looking: Looking) -> None:
    voter = _follower(lab)
    for other in lab.controllers:
        if other != voter:
            lab.cut(voter, other)
    try:
        found = looking.wait(FindingKind.CONTROLLERS_AT_RISK, FindingKind.CONTROLLER_BEHIND)
        assert found[FindingKind.CONTROLLER_BEHIND].subject.name == f"controller {voter}"
    finally:
        lab.heal()
    looking.wait()


def test_a_log_that_grows_by_many_topics_is_told(lab: BrokerLab, looking: Looking) -> None:
    looking.wait()
    places = {number: tuple(lab.brokers) for number in range(_PARTITIONS)}
    data.create_topics(lab.cluster, {f"many-{number}": places for number in range(_TOPICS)}, {}, PATIENCE_S)
    # On a busy machine a controller is behind for a moment, too.
    assert FindingKind.METADATA_GROWS in looking.look()
