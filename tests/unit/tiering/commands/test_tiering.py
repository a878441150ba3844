"""`guardian tiering`: what an operator reads, over a Guardian that only remembers what it was told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from guardian.errors import ClusterUnavailable, GuardianError, InvalidInput, NotFound
from guardian.model.cluster_state import BrokerNode, BrokerView, ClusterDescription, Leadership
from guardian.model.text import uuid_text
from guardian.model.topology import Cluster
from guardian.tiering.commands import tiering, tiering_gone, tiering_orphans, tiering_verify
from protos.guardian.v1 import federation_pb2
from protos.guardian.v1 import tiering_pb2 as pb
from tests.command_line import app

ORDERS, CLICKS, NAMELESS, FOREIGN = (letter * 16 for letter in (b"O", b"C", b"N", b"F"))
MINUTE, HOUR = 60_000, 3_600_000
LIVE = "Kafka-cluster-id-live"


class Kafka:
    """Stands in for a cluster's brokers: those in `answering` say which topics exist."""

    def __init__(self) -> None:
        self.cluster_id = LIVE
        self.topics = {ORDERS, CLICKS, NAMELESS}
        self.brokers: tuple[int, ...] = (1, 2, 3)
        self.answering: tuple[int, ...] = (1, 2, 3)
        self.is_closed = False

    def describe_cluster(self) -> ClusterDescription:
        if not self.answering:
            raise ClusterUnavailable("cluster live can't be reached at h:9092: Connection refused")
        nodes = {number: BrokerNode(number, "h", 9092) for number in self.brokers}
        return ClusterDescription(self.cluster_id, nodes)

    def seen_by(self, brokers: Collection[int], topic_ids: Collection[bytes]) -> dict[int, BrokerView]:
        leaders = {(topic, 0): Leadership(1, 0) for topic in topic_ids if topic in self.topics}
        return {one: BrokerView(frozenset(self.brokers), leaders) for one in brokers if one in self.answering}

    def close(self) -> None:
        self.is_closed = True


class Guardian:
    """Stands in for a GuardianClient."""

    def __init__(self) -> None:
        self.now_ms = time.time_ns() // 1_000_000
        self.summaries: dict[tuple[str, bytes, int], pb.PartitionSummary] = {}
        self.segments: dict[tuple[str, bytes, int], list[pb.SegmentEvent]] = {}
        self.directory: list[federation_pb2.FederationEntry] = []
        self.reads = 0
        self.on_read: Callable[[], None] = lambda: None
        self.kafka = Kafka()
        self.refuses: set[int] = set()  # partitions that somebody has claimed meanwhile
        self.told: list[tuple[int, int, int, str]] = []  # partition, fencing token, segment's number, state

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_clusters(self) -> tuple[Cluster, ...]:
        return (Cluster("live", "h:9092", LIVE), Cluster("quiet", "h:9093", "quiet-id"))

    def list_partitions(self, cluster_id: str = "", _topic_id: bytes = b"") -> tuple[pb.PartitionSummary, ...]:
        self.reads += 1
        self.on_read()
        return tuple(one for key, one in sorted(self.summaries.items()) if cluster_id in ("", key[0]))

    def list_live_segments(self, partition: pb.TopicIdPartition) -> Any:
        key = (partition.cluster_id, partition.topic_id, partition.partition)
        if self.summaries[key].deleted:
            raise NotFound("the partition is deleted")
        return SimpleNamespace(segments=self.segments[key])

    def append_segment_events(self, parts: Sequence[pb.PartitionEvents]) -> tuple[pb.PartitionAppendResult, ...]:
        [part] = parts
        name = part.partition
        if name.partition in self.refuses:
            return (pb.PartitionAppendResult(error="another writer has claimed the partition"),)
        for event in part.events:
            assert event.broker_id == -1
            number = int.from_bytes(event.segment_id, "big")
            state = pb.RemoteLogSegmentState.Name(event.state)
            self.told.append((name.partition, part.fencing_token, number, state))
            held = self.segments[name.cluster_id, name.topic_id, name.partition]
            if event.state == pb.DELETE_SEGMENT_FINISHED:
                held[:] = [one for one in held if one.segment_id != event.segment_id]
        return (pb.PartitionAppendResult(),)

    def delete_partitions(self, partitions: Sequence[pb.TopicIdPartition]) -> None:
        for one in partitions:
            key = (one.cluster_id, one.topic_id, one.partition)
            assert not self.segments[key], "a segment was forgotten before its end was told"
            self.summaries[key].deleted = True

    def federation(self, table: int) -> Iterator[federation_pb2.FederationEntry]:
        assert table == federation_pb2.TOPICS
        yield from self.directory

    def partition(
        self,
        topic_id: bytes,
        number: int = 0,
        topic: str = "",
        cluster: str = LIVE,
        claimed_ago: int | None = HOUR,
        **fields: Any,
    ) -> pb.PartitionSummary:
        name = pb.TopicIdPartition(cluster_id=cluster, topic_id=topic_id, partition=number)
        summary = pb.PartitionSummary(partition=name, next_event_id=40, first_event_id=7, **fields)
        if claimed_ago is not None:
            claim = pb.PartitionClaim(fencing_token=8, broker_id=2, writer="g-2", leader_epoch=7, topic=topic)
            claim.claimed_at_ms = self.now_ms - claimed_ago
            summary.claim.CopyFrom(claim)
        self.summaries[cluster, topic_id, number] = summary
        self.segments[cluster, topic_id, number] = []
        return summary

    def segment(
        self,
        topic_id: bytes,
        number: int,
        first: int,
        state: pb.RemoteLogSegmentState = pb.COPY_SEGMENT_FINISHED,
        *,
        ago: int = MINUTE,
        partition: int = 0,
        broker: int = 1,
        cluster: str = LIVE,
        size: int = 1_000_000,
    ) -> None:
        summary = self.summaries[cluster, topic_id, partition]
        summary.live_segments += 1
        summary.live_bytes += size
        event = pb.SegmentEvent(
            segment_id=number.to_bytes(16, "big"),
            state=state,
            broker_id=broker,
            event_timestamp_ms=self.now_ms - ago,
            start_offset=first,
            end_offset=first + 99,
            segment_size_bytes=size,
            segment_leader_epochs={7: first},
        )
        self.segments[cluster, topic_id, partition].append(event)


@pytest.fixture
def guardian() -> Guardian:
    """Topic orders: partition 0 with three finished segments and a hole, an orphan, a suspect, a copy under way and a
    deletion; partition 1 quiet. Topic clicks: nothing special."""
    guardian = Guardian()
    guardian.partition(ORDERS, 0, "orders", swept_segments=3, swept_bytes=2_500_000)
    guardian.partition(ORDERS, 1, "orders")
    guardian.partition(CLICKS, 0, "clicks")
    for number, first in ((1, 0), (2, 100), (3, 300)):
        guardian.segment(ORDERS, number, first)
    guardian.segment(ORDERS, 4, 400, pb.COPY_SEGMENT_STARTED, ago=2 * HOUR)
    guardian.segment(ORDERS, 5, 500, pb.COPY_SEGMENT_STARTED, ago=3 * HOUR, broker=2)
    guardian.segment(ORDERS, 6, 600, pb.COPY_SEGMENT_STARTED, ago=MINUTE, broker=2)
    guardian.segment(ORDERS, 7, 700, pb.DELETE_SEGMENT_STARTED, ago=5 * MINUTE)
    return guardian


Cli = Callable[..., Result]


@pytest.fixture
def cli(guardian: Guardian, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for module in (tiering, tiering_orphans, tiering_verify):
        monkeypatch.setattr(module, "connect", lambda _endpoints: guardian)
    monkeypatch.setattr(tiering_gone, "connect_kafka", lambda _cluster: guardian.kafka)

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, ["tiering", *arguments])
        if isinstance(result.exception, GuardianError):
            raise result.exception
        return result

    return run


def words(line: str) -> list[str]:
    return line.split()


def rows(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


# topics


def test_topics_are_counted_with_what_is_under_way_and_a_total(cli: Cli) -> None:
    found = rows(cli("topics"))
    assert found[0] == words("CLUSTER TOPIC PARTITIONS SEGMENTS SIZE COPYING DELETING ORPHANS")
    assert found[1:4] == [
        words("live clicks 1 0 0 B 0 0 0"),
        words("live orders 2 7 7.0 MB 3 1 2"),
        words("total 2 topics 3 7 7.0 MB 3 1 2"),
    ]
    assert found[-1] == words("Next: guardian tiering orphans")
    [clicks, orders] = json.loads(cli("topics", "-o", "json").stdout)
    assert (clicks["topic"], orders["live_bytes"], orders["orphans"]) == ("clicks", 7_000_000, 2)
    assert orders["topic_id"] == uuid_text(ORDERS)


def test_a_quick_look_does_not_read_segments(cli: Cli, guardian: Guardian) -> None:
    guardian.list_live_segments = None  # type: ignore[assignment, method-assign]
    assert rows(cli("topics", "--quick"))[2] == words("live orders 2 7 7.0 MB not known not known not known")
    [_, orders] = json.loads(cli("topics", "--quick", "-o", "json").stdout)
    assert (orders["live_segments"], orders["copying"], orders["orphans"]) == (7, None, None)


def test_a_longer_patience_makes_fewer_orphans(cli: Cli) -> None:
    assert rows(cli("topics", "--older-than", "4h"))[2][-1] == "1", "the one before the claim stays certain"


def test_a_topic_that_no_claim_names_has_its_name_from_the_directory_or_goes_by_its_id(
    cli: Cli, guardian: Guardian
) -> None:
    guardian.partition(NAMELESS, claimed_ago=None)
    guardian.partition(FOREIGN, cluster="somewhere", claimed_ago=None)
    entry = federation_pb2.FederationEntry()
    entry.topic.cluster, entry.topic.name, entry.topic.topic_id = "live", "payments", NAMELESS
    guardian.directory = [entry]
    found = [tuple(row[:2]) for row in rows(cli("topics"))]
    assert ("live", "payments") in found
    assert ("somewhere", uuid_text(FOREIGN)) in found
    assert len(rows(cli("topics", "--cluster", "somewhere"))) == 3
    assert rows(cli("partition", uuid_text(FOREIGN), "0"))[0][0] == "Partition"


def test_the_directory_is_not_read_when_claims_have_all_names(cli: Cli, guardian: Guardian) -> None:
    guardian.federation = None  # type: ignore[assignment, method-assign]
    assert cli("topics").exit_code == 0


def test_the_newest_claim_has_the_name(cli: Cli, guardian: Guardian) -> None:
    guardian.partition(ORDERS, 1, "orders-renamed", claimed_ago=MINUTE)
    assert rows(cli("topics"))[2][1] == "orders-renamed"


def test_where_no_broker_has_told_anything_nothing_is_known(cli: Cli, guardian: Guardian) -> None:
    guardian.summaries.clear()
    for asked in (("topics",), ("topics", "--cluster", "quiet"), ("orphans",)):
        result = cli(*asked)
        assert (result.exit_code, result.stdout) == (4, "")
        assert "Not known: no broker has told" in result.stderr
    found = cli("topics", "-o", "json")
    assert (found.exit_code, json.loads(found.stdout)) == (4, [])


def test_where_all_is_deleted_nothing_is_left(cli: Cli, guardian: Guardian) -> None:
    for summary in guardian.summaries.values():
        summary.deleted = True
    assert rows(cli("topics"))[1:] == [words("total 0 topics 0 0 0 B 0 0 0")]


# names


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("topics", "--cluster", "life"), NotFound, "cluster life is not registered.*: did you mean live?"),
        (("segments", "order"), NotFound, "topic order has no tiered-storage metadata: did you mean orders?"),
        (("segments", "zzz"), NotFound, "topic zzz has no .*: known are clicks, orders"),
        (("partition", "orders", "5"), NotFound, "partition 5 of topic orders has no .*: partitions 0-1 are known"),
        (("topics", "--older-than", "soon"), InvalidInput, "--older-than is 'soon': use a number and"),
        (("verify", "--remote", "s3://x"), InvalidInput, "--remote is 's3://x': use hdfs://host:port/dir"),
        (("verify", "--remote", "file:///x", "--cluster", "quiet"), NotFound, "cluster quiet has no tiered-storage"),
        (("verify", "--remote", "file:///x", "--cluster", "life"), NotFound, "did you mean live?"),
        (("verify", "--remote", "file:///nowhere"), InvalidInput, "/nowhere can't be listed"),
        (("verify", "--remote", "hdfs://nn/x"), InvalidInput, "--classpath is empty"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    cli: Cli, arguments: tuple[str, ...], kind: type[GuardianError], message: str
) -> None:
    with pytest.raises(kind, match=message.replace("?", r"\?")) as caught:
        cli(*arguments)
    assert "\n" not in str(caught.value)


def test_a_name_in_two_clusters_needs_the_cluster(cli: Cli, guardian: Guardian) -> None:
    guardian.partition(FOREIGN, topic="orders", cluster="other")
    with pytest.raises(
        InvalidInput, match="topic orders is in several clusters: say with --cluster which one, of live"
    ):
        cli("segments", "orders")
    assert cli("segments", "orders", "--cluster", "live").exit_code == 0
    with pytest.raises(
        InvalidInput, match=r"--cluster is missing, and several have .*: say whose store it is, of live"
    ):
        cli("verify", "--remote", "file:///tmp")


def test_a_topic_that_was_made_again_is_the_one_that_lives_or_was_claimed_last(cli: Cli, guardian: Guardian) -> None:
    guardian.partition(FOREIGN, topic="clicks", deleted=True)
    assert uuid_text(CLICKS) in cli("partition", "clicks", "0").stdout
    guardian.partition(FOREIGN, topic="clicks")
    with pytest.raises(InvalidInput, match="topic clicks was made more than once: give one of its ids instead"):
        cli("partition", "clicks", "0")
    guardian.partition(FOREIGN, topic="clicks", claimed_ago=MINUTE)
    assert uuid_text(FOREIGN) in cli("partition", "clicks", "0").stdout
    assert {f"({uuid_text(CLICKS)})", f"({uuid_text(FOREIGN)})"} <= set(cli("topics").stdout.split())
    assert uuid_text(FOREIGN) in cli("partition", uuid_text(FOREIGN), "0").stdout


# partition


def test_a_partition_says_who_writes_and_what_can_be_read(cli: Cli) -> None:
    said = cli("partition", "orders", "0").stdout
    assert f"Partition orders-0 of cluster live, topic id {uuid_text(ORDERS)}" in said
    assert "broker 2, leader epoch 7, token 8, since " in said
    assert "(1 h ago), writer g-2" in said
    assert "7 to below 40 are kept" in said
    assert "3 finished copies (3.0 MB), 3 copies under way (3.0 MB), 1 deletion due (1.0 MB)" in said
    assert "2 copies (2.0 MB): see `guardian tiering orphans`" in said
    assert "0 to 399 with 1 hole can be read from remote" in said
    assert "200 to 299: 100 offsets that no finished segment has" in said
    assert "3 copies that nobody finished (2.5 MB)" in said
    found = json.loads(cli("partition", "orders", "0", "-o", "json").stdout)
    assert found["holes"] == [{"first": 200, "last": 299}]
    assert found["states"]["COPY_SEGMENT_STARTED"] == {"segments": 3, "bytes": 3_000_000}
    assert (found["claim"]["leader_epoch"], found["offsets"]) == (7, {"first": 0, "last": 399})


def test_a_partition_that_nobody_claimed_or_that_is_gone_says_so(cli: Cli, guardian: Guardian) -> None:
    guardian.partition(CLICKS, 0, claimed_ago=None, deleted=True)
    guardian.partition(CLICKS, 1, "clicks")
    said = cli("partition", "clicks", "0").stdout
    assert "deleted: no more events are taken" in said
    assert "nobody has claimed the partition" in said
    assert "none can be read from remote" in said
    assert "nothing so far" in said
    assert json.loads(cli("partition", "clicks", "0", "-o", "json").stdout)["claim"] is None


def test_a_partition_with_many_holes_is_still_a_short_read(cli: Cli, guardian: Guardian) -> None:
    for number in range(20, 40):
        guardian.segment(ORDERS, number, 1000 * number)
    said = cli("partition", "orders", "0").stdout
    assert len(said.splitlines()) < 20
    assert "and 11 more: -o json has all" in said


# segments


def test_segments_come_by_offset_with_their_state(cli: Cli) -> None:
    found = rows(cli("segments", "orders"))
    assert found[0] == words("PARTITION FROM TO EPOCHS SIZE STATE BROKER AGE SEGMENT")
    assert [row[1] for row in found[1:]] == ["0", "100", "300", "400", "500", "600", "700"]
    assert found[1] == words(f"0 0 99 7 1.0 MB COPY_SEGMENT_FINISHED 1 1 min {uuid_text((1).to_bytes(16, 'big'))}")
    assert rows(cli("segments", "orders", "1")) == found[:1]


def test_segments_are_chosen_by_offset_and_state(cli: Cli) -> None:
    found = json.loads(
        cli("segments", "orders", "0", "--from-offset", "350", "--state", "copying", "-o", "json").stdout
    )
    assert [one["start_offset"] for one in found] == [400, 500, 600]
    found = json.loads(cli("segments", "orders", "--from-offset", "399", "-o", "json").stdout)
    assert found[0]["start_offset"] == 300


def test_a_part_says_that_it_is_one_and_how_to_see_all(cli: Cli) -> None:
    result = cli("segments", "orders", "--limit", "2")
    assert len(rows(result)) == 3
    assert result.stderr == ("2 of 7 segments shown. All: the same with --limit 0\n")
    assert cli("segments", "orders", "--limit", "0").stderr == ""


# orphans


def test_orphans_are_certain_or_suspect_and_say_why(cli: Cli) -> None:
    said = cli("orphans").stdout
    assert said.splitlines()[0] == "Orphans: 1 certain (1.0 MB), 1 suspect (1.0 MB)"
    certain = next(line for line in said.splitlines() if "certain: " in line)
    assert certain.split()[:4] == ["live", "orders-0", "400", "499"]
    assert "broker 2 has claimed the partition since, 1 h ago" in certain
    suspect = next(line for line in said.splitlines() if "suspect: " in line)
    assert "under way for 3 h, more than 1h" in suspect
    total = next(line for line in said.splitlines() if line.startswith("total"))
    assert total.split() == words("total 1 topic 2 2.0 MB 1 1.0 MB 5 min 3 2.5 MB")
    for term in ("remote.log.manager.task.interval.ms", "GuardianRemoteLogMetadataManager", "guardian raft status"):
        assert term in said


def test_orphans_for_machines_have_all_of_it(cli: Cli) -> None:
    found = json.loads(cli("orphans", "-o", "json").stdout)
    assert [(one["start_offset"], one["certain"]) for one in found["orphans"]] == [(500, False), (400, True)]
    [orders] = [one for one in found["topics"] if one["topic"] == "orders"]
    assert (orders["deletions_due"], orders["swept_segments"], orders["swept_bytes"]) == (1, 3, 2_500_000)


def test_what_was_swept_of_a_deleted_topic_still_counts(cli: Cli, guardian: Guardian) -> None:
    guardian.partition(FOREIGN, topic="old", deleted=True, swept_segments=2, swept_bytes=500_000)
    said = cli("orphans").stdout
    old = next(line for line in said.splitlines() if "old (deleted)" in line)
    assert old.split()[-3:] == words("2 500.0 kB")
    assert next(line for line in said.splitlines() if line.startswith("total")).split()[-3:] == words("5 3.0 MB")


def test_without_orphans_nothing_is_to_be_done(cli: Cli, guardian: Guardian) -> None:
    guardian.segments[LIVE, ORDERS, 0] = []
    said = cli("orphans").stdout
    assert said.startswith("No orphans.\n")
    assert "When it doesn't happen" not in said
    assert "Nothing needs to be done." in said


# verify

PARTS = ("log", "index", "timeindex", "snapshot", "leader_epoch_checkpoint")


class Store:
    """A LocalTieredStorage on disk."""

    def __init__(self, directory: Path) -> None:
        self.url = f"file://{directory}"
        self._root = directory / "kafka-tiered-storage"
        self._root.mkdir()

    def folder(self, topic: str, topic_id: bytes, partition: int = 0) -> Path:
        return self._root / f"{topic}-{partition}-{uuid_text(topic_id)}"

    def put(
        self, topic: str, topic_id: bytes, number: int, first: int, size: int = 1_000_000, *, ago: int = 5 * MINUTE
    ) -> list[Path]:
        folder = self.folder(topic, topic_id)
        folder.mkdir(exist_ok=True)
        paths = [folder / f"{first:020d}-{uuid_text(number.to_bytes(16, 'big'))}.{part}" for part in PARTS]
        for path in paths:
            with path.open("wb") as file:
                file.truncate(size if path.suffix == ".log" else 10)
            os.utime(path, (time.time() - ago / 1000,) * 2)
        return paths


@pytest.fixture
def store(tmp_path: Path, guardian: Guardian) -> Store:
    """Holds what the metadata says."""
    store = Store(tmp_path)
    for number, first in ((1, 0), (2, 100), (3, 300), (7, 700)):
        store.put("orders", ORDERS, number, first)
    guardian.segments[LIVE, ORDERS, 0] = [
        one for one in guardian.segments[LIVE, ORDERS, 0] if one.start_offset not in (400, 500)
    ]
    return store


def test_a_store_that_holds_what_the_metadata_says_is_in_order(cli: Cli, store: Store, guardian: Guardian) -> None:
    result = cli("verify", "--remote", store.url)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"Cluster live: 3 finished segments (3.0 MB) compared with 20 files (4.0 MB) in {store.url}",
        "Copies under way: 1 segment (1.0 MB)",
        "Deletions due: 1 segment (1.0 MB)",
        "Nothing differs.",
    ]
    assert guardian.reads == 1, "nothing was doubtful, so nothing was read again"
    assert json.loads(cli("verify", "--remote", store.url, "-o", "json").stdout)["differs"] is False


def test_what_differs_is_named_and_the_exit_code_is_1(cli: Cli, store: Store, tmp_path: Path) -> None:
    for path in store.put("orders", ORDERS, 1, 0)[:2]:
        path.unlink()
    store.put("orders", ORDERS, 2, 100, size=999)
    store.put("orders", ORDERS, 99, 900)
    store.put("gone", FOREIGN, 50, 0)
    strays = tmp_path / "strays.jsonl"
    result = cli("verify", "--remote", store.url, "--strays", str(strays))
    assert result.exit_code == 1
    said = result.stdout
    assert "CAN'T BE READ: 2 finished segments (2.0 MB)" in said
    assert "missing: index, log" in said
    assert "log has 999 bytes instead of 1000000" in said
    assert "STRAYS: 10 files (2.0 MB)" in said
    assert "of segments that are deleted or were never known" in said
    assert "gone-0" in said
    assert "of a topic or partition that no metadata knows" in said
    listed = [json.loads(line) for line in strays.read_text().splitlines()]
    assert len(listed) == 10
    assert all(Path(one["path"]).stat().st_size == one["bytes"] for one in listed)
    found = json.loads(cli("verify", "--remote", store.url, "-o", "json").stdout)
    assert [one["missing"] for one in found["unreadable"]] == [["index", "log"], []]
    assert [(one["topic"], one["files"], one["reason"]) for one in found["strays"]] == [
        ("gone", 5, "UNKNOWN_TOPIC"),
        ("orders", 5, "UNKNOWN_SEGMENT"),
    ]


def test_a_copy_or_deletion_that_is_too_old_makes_the_difference(cli: Cli, store: Store) -> None:
    result = cli("verify", "--remote", store.url, "--older-than", "3m")
    assert (result.exit_code, "OLDER THAN 3m: 1 segment (1.0 MB), see" in result.stdout) == (1, True)


def test_an_old_copy_that_was_finished_while_the_store_was_listed_is_no_difference(
    cli: Cli, store: Store, guardian: Guardian
) -> None:
    guardian.segment(ORDERS, 8, 800, pb.COPY_SEGMENT_STARTED, ago=2 * HOUR)
    store.put("orders", ORDERS, 8, 800)

    def later() -> None:
        if guardian.reads == 2:
            guardian.segments[LIVE, ORDERS, 0][-1].state = pb.COPY_SEGMENT_FINISHED

    guardian.on_read = later
    result = cli("verify", "--remote", store.url)
    assert (result.exit_code, guardian.reads) == (0, 2), result.stdout


def test_what_changes_while_the_store_is_listed_is_read_again(cli: Cli, store: Store, guardian: Guardian) -> None:
    """Segment 1 is deleted and segment 8 copied between the two readings; partition 1 is made."""
    store.put("orders", ORDERS, 8, 800)
    for path in store.put("orders", ORDERS, 1, 0):
        path.unlink()
    store.folder("orders", ORDERS, 9).mkdir()

    def later() -> None:
        if guardian.reads == 2:
            del guardian.segments[LIVE, ORDERS, 0][0]
            guardian.segment(ORDERS, 8, 800)

    guardian.on_read = later
    result = cli("verify", "--remote", store.url)
    assert (result.exit_code, guardian.reads) == (0, 2), result.stdout


def test_a_topic_that_is_deleted_while_the_store_is_listed_is_no_difference(
    cli: Cli, store: Store, guardian: Guardian
) -> None:
    for number, first in ((1, 0), (2, 100), (3, 300), (7, 700)):
        for path in store.put("orders", ORDERS, number, first):
            path.unlink()

    def later() -> None:
        if guardian.reads == 2:
            guardian.partition(ORDERS, 0, "orders", deleted=True)

    guardian.on_read = later
    result = cli("verify", "--remote", store.url)
    assert (result.exit_code, guardian.reads) == (0, 2), result.stdout


def test_a_file_that_was_just_written_is_not_judged_yet(cli: Cli, store: Store) -> None:
    for path in store.put("orders", ORDERS, 99, 900):
        path.touch()
    result = cli("verify", "--remote", store.url)
    assert (result.exit_code, "Too young to tell: 5 files (1.0 MB)" in result.stdout) == (0, True), result.stdout


def test_a_wrong_folder_is_suspected_when_nothing_lies_there(cli: Cli, store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = cli("verify", "--remote", f"file://{tmp_path}/empty")
    assert result.exit_code == 1
    assert "NOTHING AT ALL lies there: is --remote the store's root folder" in result.stdout


def test_files_of_another_cluster_in_the_same_store_are_left_out(cli: Cli, store: Store, guardian: Guardian) -> None:
    guardian.partition(FOREIGN, topic="theirs", cluster="other")
    store.put("theirs", FOREIGN, 77, 0)
    result = cli("verify", "--remote", store.url, "--cluster", "live")
    assert (result.exit_code, "Left out: 5 files of topics of other clusters" in result.stdout) == (0, True)


def test_a_file_for_strays_that_can_not_be_written_is_said(cli: Cli, store: Store) -> None:
    with pytest.raises(InvalidInput, match=r"--strays /nowhere/x can't be written: No such file"):
        cli("verify", "--remote", store.url, "--strays", "/nowhere/x")


# what deleted topics left, and sweeps


def test_a_topic_that_the_cluster_no_longer_has_is_named_with_what_it_left(cli: Cli, guardian: Guardian) -> None:
    guardian.kafka.topics.remove(ORDERS)
    said = cli("orphans").stdout
    assert "Left of deleted topics: 7 live segments (7.0 MB)" in said
    row = next(
        line.split() for line in said.splitlines() if line.startswith("live") and " orders " in line and ":" in line
    )
    assert row[:7] == words("live orders 2 7 7.0 MB -")
    assert "Next: guardian tiering orphans --sweep --remote URL" in said
    found = json.loads(cli("orphans", "-o", "json").stdout)
    [topic] = found["deleted_topics"]
    assert (topic["topic"], topic["partitions"], topic["live_segments"], topic["live_bytes"]) == (
        "orders",
        2,
        7,
        7_000_000,
    )
    assert guardian.kafka.is_closed


def test_while_all_topics_exist_none_is_named(cli: Cli) -> None:
    said = cli("orphans").stdout
    assert "eleted topic" not in said.partition("How sweeping works")[0]
    found = json.loads(cli("orphans", "-o", "json").stdout)
    assert (found["deleted_topics"], found["not_asked"]) == ([], [])


def test_orphans_are_shown_although_a_cluster_can_not_be_asked(cli: Cli, guardian: Guardian) -> None:
    guardian.kafka.answering = ()
    guardian.partition(FOREIGN, topic="theirs", cluster="other")
    said = cli("orphans").stdout
    assert said.startswith("Orphans: 1 certain")
    assert "Deleted topics of cluster live were not looked for: cluster live can't be reached at h:9092" in said
    assert "Deleted topics of cluster other were not looked for: cluster other is not registered" in said
    assert {one["cluster"] for one in json.loads(cli("orphans", "-o", "json").stdout)["not_asked"]} == {"live", "other"}


@pytest.fixture
def leftover(store: Store, guardian: Guardian) -> dict[str, list[Path]]:
    """Topic orders is deleted, and its files are still there; of clicks there is a stray, and one that is young; of a
    topic that nobody knows, something."""
    guardian.kafka.topics.remove(ORDERS)
    for one in guardian.segments[LIVE, ORDERS, 0]:
        one.event_timestamp_ms = guardian.now_ms - 2 * HOUR
    for number in (0, 1):
        guardian.summaries[LIVE, ORDERS, number].claim.claimed_at_ms = guardian.now_ms - 2 * HOUR
    guardian.segment(CLICKS, 20, 0)
    return {
        "gone": [
            path
            for number, first in ((1, 0), (2, 100), (3, 300), (7, 700))
            for path in store.put("orders", ORDERS, number, first, ago=2 * HOUR)
        ],
        "living": store.put("clicks", CLICKS, 20, 0, ago=2 * HOUR),
        "stray": store.put("clicks", CLICKS, 21, 100, ago=2 * HOUR),
        "young": store.put("clicks", CLICKS, 22, 200, ago=MINUTE),
        "unheard": store.put("unheard", FOREIGN, 50, 0, ago=2 * HOUR),
    }


def there(paths: Iterable[Path]) -> set[bool]:
    return {path.exists() for path in paths}


def test_a_sweep_without_consent_says_what_it_would_do_and_does_nothing(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    said = cli("orphans", "--sweep", "--remote", store.url).stdout
    assert said.splitlines()[0] == (
        f"Left over of cluster live in {store.url}: 25 files (5.0 MB), and 5 live segments and 2 partitions of deleted "
        "topics"
    )
    assert "Files that no live segment knows:" in said
    assert "Left alone, not older than 1h: 5 files (1.0 MB), 0 partitions" in said
    assert "Never swept; find out whose they are:" in said
    assert said.splitlines()[-1] == "Nothing was changed: add --yes to delete these."
    assert (guardian.told, there(path for paths in leftover.values() for path in paths)) == ([], {True})
    found = json.loads(cli("orphans", "--sweep", "--remote", store.url, "-o", "json").stdout)
    assert (found["files"], found["bytes"], found["young_files"], found["swept"]) == (25, 5_000_200, 5, None)
    assert [one["reason"] for one in found["never_swept"]] == ["UNKNOWN_TOPIC"]


def test_a_sweep_ends_the_segments_around_the_deletion_of_their_files_and_forgets_the_partitions(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    result = cli("orphans", "--sweep", "--yes", "--remote", store.url)
    assert result.exit_code == 0, result.output
    assert "Reclaimed 5.0 MB: 25 files deleted, 5 segments ended, 2 partitions of deleted topics forgotten" in (
        result.stdout
    )
    assert there([*leftover["gone"], *leftover["stray"]]) == {False}
    assert there([*leftover["living"], *leftover["young"], *leftover["unheard"]]) == {True}
    numbers = [1, 2, 3, 6, 7]
    assert guardian.told == [
        *((0, 8, number, "DELETE_SEGMENT_STARTED") for number in numbers),
        *((0, 8, number, "DELETE_SEGMENT_FINISHED") for number in numbers),
    ]
    deleted = {key[1:] for key, one in guardian.summaries.items() if one.deleted}
    assert deleted == {(ORDERS, 0), (ORDERS, 1)}
    again = json.loads(cli("orphans", "--sweep", "--yes", "--remote", store.url, "-o", "json").stdout)
    assert (again["files"], again["deleted_topics"], again["swept"]["reclaimed_bytes"]) == (0, [], 0)


def test_a_copy_that_began_while_the_files_were_listed_keeps_them(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    def later() -> None:
        if guardian.reads == 2:
            guardian.segment(CLICKS, 21, 100, pb.COPY_SEGMENT_STARTED)

    guardian.on_read = later
    assert cli("orphans", "--sweep", "--yes", "--remote", store.url).exit_code == 0
    assert (there(leftover["stray"]), there(leftover["gone"])) == ({True}, {False})


def test_a_partition_that_was_claimed_meanwhile_keeps_all_it_has(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    guardian.refuses = {0}
    result = cli("orphans", "--sweep", "--yes", "--remote", store.url)
    assert result.exit_code == 1
    assert "Not swept: orders-0: another writer has claimed the partition" in result.stdout
    assert (there(leftover["gone"]), there(leftover["stray"])) == ({True}, {False})
    assert not guardian.summaries[LIVE, ORDERS, 0].deleted


def test_a_store_that_fails_in_the_middle_leaves_what_the_next_sweep_goes_on_with(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    blocked = leftover["gone"][10]
    real_unlink = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == blocked:
            raise PermissionError(13, "Permission denied", str(path))
        real_unlink(path, missing_ok)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        result = cli("orphans", "--sweep", "--yes", "--remote", store.url)
    assert result.exit_code == 1
    assert f"Not finished: {blocked} can't be deleted: Permission denied; sweep again" in result.stdout
    assert {state for *_, state in guardian.told} == {"DELETE_SEGMENT_STARTED"}
    assert not any(one.deleted for one in guardian.summaries.values())
    assert cli("orphans", "--sweep", "--yes", "--remote", store.url).exit_code == 0
    assert there(leftover["gone"]) == {False}


def test_many_segments_that_nobody_knows_are_only_swept_when_it_is_meant(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    """So it looks after Guardian was restored from an older snapshot."""
    paths = [path for number in range(100, 111) for path in store.put("clicks", CLICKS, number, number, ago=2 * HOUR)]
    sweep = ("orphans", "--sweep", "--remote", store.url)
    assert "MANY: 12 segments, beside 4 that are known; was Guardian restored?" in cli(*sweep).stdout
    with pytest.raises(InvalidInput, match=r"12 segments have files that no metadata knows, beside 4 .*: was Guardian"):
        cli(*sweep, "--yes")
    assert (guardian.told, there(paths)) == ([], {True})
    assert cli(*sweep, "--yes", "--many").exit_code == 0
    assert there(paths) == {False}


@pytest.mark.parametrize(
    ("answering", "kind", "message"),
    [
        ((), ClusterUnavailable, "can't be reached"),
        ((1,), ClusterUnavailable, "1 of 3 brokers of cluster live said which topics exist, and brokers 2, 3 did not"),
        ((1, 2), ClusterUnavailable, "brokers 3 did not"),
    ],
)
def test_a_cluster_that_can_not_be_asked_makes_a_sweep_refuse(
    cli: Cli,
    guardian: Guardian,
    store: Store,
    leftover: dict[str, list[Path]],
    answering: tuple[int, ...],
    kind: type[GuardianError],
    message: str,
) -> None:
    guardian.kafka.answering = answering
    with pytest.raises(kind, match=message):
        cli("orphans", "--sweep", "--yes", "--remote", store.url)
    assert (guardian.told, there(path for paths in leftover.values() for path in paths)) == ([], {True})


def test_another_cluster_under_the_registered_address_makes_a_sweep_refuse(
    cli: Cli, guardian: Guardian, store: Store, leftover: dict[str, list[Path]]
) -> None:
    guardian.kafka.cluster_id = "someone-else"
    with pytest.raises(ClusterUnavailable, match="answers with someone-else: register it again"):
        cli("orphans", "--sweep", "--yes", "--remote", store.url)
    assert there(leftover["gone"]) == {True}


def test_a_store_without_any_of_the_clusters_files_makes_a_sweep_refuse(
    cli: Cli, guardian: Guardian, leftover: dict[str, list[Path]], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="where no file of the 4 finished segments of cluster live lies"):
        cli("orphans", "--sweep", "--yes", "--remote", f"file://{tmp_path}/empty")
    assert guardian.told == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sweep",), "--remote is missing: --sweep needs the store"),
        (("--yes",), "--yes is given without --sweep"),
        (("--remote", "file:///x"), "--remote is 'file:///x', without --sweep"),
    ],
)
def test_options_of_a_sweep_come_together(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cli("orphans", *arguments)
