"""Who may approve which tickets: a TOML file, the same for all members, read again at each question.

expires = "7d"                         # PENDING or APPROVED for longer: EXPIRED; "never"

[[rules]]                              # a ticket may be approved when one rule lets it
name      = "small balances at night"
kinds     = ["balance", "leaders"]     # patterns, as of the shell; default: all. One that is no kind's is refused
clusters  = ["live-*"]                 # likewise
authors   = ["*"]                      # of the ticket; likewise
approvers = ["ann", "sre-*"]           # who may; default: nobody
automatic = true                       # the leader approves by itself, as soon as a window is open
max_bytes = "500GB"                    # that the ticket copies; default: no limit. Not for kinds that never say it
max_moves = 1000                       # default: no limit
windows   = ["Mon-Fri 22:00-06:00", "Sat-Sun 00:00-24:00"]   # when it lets; default: always. Not when the ticket runs
timezone  = "Europe/Berlin"            # of the windows; default: UTC
author_may_approve = false             # true: for a laptop with one person

Without a file everybody may approve everything, the author too: whoever reaches Guardian may do everything as long as
nobody has to say who he is. And what healing does by itself (its own policy says whether it does) needs nobody.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from zoneinfo import ZoneInfo

from guardian.errors import InvalidInput
from guardian.model.actor import Agent
from guardian.model.ticket_kinds import KINDS, WITHOUT_SIZE
from guardian.model.units import parse_duration_ms, read_bytes

DEFAULT_EXPIRES_MS = 7 * 86_400_000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_WINDOW = re.compile(rf"(?:({_DAY})(?:-({_DAY}))? )?(\d\d):(\d\d)-(\d\d):(\d\d)")
_MINUTES = 24 * 60
_MAX_RULES = 1000


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes of the day, on some days of the week (0: Monday). Where the end is not after the start, it is the next
    day's."""

    days: frozenset[int]
    start: int
    end: int
    text: str = ""

    def holds(self, at: datetime) -> bool:
        minute = at.hour * 60 + at.minute
        if self.start < self.end:
            return at.weekday() in self.days and self.start <= minute < self.end
        is_today = at.weekday() in self.days and minute >= self.start
        return is_today or ((at.weekday() - 1) % 7 in self.days and minute < self.end)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule; 0 is no limit, no window is always. Names are patterns."""

    name: str
    kinds: tuple[str, ...] = ("*",)
    clusters: tuple[str, ...] = ("*",)
    authors: tuple[str, ...] = ("*",)
    approvers: tuple[str, ...] = ()
    automatic: bool = False
    max_bytes: int = 0
    max_moves: int = 0
    windows: tuple[Window, ...] = ()
    timezone: str = "UTC"
    author_may_approve: bool = False


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """A ticket may be approved when one of the rules lets it. `expires_ms` 0: tickets do not expire."""

    rules: tuple[ApprovalRule, ...] = ()
    expires_ms: int = DEFAULT_EXPIRES_MS
    file: str = field(default="", compare=False)


def everybody(*, author_may_approve: bool = True) -> ApprovalPolicy:
    """What holds without a file."""
    return ApprovalPolicy(
        (
            ApprovalRule("everybody", approvers=("*",), author_may_approve=author_may_approve),
            ApprovalRule("healing", authors=(Agent.HEALING,), automatic=True),
        )
    )


def load_approvals(path: Path) -> ApprovalPolicy:
    """Raises InvalidInput that names the file, the field, the value and the fix."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidInput(f"approvals file {path} can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"approvals file {path} is not valid TOML: {error}") from None
    try:
        return _policy(table, str(path))
    except InvalidInput as error:
        raise InvalidInput(f"approvals file {path}: {error}") from None


def parse_window(text: str) -> Window:
    """Of "Mon-Fri 22:00-06:00", "Sun 08:00-12:00" or "22:00-06:00", of every day. Raises InvalidInput."""
    match = _WINDOW.fullmatch(text)
    numbers = [int(match[group]) for group in (3, 4, 5, 6)] if match else []
    if not match or numbers[1] > 59 or numbers[3] > 59:
        raise InvalidInput(f'{text!r}: use days and times, such as "Mon-Fri 22:00-06:00" or "00:00-24:00"')
    start, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    if start >= _MINUTES or end > _MINUTES:
        raise InvalidInput(f"{text!r}: use times from 00:00 to 23:59, and up to 24:00 for the end")
    return Window(_days(match[1], match[2]), start, end, text)


def _days(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(7))
    begin = _DAYS.index(first)
    count = (_DAYS.index(last) - begin) % 7 + 1 if last else 1
    return frozenset((begin + day) % 7 for day in range(count))


def _policy(table: Mapping[str, object], file: str) -> ApprovalPolicy:
    _refuse_unknown("", table, {"expires", "rules"})
    sections = table.get("rules", [])
    if not isinstance(sections, list) or not sections:
        raise InvalidInput(f"rules is {sections!r}: write each rule as a section, [[rules]], and at least one")
    if len(sections) > _MAX_RULES:
        raise InvalidInput(f"rules has {len(sections)} entries: use up to {_MAX_RULES}, with patterns")
    rules = tuple(_rule(f"rules[{position}]", section) for position, section in enumerate(sections))
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"rules has the name {twice!r} twice: tickets' histories name rules, so give each its own")
    return ApprovalPolicy(rules, _expires_ms(table.get("expires")), file)


def _expires_ms(value: object) -> int:
    if value is None:
        return DEFAULT_EXPIRES_MS
    if value == "never":
        return 0
    if not isinstance(value, str):
        raise InvalidInput(f'expires is {value!r}: give a text such as "7d", or "never"')
    return parse_duration_ms("expires", value)


def _rule(title: str, section: object) -> ApprovalRule:
    if not isinstance(section, dict):
        raise InvalidInput(f"{title} is {section!r}: write it as a section, [[rules]]")
    _refuse_unknown(f"{title}.", section, {setting.name for setting in fields(ApprovalRule)})
    name = section.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 100:
        raise InvalidInput(f"{title}.name is {name!r}: give up to 100 characters that tell people which rule it is")
    patterns = {
        key: _texts(f"{title}.{key}", section[key])
        for key in ("kinds", "clusters", "authors", "approvers")
        if key in section
    }
    rule = ApprovalRule(
        name,
        automatic=_switch(title, section, "automatic"),
        author_may_approve=_switch(title, section, "author_may_approve"),
        max_bytes=_size(f"{title}.max_bytes", section["max_bytes"]) if "max_bytes" in section else 0,
        max_moves=_count(f"{title}.max_moves", section["max_moves"]) if "max_moves" in section else 0,
        windows=_windows(f"{title}.windows", section.get("windows", [])),
        timezone=_timezone(f"{title}.timezone", section.get("timezone", "UTC")),
        **patterns,
    )
    _require_kinds(title, rule)
    if not rule.approvers and not rule.automatic:
        raise InvalidInput(f"{title} lets nobody approve: give approvers, or automatic = true")
    return rule


def _require_kinds(title: str, rule: ApprovalRule) -> None:
    """A rule that can be about no ticket is a mistake: whoever wrote it would wait for its approvals in vain."""
    about: set[str] = set()
    for pattern in rule.kinds:
        found = {kind for kind in KINDS if fnmatchcase(kind, pattern)}
        if not found:
            known = ", ".join(sorted(KINDS))
            raise InvalidInput(f"{title}.kinds has {pattern!r}, which is no kind of ticket: use {known}, or *")
        about |= found
    limit = "max_bytes" if rule.max_bytes else "max_moves" if rule.max_moves else ""
    if limit and about <= WITHOUT_SIZE:
        raise InvalidInput(
            f"{title}.{limit} is {getattr(rule, limit)}, but tickets of kind {', '.join(sorted(about))} do not say how "
            "much they move, so the rule could let none: leave it out"
        )


def _texts(title: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise InvalidInput(f'{title} is {value!r}: give a list of names or patterns, such as ["live-*"]')
    return tuple(value)


def _switch(title: str, section: Mapping[str, object], key: str) -> bool:
    value = section.get(key, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"{title}.{key} is {value!r}: use true or false")
    return value


def _size(title: str, value: object) -> int:
    size = read_bytes(value) if isinstance(value, str) else None
    if not size or not str(value).endswith("B"):
        raise InvalidInput(f'{title} is {value!r}: give bytes as a text, such as "500GB"; leave it out for no limit')
    return size


def _count(title: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 31:
        raise InvalidInput(f"{title} is {value!r}: give a whole number from 1; leave it out for no limit")
    return value


def _windows(title: str, value: object) -> tuple[Window, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f'{title} is {value!r}: give a list, such as ["Mon-Fri 22:00-06:00"]')
    try:
        return tuple(map(parse_window, value))
    except InvalidInput as error:
        raise InvalidInput(f"{title} has {error}") from None


def _timezone(title: str, value: object) -> str:
    try:
        if not isinstance(value, str):
            raise ValueError
        ZoneInfo(value)
    except (ValueError, KeyError, OSError):  # ZoneInfoNotFoundError is a KeyError; OSError: a folder of zones
        raise InvalidInput(f"{title} is {value!r}: use a zone of the tz database, such as Europe/Berlin") from None
    return value


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not known: use {', '.join(sorted(known))}")
