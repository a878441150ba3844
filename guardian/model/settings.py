"""Settings, each declared once: a field of a dataclass gives its name, type, default, range and help.

    @dataclass(frozen=True, slots=True)
    class Collect(Section):
        interval_s: float = setting(60.0, "Seconds between two collections of a broker.", above=0, most=86_400)

`read` makes such a dataclass of a table of TOML, and refuses what does not fit: `section.key is VALUE: fix`. The same
fields make the example file, the reference page, the JSON schema and `guardian config explain`
(guardian/member/commands/config_pages.py).

These are plain dataclasses, not models of pydantic: Spark workers and the CLI read settings too, and its import takes
longer than that of all of guardian.config.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from guardian.errors import InvalidInput

_T = TypeVar("_T")
_KEY = "setting"
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Describe one setting beside its type and default. Of a text or list `least` is its length.

    `key` is its name in the file where the field has another one; `example` stands where no default can.
    `read` makes the value of what the file has at a path; `sections` are the tables that it takes then.
    `everywhere`: all members must have the same. `lacks`: settings of the section that are not for this use of it.
    `many`: how its sections stand in the file where the type does not say it: [[list]] or [names.NAME]. `patterns`: the
    key below which a section stands again for some names.
    """

    help: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    key: str = ""
    example: object = None
    read: Callable[[str, Any], Any] | None = None
    sections: tuple[type, ...] = ()
    everywhere: bool = False
    lacks: tuple[str, ...] = ()
    many: Literal["", "one", "list", "names"] = ""
    patterns: str = ""

    @property
    def range(self) -> str:
        """Return the range in words, such as "more than 0, up to 1"; empty where there is none."""
        if self.least is not None and self.most is not None:
            return f"{number(self.least)} to {number(self.most)}"
        bounds = (
            ("more than", self.above), ("at least", self.least), ("up to", self.most), ("less than", self.below),
        )  # fmt: skip
        words = (f"{words} {number(bound)}" for words, bound in bounds if bound is not None)
        return ", ".join(words).replace("less than inf", "finite")

    def require(self, path: str, value: float) -> None:
        """Raises InvalidInput for a number out of the range."""
        is_above = (self.least is None or value >= self.least) and (self.above is None or value > self.above)
        is_below = (self.most is None or value <= self.most) and (self.below is None or value < self.below)
        if not (is_above and is_below):
            raise InvalidInput(f"{path} is {number(value)}: use {self.range}")


@dataclass(frozen=True, slots=True)
class Declared:
    """Join a setting with what its field says. `default` is MISSING where it must be given."""

    key: str
    field: str
    hint: Any
    default: object
    setting: Setting

    @property
    def sections(self) -> tuple[type, ...]:
        """Return the tables that it takes; none for a plain value."""
        inner = (each for each in (self.hint, *get_args(self.hint)) if isinstance(each, type))
        return self.setting.sections or tuple(each for each in inner if issubclass(each, Section))

    @property
    def many(self) -> str:
        """Return "list" where its sections are [[key]], "names" where they are [key.NAME], else nothing."""
        origin = get_origin(self.hint)
        return self.setting.many or ("list" if origin is tuple else "names" if origin is Mapping else "")

    @property
    def help(self) -> str:
        """Return what it is for: its own help, or the first sentence of its section."""
        return self.setting.help or " ".join((self.sections[0].__doc__ or "").partition("\n\n")[0].split())


class Section:
    """Check the ranges of its settings, whoever makes it."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_ranges(self)


def setting(default: object, help: str = "", **facts: Any) -> Any:
    """Declare a field as a setting. `default`: a value, a section, or `...` where it must be given."""
    metadata = {_KEY: Setting(help=help, **facts)}
    if default is ...:
        return field(metadata=metadata)
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def check_ranges(section: Any) -> None:
    """Raises InvalidInput for the first number of a section that is out of its range."""
    for each in fields(section):
        declared, value = each.metadata.get(_KEY), getattr(section, each.name)
        if declared is not None and isinstance(value, int | float) and not isinstance(value, bool):
            declared.require(declared.key or each.name, value)


@cache
def declared(kind: Any) -> Mapping[str, Declared]:
    """Return the settings of a section by their keys, in order."""
    hints = get_type_hints(kind)
    found: dict[str, Declared] = {}
    for each in fields(kind):
        if (facts := each.metadata.get(_KEY)) is not None:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            key = facts.key or each.name
            found[key] = Declared(key, each.name, _without_none(hints[each.name]), default, facts)
    return found


def load(path: Path, title: str, make: Callable[[dict[str, Any]], _T]) -> _T:
    """Return what `make` makes of a TOML file. Raises InvalidInput that names the file, the setting and the fix."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{title} {path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{title} {path} is not valid TOML: {error}") from None
    try:
        return make(table)
    except InvalidInput as error:
        raise InvalidInput(f"{title} {path}: {error}") from None


def parse(text: str) -> dict[str, Any]:
    """Return the table of a text of TOML. Raises InvalidInput."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not valid TOML: {error}") from None


def read(kind: type[_T], table: object, path: str = "", lacks: Collection[str] = (), base: _T | None = None) -> _T:
    """Return the section of a table. What it does not say is as in `base`, else the default. Raises InvalidInput.

    `path` is the name of the table, such as `security.oidc`, for errors; empty for the file itself.
    """
    table, prefix = section(path, table), f"{path}." if path else ""
    known = {key: each for key, each in declared(cast(Any, kind)).items() if key not in lacks}
    refuse_unknown(prefix, table, known)
    given = {
        known[key].field: _value(prefix + key, known[key].hint, known[key].setting, value)
        for key, value in table.items()
    }
    for key, each in known.items():
        if each.default is MISSING and base is None and key not in table:
            raise InvalidInput(f"{prefix}{key} is missing: give {each.help[:1].lower()}{each.help[1:].rstrip('.')}")
    try:
        return cast(_T, replace(cast(Any, base), **given)) if base is not None else kind(**given)
    except InvalidInput as error:
        raise InvalidInput(f"{prefix}{error}") from None


def section(path: str, value: object) -> Mapping[str, object]:
    """Return the value where it is a table. Raises InvalidInput."""
    if isinstance(value, Mapping):
        return value
    title = re.sub(r"^(.*)\[\d+\]$", r"[\1]", path)
    raise InvalidInput(f"{path} is {shown(value)}: write it as a section, [{title}]")


def read_all(kind: type[_T], value: object, path: str) -> tuple[_T, ...]:
    """Return the sections of an array of tables. Raises InvalidInput."""
    if not isinstance(value, list):
        raise InvalidInput(f"{path} is {shown(value)}: write each as a section, [[{path}]]")
    return tuple(read(kind, each, f"{path}[{position}]") for position, each in enumerate(value))


def refuse_unknown(prefix: str, table: Mapping[Any, object], known: Collection[str]) -> None:
    """Raises InvalidInput for a key that is no setting, with the nearest one that is."""
    for key in table:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            fix = f"did you mean {near[0]}?" if near else f"use one of {', '.join(sorted(known))}"
            raise InvalidInput(f"{prefix}{key} is not a setting: {fix}")


def number(value: float) -> str:
    """Return a number as people write it: 86400 and not 86400.0 or 8.64e+04."""
    return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else repr(value)


def shown(value: object) -> str:
    """Return a wrong value for an error, not without end."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return "too large"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def choices(hint: Any) -> Mapping[str, object]:
    """Return the words that a setting takes, with what they mean; none where it takes any."""
    if get_origin(hint) is Literal:
        return {str(each): each for each in get_args(hint)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {each.value if isinstance(each.value, str) else each.name: each for each in hint}
    return {}


def one_of(words: Collection[str]) -> str:
    """Return the words as TOML writes them: "a", "b" or "c"."""
    *others, last = (json.dumps(word) for word in words)
    return f"{', '.join(others)} or {last}" if others else last


def text(path: str, value: object, least: float | None = None, *, is_secret: bool = False) -> str:
    """Return the value where it is a text. Raises InvalidInput."""
    if isinstance(value, str) and "\x00" not in value and (value.strip() or least == 0):
        return value
    seen = shown(value) if value == "" or not is_secret else "not a text"
    raise InvalidInput(f"{path} is {seen}: give a {'string' if least == 0 else 'non-empty string'}")


def _value(path: str, hint: Any, facts: Setting, value: object) -> object:
    if facts.read is not None:
        return facts.read(path, value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (tuple, frozenset):
        if is_dataclass(inner[0]):
            return read_all(cast(type, inner[0]), value, path)
        return origin(_items(path, inner[0], facts, value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _value(f"{path}.{name}", inner[1], facts, each) for name, each in section(path, value).items()}
    if is_dataclass(hint):
        return read(cast(type, hint), value, path, facts.lacks)
    return _plain(path, hint, facts, value)


def _plain(path: str, hint: Any, facts: Setting, value: object) -> object:
    if words := choices(hint):
        if not isinstance(value, str) or value not in words:
            raise InvalidInput(f"{path} is {shown(value)}: use {one_of(words)}")
        return words[value]
    if hint is bool:
        if not isinstance(value, bool):
            raise InvalidInput(f"{path} is {shown(value)}: use true or false")
        return value
    if hint in (int, float):
        return real(path, value, is_whole=hint is int)
    return hint(text(path, value, facts.least))


def real(path: str, value: object, *, is_whole: bool = False) -> float:
    """Return the value where it is a number. Raises InvalidInput."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:  # an integer of hundreds of digits
        found = math.nan
    if math.isnan(found) or (is_whole and not found.is_integer()):
        raise InvalidInput(f"{path} is {shown(value)}: give a {'whole ' if is_whole else ''}number")
    return int(found) if is_whole else found


def at_ms(path: str, value: object) -> int:
    """Return the ms since the epoch of a time with its zone. Raises InvalidInput."""
    at = value
    if isinstance(value, str):  # YAML and JSON have no times of their own
        with suppress(ValueError):
            at = datetime.fromisoformat(value)
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise InvalidInput(f"{path} is {value!s:.200}: use a time with its zone, such as 2026-11-23T08:00:00Z")
    return int(at.timestamp() * 1000)


def _items(path: str, hint: Any, facts: Setting, value: object) -> Iterator[object]:
    example = f", such as {json.dumps(facts.example)}" if facts.example else " of names"
    words = choices(hint)
    is_list = isinstance(value, list) and len(value) >= (facts.least or 0)
    if not is_list or not all(isinstance(each, str) and each for each in cast(list[object], value)):
        raise InvalidInput(f"{path} is {shown(value)}: give a list{example}")
    for each in cast(list[str], value):
        if words and each not in words:
            raise InvalidInput(f"{path} has {shown(each)}: use {one_of(words)}")
        yield words.get(each, each)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is not UnionType:
        return hint
    (found,) = (each for each in get_args(hint) if each is not NoneType)
    return found
