"""A tiered cluster whose remote storage is a folder, and what a test asks of it: all of it can be read off the disk.

<home>/kafka/broker-N/diskM/<topic>-<partition>/*.log                           what is still local
<home>/remote/kafka-tiered-storage/<topic>-<partition>-<topic id>/*.log         what was copied
"""

from __future__ import annotations

import base64
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from deploy.local import federation, processes
from deploy.local.distribution import KAFKA, plugin_jar, tiered_storage_libs
from deploy.local.federation import Federation
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.tiered_storage import (
    LOCAL_STORAGE_FOLDER,
    BrokerPlugin,
    TieredStorage,
    guardian_metadata,
    local_storage,
)
from guardian.client import GuardianClient
from guardian.errors import NotFound
from guardian.kafka import data
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster, TopicPartition
from protos.guardian.v1 import tiering_pb2
from tests.freezing import freeze, kill, thaw
from tests.integration.leading import who_leads
from tests.patience import CALL_S, CONTROL_S, PATIENCE_S, wait_for

# A segment holds some thirty records of tests.integration.tiering.records.
TOPIC_CONFIG = {
    "remote.storage.enable": "true",
    "local.retention.bytes": "1",
    "file.delete.delay.ms": "100",
    "min.insync.replicas": "2",
}
# Kafka 4 has segments of a megabyte or more, but for tests.
_SEGMENT_BYTES = {"4.3": "internal.segment.bytes", "3.9": "segment.bytes"}
_TRANSFERER = Path(__file__).parent / "HoldableTransferer.java"


class TieredCluster:
    """A context manager: the cluster, started; it ends with it. Without another storage it copies to a folder."""

    def __init__(
        self,
        home: Path,
        metadata: BrokerPlugin,
        storage: BrokerPlugin | None = None,
        *,
        kafka: str = KAFKA,
        brokers: int = 3,
        hosts: Mapping[int, str] | None = None,
        **settings: str,
    ) -> None:
        self.remote = home / "remote"
        spec = ClusterSpec(
            "tiered",
            brokers=brokers,
            log_dirs=1,
            kafka=kafka,
            tiered=TieredStorage(storage or _holdable_storage(home, self.remote, kafka), metadata),
            settings={name.replace("_", "."): value for name, value in settings.items()},
            hosts=hosts or {},
        )
        self.kafka = KafkaCluster.plan(spec, home / "kafka")

    def __enter__(self) -> TieredCluster:
        self.kafka.launch()
        return self

    def __exit__(self, *_: object) -> None:
        self.kafka.stop()

    @property
    def cluster(self) -> Cluster:
        return self.kafka.to_cluster()

    def create_topic(self, topic: str, replicas: Mapping[int, tuple[int, ...]], **config: str) -> None:
        """With small segments that leave the local disk once they are copied."""
        own = {name.replace("_", "."): value for name, value in config.items()}
        size = {_SEGMENT_BYTES[self.kafka.spec.kafka]: "32768"}
        data.create_topics(self.cluster, {topic: dict(replicas)}, {**TOPIC_CONFIG, **size, **own}, PATIENCE_S)

    def control(self, of: Cluster | None = None) -> closing[KafkaControl]:
        """As the brokers of `of` see it; `with tiered.control() as control`."""
        return closing(KafkaControl(of or self.cluster, CONTROL_S))

    def leader(self, partition: TopicPartition, of: Cluster | None = None) -> int:
        """As the brokers of `of` say."""
        with self.control(of) as control:
            return control.describe_partitions([partition.topic])[partition].leader

    def in_sync(self, partition: TopicPartition, of: Cluster | None = None) -> set[int]:
        with self.control(of) as control:
            return set(control.describe_partitions([partition.topic])[partition].isr)

    def topic_id(self, topic: str) -> bytes:
        with self.control() as control:
            return control.topic_ids([topic])[topic]

    def local_segments(self, partition: TopicPartition, broker: int) -> list[int]:
        """The base offsets of the segments that the broker has on its disk."""
        name = f"{partition.topic}-{partition.partition}"
        return sorted(int(path.stem) for path in self._broker(broker).glob(f"disk*/{name}/*.log"))

    def remote_segments(self, topic: str) -> dict[int, set[bytes]]:
        """By partition, the ids of the segments of which the remote storage holds any file."""
        found: dict[int, set[bytes]] = {}
        for path in self.remote_files(topic)():
            number = int(path.parent.name.removeprefix(f"{topic}-").split("-")[0])
            found.setdefault(number, set()).add(uuid_bytes(path.name.split("-", 1)[1].split(".")[0]))
        return found

    def remote_files(self, topic: str) -> Callable[[], list[Path]]:
        """Gives a function that lists the topic's files in the remote storage, also after the topic is gone."""
        topic_id = base64.urlsafe_b64encode(self.topic_id(topic)).decode().rstrip("=")
        return lambda: list((self.remote / LOCAL_STORAGE_FOLDER).glob(f"{topic}-*-{topic_id}/*"))

    def wait_offloaded(self, topic: str, of: Cluster | None = None) -> None:
        """Returns once each leader has but its active segment on its disk: all before was copied, and deleted."""
        with self.control(of) as control:
            wait_for(f"{topic} is offloaded", lambda: self._is_offloaded(topic, control))

    @contextmanager
    def copying_held(self, broker: int) -> Iterator[Callable[[], object]]:
        """While it lasts, the broker's copies wait in their middle. Gives a function that returns once one does."""
        hold, held = self._broker(broker) / "hold", self._broker(broker) / "held"
        held.unlink(missing_ok=True)  # of a broker that was killed while it held one
        hold.touch()
        try:
            yield lambda: wait_for(f"broker {broker} is in the middle of a copy", held.exists)
        finally:
            hold.unlink()

    def log(self, broker: int) -> str:
        """What the broker has said since the cluster was made."""
        return (self.kafka.directory / "logs" / f"broker-{broker}.log").read_text(errors="replace")

    def require_all_alive(self) -> None:
        dead = [node.id for node in self.kafka.nodes if node.pid is None]
        assert not dead, f"nodes {dead} have ended"

    def require_served(self, seconds: float) -> None:
        """For so long, no node ends."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.require_all_alive()
            time.sleep(0.5)

    def _broker(self, broker: int) -> Path:
        return self.kafka.directory / f"broker-{broker}"

    def _is_offloaded(self, topic: str, control: KafkaControl) -> bool:
        states = control.describe_partitions([topic])
        return all(
            state.leader >= 0 and len(local := self.local_segments(partition, state.leader)) == 1 and local[0] > 0
            for partition, state in states.items()
        )


class Members:
    """A context manager: three Guardian members on loopback, as processes; they end with it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._federation = Federation(home)

    def __enter__(self) -> Members:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.resume()
        self._federation.stop()

    @property
    def endpoints(self) -> list[str]:
        return self._federation.endpoints

    def client(self) -> GuardianClient:
        """A context manager; as patient as a test is."""
        return GuardianClient(self.endpoints, timeout_s=CALL_S)

    def start(self) -> None:
        """Starts those that do not run, and returns when all serve."""
        self._federation = federation.up(members=3, clusters=0, home=self._home)

    def kill_leader(self) -> None:
        members = {member.name: member for member in self._federation.members}
        with self.client() as client:
            leader = members[who_leads(client)]
        assert leader.process is not None
        processes.kill(leader.process)

    def kill(self) -> None:
        kill(*(process.pid for process in self._federation.running()))

    def pause(self) -> None:
        """They hang: connections stay open, and nothing answers."""
        freeze(*(process.pid for process in self._federation.running()))

    def resume(self) -> None:
        thaw(*(process.pid for process in self._federation.running()))


class Stored:
    """What Guardian has stored of one topic's segments."""

    def __init__(self, client: GuardianClient, tiered: TieredCluster, topic: str, partitions: int) -> None:
        topic_id, cluster_id = tiered.topic_id(topic), tiered.kafka.cluster_id
        self._client = client
        self._tiered = tiered
        self._topic = topic
        self._partitions = [
            tiering_pb2.TopicIdPartition(cluster_id=cluster_id, topic_id=topic_id, partition=number)
            for number in range(partitions)
        ]

    def live(self) -> dict[int, dict[bytes, int]]:
        """By partition, the segments that are not deleted, each with its state."""
        return {name.partition: self._live(name) for name in self._partitions}

    def events(self, partition: int) -> list[tiering_pb2.SegmentEvent]:
        """All that was ever stored of it, in order."""
        groups = self._client.pull_segment_events(self._partitions[partition]).groups
        return [event for group in groups for event in group.events]

    def is_tidy(self) -> bool:
        """Whether the remote storage holds the segments that are listed, nothing else, and all are finished copies."""
        live, remote = self.live(), self._tiered.remote_segments(self._topic)
        are_finished = all(
            state == tiering_pb2.COPY_SEGMENT_FINISHED for states in live.values() for state in states.values()
        )
        return are_finished and all(set(live[number]) == remote.get(number, set()) for number in live)

    def wait_tidy(self) -> None:
        wait_for(f"metadata and remote storage of {self._topic} agree", self.is_tidy)

    def copied_up_to(self, partition: int) -> int:
        """The offset after the last one that a finished copy holds; 0: there is none."""
        segments = self._client.list_live_segments(self._partitions[partition]).segments
        ends = (one.end_offset + 1 for one in segments if one.state == tiering_pb2.COPY_SEGMENT_FINISHED)
        return max(ends, default=0)

    def finished(self) -> int:
        """How many finished copies there are."""
        states = [state for states in self.live().values() for state in states.values()]
        return states.count(tiering_pb2.COPY_SEGMENT_FINISHED)

    def _live(self, name: tiering_pb2.TopicIdPartition) -> dict[bytes, int]:
        try:
            segments = self._client.list_live_segments(name).segments
        except NotFound:
            return {}
        return {segment.segment_id: segment.state for segment in segments}


def guardian_plugin(endpoints: list[str], **settings: str) -> BrokerPlugin:
    return guardian_metadata(str(plugin_jar()), endpoints, **settings)


def uuid_bytes(text: str) -> bytes:
    """From Kafka's way of writing an id."""
    return base64.urlsafe_b64decode(text + "==")


def _holdable_storage(home: Path, remote: Path, kafka: str) -> BrokerPlugin:
    """LocalTieredStorage with HoldableTransferer."""
    libs, classes = f"{tiered_storage_libs(kafka)}/*", str(home / "transferer")
    command = ["javac", "-proc:none", "-cp", libs, "-d", classes, str(_TRANSFERER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"javac failed on {_TRANSFERER.name}: {done.stderr}"
    class_path = os.pathsep.join([libs, classes])
    return local_storage(class_path, str(remote), transferer_class="guardian.test.HoldableTransferer")
