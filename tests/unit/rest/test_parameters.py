"""Query strings, right and wrong: whatever is sent, there is an `Asked` or one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.rest.cruise_control.endpoints import BY_NAME, ENDPOINTS, Endpoint
from guardian.rest.cruise_control.parameters import parse, require_whole
from guardian.rest.patterns import matching

NAMES = sorted({parameter.name for endpoint in ENDPOINTS for parameter in endpoint.parameters})
VALUES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["true", "False", "1", "-1", "1,2,3", "٣", "1-/d", "0-", "(", "a*", "9" * 30, "nan", "0-5", ","]),
)


@given(
    st.sampled_from(ENDPOINTS),
    st.lists(st.tuples(st.one_of(st.sampled_from(NAMES), st.text(max_size=20)), VALUES), max_size=6),
)
def test_anything_is_parsed_or_refused_in_a_sentence(endpoint: Endpoint, query: list[tuple[str, str]]) -> None:
    try:
        asked = parse(endpoint, query)
        require_whole(asked)
    except InvalidInput:
        pass
    else:
        assert set(asked.values) == {parameter.name for parameter in endpoint.parameters}
        assert asked.partitions()[0] >= 0


def test_names_are_matched_whatever_their_case_and_empty_values_say_nothing() -> None:
    asked = parse(BY_NAME["rebalance"], [("dryRun", "FALSE"), ("goals", "")])
    assert (asked.is_dry, asked.words("goals")) == (False, ())


def test_dry_runs_are_the_default_wherever_there_are_any() -> None:
    for endpoint in ENDPOINTS:
        if endpoint.parameter("dryrun") is not None:
            assert parse(endpoint, []).is_dry, endpoint.name


def test_ignored_ones_are_noted_only_where_they_ask_for_something_else() -> None:
    rebalance = BY_NAME["rebalance"]
    assert parse(rebalance, [("fast_mode", "true")]).notes == ()
    assert parse(rebalance, [("fast_mode", "false")]).notes == ("fast_mode has no effect: there is one mode",)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("", ("a", "ab", "b.c")),
        ("a", ("a",)),
        ("a.*", ("a", "ab")),
        ("a|b.c", ("a", "b.c")),
        ("[ab]+", ("a", "ab")),
        (r"b\.c", ("b.c",)),
    ],
)
def test_patterns_match_whole_names(pattern: str, names: tuple[str, ...]) -> None:
    assert matching("topic", pattern, ["a", "ab", "b.c"]) == names


def test_a_pattern_that_takes_for_ever_is_refused_and_holds_nobody_up() -> None:
    with pytest.raises(InvalidInput, match=r"topic is '\(a\|a\)\*b', which takes more than 0.5 s"):
        matching("topic", "(a|a)*b", ["a" * 60], deadline_s=0.5)
