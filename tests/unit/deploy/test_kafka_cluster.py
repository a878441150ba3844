import json
import os
import stat
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from deploy.local import broker_hook, kafka_cluster
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.processes import LocalProcess
from deploy.local.state import to_state
from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.model.topology import SecurityProtocol, TopicPartition


def test_a_planned_cluster_has_its_places_before_anything_runs(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", brokers=3), tmp_path)
    assert [broker.id for broker in cluster.brokers] == [1, 2, 3]
    assert all(broker.pid is None and len(broker.log_dirs) == 3 for broker in cluster.brokers)
    assert cluster.bootstrap == ",".join(f"127.0.0.1:{broker.port}" for broker in cluster.brokers)
    endpoints = [endpoint for broker in cluster.brokers for endpoint in (broker.listener, broker.reporter)]
    assert len(set(endpoints)) == 6
    assert not any(tmp_path.iterdir())


def test_a_cluster_id_never_begins_with_a_dash(tmp_path: Path) -> None:
    ids = {KafkaCluster.plan(ClusterSpec("live", brokers=0), tmp_path).cluster_id for _ in range(300)}
    assert len(ids) == 300
    assert all(len(cluster_id) == 22 and not cluster_id.startswith("-") for cluster_id in ids)


def test_a_cluster_planned_on_data_keeps_its_id(tmp_path: Path) -> None:
    metadata = tmp_path / "controller-101" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "meta.properties").write_text("cluster.id=the-old-one\nnode.id=101\n")
    assert KafkaCluster.plan(ClusterSpec("live"), tmp_path).cluster_id == "the-old-one"


def test_a_node_whose_first_start_was_killed_midway_gets_whole_files_at_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tmp_path / "made.checkpoint"
    checkpoint.write_text("the feature levels")
    monkeypatch.setattr(kafka_cluster, "bootstrap_checkpoint", lambda *_: checkpoint)
    monkeypatch.setattr(KafkaCluster, "_spawn", lambda *_: None)
    cluster = KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path / "live")
    metadata = tmp_path / "live" / "controller-101" / "metadata"

    def killed(self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                cluster._start_controller(cluster.controllers[0])
        assert not (metadata / "meta.properties").exists()
    cluster._start_controller(cluster.controllers[0])
    assert f"cluster.id={cluster.cluster_id}\n" in (metadata / "meta.properties").read_text()
    assert (metadata / "bootstrap.checkpoint").read_text() == "the feature levels"


def test_another_process_can_take_a_cluster_over(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", sasl=True), tmp_path)
    me = psutil.Process()
    running = LocalProcess(me.pid, me.create_time() - psutil.boot_time(), tmp_path / "log")
    cluster.brokers[0].process = running
    cluster.brokers[1].process = replace(running, started_s=running.started_s - 10)
    cluster.starters[2] = ["nsenter", "--net=/run/netns/b2"]
    taken = KafkaCluster.from_state(json.loads(json.dumps(cluster.to_state())))
    assert taken.to_state() == cluster.to_state()
    assert [broker.pid for broker in taken.brokers] == [os.getpid(), None, None]
    assert taken.to_cluster() == cluster.to_cluster()
    assert taken.starters == cluster.starters


def test_guardian_is_told_racks_idcs_and_reporters(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", sasl=True), tmp_path)
    known = cluster.to_cluster()
    assert [(broker.rack, broker.idc) for broker in known.brokers] == [
        ("shanghai-a", "shanghai"),
        ("shanghai-b", "shanghai"),
        ("suzhou-a", "suzhou"),
    ]
    assert [broker.reporter for broker in known.brokers] == [broker.reporter for broker in cluster.brokers]
    assert known.security.protocol is SecurityProtocol.SASL_PLAINTEXT
    assert known.bootstrap == cluster.sasl_bootstrap != cluster.bootstrap
    assert cluster.to_cluster(sasl=False).bootstrap == cluster.bootstrap


def test_a_cluster_without_the_plugin_has_no_reporters(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path)
    assert [broker.reporter for broker in cluster.to_cluster().brokers] == ["", "", ""]


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"broker is 9: cluster live has \[1, 2, 3\]"):
        KafkaCluster.plan(ClusterSpec("live"), tmp_path).kill_broker(9)
    with pytest.raises(InvalidInput, match=r"node is 9: cluster live has \[1, 2, 3, 101\]"):
        KafkaCluster.plan(ClusterSpec("live"), tmp_path).start_node(9)


def test_hooks_know_brokers_and_controllers_as_the_last_hook_left_them(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", controllers=3), tmp_path / "kafka")
    folder = tmp_path / "hooks"
    broker_hook.save(cluster, folder)
    (folder / "node-102.json").write_text(json.dumps(to_state(LocalProcess(7, 5.0, tmp_path / "log"))))
    found = {node.id: node.process.pid if node.process else None for node in broker_hook.load(folder).nodes}
    assert found == {1: None, 2: None, 3: None, 101: None, 102: 7, 103: None}


def test_the_password_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    cluster = KafkaCluster.plan(ClusterSpec("live", sasl=True), tmp_path)
    assert cluster.ensure_password() == cluster.ensure_password() == cluster.sasl_password_file.read_text()
    assert stat.S_IMODE(cluster.sasl_password_file.stat().st_mode) == 0o600


class Watched:
    """In place of the control: the answers, one a round, each an error or how many seconds it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: float | ClusterUnavailable) -> None:
        self.now_s, self.answers, self.asked = 0.0, iter(answers), 0
        monkeypatch.setattr("deploy.local.kafka_cluster.time.monotonic", lambda: self.now_s)
        monkeypatch.setattr("deploy.local.kafka_cluster.time.sleep", lambda _: None)
        monkeypatch.setattr(KafkaCluster, "_wait_for", lambda *_: None)
        monkeypatch.setattr(KafkaCluster, "_ask_all", self._answer)

    def _answer(self) -> None:
        self.asked += 1
        answer = next(self.answers)
        if isinstance(answer, ClusterUnavailable):
            raise answer
        self.now_s += answer


def test_a_cluster_is_ready_when_its_brokers_have_answered_promptly_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, ClusterUnavailable("no answer"), 1.0, 9.0, 1.0, 1.0, 1.0)
    KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path).wait_ready()
    assert watched.asked == 5


def test_where_no_answer_is_prompt_a_cluster_is_ready_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, *[25.0] * 4)
    KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path).wait_ready()
    assert watched.asked == 3


def test_a_cluster_that_gives_no_answer_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *[ClusterUnavailable("no answer")] * 100)
    monkeypatch.setattr(
        "deploy.local.kafka_cluster.time.sleep", lambda _: setattr(watched, "now_s", watched.now_s + 10)
    )
    with pytest.raises(ClusterUnavailable, match="no answer"):
        KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path).wait_ready(60)


def test_a_broker_that_ends_before_it_answers_is_told_of_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, *[ClusterUnavailable("no answer")] * 100)
    ends = iter([None, None, None, ClusterUnavailable("broker 1 of cluster live has ended")])

    def wait_for(*_: object) -> None:
        if (ended := next(ends)) is not None:
            raise ended

    monkeypatch.setattr(KafkaCluster, "_wait_for", wait_for)
    with pytest.raises(ClusterUnavailable, match="broker 1 of cluster live has ended"):
        KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path).wait_ready()
    assert watched.asked == 2


@pytest.mark.parametrize(
    ("named", "leader", "is_known"), [((1, 2, 3), 1, True), ((1, 2), 1, False), ((1, 2, 3), -1, False)]
)
def test_brokers_know_a_cluster_when_they_name_all_and_the_leaders_of_internal_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: tuple[int, ...], leader: int, is_known: bool
) -> None:
    partition = TopicPartition("__consumer_offsets", 0)

    class Control:
        def __init__(self, *_: object) -> None:
            pass

        def describe_cluster(self) -> SimpleNamespace:
            return SimpleNamespace(brokers=dict.fromkeys(named))

        def describe_partitions(self) -> list[TopicPartition]:
            return [partition, TopicPartition("orders", 0)]

        def partitions_seen_by(self, _broker: int, topics: list[str]) -> dict[TopicPartition, SimpleNamespace]:
            assert topics == [partition.topic]
            return {partition: SimpleNamespace(leader=leader)}

        def close(self) -> None:
            pass

    monkeypatch.setattr(kafka_cluster, "KafkaControl", Control)
    cluster = KafkaCluster.plan(ClusterSpec("live", plugin=False), tmp_path)
    with nullcontext() if is_known else pytest.raises(ClusterUnavailable, match="broker 1 does not know"):
        cluster._ask_all()
