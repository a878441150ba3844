from deploy.local.state import from_state, to_state
from deploy.local.tiered_storage import (
    BrokerPlugin,
    TieredStorage,
    guardian_metadata,
    hdfs_storage,
    local_storage,
    topic_metadata,
)

LOCAL = local_storage("/jars/*", "/remote", delete_on_close="false")


def settings(storage: BrokerPlugin, metadata: BrokerPlugin, replicas: int = 3) -> dict[str, object]:
    return TieredStorage(storage, metadata).broker_settings(replicas)


def test_each_plugin_has_its_class_its_class_path_and_its_own_settings() -> None:
    found = settings(LOCAL, guardian_metadata("/plugin.jar", ["h1:9750", "h2:9750"], write_limit_ms="9"))
    storage, metadata = "remote.log.storage.manager", "remote.log.metadata.manager"
    assert found[f"{storage}.class.name"] == "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
    assert found[f"{storage}.class.path"] == "/jars/*"
    assert (found["rsm.config.dir"], found["rsm.config.delete.on.close"]) == ("/remote", "false")
    assert found[f"{metadata}.class.name"] == "guardian.kafka.GuardianRemoteLogMetadataManager"
    assert found[f"{metadata}.class.path"] == "/plugin.jar"
    assert found["rlmm.config.guardian.endpoints"] == "h1:9750,h2:9750"
    assert found["rlmm.config.guardian.fence"] == "verified"
    assert found["rlmm.config.write.limit.ms"] == "9"


def test_kafkas_own_metadata_manager_needs_a_listener_and_a_topic_that_fits_the_cluster() -> None:
    found = settings(LOCAL, topic_metadata(partitions=2), replicas=1)
    assert found["remote.log.metadata.manager.listener.name"] == "PLAINTEXT"
    assert found["rlmm.config.remote.log.metadata.topic.replication.factor"] == 1
    assert found["rlmm.config.remote.log.metadata.topic.num.partitions"] == "2"
    assert "remote.log.metadata.manager.class.path" not in found
    assert "remote.log.metadata.manager.listener.name" not in settings(LOCAL, guardian_metadata("/p.jar", ["h:1"]))


def test_hdfs_is_guardians_own_storage_manager() -> None:
    found = settings(hdfs_storage("/p.jar:/hadoop/*", {"hdfs.uri": "hdfs://h:1/x"}), topic_metadata())
    assert found["remote.log.storage.manager.class.name"] == "guardian.kafka.HdfsRemoteStorageManager"
    assert found["remote.log.storage.manager.class.path"] == "/p.jar:/hadoop/*"
    assert found["rsm.config.hdfs.uri"] == "hdfs://h:1/x"


def test_state_keeps_all_of_it() -> None:
    tiered = TieredStorage(LOCAL, guardian_metadata("/plugin.jar", ["h1:9750"], "claim-order"), task_interval_ms=100)
    assert from_state(TieredStorage, to_state(tiered)) == tiered
