"""A group stands at an offset that retention has passed, in a partition that is empty by now (redpanda #30624).

There is nothing to read, so it reads nothing from the disk, and must not take a share of what others read.
"""

from __future__ import annotations

import pytest

from guardian.health.model.disk_reads import HostFacts, LeaderFacts, TopicRates
from guardian.health.rules.disk_reads import disk_reads
from guardian.model.topology import TopicPartition

EMPTY, BUSY = TopicPartition("t", 0), TopicPartition("t", 1)
HOSTS = {1: HostFacts(4_000_000_000, 100e6, {"/d": "sda"})}  # a page cache of 40 s
LEADERS = {
    EMPTY: LeaderFacts(1, "/d", 5000, 5000, 0.0, 3600.0),
    BUSY: LeaderFacts(1, "/d", 0, 9_000_000, 1000.0),
}


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="a group that has nothing to read is told to read")
def test_a_group_that_has_nothing_to_read_takes_no_share_of_what_others_read() -> None:
    groups = {"idle-group": {EMPTY: 100}, "replayer": {BUSY: 10}}
    found = disk_reads(groups, LEADERS, {(1, "t"): TopicRates(1e6, 50e6)}, HOSTS)
    rates = {reader.group: reader.bytes_per_s for reader in found.readers}
    assert "idle-group" not in rates
    assert rates["replayer"] >= 45e6
