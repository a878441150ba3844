"""Our reassignment file and Kafka's own kafka-reassign-partitions read each other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local.distribution import kafka_libs
from deploy.local.kafka_cluster import KafkaCluster
from guardian.interop import reassignment_json
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import ANY_LOG_DIR, Cluster, TopicPartition
from tests.patience import CONTROL_S, PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
CURRENT = "Current partition replica assignment"
PROPOSED = "Proposed partition reassignment configuration"

NewTopic = Callable[[], str]


def kafka_reassign_partitions(kafka: KafkaCluster, *arguments: str) -> str:
    command = ["java", "-Xmx128m", "-cp", f"{kafka_libs()}/*", TOOL, "--bootstrap-server", kafka.bootstrap, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_kafka_carries_out_and_verifies_the_file_that_we_write(
    kafka_cluster: KafkaCluster, new_topic: NewTopic, tmp_path: Path
) -> None:
    cluster, topic = Cluster("live", kafka_cluster.bootstrap), new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2), 1: (1, 2)}}, {}, PATIENCE_S)
    network, order = TopicPartition(topic, 0), TopicPartition(topic, 1)
    disk = kafka_cluster.broker(3).log_dirs[2]
    original = (ReplicaPlacement(1), ReplicaPlacement(2))
    moves = (
        PartitionMove(network, original, (ReplicaPlacement(3, disk), ReplicaPlacement(2, ANY_LOG_DIR))),
        PartitionMove(order, original, (ReplicaPlacement(2), ReplicaPlacement(1))),
    )
    file = tmp_path / "plan.json"
    file.write_text(reassignment_json.write(moves))
    said = kafka_reassign_partitions(kafka_cluster, "--reassignment-json-file", str(file), "--execute")
    assert f"Successfully started partition reassignments for {network},{order}" in said

    with closing(KafkaControl(cluster, CONTROL_S)) as control:

        def is_carried_out() -> bool:
            replicas = {tp: state.replicas for tp, state in control.describe_partitions([topic]).items()}
            holding = [d.path for d in control.describe_log_dirs([3]) if network in d.replicas]
            return replicas == {network: (3, 2), order: (2, 1)} and holding == [disk]

        wait_for("all is moved", is_carried_out)
    said = kafka_reassign_partitions(kafka_cluster, "--reassignment-json-file", str(file), "--verify")
    assert f"Reassignment of partition {network} is completed." in said
    assert f"Reassignment of partition {order} is completed." in said
    assert f"Reassignment of replica {network}-3 completed successfully." in said


def test_we_read_what_kafka_generates(kafka_cluster: KafkaCluster, new_topic: NewTopic, tmp_path: Path) -> None:
    cluster, topic = Cluster("live", kafka_cluster.bootstrap), new_topic()
    data.create_topics(cluster, {topic: {0: (1, 2), 1: (1, 2), 2: (1, 2)}}, {}, PATIENCE_S)
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    said = kafka_reassign_partitions(
        kafka_cluster, "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3", "--generate"
    )
    current, proposed = said.split(CURRENT)[1].split(PROPOSED)

    plan = reassignment_json.read(current, "live")
    assert {move.partition: move.target_brokers for move in plan.moves} == {
        TopicPartition(topic, number): (1, 2) for number in range(3)
    }
    plan = reassignment_json.read(proposed, "live")
    assert {move.partition for move in plan.moves} == {TopicPartition(topic, number) for number in range(3)}
    assert all(len(set(move.target_brokers)) == 2 and set(move.target_brokers) <= {1, 2, 3} for move in plan.moves)
    assert {placement.log_dir for move in plan.moves for placement in move.target} == {ANY_LOG_DIR}
    again = json.loads(reassignment_json.write(plan.moves))
    assert {entry["partition"]: entry for entry in again["partitions"]} == {
        entry["partition"]: entry for entry in json.loads(proposed)["partitions"]
    }
