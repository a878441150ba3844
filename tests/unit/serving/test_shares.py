"""Shares of connections: limits by descriptors, who makes room, and who is over his share."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.config import PortsConfig
from guardian.errors import InvalidInput
from guardian.serving.rules.shares import (
    GRPC_OVERSHOOT,
    HTTP_OVERSHOOT,
    KEPT_DESCRIPTORS,
    Held,
    PortShare,
    address_of_peer,
    holder_of,
    over_share,
    port_shares,
    who_makes_room,
)

HOLDERS = st.sampled_from("abcdefgh")


@given(st.integers(1024, 1 << 20), st.integers(0, 5000), st.integers(0, 5000))
def test_the_ports_together_leave_the_descriptors_that_are_kept(open_files: int, grpc: int, http: int) -> None:
    try:
        shares = port_shares(PortsConfig(grpc_connections=grpc, http_connections=http), open_files)
    except InvalidInput:
        assert (grpc or 128) + (http or 64) + 832 > open_files, "no less would do"
        return
    ports = shares.grpc.connections + GRPC_OVERSHOOT + shares.http.connections + HTTP_OVERSHOOT
    assert ports + KEPT_DESCRIPTORS <= open_files
    assert shares.grpc.per_address <= shares.grpc.connections
    assert shares.http.per_address <= shares.http.connections


@pytest.mark.parametrize(
    ("ports", "open_files", "least"),
    [(PortsConfig(), 1023, 1024), (PortsConfig(grpc_connections=5000, http_connections=1000), 6000, 6832)],
)
def test_a_limit_that_is_too_low_is_refused_with_the_number_that_is_needed(
    ports: PortsConfig, open_files: int, least: int
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"(got {open_files}, at least {least} are needed); raise")):
        port_shares(ports, open_files)
    assert port_shares(ports, least)


def test_what_is_configured_is_what_a_port_may_hold() -> None:
    shares = port_shares(PortsConfig(grpc_connections=700, grpc_per_address=900, http_connections=80), None)
    assert shares.grpc == PortShare(700, 700)
    assert shares.http == PortShare(80, 80)


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:0:1:aaaa::1", "2001:db8:0:1::/64"),
        ("2001:db8:0:1:bbbb::2", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("unix:", "unix:"),
    ],
)
def test_a_host_has_one_share_however_many_addresses_of_its_network_it_uses(address: str, holder: str) -> None:
    assert holder_of(address) == holder


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.1:5000", "10.0.0.1"),
        ("ipv6:[2001:db8::1]:5000", "2001:db8::1"),
        ("ipv6:%5B::1%5D:5000", "::1"),
        ("unix:", "unix:"),
    ],
)
def test_the_address_of_a_peer_as_grpc_names_it(peer: str, address: str) -> None:
    assert address_of_peer(peer) == address


@given(st.lists(HOLDERS, max_size=200), st.integers(1, 30), st.integers(1, 15))
def test_a_port_that_makes_room_never_holds_too_much_and_leaves_a_place_to_each(
    arriving: list[str], connections: int, per_address: int
) -> None:
    share, held = PortShare(connections, per_address), Held()
    for newcomer in arriving:
        giver = who_makes_room(newcomer, held, share)
        if giver is not None:
            assert giver == newcomer or held.of(giver) > held.of(newcomer)
            if not held.of(giver):
                continue  # all places are held by others, one each
            held.give_back(giver)
        held.take(newcomer)
        assert held.total <= connections
        assert max(map(held.of, "abcdefgh")) <= per_address
        assert held.of(newcomer)


def test_two_who_hold_as_many_do_not_take_their_places_from_each_other_by_turns() -> None:
    held = Held()
    for holder in "aaabbb":
        held.take(holder)
    share = PortShare(6, 6)
    assert [who_makes_room(each, held, share) for each in "abc"] == ["a", "b", held.heaviest]
    held.give_back("a")
    held.take("c")
    assert [who_makes_room(each, held, share) for each in "abc"] == ["a", "b", "b"]


@given(st.lists(st.tuples(HOLDERS, st.booleans()), max_size=200))
def test_who_holds_most_is_known_whatever_was_taken_and_given_back(steps: list[tuple[str, bool]]) -> None:
    held, plainly = Held(), Counter[str]()
    for holder, is_taken in steps:
        if is_taken:
            held.take(holder)
            plainly[holder] += 1
        elif plainly[holder]:
            held.give_back(holder)
            plainly[holder] -= 1
        most = max(plainly.values(), default=0)
        assert held.total == plainly.total()
        assert {each: held.of(each) for each in plainly} == dict(plainly)
        assert (held.heaviest is None) == (most == 0)
        assert held.heaviest is None or plainly[held.heaviest] == most


def test_a_newcomer_costs_the_same_among_few_holders_and_among_many() -> None:
    def steps(holders: int) -> int:
        held, seen = Held(), 0
        for number in range(holders):
            for _ in range(1 + number % 3):
                held.take(str(number))

        def count(_frame: object, event: str, _what: object) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        share = PortShare(held.total, 100)
        sys.setprofile(count)
        try:
            giver = who_makes_room("new", held, share)
            assert giver is not None
            held.give_back(giver)
            held.take("new")
        finally:
            sys.setprofile(None)
        return seen

    assert steps(2000) == steps(20)


@given(st.lists(HOLDERS, max_size=200), st.integers(1, 60), st.integers(1, 15))
def test_what_is_over_a_share_is_found_newest_first_and_nobody_else_loses(
    arriving: list[str], connections: int, per_address: int
) -> None:
    held = {holder: [(holder, at) for at, each in enumerate(arriving) if each == holder] for holder in set(arriving)}
    over = set(over_share(held, PortShare(connections, per_address)))
    kept = {holder: [each for each in of if each not in over] for holder, of in held.items()}
    assert sum(map(len, kept.values())) <= connections
    assert all(len(of) <= per_address for of in kept.values())
    assert all(of == held[holder][: len(of)] for holder, of in kept.items())
    # Whoever lost one holds as many as anybody: by the naive rule, the next place would be for one of them.
    most = max((len(of) for of in kept.values()), default=0)
    assert all(len(kept[holder]) == most for holder in held if len(kept[holder]) < len(held[holder]))


def test_nothing_is_over_a_share_that_has_room() -> None:
    assert over_share({"a": [1, 2], "b": [3]}, PortShare(3, 2)) == []
