"""Lines that come too often are left out and counted; all others are written."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from guardian.config import LogConfig
from guardian.member.log_lines import ALIKE_PER_S, EQUAL_PER_S, LineLimits, with_count
from guardian.member.logging import configure


def line(text: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("raft.door", logging.WARNING, "", 0, text, args, None)


def test_equal_lines_are_limited_and_the_next_one_tells_how_many_were_left_out() -> None:
    limits = LineLimits()
    written = [limits.take(line("refused"), 0.001 * at) for at in range(500)]
    assert written == [0] * EQUAL_PER_S + [None] * (500 - EQUAL_PER_S)
    assert limits.take(line("another"), 0.6) == 0
    assert limits.take(line("refused"), 1.1) == 500 - EQUAL_PER_S
    assert limits.take(line("refused"), 1.2) == 0


def test_lines_that_differ_in_their_values_are_limited_at_a_higher_number() -> None:
    limits = LineLimits()
    written = [limits.take(line("refused %s", at), 0.0001 * at) for at in range(1000)]
    assert written == [0] * ALIKE_PER_S + [None] * (1000 - ALIKE_PER_S)


def test_what_was_left_out_is_told_once_though_no_line_of_the_kind_comes_again() -> None:
    limits = LineLimits()
    for _ in range(20):
        limits.take(line("refused"), 0.0)
    assert limits.ended(1.5) == []
    (told,) = limits.ended(2.6)
    assert (told.record.getMessage(), told.lines) == ("refused", 20 - EQUAL_PER_S)
    assert with_count(*told).getMessage() == f"refused ({20 - EQUAL_PER_S} such lines were left out)"
    assert limits.ended(9.0) == []


def test_kinds_that_are_new_all_the_time_are_bounded() -> None:
    limits = LineLimits()
    for at in range(10_000):
        limits.take(line(f"line {at}"), at)
    assert len(limits._kinds) <= 2000


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure(LogConfig("json"), "g1", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_member_writes_few_of_many_equal_lines_whoever_logs_them(stream: io.StringIO) -> None:
    for _ in range(200):
        structlog.get_logger("guardian.member.web").error("a request failed", path="/x")
        logging.getLogger("raft.replica").warning("lost %s", "g2")
    structlog.get_logger("guardian.member.web").error("a request failed", path="/y")
    lines: list[dict[str, Any]] = [json.loads(each) for each in stream.getvalue().splitlines()]
    ours = [each for each in lines if each["event"] == "a request failed" and each["path"] == "/x"]
    # The loop may take more than one second on a busy machine.
    seconds = 1 + len({each["time"][:19] for each in lines})
    assert EQUAL_PER_S <= len(ours) <= EQUAL_PER_S * seconds
    assert any(each.get("path") == "/y" for each in lines)
    assert EQUAL_PER_S <= sum(each["logger"] == "raft.replica" for each in lines) <= (EQUAL_PER_S + 1) * seconds
