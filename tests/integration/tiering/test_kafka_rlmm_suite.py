"""Kafka's own tests of RemoteLogMetadataManager, as Kafka publishes them, pass against Guardian's, with three members
behind it; and they fail when it gives one wrong answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import distribution
from guardian.client import GuardianClient
from tests.kafka_suites import console
from tests.kafka_suites.console import Report
from tests.kafka_suites.guardian import three_members
from tests.patience import CALL_S, PATIENCE_S

pytestmark = pytest.mark.integration

_LIFECYCLE = "org.apache.kafka.server.log.remote.metadata.storage.RemoteLogSegmentLifecycleTest"
_TOPIC_BASED = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManagerTest"
_MANAGER = "org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManagerTest"
# These test the metadata topic itself, which Guardian has none of: whether it exists, its settings, and that a broker
# which can't create it exits.
_OF_THE_TOPIC = r".*#test(DoesTopicExist|TopicDoesNotExist|InitializationFailure|RemoteLogMetadataTopicWith).*"


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with three_members(tmp_path_factory.mktemp("guardian")) as settings:
        yield settings


def _run(selectors: list[str], settings: dict[str, str], home: Path, but_methods: str = "") -> Report:
    return console.run(
        selectors, settings, home, PATIENCE_S, but_methods=but_methods, class_path=[distribution.plugin_jar()]
    )


def _assert_all_passed(report: Report, count: int) -> None:
    assert report.failures == {}
    assert report.skipped == []
    assert len(report.outcomes) == count
    assert report.exit_code == 0


@pytest.mark.long
def test_kafkas_tests_of_a_segments_life_and_of_the_topic_based_manager_pass(
    members: dict[str, str], tmp_path: Path
) -> None:
    report = _run([f"class:{_LIFECYCLE}", f"class:{_TOPIC_BASED}"], members, tmp_path, _OF_THE_TOPIC)
    _assert_all_passed(report, 24)
    with GuardianClient(members["guardian.rlmm.config.guardian.endpoints"].split(","), timeout_s=CALL_S) as client:
        kept = {summary.partition.topic_id for summary in client.list_partitions()}
    assert len(kept) >= 20, "all of these tests but four store segments of a topic of their own in Guardian"


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(0, id="brokers apart"),
        pytest.param(1, id="brokers and controllers combined", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("method", ["testFetchSegments", "testRemotePartitionDeletion"])
def test_kafkas_tests_of_any_metadata_manager_pass(
    members: dict[str, str], tmp_path: Path, method: str, cluster: int
) -> None:
    """One by one: they share a topic id over all their clusters, and to Guardian a topic id is one topic for ever."""
    report = _run([f"iteration:method:{_MANAGER}#{method}()[{cluster}]"], members, tmp_path)
    _assert_all_passed(report, 1)


def test_kafkas_tests_fail_when_an_answer_is_wrong_by_one(members: dict[str, str], tmp_path: Path) -> None:
    wrong = {**members, "guardian.suites.off.by.one": "true"}
    report = _run([f"method:{_LIFECYCLE}#testRemoteLogSegmentLifeCycle"], wrong, tmp_path)
    assert set(report.failures.values()) == {"expected: <Optional[19]> but was: <Optional[18]>"}
    assert len(report.failures) == len(report.outcomes) == 2
    assert report.exit_code != 0
