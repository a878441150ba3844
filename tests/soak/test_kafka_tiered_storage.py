"""Kafka's own tiered-storage integration tests, as Kafka publishes them, with brokers whose metadata is in Guardian.

Real brokers with LocalTieredStorage, some of them stopped, erased, moved: offload, read back, expire, delete. They load
the plugin's jar from a class path of its own, by a loader of its own, as in real life; all that they are told of
Guardian comes from system properties. One JVM for each class of tests: when it has ended, so have its clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deploy.local import distribution
from guardian.client import GuardianClient
from tests.integration.faults.progress import tell
from tests.kafka_suites import console
from tests.kafka_suites.guardian import three_members

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1500)]

_PACKAGE = "org.apache.kafka.tiered.storage.integration"
_TESTS_OF_CLASS = {
    "AlterLogDirTest": 2,
    "DeleteSegmentsByRetentionSizeTest": 2,
    "DeleteSegmentsByRetentionTimeTest": 2,
    "DeleteSegmentsDueToLogStartOffsetBreachTest": 2,
    "DeleteTopicTest": 2,
    "DisableRemoteLogOnTopicTest": 2,
    "EnableRemoteLogOnTopicTest": 2,
    "FetchFromLeaderWithCorruptedCheckpointTest": 2,
    "ListOffsetsTest": 2,
    "OffloadAndConsumeFromLeaderTest": 2,
    "OffloadAndTxnConsumeFromLeaderTest": 2,
    "PartitionsExpandTest": 2,
    "ReassignReplicaExpandTest": 2,
    "ReassignReplicaMoveTest": 2,
    "ReassignReplicaShrinkTest": 2,
    "RollAndOffloadActiveSegmentTest": 2,
    "TransactionsWithTieredStoreTest": 42,
}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with three_members(tmp_path_factory.mktemp("guardian")) as settings:
        yield settings


def test_no_class_of_kafkas_tiered_storage_tests_is_left_out() -> None:
    assert console.test_classes(_PACKAGE) == sorted(_TESTS_OF_CLASS)


@pytest.mark.parametrize(("name", "count"), _TESTS_OF_CLASS.items(), ids=list(_TESTS_OF_CLASS))
def test_kafkas_tiered_storage_tests_pass(members: dict[str, str], tmp_path: Path, name: str, count: int) -> None:
    before = _partitions(members)
    settings = {**members, "guardian.suites.manager.class.path": str(distribution.plugin_jar())}
    report = console.run([f"class:{_PACKAGE}.{name}"], settings, tmp_path, 1200.0)
    assert report.failures == {}
    assert report.skipped == []
    assert len(report.outcomes) == count
    assert report.exit_code == 0
    assert _jvms_below(tmp_path) == []
    new = _partitions(members) - before
    tell(f"{name}: {count} tests, {sum(outcome.seconds for outcome in report.outcomes):.0f} s, {len(new)} partitions")
    assert new, "the brokers of these tests keep their segments' metadata in Guardian"


def _partitions(members: dict[str, str]) -> set[tuple[bytes, int]]:
    with GuardianClient(members["guardian.rlmm.config.guardian.endpoints"].split(",")) as client:
        return {(one.partition.topic_id, one.partition.partition) for one in client.list_partitions()}


def _jvms_below(home: Path) -> list[int]:
    return [process.pid for process in psutil.process_iter() if str(home) in " ".join(_command(process))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
