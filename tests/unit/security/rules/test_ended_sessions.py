"""Sessions that their owners ended are remembered for as long as they would have been good."""

from __future__ import annotations

from guardian.security.rules.ended_sessions import EndedSessions


def test_an_ended_session_is_remembered_until_it_would_be_over() -> None:
    ended = EndedSessions()
    ended.end("a", until_ms=100, now_ms=0)
    assert (ended.has("a"), ended.has("b")) == (True, False)
    ended.end("b", until_ms=300, now_ms=99)
    assert ended.has("a")
    ended.end("c", until_ms=300, now_ms=100)
    assert (ended.has("a"), ended.has("b"), len(ended)) == (False, True, 2)


def test_of_too_many_the_oldest_are_forgotten() -> None:
    ended = EndedSessions(most=2)
    for cookie in ("a", "b", "c"):
        ended.end(cookie, until_ms=100, now_ms=0)
    assert [ended.has(cookie) for cookie in ("a", "b", "c")] == [False, True, True]
