"""The decisions on who belongs to the group."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.configuration import MAX_MEMBERS, MAX_TEXT, Configuration, Member, Role
from raft.entries import NO_OP, command_entry, command_in, configuration_entry, configuration_in, is_entry
from raft.errors import ChangeRefused

THREE = Configuration.of_voters("group-1", {"a": "h1:1", "b": "h2:1", "c": "h3:1"})


def test_a_new_member_is_fed_but_does_not_count() -> None:
    four = THREE.with_learner("d", "h4:1")

    assert four.learners == {"d"}
    assert four.voters == THREE.voters
    assert four.majority == THREE.majority


def test_a_promoted_learner_counts_and_keeps_its_address() -> None:
    four = THREE.with_learner("d", "h4:1").with_promoted("d", "d-1")

    assert four.member("d") == Member("d", "h4:1", Role.VOTER, "d-1")
    assert four.majority == 3


def test_the_same_change_again_changes_nothing() -> None:
    four = THREE.with_learner("d", "h4:1")

    assert four.with_learner("d", "h4:1") == four
    assert four.with_promoted("a", "other") == four
    assert THREE.without("d") == THREE


@pytest.mark.parametrize(("name", "address"), [("a", "h9:1"), ("d", "h1:1")])
def test_a_name_or_an_address_that_is_taken_is_refused(name: str, address: str) -> None:
    with pytest.raises(ChangeRefused, match="remove it before"):
        THREE.with_learner(name, address)


def test_the_last_voter_stays_even_when_there_is_a_learner() -> None:
    alone = Configuration.of_voters("g", {"a": "h1:1"}).with_learner("b", "h2:1")

    with pytest.raises(ChangeRefused, match="last voter"):
        alone.without("a")
    assert alone.without("b").voters == {"a"}


def test_promoting_a_stranger_is_refused_by_name() -> None:
    with pytest.raises(ChangeRefused, match="member x is not in the group \\(a, b, c\\)"):
        THREE.with_promoted("x", "x-1")


@given(st.lists(st.tuples(st.sampled_from(["add", "promote", "remove"]), st.sampled_from("abcdefg")), max_size=20))
def test_majorities_before_and_after_a_change_always_share_a_member(changes: list[tuple[str, str]]) -> None:
    now = THREE
    for kind, name in changes:
        try:
            match kind:
                case "add":
                    later = now.with_learner(name, f"{name}:1")
                case "promote":
                    later = now.with_promoted(name, f"{name}-1")
                case _:
                    later = now.without(name)
        except ChangeRefused:
            continue
        for old, new in itertools.product(
            itertools.combinations(sorted(now.voters), now.majority),
            itertools.combinations(sorted(later.voters), later.majority),
        ):
            assert set(old) & set(new)
        now = later


_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=MAX_TEXT)


@given(_TEXT, st.dictionaries(_TEXT.filter(bool), _TEXT, min_size=1, max_size=5))
def test_a_configuration_survives_the_log(group_id: str, addresses: dict[str, str]) -> None:
    configuration = Configuration.of_voters(group_id, addresses)

    entry = configuration_entry(configuration)

    assert is_entry(entry)
    assert configuration_in(entry) == configuration
    assert command_in(entry) is None


MEMBER = '{"name": "%s", "address": "h:1", "role": "voter", "incarnation": ""}'
NONSENSE = [
    f'{{"group_id": "g", "members": [{members}]}}'.encode()
    for members in (
        MEMBER % "",
        MEMBER % "\\ud800",
        MEMBER % "a\\nb",
        MEMBER % ("a" * 256),
        f"{MEMBER % 'a'}, {MEMBER % 'a'}",
    )
]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"group_id": "g", "members": [1]}', b"\xff", *NONSENSE])
def test_a_damaged_configuration_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no configuration|Expecting|decode"):
        configuration_in(configuration_entry(THREE)[:2] + data)


@pytest.mark.parametrize("data", NONSENSE)
def test_a_member_that_none_could_be_is_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no configuration: (a member has no name|.* is no name or|it has a member)"):
        Configuration.from_bytes(data)
    Configuration.from_bytes(f'{{"group_id": "g", "members": [{MEMBER % "a"}, {MEMBER % "b"}]}}'.encode())


def test_a_group_takes_no_more_members_than_fit_into_an_entry() -> None:
    group = THREE
    for number in range(MAX_MEMBERS - len(THREE.members)):
        group = group.with_learner(f"{number:03}" + "n" * 252, f"{number:03}" + "a" * 252)
    assert len(group.to_bytes()) < 1 << 16
    assert Configuration.from_bytes(group.to_bytes()) == group
    with pytest.raises(ChangeRefused, match=f"the group has {MAX_MEMBERS} members: remove one before you add z"):
        group.with_learner("z", "z:1")
    for name, address in (("", "h:1"), ("x" * 256, "h:1"), ("x", ""), ("x", "\N{SNOWMAN}:1"), ("a\nb", "h:1")):
        with pytest.raises(ChangeRefused, match="name and address are 1 to 255 characters of ASCII"):
            THREE.with_learner(name, address)


def test_kinds_of_entries_are_told_apart() -> None:
    assert command_in(command_entry(b"x")) == b"x"
    assert configuration_in(command_entry(b"x")) is None
    assert is_entry(NO_OP)
    assert command_in(NO_OP) is None
    assert not is_entry(b"\x02x")
