"""Questions carry names as parameters, spans that make sense, and bounded answers."""

from __future__ import annotations

import pytest

from guardian.activity.rules import questions, schema
from guardian.activity.rules.address import ServerAddress, parse_url
from guardian.activity.rules.database import Question
from guardian.activity.rules.questions import HOUR_MS, Span
from guardian.errors import InvalidInput

SPAN = Span(10 * HOUR_MS + 5, 11 * HOUR_MS + 5)
NASTY = "x' OR '1' = '1"


@pytest.mark.parametrize("bounds", [(5, 5), (6, 5), (-1, 5), (0, 1 << 62)])
def test_a_span_that_makes_no_sense_is_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput, match="the time asked for"):
        Span(*bounds)


def test_whole_hours_reach_outwards() -> None:
    assert SPAN.whole_hours() == Span(10 * HOUR_MS, 12 * HOUR_MS)
    assert SPAN.whole_hours().whole_hours() == SPAN.whole_hours()


@pytest.mark.parametrize(
    "question",
    [
        questions.topic_users(NASTY, NASTY, SPAN, 5),
        questions.broker_activity(NASTY, 1, SPAN, 5),
        questions.principal_activity(NASTY, NASTY, SPAN, 5),
        questions.uses_from(NASTY, [NASTY], SPAN.from_ms),
        questions.topic_last_uses(NASTY, SPAN.from_ms),
        questions.stored_slices(NASTY, 0, 1),
    ],
)
def test_names_are_parameters(question: Question) -> None:
    assert NASTY not in question.sql
    assert NASTY in question.parameters.values()


@pytest.mark.parametrize("limit", [0, questions.MAX_ROWS + 1])
def test_a_limit_is_bounded(limit: int) -> None:
    with pytest.raises(InvalidInput, match=f"limit is {limit}"):
        questions.topic_users("live", "orders", SPAN, limit)


def test_the_version_of_a_table_is_in_its_comment() -> None:
    assert schema.version_in(schema.comment()) == schema.VERSION
    assert schema.version_in("somebody's own") == 0
    assert schema.comment() in schema.create_table(30)


def test_a_path_and_a_server_are_told_apart() -> None:
    assert str(parse_url("/var/lib/guardian/activity")) == "/var/lib/guardian/activity"
    assert parse_url("clickhouse://ann@ch1/db") == ServerAddress("ch1", 8123, "db", "ann", False)
    assert parse_url("clickhouses://ch1:9/db") == ServerAddress("ch1", 9, "db", "default", True)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://ch1/db", "clickhouse://user@host"),
        ("clickhouse://ch1", "clickhouse://user@host"),
        ("clickhouse:///db", "clickhouse://user@host"),
        ("clickhouse://ch1:x/db", "clickhouse://user@host"),
        ("clickhouse://ch1/db?x=1", "clickhouse://user@host"),
        ("clickhouse://ch1/a-b", "clickhouse://user@host"),
        ("clickhouse://ann:secret@ch1/db", "password_file"),
    ],
)
def test_a_wrong_url_is_refused_and_a_password_in_it_never_shown(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert "secret" not in str(caught.value)
