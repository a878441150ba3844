"""The lake at a URL: on S3, as moto speaks it, and on a real HDFS; written, tidied and read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pyarrow.dataset as ds
import pytest
from moto.server import ThreadedMotoServer

from guardian.collection.rules.ingest import Asked, failed_collection
from guardian.lake.loop import LakeKeeper
from guardian.lake.model.schema import BROKER_SAMPLES
from guardian.lake.rules.chores import LakeTimes
from guardian.lake.store.filesystem import open_lake
from guardian.lake.store.writer import LakeWriter
from guardian.model.topology import Broker, Cluster
from tests.integration.mini_hdfs import MiniHdfs

pytestmark = pytest.mark.integration

HOUR_MS = 3_600_000
START_MS = 1_790_000_000_000 // HOUR_MS * HOUR_MS


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in (("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1").create_bucket(Bucket="lake")
        yield f"s3://lake/guardian?endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    finally:
        server.stop()


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[str]:
    with MiniHdfs(tmp_path) as hdfs:
        yield f"{hdfs.uri}/guardian/lake"


@pytest.mark.parametrize("service", ["s3", "hdfs"])
def test_a_lake_at_a_url_is_written_tidied_and_read_back(service: str, request: pytest.FixtureRequest) -> None:
    url: str = request.getfixturevalue(service)
    writer = LakeWriter(url, "g1")
    cluster = Cluster("live", "h:9092", brokers=(Broker(1),))
    for moment in (1, 2, 3):
        asked = Asked(cluster, Broker(1), "g1", START_MS + moment, START_MS + moment)
        writer.write("live", failed_collection(asked, "no answer"))
        writer.flush()
    filesystem, root = open_lake(url)

    def moments() -> list[int]:
        table = ds.dataset(
            f"{root}/{BROKER_SAMPLES}", filesystem=filesystem, format="parquet", partitioning="hive"
        ).to_table()
        assert set(table["cluster"].to_pylist()) == {"live"}
        return sorted(at_ms - START_MS for at_ms in table["at_ms"].to_pylist())

    assert moments() == [1, 2, 3]
    now_ms = [START_MS + 2 * HOUR_MS]
    keeper = LakeKeeper(url, LakeTimes(retention_ms=10**15, grace_ms=-(10**15)), lambda: now_ms[0])
    assert "3 files of" in keeper.tick()[0]
    assert moments() == [1, 1, 2, 2, 3, 3]
    assert "3 files of" in keeper.tick()[0]
    assert moments() == [1, 2, 3]
    forgetful = LakeKeeper(url, LakeTimes(retention_ms=1), lambda: now_ms[0])
    assert "removed" in forgetful.tick()[0]
    assert forgetful.tick() == []
