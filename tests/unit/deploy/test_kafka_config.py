import json
from pathlib import Path

import pytest

from deploy.local.kafka_config import (
    BrokerPorts,
    ClusterSpec,
    Listener,
    broker_properties,
    controller_properties,
    idc_of,
)
from deploy.local.state import from_state, to_state
from deploy.local.tiered_storage import TieredStorage, guardian_metadata, local_storage, topic_metadata
from guardian.errors import InvalidInput

LOG_DIRS = (Path("/k/broker-2/disk1"), Path("/k/broker-2/disk2"), Path("/k/broker-2/disk3"))


def properties(spec: ClusterSpec, password: str = "") -> dict[str, str]:
    text = broker_properties(
        spec,
        2,
        ports=BrokerPorts(20001, 20002, 20003),
        controller_ports={101: 20009},
        metadata_dir=Path("/k/broker-2/metadata"),
        log_dirs=LOG_DIRS,
        password=password,
    )
    return dict(line.split("=", 1) for line in text.splitlines())


def test_a_broker_has_its_metadata_apart_from_its_log_dirs() -> None:
    found = properties(ClusterSpec("live"))
    assert found["log.dirs"] == "/k/broker-2/disk1,/k/broker-2/disk2,/k/broker-2/disk3"
    assert found["metadata.log.dir"] == "/k/broker-2/metadata"
    assert found["metadata.log.dir"] not in found["log.dirs"].split(",")


def test_brokers_stand_in_three_racks_of_two_idcs() -> None:
    spec = ClusterSpec("live", brokers=4)
    racks = [spec.rack_of(broker) for broker in (1, 2, 3, 4)]
    assert racks == ["shanghai-a", "shanghai-b", "suzhou-a", "shanghai-a"]
    assert [idc_of(rack) for rack in racks] == ["shanghai", "shanghai", "suzhou", "shanghai"]
    assert properties(spec)["broker.rack"] == "shanghai-b"


def test_consumers_read_in_their_idc_where_there_are_several_and_the_plugin_is_in() -> None:
    key, idc_aware = "replica.selector.class", "guardian.kafka.IdcAwareReplicaSelector"
    rack_aware = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert properties(ClusterSpec("live"))[key] == idc_aware
    assert properties(ClusterSpec("live", plugin=False))[key] == rack_aware
    assert properties(ClusterSpec("live", racks=("shanghai-a", "shanghai-b")))[key] == rack_aware
    assert properties(ClusterSpec("live", settings={key: "org.example.Ours"}))[key] == "org.example.Ours"


def test_leadership_and_topics_are_left_to_guardian_and_its_users() -> None:
    found = properties(ClusterSpec("live"))
    assert found["auto.leader.rebalance.enable"] == "false"
    assert found["auto.create.topics.enable"] == "false"
    assert found["group.initial.rebalance.delay.ms"] == "0"
    assert found["controller.quorum.voters"] == "101@127.0.0.1:20009"


def test_the_plugin_comes_beside_kafkas_own_jmx_reporter() -> None:
    found = properties(ClusterSpec("live"))
    assert found["metric.reporters"] == (
        "guardian.kafka.GuardianMetricsReporter,org.apache.kafka.common.metrics.JmxReporter"
    )
    assert found["guardian.reporter.listener"] == "127.0.0.1:20003"
    assert "metric.reporters" not in properties(ClusterSpec("live", plugin=False))


def test_sasl_is_a_listener_of_its_own_beside_plaintext() -> None:
    found = properties(ClusterSpec("live", sasl=True), password="s3cret")
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:20001,SASL://127.0.0.1:20002"
    login = properties(ClusterSpec("live", sasl=True), 's"t')["listener.name.sasl.plain.sasl.jaas.config"]
    assert login.endswith('required user_guardian="s\\\\"t";')


def test_more_listeners_are_those_of_one_broker() -> None:
    more = Listener("TLS", "SSL", 9093, {"ssl.client.auth": "required"}, advertised="kafka.example.test")
    found = properties(ClusterSpec("live", brokers=1, plugin=False, listeners=(more,)))
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:20001,TLS://127.0.0.1:9093"
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001,TLS://kafka.example.test:9093"
    assert found["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL"
    assert found["listener.name.tls.ssl.client.auth"] == "required"
    with pytest.raises(InvalidInput, match=r"listeners of cluster live is \['TLS'\] for 3 brokers"):
        ClusterSpec("live", brokers=3, listeners=(more,))


@pytest.mark.parametrize(("field", "value"), [("brokers", -1), ("controllers", 0), ("log_dirs", 0), ("brokers", 101)])
def test_a_spec_that_can_not_run_is_refused_by_name(field: str, value: int) -> None:
    with pytest.raises(InvalidInput, match=f"{field} of cluster live is {value}"):
        ClusterSpec("live", **{field: value})  # type: ignore[arg-type]


def test_a_version_of_kafka_that_has_no_jars_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"kafka of cluster live is '2\.8': use one of \['3\.9', '4\.3'\]"):
        ClusterSpec("live", kafka="2.8")


def test_tiered_storage_is_on_at_brokers_and_at_controllers() -> None:
    tiered = TieredStorage(local_storage("/jars/*", "/remote"), guardian_metadata("/plugin.jar", ["h:1"]))
    spec = ClusterSpec("live", tiered=tiered)
    controller = controller_properties(spec, 101, {101: 1001}, Path("/k/m"))
    assert properties(spec)["remote.log.storage.system.enable"] == "true"
    assert "remote.log.storage.system.enable=true\n" in controller
    assert "remote.log.storage.system.enable" not in properties(ClusterSpec("live"))
    assert "remote.log.storage" not in controller_properties(ClusterSpec("live"), 101, {101: 1001}, Path("/k/m"))


def test_a_node_with_an_address_of_its_own_listens_there_and_others_know() -> None:
    spec = ClusterSpec("live", sasl=True, hosts={2: "10.0.0.2", 101: "10.0.0.9"})
    found = properties(spec)
    assert found["listeners"] == "PLAINTEXT://10.0.0.2:20001,SASL://10.0.0.2:20002"
    assert found["guardian.reporter.listener"] == "10.0.0.2:20003"
    assert found["controller.quorum.voters"] == "101@10.0.0.9:20009"
    assert from_state(ClusterSpec, json.loads(json.dumps(to_state(spec)))) == spec


def test_settings_of_the_spec_win() -> None:
    spec = ClusterSpec("live", settings={"num.io.threads": "1", "log.roll.ms": "5000"})
    assert (properties(spec)["num.io.threads"], properties(spec)["log.roll.ms"]) == ("1", "5000")


def test_a_spec_survives_its_state() -> None:
    tiered = TieredStorage(local_storage("/jars/*", "/remote"), topic_metadata(), task_interval_ms=100)
    spec = ClusterSpec(
        "live",
        brokers=5,
        sasl=True,
        plugin=False,
        jvm=("-Xms400m",),
        racks=("a-1", "b-1"),
        kafka="3.9",
        tiered=tiered,
        settings={"a": "b"},
    )
    for each in (spec, ClusterSpec("live", brokers=1, listeners=(Listener("TLS", "SSL", 9093, {"a": "b"}),))):
        assert from_state(ClusterSpec, json.loads(json.dumps(to_state(each)))) == each


def test_a_spec_that_was_stored_before_there_was_tiered_storage_is_read() -> None:
    state = to_state(ClusterSpec("live"))
    for added in ("kafka", "tiered", "settings", "hosts", "jvm"):
        del state[added]
    assert from_state(ClusterSpec, state) == ClusterSpec("live")
