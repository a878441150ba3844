"""Who makes room among connections that have not said who they are."""

from __future__ import annotations

from raft.network.transport import longest_silent


def test_the_host_that_has_most_loses_its_oldest_and_no_other_host_is_pushed_out() -> None:
    hosts = {1: "member", 2: "flood", 3: "flood", 4: "other", 5: "flood"}
    assert longest_silent([1, 2, 3, 4, 5], hosts) == 2


def test_one_host_alone_loses_its_oldest() -> None:
    assert longest_silent([3, 1], {1: "a", 3: "a"}) == 3
