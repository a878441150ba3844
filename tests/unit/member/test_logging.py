"""Log lines: for people or programs, from whoever logs, without secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import structlog

from guardian import config
from guardian.config import LogConfig
from guardian.errors import InvalidInput
from guardian.member.logging import configure
from guardian.model.text import is_printable


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Logging is of the process: other tests get theirs back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in ("guardian", "raft", "metastore", "spark_analytics")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, of in levels.items():
        logging.getLogger(name).setLevel(of)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_line_is_json_whoever_wrote_it() -> None:
    stream = io.StringIO()
    configure(LogConfig("json"), "g1", stream)
    structlog.get_logger("guardian.member.loop").info("tick", did="ticket t-1: 3 of 9 moves done")
    logging.getLogger("raft.replica").warning("lost %s", "g2")
    logging.getLogger("urllib3").info("not worth a line")
    ours, raft = lines(stream)
    assert (
        ours.items()
        >= {
            "event": "tick",
            "did": "ticket t-1: 3 of 9 moves done",
            "level": "info",
            "logger": "guardian.member.loop",
            "member": "g1",
        }.items()
    )
    assert str(ours["time"]).endswith("Z")
    assert raft.items() >= {"event": "lost g2", "level": "warning", "logger": "raft.replica", "member": "g1"}.items()


def test_an_exception_is_one_line_too() -> None:
    stream = io.StringIO()
    configure(LogConfig("json"), "g1", stream)
    try:
        raise ValueError("password=hunter2-Zq9")
    except ValueError:
        structlog.get_logger("guardian.x").exception("tick")
    (line,) = lines(stream)
    assert "ValueError" in str(line["exception"])
    assert "hunter2" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_secret_gets_into_a_line(log_format: Literal["text", "json"]) -> None:
    stream = io.StringIO()
    configure(LogConfig(log_format), "g1", stream)
    log = structlog.get_logger("guardian.x")
    log.info("signed in", token="hunter2-Zq9", url="https://u:hunter2-Zq9@h/", headers={"Authorization": "hunter2-Zq9"})
    logging.getLogger("kafka").warning("sasl.jaas.config password=%s", "hunter2-Zq9")
    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("[redacted]") == 4


def test_a_level_holds_for_ours_and_the_rest_is_heard_from_warnings_on() -> None:
    stream = io.StringIO()
    configure(LogConfig("json", "error"), "g1", stream)
    structlog.get_logger("guardian.x").warning("no")
    logging.getLogger("raft.x").warning("no")
    structlog.get_logger("guardian.x").error("yes")
    assert [line["event"] for line in lines(stream)] == ["yes"]


def test_text_is_for_people() -> None:
    stream = io.StringIO()
    configure(LogConfig(), "g1", stream)
    structlog.get_logger("guardian.member.app").info("serving", grpc="127.0.0.1:1")
    assert "serving" in stream.getvalue()
    assert "grpc=127.0.0.1:1" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        ('[log]\nformat = "xml"', 'log.format is \'xml\': use "text" or "json"'),
        ('[log]\nlevel = "loud"', "log.level is 'loud'"),
        ("[log]\nfile = 1", "log.file is not a setting: use one of format, level"),
        ('[traces]\nendpoint = "otel:4317"', "traces.endpoint is 'otel:4317': use http://host:4317"),
        ("[traces]\nendpoint = 1", "traces.endpoint is 1: give a non-empty string"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, sections: str, sentence: str) -> None:
    file = tmp_path / "g1.toml"
    ports = 'grpc = "127.0.0.1:1"\nhttp = "127.0.0.1:2"\nraft = "127.0.0.1:3"\n'
    base = f'name = "g1"\ndata = "{tmp_path}"\nlake = "/l"\n{ports}'
    file.write_text(base + sections)
    with pytest.raises(InvalidInput, match=sentence.replace("[", r"\[")):
        config.load(file)
    file.write_text(base + '[log]\nformat = "json"\nlevel = "debug"\n[traces]\nendpoint = "http://otel:4317"\n')
    loaded = config.load(file)
    assert (loaded.log, loaded.traces.endpoint) == (LogConfig("json", "debug"), "http://otel:4317")


def test_a_line_for_people_holds_no_line_of_others() -> None:
    stream = io.StringIO()
    configure(LogConfig("text"), "g1", stream)
    log = structlog.get_logger("guardian.x")
    log.warning("refused", why="no\x1b[2J\n2026-01-01 00:00:00 [info] forged", names=["\u202e"])
    logging.getLogger("kafka").warning("broker says %s", "\x9b8A\u2028forged")
    try:
        raise ValueError("no\n2026-01-01 00:00:00 [info] forged\x07")
    except ValueError:
        log.exception("tick")
    shown = stream.getvalue()
    assert is_printable(shown, keep="\n")
    assert r"\x9b8A\u2028forged" in shown
    assert "    2026-01-01 00:00:00 [info] forged\\x07" in shown
    assert not [line for line in shown.splitlines() if line.startswith("2026-01-01")]


def test_a_line_for_programs_is_printable_and_the_same_value() -> None:
    stream = io.StringIO()
    configure(LogConfig("json"), "g1", stream)
    structlog.get_logger("guardian.x").warning("refused", why="\x7f\x9b\u202e\x1bé")
    assert is_printable(stream.getvalue(), keep="\n")
    assert lines(stream)[0]["why"] == "\x7f\x9b\u202e\x1bé"
