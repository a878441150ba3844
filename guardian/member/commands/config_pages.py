"""What is made of the declarations of settings: the reference page, the example file and its JSON schema. Pure.

guardian.model.settings.declared ── parts ──▶ page() · example() · schema() · settings_of()
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from guardian.activity.model import PriceList
from guardian.config import ServerConfig
from guardian.model.links import LinkSettings
from guardian.model.settings import Declared, choices, declared, number
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.security.model.roles import Roles

_FILES: Mapping[str, tuple[type, str]] = {
    "": (ServerConfig, "A member's own file, read at start."),
    "approvals": (ApprovalPolicy, "The file that `approvals` names: who may approve which tickets."),
    "roles": (Roles, "The file that `security.roles` names: who has which role."),
    "links": (LinkSettings, "The file that `links` names: the links between IDCs."),
    "prices": (PriceList, "The file of `guardian audit costs --prices`."),
}
_UNITS = {
    "_mb_per_s": "MB/s", "_gbit_per_s": "Gbit/s", "_per_s": "per second", "_per_hour": "per hour", "_hours": "h",
    "_days": "days", "_ms": "ms", "_mb": "MB", "_s": "s", "_h": "h", "_gb": "per GB",
}  # fmt: skip
_NOUNS = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}
_SCHEMA_TYPES = {bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class Part:
    """Describe a table of a file: its name in the file, its title there, and its settings without inner tables.

    `is_given`: it stands in the example without a comment sign.
    """

    name: str
    title: str
    help: str
    settings: tuple[Declared, ...]
    is_given: bool = False


def parts(kind: type, name: str = "") -> Iterator[Part]:
    """Return the tables of a file, the outer ones first."""
    own = tuple(declared(kind).values())
    yield Part(name, "", "", tuple(each for each in own if not each.sections), is_given=True)
    for each in own:
        for section in each.sections:
            yield from _inner(each, section, each.key)


def _inner(outer: Declared, section: type, name: str) -> Iterator[Part]:
    own = [each for each in declared(section).values() if each.key not in outer.setting.lacks]
    kind = next((f"by-{each.default}" for each in own if each.key == "kind"), "NAME")
    name = f"{name}.{kind}" if outer.many == "names" else name
    title = f"[[{name}]]" if outer.many == "list" else f"[{name}]"
    yield Part(name, title, _help(outer, section), tuple(each for each in own if not each.sections))
    for each in own:
        for inner in each.sections:
            yield from _inner(each, inner, f"{name}.{each.key}")


def _help(outer: Declared, section: type) -> str:
    words = outer.setting.help or " ".join((section.__doc__ or "").split())
    return words + (" The same on all members." if outer.setting.everywhere else "")


def settings_of() -> dict[str, Declared]:
    """Return every setting by its full name; those of other files begin with the name of the file."""
    found = {}
    for file, (kind, _) in _FILES.items():
        for part in parts(kind):
            for each in part.settings:
                found[".".join(filter(None, (file, part.name, each.key)))] = each
    return found


def explanation(name: str, each: Declared) -> str:
    """Return what a person needs to know of a setting, in a few lines."""
    told = facts(name, each)
    same = ["the same on all members"] if told["everywhere"] else []
    example = [f"example: {each.key} = {told['example']}"] if told["example"] else []
    lines = (each.help, "; ".join([str(told["value"]), f"default: {told['default']}", *same]), *example)
    return "\n".join([name, *(f"    {line}" for line in lines)])


def facts(name: str, each: Declared) -> dict[str, object]:
    """Return the same for programs."""
    return {
        "name": name,
        "help": each.help,
        "value": _type(each).replace("`", ""),
        "default": _default(each).replace("`", ""),
        "example": "" if each.setting.example is None else _toml(each.setting.example),
        "everywhere": each.setting.everywhere,
    }


def page() -> str:
    """Return docs/configuration.md."""
    return "\n".join([_HEAD, *(_file_page(file, *what) for file, what in _FILES.items())]).rstrip() + "\n"


_HEAD = """\
# Configuration

<!-- Made by `guardian docs configuration --out docs/configuration.md`: change the declarations, not this page. -->

A member reads one TOML file. What is wrong is refused in one sentence that names the file, the setting, the value and
the fix, with exit code 2; of an unknown setting it names the nearest one. `guardian config explain KEY` prints what is
said here of one setting, `guardian config example` a file of all settings with their defaults, and `guardian config
schema` a JSON schema, by which editors complete and check it.
"""


def _file_page(file: str, kind: type, help_: str) -> str:
    lines = [f"## {f'The file of {file}' if file else 'The file of a member'}", "", help_, ""]
    for part in parts(kind):
        if part.title:
            lines += [f"### `{part.title}`", "", part.help, ""]
        if part.settings:
            lines += ["| setting | value | default | what it is |", "|---|---|---|---|", *map(_row, part.settings), ""]
    return "\n".join(lines)


def _row(each: Declared) -> str:
    same = " The same on all members." if each.setting.everywhere else ""
    cells = (f"`{each.key}`", _type(each), _default(each), f"{each.help}{same}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(each: Declared) -> str:
    words = choices(each.hint)
    if words:
        return "one of " + ", ".join(f"`{word}`" for word in words)
    if isinstance(each.setting.example, Mapping):
        noun = "table"
    elif get_origin(each.hint) in (tuple, frozenset):
        noun = "list"
    else:
        noun = _NOUNS[str if isinstance(each.setting.example, str) and each.hint is int else each.hint]
    if noun not in ("number", "whole number"):
        return noun
    unit = next((unit for suffix, unit in _UNITS.items() if f"_{each.key}".endswith(suffix)), "")
    return f"{noun}, {each.setting.range} {unit}".rstrip(" ,")


def _default(each: Declared) -> str:
    if each.default is MISSING:
        return "required"
    shown = _shown_default(each)
    return "none" if shown is None else f"`{_toml(shown)}`"


def _shown_default(each: Declared) -> object:
    """Return the default as the file has it; None where it has none."""
    value = each.default
    if isinstance(each.setting.example, str) and isinstance(value, int):
        return each.setting.example if value else None
    if value in (MISSING, None, "", (), frozenset()) or isinstance(value, Mapping):
        return None
    return sorted(item.name for item in value) if isinstance(value, frozenset) else value


def _toml(value: object) -> str:
    if isinstance(value, Enum):
        return json.dumps(value.value)
    if isinstance(value, float):
        return number(value) if not value.is_integer() else f"{value:.1f}"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(list(value) if isinstance(value, tuple | frozenset) else value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def example() -> str:
    """Return a member's file with all settings: what must be given, and the others as comments with their defaults."""
    lines = ["#:schema ./member.schema.json", "# Made by `guardian config example`. What is a comment is the default."]
    for part in parts(ServerConfig):
        sign = "" if part.is_given else "#"
        lines += ["", *_comment(part.help), *([f"{sign}{part.title}"] if part.title else [])]
        for each in part.settings:
            value = _shown_default(each)
            value = each.setting.example if value is None else value
            is_given = part.is_given and each.default is MISSING
            if value is not None:
                lines += [*_comment(each.help), f"{'' if is_given else '#'}{each.key} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 118, initial_indent="# ", subsequent_indent="# ")


def schema() -> dict[str, Any]:
    """Return the JSON schema of a member's file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A member of Guardian"}
    return {**head, **_table_schema(ServerConfig)}


def _table_schema(kind: type, lacks: tuple[str, ...] = ()) -> dict[str, Any]:
    own = {key: each for key, each in declared(kind).items() if key not in lacks}
    required = [key for key, each in own.items() if each.default is MISSING]
    table: dict[str, Any] = {"type": "object", "additionalProperties": False}
    table |= {"required": required} if required else {}
    return table | {"properties": {key: _schema(each) for key, each in own.items()}}


def _schema(each: Declared) -> dict[str, Any]:
    if not each.sections:
        return {"description": each.help, **_value_schema(each)}
    inner = [_table_schema(section, each.setting.lacks) for section in each.sections]
    for table in inner:
        if each.setting.patterns:
            same = {**table, "properties": dict(table["properties"])}
            table["properties"][each.setting.patterns] = {"type": "object", "additionalProperties": same}
    one = inner[0] if len(inner) == 1 else {"oneOf": inner}
    if each.many == "names":
        one = {"type": "object", "additionalProperties": one}
    elif each.many == "list":
        one = {"type": "array", "items": one}
    return {"description": _help(each, each.sections[0]) if len(inner) == 1 else each.help, **one}


def _value_schema(each: Declared) -> dict[str, Any]:
    facts = each.setting
    if isinstance(facts.example, Mapping):
        return {"type": "object"}
    if get_origin(each.hint) in (tuple, frozenset):
        words = choices(get_args(each.hint)[0])
        return {"type": "array", "items": {"type": "string", **({"enum": list(words)} if words else {})}}
    found: dict[str, Any] = {"type": _SCHEMA_TYPES.get(each.hint, "string")}
    found |= {"enum": list(words)} if (words := choices(each.hint)) else {}
    if found["type"] in ("integer", "number"):
        bounds = {
            "minimum": facts.least,
            "exclusiveMinimum": facts.above,
            "maximum": facts.most,
            "exclusiveMaximum": facts.below,
        }
        found |= {key: bound for key, bound in bounds.items() if bound is not None and math.isfinite(bound)}
    default = _shown_default(each)
    if default is not None and not (isinstance(default, float) and math.isinf(default)):
        found["default"] = default
    return found
