"""Who may approve which tickets: what is stored for all members, else a TOML file of each, read at each question.

With neither everybody may approve everything, on a member without TLS and [security] the author too. Whoever reaches it
may do everything as long as nobody has to say who he is. And what healing does by itself (its own policy says whether
it does) needs nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from guardian.errors import InvalidInput
from guardian.model.actor import Agent
from guardian.model.settings import Section, load, read, read_all, setting, shown
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


def _windows(path: str, value: object) -> tuple[Window, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f'{path} is {shown(value)}: give a list, such as ["Mon-Fri 22:00-06:00"]')
    try:
        return tuple(map(parse_window, value))
    except InvalidInput as error:
        raise InvalidInput(f"{path} has {error}") from None


def _timezone(path: str, value: object) -> str:
    try:
        if not isinstance(value, str):
            raise ValueError
        ZoneInfo(value)
    except (ValueError, KeyError, OSError):  # ZoneInfoNotFoundError is a KeyError; OSError: a folder of zones
        raise InvalidInput(f"{path} is {shown(value)}: use a zone of the tz database, such as Europe/Berlin") from None
    return value


def _size(path: str, value: object) -> int:
    size = read_bytes(value) if isinstance(value, str) else None
    if not size or not str(value).endswith("B"):
        raise InvalidInput(f'{path} is {shown(value)}: give bytes as a text, such as "500GB", or leave it out')
    return size


def _moves(path: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 1 << 31:
        raise InvalidInput(f"{path} is {shown(value)}: give a whole number from 1, or leave it out")
    return value


def _expires_ms(path: str, value: object) -> int:
    if value == "never":
        return 0
    if not isinstance(value, str):
        raise InvalidInput(f'{path} is {shown(value)}: give a text such as "7d", or "never"')
    return parse_duration_ms(path, value)


@dataclass(frozen=True, slots=True)
class ApprovalRule(Section):
    """Let a ticket be approved; 0 is no limit. Names are patterns, as of the shell."""

    name: str = setting(
        ..., "A name of up to 100 characters; tickets' histories name rules.", example="small balances at night"
    )
    kinds: tuple[str, ...] = setting(
        ("*",), "Kinds of tickets; one that is no kind's is refused.", least=1, example=["balance", "leaders"]
    )
    clusters: tuple[str, ...] = setting(("*",), "Clusters of tickets.", least=1, example=["live-*"])
    authors: tuple[str, ...] = setting(("*",), "Authors of tickets.", least=1)
    approvers: tuple[str, ...] = setting((), "Who may approve; default: nobody.", least=1, example=["ann", "sre-*"])
    automatic: bool = setting(False, "The leader approves by itself, as soon as a window is open.")
    max_bytes: int = setting(
        0,
        "The most bytes that the ticket may copy. Not for kinds that never say it.",
        example="500GB",
        read=_size,
    )
    max_moves: int = setting(0, "The most moves of the ticket; default: no limit.", example=1000, read=_moves)
    windows: tuple[Window, ...] = setting(
        (),
        "When the ticket may be approved, not when it runs; default: always.",
        example=["Mon-Fri 22:00-06:00", "Sat-Sun 00:00-24:00"],
        read=_windows,
    )
    timezone: str = setting("UTC", "Zone of the windows, of the tz database.", read=_timezone)
    author_may_approve: bool = setting(False, "The author may approve: for a laptop with one person.")


def _rules(path: str, value: object) -> tuple[ApprovalRule, ...]:
    if isinstance(value, list) and not 0 < len(value) <= _MAX_RULES:
        raise InvalidInput(f"{path} has {len(value)} entries: write 1 to {_MAX_RULES} sections, [[{path}]]")
    rules = read_all(ApprovalRule, value, path)
    for position, rule in enumerate(rules):
        if not rule.approvers and not rule.automatic:
            raise InvalidInput(f"{path}[{position}] lets nobody approve: give approvers, or automatic = true")
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{path} has the name {twice!r} twice: tickets' histories name rules, so give each its own")
    return rules


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Let a ticket be approved when one of the rules does. `expires_ms` 0: tickets do not expire. `revision` is that of
    the stored policy, `file` the member's; neither: these are the default rules."""

    rules: tuple[ApprovalRule, ...] = setting((), read=_rules, sections=(ApprovalRule,))
    expires_ms: int = setting(
        DEFAULT_EXPIRES_MS,
        'A ticket that is PENDING or APPROVED for longer is EXPIRED; or "never".',
        key="expires",
        example="7d",
        read=_expires_ms,
    )
    file: str = field(default="", compare=False)
    revision: int = field(default=0, compare=False)

    @property
    def source(self) -> str:
        """Return where the rules stand, as people are told."""
        return source_of(self.file, self.revision)


def everybody(*, author_may_approve: bool = True) -> ApprovalPolicy:
    """Return the policy that holds without a file."""
    return ApprovalPolicy(
        (
            ApprovalRule("everybody", approvers=("*",), author_may_approve=author_may_approve),
            ApprovalRule("healing", authors=(Agent.HEALING,), automatic=True),
        )
    )


def load_approvals(path: Path, kinds: Mapping[str, bool]) -> ApprovalPolicy:
    """Return the policy of a file. `kinds` of tickets, by name: whether they say how much they move.

    Raises InvalidInput that names the file, the field, the value and the fix.
    """

    return replace(load(path, "approvals file", partial(approvals_of, kinds=kinds)), file=str(path))


def approvals_of(table: Mapping[str, object], kinds: Mapping[str, bool]) -> ApprovalPolicy:
    """Return the policy with these settings, whether a file has them or the store. Raises InvalidInput."""
    policy = read(ApprovalPolicy, {"rules": [], **table})
    for position, rule in enumerate(policy.rules):
        _require_kinds(f"rules[{position}]", rule, kinds)
    return policy


def source_of(file: str, revision: int) -> str:
    """Return where the rules of a policy stand, as people are told."""
    if revision:
        return f"the replicated store, for all members (revision {revision})"
    return file or "no file: the default ones"


def parse_window(text: str) -> Window:
    """Parse "Mon-Fri 22:00-06:00", "Sun 08:00-12:00" or "22:00-06:00", of every day. Raises InvalidInput."""
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


def _require_kinds(path: str, rule: ApprovalRule, kinds: Mapping[str, bool]) -> None:
    """Refuse a rule that lets nobody, or that can be about no ticket: its author would wait for approvals in vain."""
    if not rule.name.isprintable() or len(rule.name) > 100:
        raise InvalidInput(f"{path}.name is {shown(rule.name)}: give up to 100 characters that say which rule it is")
    about: set[str] = set()
    for pattern in rule.kinds:
        found = {kind for kind in kinds if fnmatchcase(kind, pattern)}
        if not found:
            known = ", ".join(sorted(kinds))
            raise InvalidInput(f"{path}.kinds has {pattern!r}, which is no kind of ticket: use {known}, or *")
        about |= found
    limit = "max_bytes" if rule.max_bytes else "max_moves" if rule.max_moves else ""
    if limit and not any(kinds[kind] for kind in about):
        raise InvalidInput(
            f"{path}.{limit} is {getattr(rule, limit)}, but tickets of kind {', '.join(sorted(about))} do not say how "
            "much they move, so the rule could let none: leave it out"
        )
