"""Who reads from disk: the rule by hand, then properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.health.model.disk_reads import DiskReads, HostFacts, LeaderFacts, PageCache, TopicRates
from guardian.health.rules.disk_reads import disk_reads, is_on_disk, page_cache
from guardian.model.topology import TopicPartition

GB = 10**9
MB = 10**6
P0, P1, Q0 = TopicPartition("p", 0), TopicPartition("p", 1), TopicPartition("q", 0)

# 30 GB of memory at 100 MB/s: five minutes. Partitions of 1000 messages/s: 300,000 of them are in memory.
HOST = HostFacts(30 * GB, 100.0 * MB, {"/d0": "sda", "/d1": "sdb"})
LEADERS = {
    P0: LeaderFacts(1, "/d0", 0, 1_000_000, 1000.0),
    P1: LeaderFacts(1, "/d1", 0, 1_000_000, 1000.0),
    Q0: LeaderFacts(2, "/d0", 0, 1_000_000, 1000.0),
}
TOPICS = {(1, "p"): TopicRates(10.0 * MB, 26.0 * MB), (2, "q"): TopicRates(5.0 * MB, 5.0 * MB)}
HOSTS = {1: HOST, 2: HOST}


def found(**committed: dict[TopicPartition, int]) -> DiskReads:
    return disk_reads(committed, LEADERS, TOPICS, HOSTS)


def test_the_page_cache_holds_what_memory_and_the_disks_rate_say() -> None:
    assert page_cache(1, HOST) == PageCache(1, 30 * GB, 100.0 * MB, 300.0)
    assert page_cache(1, replace(HOST, disk_bytes_per_s=0.0)).seconds is None


def test_a_group_further_behind_than_the_page_cache_reads_from_the_leaders_disk() -> None:
    (reader,) = found(late={P0: 400_000, P1: 900_000}, tail={P0: 999_000, P1: 999_000, Q0: 999_000}).readers
    assert (reader.group, reader.partition, reader.broker, reader.disk) == ("late", P0, 1, "sda")
    assert reader.behind_s == 600.0
    # 26 MB/s go out; late takes P1's 5 MB/s at the tail, tail both partitions' 10: 11 remain for P0.
    assert reader.bytes_per_s == pytest.approx(11.0 * MB)


def test_what_is_left_is_divided_among_those_behind() -> None:
    readers = found(a={P0: 0}, b={P0: 100}, c={P1: 5}).readers
    assert [each.bytes_per_s for each in readers] == pytest.approx([26.0 * MB / 3] * 3)


def test_the_border_is_the_last_offset_that_was_pushed_out() -> None:
    cache = page_cache(1, HOST)
    assert is_on_disk(699_999, LEADERS[P0], cache)
    assert not is_on_disk(700_000, LEADERS[P0], cache)


@pytest.mark.parametrize(
    ("leader", "host"),
    [
        (LEADERS[P0], replace(HOST, disk_bytes_per_s=0.0)),
        (replace(LEADERS[P0], messages_per_s=0.0), HOST),
        (replace(LEADERS[P0], log_end_offset=0), HOST),
    ],
)
def test_nothing_is_said_where_nothing_moves(leader: LeaderFacts, host: HostFacts) -> None:
    assert disk_reads({"g": {P0: 0}}, {P0: leader}, TOPICS, {1: host}).readers == ()


def test_all_of_a_partition_that_nobody_has_written_to_for_as_long_as_the_page_cache_holds_is_on_disk() -> None:
    """A replay of yesterday's finished topic."""
    finished = replace(LEADERS[P0], messages_per_s=0.0, idle_s=300.0)
    (reader,) = disk_reads({"g": {P0: 999_999}, "done": {P0: 1_000_000}}, {P0: finished}, TOPICS, HOSTS).readers
    assert (reader.group, reader.behind_s) == ("g", 300.0)
    assert reader.bytes_per_s == pytest.approx(26.0 * MB)
    assert disk_reads({"g": {P0: 0}}, {P0: replace(finished, idle_s=299.0)}, TOPICS, HOSTS).readers == ()


def test_partitions_and_brokers_that_are_unknown_are_left_out() -> None:
    assert disk_reads({"g": {P0: 0, TopicPartition("gone", 0): 0}}, LEADERS, TOPICS, {2: HOST}).readers == ()


def test_a_group_below_the_logs_start_will_begin_at_the_start() -> None:
    leaders = {P0: replace(LEADERS[P0], log_start_offset=400_000)}
    (reader,) = disk_reads({"g": {P0: 10}}, leaders, TOPICS, HOSTS).readers
    assert (reader.committed_offset, reader.behind_s) == (10, 600.0)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1_000_000), min_size=1))
def test_those_behind_never_read_more_than_the_topic_sends(offsets: dict[str, int]) -> None:
    result = found(**{group: {P0: offset} for group, offset in offsets.items()})
    assert {each.group for each in result.readers} == {group for group, offset in offsets.items() if offset < 700_000}
    assert sum(each.bytes_per_s for each in result.readers) <= 26.0 * MB * 1.0001
