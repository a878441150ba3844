from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.model.plan import ReplicaPlacement
from spark_analytics.model.load import load_now
from spark_analytics.readers import cluster_model_v1

CAPACITY = {"cpu": 100.0, "nw_in": 300.0, "nw_out": 400.0, "disk": 5000.0}
LEADER = {"cpu": 3.0, "nw_in": 10.0, "nw_out": 25.0, "disk": 40.0, "lead_cpu": 2.0, "lead_nw_out": 20.0}
FOLLOWER = {"cpu": 1.5, "nw_in": 10.0, "nw_out": 4.0, "disk": 39.0}
DOCUMENT: dict[str, Any] = {
    "format": "cluster-model-v1",
    "name": "small",
    "brokers": [
        {"id": 7, "rack": "r1", "host": "h7", "idc": "east", "alive": False, "new": True, "capacity": CAPACITY},
        {"id": 3, "rack": "r0", "capacity": CAPACITY},
    ],
    "topics": [{"name": "t", "tenant": "pay"}],
    "replicas": [
        {"topic": "t", "partition": 1, "broker": 7, "isLeader": False, "load": FOLLOWER},
        {"topic": "t", "partition": 1, "broker": 3, "isLeader": True, "load": LEADER},
        {"topic": "u", "partition": 0, "broker": 7, "isLeader": True, "load": {**FOLLOWER, "nw_out": 8.0}},
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The document with one thing in it replaced, or (None) taken out."""
    document = copy.deepcopy(DOCUMENT)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    at: Any = document
    for part in parents:
        at = at[part]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return document


def test_a_model_is_read_with_loads_by_replica_and_the_leaders_share_apart() -> None:
    model = cluster_model_v1.model_of(DOCUMENT)
    assert (model.cluster, model.broker_ids.tolist(), model.hosts) == ("small", [3, 7], ("", "h7"))
    assert (model.alive.tolist(), model.new.tolist()) == ([True, False], [False, True])
    assert model.capacity.tolist() == [[100, 300e3, 400e3, 5000e6]] * 2
    assert model.replicas(0) == (ReplicaPlacement(3, "any"), ReplicaPlacement(7, "any"))
    assert model.slot_load[:, :4].tolist() == [[1, 10e3, 5e3, 40e6], [1.5, 10e3, 4e3, 39e6], [1.5, 10e3, 0, 39e6]]
    assert model.leader_load[:, :4].tolist() == [[2, 0, 20e3, 0], [0, 0, 8e3, 0]]
    assert load_now(model).broker[0].tolist() == [3, 10e3, 25e3, 40e6, 1, 1]
    assert (model.topics, model.topic_tenant.tolist()) == (("t", "u"), [0, -1])
    assert model.disk_usable_bytes.tolist() == [5000e6 - 40e6, 5000e6 - 78e6]


def test_optional_fields_may_be_missing_and_units_may_be_others() -> None:
    document = changed("topics", None) | {"units": {"nw_in": "MB/s", "disk": "GB"}}
    for broker in document["brokers"]:
        for name in ("host", "idc", "alive", "new"):
            broker.pop(name, None)
    model = cluster_model_v1.model_of(document)
    assert model.alive.all()
    assert model.capacity[0].tolist() == [100, 300e6, 400e3, 5000e9]


def test_a_leaders_share_may_exceed_the_whole_by_rounding_only() -> None:
    assert cluster_model_v1.model_of(changed("replicas/1/load/lead_cpu", 3.0000001)).slot_load[0, 0] == 0
    with pytest.raises(InvalidInput, match="partition t-1 of cluster small has a load below zero"):
        cluster_model_v1.model_of(changed("replicas/1/load/lead_cpu", 4))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "cluster-model-v2", "format is 'cluster-model-v2': use 'cluster-model-v1'"),
        ("brokers", None, "brokers is missing: use a list of objects"),
        ("brokers/0", 3, r"brokers\[0\] is 3: use an object"),
        ("brokers/0/id", -1, r"brokers\[0\].id is -1: use a whole number from 0"),
        ("brokers", [DOCUMENT["brokers"][1], *DOCUMENT["brokers"]], "broker 3 is in the model of cluster small twice"),
        ("brokers/0/rack", 4, r"brokers\[0\].rack is 4: use a text"),
        ("brokers/0/alive", "no", r"brokers\[0\].alive is 'no': use true or false"),
        ("brokers/0/capacity", None, r"brokers\[0\].capacity is missing: use an object"),
        ("brokers/0/capacity/disk", "big", r"brokers\[0\].capacity.disk is 'big': use a number from 0"),
        ("brokers/1/capacity/cpu", 0, "capacity cpu of broker 3 .* is 0"),
        ("topics/0/name", None, r"topics\[0\].name is missing"),
        ("units", {"disk": "parsec"}, "units.disk is 'parsec': use B or KB or MB or GB"),
        ("replicas", None, "replicas is not there or no list"),
        ("replicas/0", "x", r"replicas\[0\] is 'x': use an object"),
        ("replicas/1/topic", None, r"replicas\[1\].topic is missing: use a text"),
        ("replicas/1/partition", 1.5, r"replicas\[1\].partition is 1.5: use a whole number"),
        ("replicas/1/broker", 9, r"replicas\[1\].broker is 9: use a broker that is in brokers"),
        ("replicas/1/broker", 7, "partition t-1 of cluster small has two replicas on one broker"),
        ("replicas/1/isLeader", 1, r"replicas\[1\].isLeader is 1: use true or false"),
        ("replicas/0/isLeader", True, "partition t-1 of cluster small has two leaders"),
        ("replicas/2/load", None, r"replicas\[2\].load is missing"),
        ("replicas/2/load/disk", None, r"replicas\[2\].load.disk is missing: use a number from 0"),
        ("replicas/2/load/disk", -4, "partition u-0 of cluster small has a load below zero"),
        ("replicas/1/load/lead_cpu", "much", r"replicas\[1\].load.lead_cpu is 'much'"),
    ],
)
def test_bad_input_names_the_field_the_value_and_the_fix(path: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cluster_model_v1.model_of(changed(path, value))


def test_a_file_may_be_gzip_or_not(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.model.json", tmp_path / "a.model.json.gz"
    plain.write_text(json.dumps(changed("name", None)))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert cluster_model_v1.read(plain).cluster == cluster_model_v1.read(packed).cluster == "a"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", r"is \[\]: use a JSON object"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\x1f\x8bnonsense", "is broken gzip"),
        (gzip.compress(b"{}" * 100, mtime=0)[:-20], "is broken gzip"),
    ],
)
def test_a_broken_file_is_told_in_a_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    (file := tmp_path / "m.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        cluster_model_v1.read(file)


def test_a_missing_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"model .*can't be read \(No such file"):
        cluster_model_v1.read(tmp_path / "none.json")
