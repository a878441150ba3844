from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from guardian.model.topology import TopicPartition
from spark_analytics.model.cluster_model import BrokerFacts, ClusterModel, LogDirFacts, PartitionFacts
from spark_analytics.readers import placement_v1


def model(*paths: str) -> ClusterModel:
    """t-0 on 1 and 2, t-1 on 2 and 3; brokers 1 to 4."""
    paths = paths or ("any",)
    return ClusterModel.of(
        "live",
        [BrokerFacts(broker) for broker in (1, 2, 3, 4)],
        [LogDirFacts(broker, path, 100, 100, offline=path == "/broken") for broker in (1, 2, 3, 4) for path in paths],
        [
            PartitionFacts(TopicPartition("t", 0), (ReplicaPlacement(1, paths[0]), ReplicaPlacement(2, paths[0]))),
            PartitionFacts(TopicPartition("t", 1), (ReplicaPlacement(2, paths[0]), ReplicaPlacement(3, paths[0]))),
        ],
    )


def entry(**other: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": 0, "leader": 4, "replicas": [[4, 1], [2, 2]]} | other


def read(*entries: dict[str, Any], of: ClusterModel | None = None) -> tuple[list[int], list[int]]:
    slots, leaders = placement_v1.placement_of({"format": "placement-v1", "partitions": list(entries)}, of or model())
    return slots.tolist(), leaders.tolist()


def test_each_replica_keeps_its_own_load_by_its_pair() -> None:
    assert read(entry()) == ([3, 1, 1, 2], [0, 2])
    assert read(entry(replicas=[[1, 2], [4, 1]])) == ([3, 0, 1, 2], [0, 2])
    assert read(entry(leader=2, replicas=[[2, 2], [4, 1]])) == ([3, 1, 1, 2], [1, 2])


def test_plain_lists_pair_what_stays_with_itself() -> None:
    assert read(entry(leader=2, replicas=[2, 4])) == ([3, 1, 1, 2], [1, 2])


def test_what_is_left_out_stays() -> None:
    assert read() == (model().slot_log_dir.tolist(), model().leader_slot.tolist())


def test_log_dirs_are_those_named_or_the_first_that_works() -> None:
    two = model("/broken", "/d1", "/d2")
    assert read(entry(), of=two)[0][:2] == [10, 3]
    assert read(entry(log_dirs=["/d2", "/d1"]), of=two)[0][:2] == [11, 4]


@pytest.mark.parametrize("paths", [(), ("/d1", "/d2")])
def test_what_is_written_is_read_back(tmp_path: Path, paths: tuple[str, ...]) -> None:
    before = model(*paths)
    slots, leaders = before.slot_log_dir.copy(), before.leader_slot.copy()
    slots[0], leaders[1] = len(before.log_dirs) - 1, 3
    for name in ("p.json", "p.json.gz"):
        placement_v1.write(tmp_path / name, before, slots, leaders, "mine", 1.5)
        again = placement_v1.read(tmp_path / name, before)
        assert (again[0].tolist(), again[1].tolist()) == (slots.tolist(), leaders.tolist())
    document = json.loads((tmp_path / "p.json").read_text())
    assert {key: document[key] for key in ("planner", "wall_s", "model")} == {
        "planner": "mine",
        "wall_s": 1.5,
        "model": "live",
    }
    assert document["partitions"][0]["replicas"] == [[4, 1], [2, 2]]
    first = (tmp_path / "p.json.gz").read_bytes()
    placement_v1.write(tmp_path / "p.json.gz", before, slots, leaders, "mine", 1.5)
    assert (tmp_path / "p.json.gz").read_bytes() == first


def test_only_partitions_that_change_are_written() -> None:
    document = placement_v1.document_of(model(), model().slot_log_dir, np.array([1, 2]))
    assert [item["partition"] for item in document["partitions"]] == [0]


def test_a_placement_is_a_plan_from_outside_with_the_leader_first(tmp_path: Path) -> None:
    (file := tmp_path / "p.json").write_text(
        json.dumps({"planner": "theirs", "partitions": [entry(leader=2), entry(partition=7)]})
    )
    plan = placement_v1.plan_of(file, model())
    assert [move.target_brokers for move in plan.moves] == [(2, 4), (4, 2)]
    assert (plan.kind, plan.input) == ("placement", "a placement by theirs")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"topic": None}, r"partitions\[0\].topic is missing"),
        ({"topic": "v"}, "topic v is not in the model"),
        ({"partition": -1}, r"partitions\[0\].partition is -1"),
        ({"leader": 3}, r"partitions\[0\].leader is 3: use one of its replicas, \[4, 2\]"),
        ({"replicas": []}, r"partitions\[0\].replicas is \[\]"),
        ({"replicas": [[4, 1], 2]}, "use .broker now, broker in the model. for each"),
        ({"replicas": [[4, True], [2, 2]]}, "use .broker now, broker in the model. for each"),
        ({"replicas": [[4, 1], [4, 2]]}, "names a broker twice"),
        ({"replicas": [[4, 1], [2, 3]]}, r"pair each with one of \[1, 2\]"),
        ({"replicas": [4]}, r"pair each with one of \[1, 2\]"),
        ({"leader": 9, "replicas": [[9, 1], [2, 2]]}, "broker 9 is not in the model"),
        ({"log_dirs": ["/d"]}, r"partitions\[0\].log_dirs is \['/d'\]: give the path of one for each replica"),
        ({"log_dirs": ["/d", "/e"]}, "log_dirs has /d of broker 4: name a log dir of the model"),
    ],
)
def test_bad_input_names_the_field_the_value_and_the_fix(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(entry(**wrong))


def test_two_entries_of_one_partition_and_other_formats_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"partitions\[1\] is t-0, as is partitions\[0\]"):
        read(entry(), entry())
    with pytest.raises(InvalidInput, match="format is 'x'"):
        placement_v1.placement_of({"format": "x", "partitions": []}, model())
