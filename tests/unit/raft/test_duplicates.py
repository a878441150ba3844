from __future__ import annotations

from functools import reduce

from raft.network.duplicates import DUPLICATE_S, PAUSE_S, Refusals, refused


def after(*moments: float) -> Refusals:
    known = reduce(refused, moments, None)
    assert known is not None
    return known


def test_a_single_refusal_is_no_proof() -> None:
    assert not after(7.0).go_on


def test_refusals_without_a_pause_are_proof_after_a_while() -> None:
    each_second = [100.0 + second for second in range(int(DUPLICATE_S) + 1)]
    assert not after(*each_second[:-1]).go_on
    assert after(*each_second).go_on


def test_what_was_refused_before_a_pause_does_not_count() -> None:
    before = [100.0 + second for second in range(int(DUPLICATE_S))]
    assert after(*before, before[-1] + PAUSE_S).go_on
    anew = before[-1] + PAUSE_S + 0.001
    assert after(*before, anew) == Refusals(anew, anew)
    assert not after(*before, anew, anew + PAUSE_S).go_on
