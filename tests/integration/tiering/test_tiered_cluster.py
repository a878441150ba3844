"""Tiered storage whose metadata is in Guardian, on real brokers: every record once, in order, whatever breaks.

Segments are small, and leave the local disk once they are copied, to a folder; copies can be held in their middle.
After each story all records are read from the first offset on, and the remote storage holds exactly the segments that
Guardian lists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.local.answering import register
from guardian.client import GuardianClient
from guardian.kafka import data
from guardian.model.topology import TopicPartition
from protos.guardian.v1 import tiering_pb2
from tests.integration.tiering.harness import Members, Stored, TieredCluster, guardian_plugin
from tests.integration.tiering.records import produce, require_whole
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

PARTITIONS = 3
REPLICAS = {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
RECORDS = 300
MEMBERS_AWAY_S = 8.0  # longer than the plugin waits inside a call


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("guardian")) as members:
        yield members


@pytest.fixture(scope="module")
def client(members: Members) -> Iterator[GuardianClient]:
    with members.client() as client:
        yield client


@pytest.fixture(scope="module")
def shared(
    members: Members, client: GuardianClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TieredCluster]:
    with TieredCluster(tmp_path_factory.mktemp("tiered"), guardian_plugin(members.endpoints)) as tiered:
        register(client, tiered.cluster)
        yield tiered


@pytest.fixture
def tiered(shared: TieredCluster, members: Members) -> Iterator[TieredCluster]:
    """All nodes run before and after; what a test killed on purpose, it has started again."""
    yield shared
    shared.require_all_alive()


@pytest.fixture
def topic(tiered: TieredCluster, new_topic: Callable[[], str]) -> str:
    name = new_topic()
    tiered.create_topic(name, REPLICAS)
    return name


@pytest.fixture
def stored(client: GuardianClient, tiered: TieredCluster, topic: str) -> Stored:
    return Stored(client, tiered, topic, PARTITIONS)


def copied(events: list[tiering_pb2.SegmentEvent], state: int) -> list[bytes]:
    return [event.segment_id for event in events if event.state == state]


def count_of(segments: Mapping[int, Collection[bytes]]) -> int:
    return sum(map(len, segments.values()))


def test_what_was_offloaded_and_deleted_locally_is_read_back_in_order(
    tiered: TieredCluster, topic: str, stored: Stored
) -> None:
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    stored.wait_tidy()
    for number, segments in stored.live().items():
        leader = tiered.leader(TopicPartition(topic, number))
        assert len(segments) >= 5
        assert tiered.local_segments(TopicPartition(topic, number), leader)[0] > RECORDS // 2
    require_whole(tiered.cluster, topic, RECORDS)


def test_a_guardian_leader_killed_in_mid_copy_costs_a_retry_and_no_segment(
    tiered: TieredCluster, topic: str, stored: Stored, members: Members
) -> None:
    with tiered.copying_held(1) as wait_for_a_copy:
        produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
        wait_for_a_copy()
        members.kill_leader()
    tiered.wait_offloaded(topic)
    members.start()
    stored.wait_tidy()
    require_whole(tiered.cluster, topic, RECORDS)
    for number in range(PARTITIONS):
        events = stored.events(number)
        begun = copied(events, tiering_pb2.COPY_SEGMENT_STARTED)
        assert begun == copied(events, tiering_pb2.COPY_SEGMENT_FINISHED), "a segment was copied in vain"


def test_orphans_of_a_broker_leader_that_was_killed_in_mid_copy_are_swept(
    tiered: TieredCluster, topic: str, stored: Stored
) -> None:
    """By the next leader, which needs nothing of the dead one for it."""
    partition = TopicPartition(topic, 0)

    def begun() -> set[bytes]:
        return {id for id, state in stored.live()[0].items() if state == tiering_pb2.COPY_SEGMENT_STARTED}

    with tiered.copying_held(1) as wait_for_a_copy:
        produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
        wait_for_a_copy()
        wait_for("a copy of it waits half done", lambda: begun() & tiered.remote_segments(topic).get(0, set()))
        orphans = begun()
        tiered.kafka.kill_broker(1)
    try:
        wait_for("another broker leads", lambda: tiered.leader(partition) in (2, 3))
        tiered.wait_offloaded(topic)
        stored.wait_tidy()
        assert orphans <= set(copied(stored.events(0), tiering_pb2.DELETE_SEGMENT_FINISHED))
        require_whole(tiered.cluster, topic, RECORDS)
    finally:
        tiered.kafka.start_broker(1)
    wait_for("broker 1 is in sync again", lambda: tiered.in_sync(partition) == {1, 2, 3})
    require_whole(tiered.cluster, topic, RECORDS)


def test_partitions_are_reassigned_while_they_are_copied(
    tiered: TieredCluster, client: GuardianClient, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    tiered.create_topic(topic, {0: (1, 2), 1: (2, 3), 2: (3, 1)}, min_insync_replicas="1")
    stored = Stored(client, tiered, topic, PARTITIONS)
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    targets = {TopicPartition(topic, n): replicas for n, replicas in {0: (3, 2), 1: (1, 3), 2: (2, 1)}.items()}
    with ThreadPoolExecutor(1) as thread, tiered.control() as control:
        writing = thread.submit(produce, tiered.cluster, topic, range(RECORDS, 2 * RECORDS), PARTITIONS)
        assert control.alter_reassignments(dict(targets)) == {}
        wait_for(
            "the partitions are where they were to go",
            lambda: (
                {p: state.replicas for p, state in control.describe_partitions([topic]).items()} == targets
                and not control.list_reassignments()
            ),
        )
        wait_for("the new replicas lead", lambda: control.elect_preferred_leaders(list(targets)) == {})
        wait_for("all brokers know it", lambda: tiered.leader(TopicPartition(topic, 0)) == 3)
        writing.result()
    tiered.wait_offloaded(topic)
    stored.wait_tidy()
    require_whole(tiered.cluster, topic, 2 * RECORDS)


@pytest.mark.parametrize("away", ["hanging", pytest.param("dead", marks=pytest.mark.long)])
def test_while_all_of_guardian_is_away_brokers_serve_and_copying_waits(
    tiered: TieredCluster, topic: str, stored: Stored, members: Members, away: str
) -> None:
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    stored.wait_tidy()
    copied_before = count_of(tiered.remote_segments(topic))
    members.pause() if away == "hanging" else members.kill()
    try:
        produce(tiered.cluster, topic, range(RECORDS, 2 * RECORDS), PARTITIONS)
        require_whole(tiered.cluster, topic, 2 * RECORDS)
        tiered.require_served(MEMBERS_AWAY_S)
        # Each partition may have had one more copy under way.
        assert count_of(tiered.remote_segments(topic)) <= copied_before + PARTITIONS
        require_whole(tiered.cluster, topic, 2 * RECORDS)
    finally:
        members.resume()
        members.start()
    tiered.wait_offloaded(topic)
    stored.wait_tidy()
    require_whole(tiered.cluster, topic, 2 * RECORDS)


def test_deleting_a_topic_deletes_all_of_it(tiered: TieredCluster, topic: str, stored: Stored) -> None:
    produce(tiered.cluster, topic, range(RECORDS), PARTITIONS)
    tiered.wait_offloaded(topic)
    stored.wait_tidy()
    remote = tiered.remote_files(topic)
    assert remote()
    data.delete_topics(tiered.cluster, [topic], PATIENCE_S)
    wait_for("no remote file is left", lambda: not remote())
    wait_for("no segment is listed", lambda: not any(stored.live().values()))
