"""Tiered storage of a local cluster: which two plugins its brokers load, from where, with what settings. Pure.

    storage     where segments go             RemoteStorageManager          rsm.config.*
    metadata    who knows what lies there     RemoteLogMetadataManager      rlmm.config.*

    TieredStorage(local_storage(class_path, directory), guardian_metadata(jar, endpoints))

Intervals are those of tests, which wait for what a production cluster does once in half a minute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LOCAL_STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
HDFS_STORAGE = "guardian.kafka.HdfsRemoteStorageManager"
TOPIC_METADATA = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"
GUARDIAN_METADATA = "guardian.kafka.GuardianRemoteLogMetadataManager"

# LocalTieredStorage makes this folder below its `dir`.
LOCAL_STORAGE_FOLDER = "kafka-tiered-storage"


@dataclass(frozen=True, slots=True)
class BrokerPlugin:
    """A class that brokers load from its own class path; with none, from their own."""

    class_name: str
    class_path: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TieredStorage:
    """`task_interval_ms` is how often a broker looks for segments to copy and to expire."""

    storage: BrokerPlugin
    metadata: BrokerPlugin
    task_interval_ms: int = 500

    def broker_settings(self, replicas: int) -> dict[str, object]:
        """Return the settings for server.properties of a broker whose cluster's internal topics have so many
        replicas.
        """
        settings: dict[str, object] = {
            **controller_settings(),
            "remote.log.manager.task.interval.ms": self.task_interval_ms,
            "remote.log.manager.task.retry.backoff.ms": self.task_interval_ms,
            "remote.log.manager.task.retry.backoff.max.ms": 4 * self.task_interval_ms,
            "log.retention.check.interval.ms": self.task_interval_ms,
            "log.initial.task.delay.ms": self.task_interval_ms,
            # Ten threads each by default, of every broker on this machine.
            "remote.log.manager.copier.thread.pool.size": 2,
            "remote.log.manager.expiration.thread.pool.size": 2,
            "remote.log.reader.threads": 2,
            **_plugin("remote.log.storage.manager", "rsm.config.", self.storage),
            **_plugin("remote.log.metadata.manager", "rlmm.config.", self.metadata),
        }
        if self.metadata.class_name == TOPIC_METADATA:
            settings["remote.log.metadata.manager.listener.name"] = "PLAINTEXT"
            settings["rlmm.config.remote.log.metadata.topic.replication.factor"] = replicas
        return settings


def controller_settings() -> dict[str, object]:
    """Return a controller's settings, without which it refuses topics with tiered storage."""
    return {"remote.log.storage.system.enable": "true"}


def local_storage(class_path: str, directory: str, **settings: str) -> BrokerPlugin:
    """Kafka's LocalTieredStorage: all brokers copy to one folder. More settings with '_' for '.'."""
    return BrokerPlugin(LOCAL_STORAGE, class_path, {"dir": directory, **_dotted(settings)})


def hdfs_storage(class_path: str, settings: Mapping[str, str]) -> BrokerPlugin:
    return BrokerPlugin(HDFS_STORAGE, class_path, dict(settings))


def topic_metadata(partitions: int = 3) -> BrokerPlugin:
    """Kafka's own: metadata in the topic __remote_log_metadata."""
    return BrokerPlugin(TOPIC_METADATA, settings={"remote.log.metadata.topic.num.partitions": str(partitions)})


def guardian_metadata(jar: str, endpoints: Sequence[str], fence: str = "verified", **settings: str) -> BrokerPlugin:
    """Guardian's members, by host:port. More settings of the plugin with '_' for '.'."""
    own = {"guardian.endpoints": ",".join(endpoints), "guardian.fence": fence}
    return BrokerPlugin(GUARDIAN_METADATA, jar, {**own, **_dotted(settings)})


def _plugin(role: str, prefix: str, plugin: BrokerPlugin) -> dict[str, object]:
    named: dict[str, object] = {f"{role}.class.name": plugin.class_name}
    if plugin.class_path:
        named[f"{role}.class.path"] = plugin.class_path
    return named | {prefix + key: value for key, value in plugin.settings.items()}


def _dotted(settings: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in settings.items()}
