"""Where a member's log lines go, and how they look: standard output, as text for people or a line of JSON each.

{"event": "tick", "did": "ticket t-1a2b3c4d: 3 of 9 moves done", "level": "info", "logger": "guardian.member.loop",
 "time": "2026-11-23T01:40:12.345678Z", "member": "g1", "trace": "4bf9…", "span": "00f0…"}

Whoever logs through Python's own logging (Raft, the store, libraries) comes out the same way. Secrets are taken out of
every line (guardian.security.rules.redacting), whoever wrote it. So are characters that move a cursor or begin a line
of their own (guardian.model.text); of an exception, which has several lines, each but the first is indented. Equal
lines are limited per second (guardian.member.log_lines).
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog

from guardian import tracing
from guardian.config import LogConfig
from guardian.member.log_lines import LineLimits, with_count
from guardian.model.text import escaped, json_escaped
from guardian.security.rules.redacting import redact, redact_tree

_Event = MutableMapping[str, Any]
# Of several lines, each with the characters that may be in it.
_OF_LINES = {"exception": "\n\t", "stack": "\n\t"}
_OURS = ("guardian", "raft", "metastore", "spark_analytics")


def configure(config: LogConfig, member: str, stream: TextIO | None = None) -> None:
    """Configure logging for the whole process, from now on."""
    is_json = config.format == "json"
    level = logging.getLevelNamesMapping()[config.level.upper()]

    def of_member(_: object, __: str, event: _Event) -> _Event:
        return {**event, "member": member, **tracing.ids()} if is_json else {**event, **tracing.ids()}

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper("iso", utc=True, key="time")
        if is_json
        else structlog.processors.TimeStamper("%Y-%m-%d %H:%M:%S", utc=False),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        of_member,
        _redacted,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = _Handler(stream or sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(is_json)],
        )
    )
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    # Libraries are heard from warnings on, as they were when nobody had configured anything.
    root.setLevel(max(level, logging.WARNING))
    for ours in _OURS:
        logging.getLogger(ours).setLevel(level)
    for raft in ("raft", "metastore"):
        logging.getLogger(raft).setLevel(level if level <= logging.DEBUG else max(level, logging.WARNING))


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, to be found again. Leaves lines out that come too often."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._limits = LineLimits()

    def emit(self, record: logging.LogRecord) -> None:
        now_s = self._clock()
        left_out = self._limits.take(record, now_s)
        if left_out is not None:
            super().emit(with_count(record, left_out) if left_out else record)
        for kind in self._limits.ended(now_s):
            super().emit(with_count(kind.record, kind.lines))


def _renderers(is_json: bool) -> list[structlog.typing.Processor]:
    if is_json:
        return [structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=False, default=str), _json_escaped]
    return [_escaped, structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty(), pad_event_to=30)]


def _json_escaped(_: object, __: str, line: Any) -> Any:
    return json_escaped(line)


def _escaped(_: object, __: str, event: _Event) -> _Event:
    """Escape names and values; what is no text reads as structlog would write it."""
    return {escaped(key): _shown(value, _OF_LINES.get(key, "")) for key, value in event.items()}


def _shown(value: object, keep: str) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return escaped(value if isinstance(value, str) else repr(value), keep).replace("\n", "\n    ")


def _redacted(_: object, __: str, event: _Event) -> _Event:
    own = {key: value for key, value in event.items() if key.startswith("_")}
    told = {key: redact_tree(value, key) for key, value in event.items() if not key.startswith("_")}
    return {**{key: redact(value) if isinstance(value, str) else value for key, value in told.items()}, **own}
