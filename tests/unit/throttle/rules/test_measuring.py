"""Two looks at counters make a reading."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardian.throttle.model import (
    FETCH,
    PRODUCE,
    BrokerCounters,
    DiskCounters,
    Latency,
    NicCounters,
    RequestCounters,
)
from guardian.throttle.rules.measuring import reading

THEN = BrokerCounters(
    3,
    at_ms=10_000,
    started_at_ms=5,
    disks={"sda": DiskCounters(100, 10, 50), "sdb": DiskCounters(100, 10, 50)},
    nics={"eth0": NicCounters(0, 0, 8_000_000), "eth1": NicCounters(0, 0)},
    requests={PRODUCE: RequestCounters(100, 2.0, 9.0), FETCH: RequestCounters(10, 1.0, 3.0)},
    copied_bytes=1000,
)
NOW = BrokerCounters(
    3,
    at_ms=12_000,
    started_at_ms=5,
    disks={"sda": DiskCounters(1100, 20, 100), "sdb": DiskCounters(1900, 15, 550), "new": DiskCounters(9, 9, 9)},
    nics={"eth0": NicCounters(1_000_000, 500_000, 8_000_000), "eth1": NicCounters(1_500_000, 0)},
    requests={PRODUCE: RequestCounters(150, 4.0, 11.0), FETCH: RequestCounters(10, 1.0, 3.0)},
    copied_bytes=5000,
)


def test_the_busiest_disk_and_interface_and_the_slowest_disk_are_named() -> None:
    found = reading(THEN, NOW)
    assert (found.disk, found.utilisation) == ("sdb", 0.9)
    assert (found.slowest_disk, found.await_ms) == ("sdb", 100.0)
    assert (found.nic, found.nic_share) == ("eth0", 0.5)
    assert found.copied_per_s == 2000
    assert not found.is_young


def test_the_mean_is_that_of_the_time_between_the_looks() -> None:
    """50 requests took 600 - 200 ms; there was no fetch, so nobody waited for one."""
    assert reading(THEN, NOW).latencies == {PRODUCE: Latency(8.0, 11.0)}


def test_an_interface_that_does_not_tell_its_speed_has_the_one_of_the_settings() -> None:
    assert reading(THEN, NOW).nic_without_speed == "", "one of them has a speed"
    found = reading(THEN, NOW, nic_bits_per_s=8_000_000)
    assert (found.nic, found.nic_share) == ("eth1", 0.75)


@pytest.mark.parametrize(
    "before",
    [None, replace(THEN, started_at_ms=4), replace(THEN, at_ms=11_950), replace(THEN, at_ms=13_000)],
    ids=["first", "restarted", "just now", "out of order"],
)
def test_without_two_looks_at_one_life_the_reading_is_young(before: BrokerCounters | None) -> None:
    found = reading(before, NOW)
    assert found.is_young
    assert found.latencies[PRODUCE].p99_ms == 11.0
    assert (found.disk, found.nic, found.copied_per_s) == ("", "", 0.0)


def test_a_disk_that_did_nothing_has_no_await() -> None:
    idle = replace(NOW, disks={"sda": THEN.disks["sda"]})
    assert (reading(THEN, idle).utilisation, reading(THEN, idle).await_ms) == (0.0, 0.0)


def test_where_no_interface_tells_its_speed_one_of_them_is_named() -> None:
    untold = replace(NOW, nics={name: replace(nic, bits_per_s=0) for name, nic in NOW.nics.items()})
    found = reading(THEN, untold)
    assert (found.nic, found.nic_without_speed) == ("", "eth0")
    assert reading(THEN, untold, nic_bits_per_s=8_000_000).nic_without_speed == ""
    assert reading(THEN, replace(NOW, nics={})).nic_without_speed == ""
