"""`guardian tiering` as an operator uses it: three members as processes, filled as brokers' plugins fill them, and a
remote store that was written by Kafka's own class."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.distribution import kafka_libs, require_java, tiered_storage_libs
from deploy.local.federation import Federation
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.model.text import uuid_text
from guardian.tiering.remote_storage.local import PARTS
from protos.guardian.v1 import tiering_pb2 as pb
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

WRITER = Path(__file__).parent / "SegmentWriter.java"
LOCAL_STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
LIVE, OTHER = "kafka-cluster-live", "kafka-cluster-other"
ORDERS, CLICKS, FOREIGN = (letter * 16 for letter in (b"O", b"C", b"F"))
HOUR = 3_600_000
SIZE = 1000

Cli = Callable[..., subprocess.CompletedProcess[str]]


@dataclass
class Brokers:
    """What brokers do in Guardian: one topic's partition at a time, with the token of the last claim."""

    client: GuardianClient
    now_ms: int
    tokens: dict[tuple[str, bytes, int], int]

    def claim(self, topic_id: bytes, topic: str, broker: int, *, cluster: str = LIVE, partition: int = 0) -> None:
        name = pb.TopicIdPartition(cluster_id=cluster, topic_id=topic_id, partition=partition)
        [claim] = self.client.claim_partitions([name], broker, f"broker-{broker}", topics=[topic])
        assert not claim.error
        self.tokens[cluster, topic_id, partition] = claim.fencing_token

    def tell(
        self,
        topic_id: bytes,
        number: int,
        *states: pb.RemoteLogSegmentState,
        broker: int = 1,
        ago_ms: int = 60_000,
        cluster: str = LIVE,
        partition: int = 0,
    ) -> None:
        """Segment `number` holds offsets from 100 x number."""
        name = pb.TopicIdPartition(cluster_id=cluster, topic_id=topic_id, partition=partition)
        events = []
        for state in states:
            event = pb.SegmentEvent(segment_id=number.to_bytes(16, "big"), state=state, broker_id=broker)
            event.event_timestamp_ms = self.now_ms - ago_ms
            if state == pb.COPY_SEGMENT_STARTED:
                event.start_offset, event.end_offset = 100 * number, 100 * number + 99
                event.segment_size_bytes = SIZE
                event.segment_leader_epochs[0] = event.start_offset
            events.append(event)
        token = self.tokens.get((cluster, topic_id, partition), 0)
        [result] = self.client.append_segment_events(
            [pb.PartitionEvents(partition=name, events=events, fencing_token=token)]
        )
        assert not result.error


COPIED = (pb.COPY_SEGMENT_STARTED, pb.COPY_SEGMENT_FINISHED)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Member]]:
    home = tmp_path_factory.mktemp("members")
    planned = list(plan_members(3, home))
    started = [start_member(member, planned, home / "lake", home / f"{member.name}.log") for member in planned]
    try:
        wait_ready(started)
        yield started
    finally:
        for member in started:
            if member.process is not None:
                processes.kill(member.process)


@pytest.fixture(scope="module")
def brokers(members: list[Member]) -> Iterator[Brokers]:
    """Topic orders: 0 to 499 copied in partition 0, but for a hole; one copy whose broker died before another one
    claimed, one of the leader's own that hangs, one under way, one deletion, one orphan that was swept. Topic clicks:
    two segments. Topic foreign: of another cluster."""
    with GuardianClient([member.grpc for member in members]) as client:
        brokers = Brokers(client, time.time_ns() // 1_000_000, {})
        brokers.claim(ORDERS, "orders", 1)
        for number in (0, 1, 2, 4):
            brokers.tell(ORDERS, number, *COPIED)
        brokers.tell(ORDERS, 5, pb.COPY_SEGMENT_STARTED, ago_ms=120_000)
        brokers.tell(ORDERS, 9, pb.COPY_SEGMENT_STARTED)
        brokers.claim(ORDERS, "orders", 2)
        brokers.tell(ORDERS, 6, pb.COPY_SEGMENT_STARTED, broker=2, ago_ms=2 * HOUR)
        brokers.tell(ORDERS, 7, pb.COPY_SEGMENT_STARTED, broker=2, ago_ms=1000)
        brokers.tell(ORDERS, 8, *COPIED, pb.DELETE_SEGMENT_STARTED, broker=2)
        brokers.tell(ORDERS, 9, pb.DELETE_SEGMENT_STARTED, pb.DELETE_SEGMENT_FINISHED, broker=2)
        brokers.claim(ORDERS, "orders", 3, partition=1)
        brokers.claim(CLICKS, "clicks", 3)
        brokers.tell(CLICKS, 20, *COPIED, broker=3)
        brokers.tell(CLICKS, 21, *COPIED, broker=3)
        brokers.claim(FOREIGN, "foreign", 1, cluster=OTHER)
        brokers.tell(FOREIGN, 30, *COPIED, cluster=OTHER)
        yield brokers


@pytest.fixture
def cli(members: list[Member], brokers: Brokers, guardian: Cli) -> Cli:
    federation = Federation(Path(), members=members)
    return lambda *arguments: guardian(federation, "tiering", *arguments)


def said(result: subprocess.CompletedProcess[str], exit_code: int = 0) -> str:
    assert result.returncode == exit_code, result.stdout + result.stderr
    return result.stdout


def row(printed: str, *begins: str) -> list[str]:
    return next(line.split() for line in printed.splitlines() if line.split()[: len(begins)] == list(begins))


def test_topics_are_counted_over_clusters(cli: Cli) -> None:
    printed = said(cli("topics"))
    assert row(printed, LIVE, "orders") == [LIVE, "orders", "2", "8", "8.0", "kB", "3", "1", "2"]
    assert row(printed, LIVE, "clicks") == [LIVE, "clicks", "1", "2", "2.0", "kB", "0", "0", "0"]
    assert row(printed, OTHER, "foreign")[2:4] == ["1", "1"]
    assert row(printed, "total", "3")[2:5] == ["topics", "4", "11"]
    assert len(json.loads(said(cli("topics", "--cluster", OTHER, "-o", "json")))) == 1


def test_a_partition_is_told_as_it_is_stored(cli: Cli) -> None:
    printed = said(cli("partition", "orders", "0"))
    assert "broker 2, claimed in claim order, token 2, since " in printed
    assert "4 finished copies (4.0 kB), 3 copies under way (3.0 kB), 1 deletion due (1.0 kB)" in printed
    assert "0 to 499 with 1 hole can be read from remote" in printed
    assert "300 to 399: 100 offsets that no finished segment has" in printed
    assert "1 copy that nobody finished (1.0 kB)" in printed
    found = json.loads(said(cli("partition", uuid_text(ORDERS), "0", "-o", "json")))
    assert (found["first_event_id"], found["next_event_id"], found["live_segments"]) == (0, 17, 8)
    assert found["claim"]["claimed_at_ms"] > 0


def test_segments_are_listed_in_parts(cli: Cli) -> None:
    result = cli("segments", "orders", "--limit", "3")
    assert [line.split()[1] for line in said(result).splitlines()[1:]] == ["0", "100", "200"]
    assert result.stderr == "3 of 8 segments shown. All: the same with --limit 0\n"
    rest = said(cli("segments", "orders", "--limit", "0", "--from-offset", "400"))
    assert [line.split()[1] for line in rest.splitlines()[1:]] == ["400", "500", "600", "700", "800"]
    finished = json.loads(said(cli("segments", "orders", "--state", "deleting", "-o", "json")))
    assert [one["state"] for one in finished] == ["DELETE_SEGMENT_STARTED"]


def test_orphans_are_told_apart_and_what_was_swept_is_counted(cli: Cli) -> None:
    printed = said(cli("orphans"))
    assert printed.splitlines()[0] == "Orphans: 1 certain (1.0 kB), 1 suspect (1.0 kB)"
    assert "500  599" in next(line for line in printed.splitlines() if "certain: broker 2 has claimed" in line)
    suspect = next(line for line in printed.splitlines() if "suspect: under way for " in line)
    assert re.search(r"600  699.*under way for 2(\.\d)? h", suspect)
    assert f"Deleted topics of cluster {OTHER} were not looked for: cluster {OTHER} is not registered" in printed
    orders = next(one for one in json.loads(said(cli("orphans", "-o", "json")))["topics"] if one["topic"] == "orders")
    assert (orders["orphans"], orders["deletions_due"], orders["swept_segments"], orders["swept_bytes"]) == (
        2,
        1,
        1,
        SIZE,
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("segments", "order"), "topic order has no tiered-storage metadata: did you mean orders?"),
        (("partition", "orders", "7"), "partition 7 of topic orders has no tiered-storage metadata: partitions 0-1"),
        (("topics", "--cluster", "kafka-cluster-lives"), "did you mean kafka-cluster-live, kafka-cluster-other?"),
        (("verify", "--remote", "file:///tmp"), "--cluster is missing, and several have tiered-storage metadata"),
        (("verify", "--remote", "file:///nowhere", "--cluster", LIVE), "/nowhere can't be listed: No such file"),
        (("orphans", "--sweep", "--yes"), "--remote is missing: --sweep needs the store whose files it deletes"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    result = cli(*arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    assert sentence in result.stderr


def write_segments(scratch: Path, root: Path, segments: Sequence[tuple[str, bytes, int]]) -> None:
    """By Kafka's own LocalTieredStorage: topic, topic id and number of each."""
    class_path = [f"{kafka_libs()}/*", f"{tiered_storage_libs()}/*"]
    lines = []
    for topic, topic_id, number in segments:
        segment_id, first = uuid_text(number.to_bytes(16, "big")), 100 * number
        lines.append(f"{topic} {uuid_text(topic_id)} 0 {segment_id} {first} {first + 99} {SIZE}")
    java = [require_java(), "-Xmx256m", f"-Djava.io.tmpdir={scratch}", "-cp", os.pathsep.join(class_path)]
    command = [*java, str(WRITER), LOCAL_STORAGE, f"dir={root}"]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LocalTieredStorage with all that topics orders, clicks and foreign have finished, a copy half done, a deletion
    due."""
    root = tmp_path_factory.mktemp("written")
    orders = [("orders", ORDERS, number) for number in (0, 1, 2, 4, 7, 8)]
    others = [("clicks", CLICKS, 20), ("clicks", CLICKS, 21), ("foreign", FOREIGN, 30)]
    write_segments(tmp_path_factory.mktemp("scratch"), root, [*orders, *others])
    file_of(root, 7, "snapshot").unlink()
    return root


@pytest.fixture
def store(written: Path, tmp_path: Path) -> Path:
    """One to break."""
    return Path(shutil.copytree(written, tmp_path / "store"))


def file_of(store: Path, number: int, suffix: str) -> Path:
    [found] = store.glob(f"*/*/*-{uuid_text(number.to_bytes(16, 'big'))}.{suffix}")
    return found


def test_a_store_of_kafkas_own_class_agrees_until_something_is_taken_away_or_left_behind(
    cli: Cli, store: Path, tmp_path: Path
) -> None:
    verify = ("verify", "--remote", f"file://{store}", "--cluster", LIVE, "--older-than", "3h")
    printed = said(cli(*verify))
    assert printed.startswith(f"Cluster {LIVE}: 6 finished segments (6.0 kB) compared with 39 files")
    assert "Copies under way: 3 segments (3.0 kB)\n" in printed
    assert "Left out: 5 files of topics of other clusters" in printed
    assert printed.endswith("Nothing differs.\n")

    file_of(store, 1, "timeindex").unlink()
    with file_of(store, 20, "log").open("r+b") as log:
        log.truncate(17)
    stray = file_of(store, 21, "log").with_name(f"00000000000000009900-{uuid_text((99).to_bytes(16, 'big'))}.log")
    stray.write_bytes(b"12345")
    os.utime(stray, (time.time() - 300,) * 2)
    strays = tmp_path / "strays.jsonl"
    printed = said(cli(*verify, "--strays", str(strays)), exit_code=1)
    assert "CAN'T BE READ: 2 finished segments (2.0 kB)" in printed
    assert "missing: timeindex" in " ".join(row(printed, "orders-0", "100"))
    assert "log has 17 bytes instead of 1000" in printed
    assert row(printed, "clicks-0", "1")[:4] == ["clicks-0", "1", "5", "B"]
    assert len(strays.read_text().splitlines()) == 1
    found = json.loads(said(cli(*verify, "-o", "json"), exit_code=1))
    assert [one["missing"] for one in found["unreadable"]] == [[], ["timeindex"]]
    assert [one["reason"] for one in found["strays"]] == ["UNKNOWN_SEGMENT"]

    patient = said(cli(*verify[:-1], "30m", "-o", "json"), exit_code=1)
    assert [one["old"] for one in json.loads(patient)["copying"]] == [True, False, False]


def test_a_sweep_of_a_cluster_that_can_not_be_asked_changes_nothing(cli: Cli, store: Path) -> None:
    sweep = ("orphans", "--sweep", "--yes", "--remote", f"file://{store}", "--cluster", LIVE)
    before = said(cli("segments", "orders", "-o", "json")), sorted(store.rglob("*"))
    refused = cli(*sweep)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"cluster {LIVE} is not registered, so nobody can be asked which of its topics exist" in refused.stderr
    assert (said(cli("segments", "orders", "-o", "json")), sorted(store.rglob("*"))) == before


def test_verify_is_right_while_brokers_copy_and_delete(cli: Cli, brokers: Brokers, store: Path) -> None:
    """Whatever moment verify looks at, a segment's files are there when it is finished, and gone after it. It looks
    until it has looked so often while they were about it."""
    verify = ("verify", "--remote", f"file://{store}", "--cluster", LIVE, "--older-than", "3h", "-o", "json")
    template = {suffix: file_of(store, 21, suffix) for suffix in ("log", "index", "timeindex", "snapshot")}
    template["leader_epoch_checkpoint"] = file_of(store, 21, "leader_epoch_checkpoint")
    folder = file_of(store, 21, "log").parent
    is_over = threading.Event()
    copied = []

    def copy_and_delete() -> None:
        for number in itertools.count(1000):
            if is_over.is_set():
                return
            name = uuid_text(number.to_bytes(16, "big"))
            paths = [folder / f"{100 * number:020d}-{name}.{part.value}" for part in PARTS]
            brokers.tell(CLICKS, number, pb.COPY_SEGMENT_STARTED, broker=3)
            for path in paths:
                path.write_bytes(bytes(SIZE))
            brokers.tell(CLICKS, number, pb.COPY_SEGMENT_FINISHED, broker=3)
            brokers.tell(CLICKS, number, pb.DELETE_SEGMENT_STARTED, broker=3)
            for path in paths:
                path.unlink()
            brokers.tell(CLICKS, number, pb.DELETE_SEGMENT_FINISHED, broker=3)
            copied.append(number)

    writer = threading.Thread(target=copy_and_delete)
    writer.start()
    try:
        looks, deadline = 0, time.monotonic() + PATIENCE_S
        while looks < 5:
            before = len(copied)
            found = json.loads(said(cli(*verify)))
            assert (found["unreadable"], found["strays"]) == ([], [])
            looks += len(copied) > before
            assert writer.is_alive(), "the brokers have ended"
            assert time.monotonic() < deadline, f"only {looks} looks were while brokers copied"
    finally:
        is_over.set()
        writer.join()
