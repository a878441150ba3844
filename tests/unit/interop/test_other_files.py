"""Files of Cruise Control, Confluent and topicctl: read, refused in one sentence, written back."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.interop import broker_sets_json, capacity_json, confluent_placement, reassignment_json, topicctl_yaml
from guardian.interop.capacity_json import Capacity, machines_of
from guardian.interop.json_file import read_json
from guardian.model.federation import IdcPolicy, Machine, Topic
from guardian.model.plan import RUN_PLAN
from guardian.model.tasks import CreateTopic, ExpandTopic
from guardian.model.topology import Broker, Cluster

LIVE = Cluster("live", "h:1", brokers=(Broker(1, "r", "sh", reporter="h1:1"), Broker(2, "r", "sh", reporter="h2:1")))
TOPIC = """\
meta:
  name: orders
  cluster: live
  environment: production
  region: eu
  labels: {owner: ann}
spec:
  partitions: 2
  replicationFactor: 2
  retentionMinutes: 5
  settings: {cleanup.policy: [delete, compact], max.message.bytes: 5242880, unclean.leader.election.enable: false}
  placement:
    strategy: static
    staticAssignments: [[1, 2], [2, 1]]
"""


def test_machines_have_the_hosts_that_are_known() -> None:
    known = [Machine("node-2", "sz", "r9", disks=4, cores=8, cluster="live", broker_id=2, label="gold")]
    given = {-1: Capacity(100.0, 20.0, 10.0, cpu_percent=100)}
    found = machines_of(given, LIVE, known)
    assert found.machines == (
        Machine("h1", "sh", "r", 100, 0, 10, 0, "live", 1),
        Machine("node-2", "sz", "r9", 100, 4, 10, 8, "live", 2, "gold"),
    )
    assert machines_of({1: given[-1]}, LIVE, known, "n-{broker}").machines[0].host == "n-1"
    assert "broker 2: not in the file" in machines_of({1: given[-1]}, LIVE, known).remarks[0]


def test_a_host_that_is_not_known_is_asked_for() -> None:
    shared = Cluster("live", "h:1", brokers=(Broker(1, reporter="h:1"), Broker(2, reporter="h:2")))
    given = {-1: Capacity(1.0, 1.0, 1.0, cores=1)}
    with pytest.raises(InvalidInput, match="host of broker 1 of cluster live is h, as is that of another broker"):
        machines_of(given, shared, [])
    with pytest.raises(InvalidInput, match=r"host pattern is 'node': it needs \{broker\}"):
        machines_of(given, shared, [], "node")
    with pytest.raises(InvalidInput, match="more than a machine can have"):
        machines_of({-1: Capacity(1e30, 1.0, 1.0, cores=1)}, LIVE, [])


def test_entries_of_other_brokers_are_left_out_and_told() -> None:
    given = Capacity(100.0, 10.0, 10.0, cores=2)
    found = machines_of({-1: given, 1: given, 7: given, 9: given}, LIVE, [])
    assert [machine.broker_id for machine in found.machines] == [1, 2]
    (remark,) = found.remarks
    assert remark.startswith("broker 7, 9: not in cluster live; left out")
    with pytest.raises(InvalidInput, match=r"capacity file has no broker of cluster live \(got 7, 9\)"):
        machines_of({7: given, 9: given}, LIVE, [])


def test_fractions_of_cores_are_told_and_never_more_than_there_are() -> None:
    found = machines_of({1: Capacity(1.0, 1.0, 1.0, cores=3.5), 2: Capacity(1.0, 1.0, 1.0, cores=0.5)}, LIVE, [])
    assert [machine.cores for machine in found.machines] == [3, 1]
    assert [remark.split(",")[0] for remark in found.remarks] == [
        "broker 2: 0.5 cores count as 1", "broker 1: 3.5 cores count as 3",
    ]  # fmt: skip
    assert machines_of({-1: Capacity(1.0, 1.0, 1.0, cores=4.0)}, LIVE, []).remarks == ()


def test_capacities_are_written_as_they_are_read() -> None:
    machines = [Machine("a", disk_bytes=3 * 1024**2, nic_bytes_per_s=2048, cores=4, cluster="live", broker_id=7)]
    (read,) = capacity_json.capacities_of(json.loads(capacity_json.write(machines))).items()
    assert read == (7, Capacity(3 * 1024.0**2, 2048.0, 2048.0, cores=4.0))
    with pytest.raises(InvalidInput, match="no machine of the cluster has disk, nic and cores"):
        capacity_json.write([Machine("a")])


def test_sets_and_constraints_are_written_as_they_are_read() -> None:
    assert broker_sets_json.sets_of(json.loads(broker_sets_json.write({1: "a", 2: "b", 3: "a"}))) == {
        1: "a",
        2: "b",
        3: "a",
    }
    policy = IdcPolicy("two", (("sh", 2), ("sz", 1)))
    assert confluent_placement.policy_of(json.loads(confluent_placement.write(policy)), "two").policy == policy


def test_a_topic_of_topicctl_is_read() -> None:
    (topic,) = topicctl_yaml.read(TOPIC + "---\n", "f")
    assert (topic.where, topic.name, topic.cluster, topic.owner) == ("f:1", "orders", "live", "ann")
    assert topic.assignments == ((1, 2), (2, 1))
    assert dict(topic.configs) == {
        "cleanup.policy": "delete,compact",
        "max.message.bytes": "5242880",
        "retention.ms": "300000",
        "unclean.leader.election.enable": "false",
    }
    plan = topicctl_yaml.plan_of(topic, "live")
    assert (plan.kind, len(plan.moves)) == (RUN_PLAN, 2)
    assert plan.task == CreateTopic(Topic("live", "orders", owner="ann"), 2, 2, configs=topic.configs)
    more = topicctl_yaml.plan_of(topic, "live", there=1)
    assert (more.kind, [str(move.partition) for move in more.moves], more.task) == (
        RUN_PLAN,
        ["orders-1"],
        ExpandTopic("orders", 2),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: orders", "name: or ders", "f:2: meta.name: name of the topic is 'or ders'"),
        ("  name: orders\n", "", "f:2: meta.name is missing"),
        ("partitions: 2", "partitions: 0", "spec.partitions is 0: use a whole number from 1"),
        ("  partitions: 2\n", "", "spec.partitions is missing: give a number from 1"),
        ("partitions: 2", "partitions: 3", "staticAssignments is a list: it has 2 entries: give 3"),
        ("[2, 1]", "[2, 2]", r"staticAssignments\[1\] is a list: give 2 different brokers"),
        ("[2, 1]", "[2]", "give 2 different brokers, as replicationFactor says"),
        ("strategy: static", "strategy: nice", "strategy is 'nice': use one of any, balanced-leaders"),
        ("    staticAssignments: [[1, 2], [2, 1]]", "", "staticAssignments is missing, since strategy is 'static'"),
        ("max.message.bytes: 5242880", "retention.ms: 1", "retentionMinutes is 5: settings has retention.ms too"),
        ("max.message.bytes: 5242880", "max.message.bytes: {a: 1}", "max.message.bytes is a mapping: use a text"),
        ("settings:", "setings:", "spec.setings is not known: use partitions"),
        ("spec:", "specs:", "f:8: specs is not known: use meta, spec"),
    ],
)
def test_a_wrong_topic_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    assert old in TOPIC
    with pytest.raises(InvalidInput, match=message):
        topicctl_yaml.read(TOPIC.replace(old, new), "f")


def test_topics_come_once_and_at_least_one_does() -> None:
    with pytest.raises(InvalidInput, match="f:16: topic orders is in f:1 too: keep one"):
        topicctl_yaml.read(f"{TOPIC}---\n{TOPIC}", "f")
    with pytest.raises(InvalidInput, match="f has no topic"):
        topicctl_yaml.read("", "f")


_NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-", min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..")
)
_PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=12).filter(str.isprintable)
_SETTINGS = st.dictionaries(
    st.sampled_from(["cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas", "x.y"]),
    st.sampled_from(
        ["delete", "compact,delete", "-1", "60000", "86400000", "0", "007", "1e3", "true", "True", "~", "a: b", "", ","]
    )
    | st.integers(-1, 2**63 - 1).map(str)
    | _PRINTABLE,
)


@st.composite
def _topics(draw: st.DrawFn) -> topicctl_yaml.TopicctlTopic:
    factor = draw(st.integers(1, 3))
    rows = st.lists(st.integers(0, 2**31 - 1), min_size=factor, max_size=factor, unique=True)
    return topicctl_yaml.topic_of(
        draw(st.sampled_from(["", "live", "no", "7"])),
        draw(_NAMES),
        draw(st.lists(rows, min_size=1, max_size=4)),
        draw(_SETTINGS).items(),
        draw(st.sampled_from(["", "ann", "007", "team: a", "été"])),
        is_static=draw(st.booleans()),
    )


@given(st.lists(_topics(), min_size=1, max_size=4, unique_by=lambda topic: topic.name), st.sampled_from(["", "eu"]))
def test_topics_are_written_as_they_are_read(topics: list[topicctl_yaml.TopicctlTopic], region: str) -> None:
    read = topicctl_yaml.read(topicctl_yaml.write(topics, "prod", region), "f")
    assert [replace(topic, where="", remarks=()) for topic in read] == topics


def test_what_a_file_of_topicctl_can_not_say_is_refused_and_what_passes_is_left_out() -> None:
    with pytest.raises(InvalidInput, match="topic t has partitions of 1 and 2 replicas: topicctl knows one"):
        topicctl_yaml.topic_of("live", "t", [(1,), (1, 2)], ())
    throttled = [("leader.replication.throttled.replicas", "0:1"), ("retention.ms", "90000")]
    text = topicctl_yaml.write([topicctl_yaml.topic_of("live", "t", [(1, 2)], throttled, "ann")], "prod", "eu")
    assert yaml.safe_load(text) == {
        "meta": {"name": "t", "cluster": "live", "environment": "prod", "region": "eu", "labels": {"owner": "ann"}},
        "spec": {
            "partitions": 1,
            "replicationFactor": 2,
            "settings": {"retention.ms": 90000},
            "placement": {"strategy": "any"},
        },
    }


def test_a_number_that_no_quantity_has_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "capacity.json"
    file.write_text('{"brokerCapacities": [{"brokerId": 1, "capacity": {"DISK": 1%s}}]}' % ("0" * 400))
    with pytest.raises(InvalidInput, match=r"capacity.CPU is missing|DISK is 10+"):
        capacity_json.capacities_of(read_json(file, "capacity file"))


_KEYS = st.sampled_from(
    [
        "brokerCapacities", "brokerId", "capacity", "DISK", "CPU", "NW_IN", "NW_OUT", "num.cores", "brokerSets",
        "brokerSetId", "brokerIds", "version", "replicas", "observers", "count", "constraints", "rack", "partitions",
        "topic", "partition", "log_dirs", "meta", "spec", "name", "cluster", "placement", "strategy", "settings",
        "replicationFactor", "staticAssignments", "retentionMinutes", "labels", "/d1",
    ]
)  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**25) | st.floats() | st.text(max_size=4) | _KEYS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(_KEYS, inside, max_size=4),
    max_leaves=15,
)
_SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from([1, 2, "2", None]),
        "brokerCapacities": st.lists(
            st.fixed_dictionaries(
                {"brokerId": _VALUES},
                optional={"capacity": st.dictionaries(st.sampled_from(["DISK", "CPU", "NW_IN", "NW_OUT"]), _VALUES)},
            ),
            max_size=2,
        ),
        "brokerSets": st.lists(
            st.fixed_dictionaries({"brokerSetId": _VALUES, "brokerIds": st.lists(_VALUES, max_size=2)}), max_size=2
        ),
        "replicas": st.lists(st.fixed_dictionaries({"count": _VALUES, "constraints": _VALUES}), max_size=2),
        "partitions": st.lists(
            st.fixed_dictionaries({"topic": _VALUES, "partition": _VALUES, "replicas": _VALUES}), max_size=2
        ),
        "meta": st.fixed_dictionaries({"name": _VALUES}, optional={"cluster": _VALUES, "labels": _VALUES}),
        "spec": st.fixed_dictionaries(
            {"partitions": _VALUES, "replicationFactor": _VALUES},
            optional={"placement": _VALUES, "settings": _VALUES, "retentionMinutes": _VALUES},
        ),
    },
)


DOCUMENTS = _SHAPED | st.dictionaries(_KEYS, _VALUES, max_size=4)


@given(DOCUMENTS)
def test_any_document_is_read_or_refused(document: dict[str, Any]) -> None:
    read_all_as(document)


def read_all_as(document: dict[str, Any]) -> None:
    """As a file of each kind: nothing but InvalidInput is raised."""
    with suppress(InvalidInput):
        machines_of(capacity_json.capacities_of(document), LIVE, [])
    with suppress(InvalidInput):
        broker_sets_json.sets_of(document)
    with suppress(InvalidInput):
        confluent_placement.policy_of(document, "p", LIVE)
    with suppress(InvalidInput):
        reassignment_json.read(json.dumps(document), "live")
    with suppress(InvalidInput):
        for topic in topicctl_yaml.read(yaml.safe_dump(document, allow_unicode=True), "f"):
            topicctl_yaml.plan_of(topic, "live")


_BYTES = (
    st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | st.binary(max_size=20).map(b"\x1f\x8b\x08".__add__)
)


@given(raw=_BYTES)
def test_any_bytes_are_a_document_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(raw)
    with suppress(InvalidInput):
        read_json(path, "file")
