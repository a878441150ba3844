"""A query string becomes an `Asked`, or InvalidInput with one sentence: the parameter, its value and the fix.

Names are matched whatever their case, as Cruise Control does, and one that the endpoint does not have is an error. A
name that is given several times counts as one list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from guardian.errors import InvalidInput
from guardian.model.topology import require_broker_id
from guardian.rest.cruise_control.endpoints import Endpoint, Kind, Parameter

_MAX_CHARS = 10_000
_SHOWN_CHARS = 60
_MAX_PATTERN_CHARS = 500
_MAX_DIGITS = 18  # int() refuses thousands of them
_NUMBER = re.compile(r"-?\d+")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_LOG_DIR = re.compile(r"(\d{1,10})-(/.*)")


@dataclass(frozen=True, slots=True)
class Factor:
    """Name the topics that get one replication factor: just `topics`, or all that match `pattern`."""

    replication_factor: int
    topics: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, checked. `values` has every parameter of the endpoint; `notes` say what of it has no effect.

    `factors` are those of its body.
    """

    endpoint: Endpoint
    values: Mapping[str, object]
    given: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    factors: tuple[Factor, ...] = ()

    def flag(self, name: str) -> bool:
        return bool(self.values.get(name))

    def text(self, name: str) -> str:
        return str(self.values.get(name) or "")

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.values.get(name)
        return value if isinstance(value, tuple) else ()

    def words(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        return value if isinstance(value, tuple) else ()

    def log_dirs(self) -> tuple[tuple[int, str], ...]:
        value = self.values.get("brokerid_and_logdirs")
        return value if isinstance(value, tuple) else ()

    def partitions(self) -> tuple[int, int]:
        """The first and the last one that are asked for."""
        match = _RANGE.fullmatch(self.text("partition"))
        if match is None:
            return 0, 2**31
        return int(match[1]), int(match[2] or match[1])

    @property
    def is_dry(self) -> bool:
        """Nothing is to be changed: by the default, or by what kind of request it is."""
        if self.endpoint.parameter("dryrun") is not None:
            return self.flag("dryrun")
        return self.endpoint.acting is None


def parse(endpoint: Endpoint, query: Iterable[tuple[str, str]]) -> Asked:
    """Raises InvalidInput."""
    given: dict[str, list[str]] = {}
    unknown = []
    for raw, value in query:
        name = raw.lower()
        if endpoint.parameter(name) is None:
            unknown.append(raw[:_SHOWN_CHARS])
        elif value:
            given.setdefault(name, []).append(value)
    if unknown:
        names = ", ".join(sorted(each.name for each in endpoint.parameters))
        raise InvalidInput(f"{endpoint.name} has no parameter {', '.join(map(repr, unknown))}: use {names}")
    values: dict[str, object] = {}
    notes = []
    for parameter in endpoint.parameters:
        if parameter.name not in given:
            values[parameter.name] = parameter.default
            continue
        read = _value(parameter, ",".join(given[parameter.name]))
        if parameter.why_refused and read != parameter.default:
            raise InvalidInput(f"{parameter.name} is {given[parameter.name][0]!r}: {parameter.why_refused}")
        if parameter.why_ignored and read != parameter.default:
            notes.append(f"{parameter.name} has no effect: {parameter.why_ignored}")
        values[parameter.name] = read
    return Asked(endpoint, values, frozenset(given), tuple(notes))


def require_whole(asked: Asked) -> None:
    """Raises InvalidInput where something is missing that the endpoint can't do without."""
    for parameter in asked.endpoint.parameters:
        if parameter.is_required and not asked.values.get(parameter.name) and not asked.factors:
            raise InvalidInput(f"{parameter.name} of {asked.endpoint.name} is missing: give {parameter.kind.value}")


def _value(parameter: Parameter, text: str) -> object:
    if len(text) > _MAX_CHARS:
        raise InvalidInput(f"{parameter.name} has {len(text)} characters: use up to {_MAX_CHARS}")
    return _READ[parameter.kind](parameter, text)


def _wrong(parameter: Parameter, text: str) -> InvalidInput:
    return InvalidInput(f"{parameter.name} is {text[:_SHOWN_CHARS]!r}: use {parameter.kind.value}")


def _boolean(parameter: Parameter, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise _wrong(parameter, text)
    return text.lower() == "true"


def _number(parameter: Parameter, text: str) -> int:
    if not _NUMBER.fullmatch(text.strip()) or len(text) > _MAX_DIGITS:
        raise _wrong(parameter, text)
    number = int(text)
    if number < parameter.minimum and not parameter.why_ignored:
        raise InvalidInput(f"{parameter.name} is {number}: use a whole number from {parameter.minimum}")
    return number


def _numbers(parameter: Parameter, text: str) -> tuple[int, ...]:
    numbers = []
    for word in text.split(","):
        if not word.strip().isascii() or not word.strip().isdigit() or len(word) > _MAX_DIGITS:
            raise _wrong(parameter, text)
        numbers.append(int(word))
    if "broker" in parameter.name:
        for number in numbers:
            require_broker_id(number)
    return tuple(dict.fromkeys(numbers))


def _share(parameter: Parameter, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        raise _wrong(parameter, text) from None
    if not 0 <= share <= 1:
        raise _wrong(parameter, text)
    return share


def _choice(parameter: Parameter, word: str) -> str:
    if not parameter.choices:
        return word
    if word.lower() not in parameter.choices:
        raise InvalidInput(f"{parameter.name} is {word[:_SHOWN_CHARS]!r}: use {', '.join(parameter.choices)}")
    return word.lower()


def require_pattern(subject: str, text: str) -> None:
    """Raises InvalidInput unless the text is a regular expression of bearable length."""
    if len(text) > _MAX_PATTERN_CHARS:
        raise InvalidInput(f"{subject} has {len(text)} characters: use up to {_MAX_PATTERN_CHARS}")
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInput(f"{subject} is {text[:_SHOWN_CHARS]!r}: use a regular expression ({error})") from None


def _pattern(parameter: Parameter, text: str) -> str:
    require_pattern(parameter.name, text)
    return text


def _log_dirs(parameter: Parameter, text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for word in text.split(","):
        match = _LOG_DIR.fullmatch(word.strip())
        if match is None:
            raise _wrong(parameter, text)
        require_broker_id(int(match[1]))
        found.append((int(match[1]), match[2]))
    return tuple(dict.fromkeys(found))


def _words(parameter: Parameter, text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    return tuple(_choice(parameter, word) for word in words)


def _range(parameter: Parameter, text: str) -> str:
    if not _RANGE.fullmatch(text):
        raise _wrong(parameter, text)
    return text


_READ: Mapping[Kind, Callable[[Parameter, str], object]] = {
    Kind.BOOLEAN: _boolean,
    Kind.NUMBER: _number,
    Kind.SHARE: _share,
    Kind.NUMBERS: _numbers,
    Kind.WORDS: _words,
    Kind.PATTERN: _pattern,
    Kind.TEXT: _choice,
    Kind.LOG_DIRS: _log_dirs,
    Kind.RANGE: _range,
}
