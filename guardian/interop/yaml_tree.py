"""YAML as a tree in which each node knows its line, so that whatever is wrong is told as file:line and field.

The YAML of people, not of programs: mappings, lists, texts, numbers, true, false and null. Aliases and tags are refused
(a few lines of aliases stand for gigabytes, and nobody sees what an entry says). So is a key that comes twice, of which
YAML parsers keep one or the other. JSON is YAML too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from guardian.errors import InvalidInput

MAX_CHARS = 16 * 1024 * 1024
_MAX_DEPTH = 20
_MAX_DIGITS = 20
_SHOWN_CHARS = 60
_TAG = "tag:yaml.org,2002:"
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is built
Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value, a list or a mapping. `where` is file:line, `path` is its name from the root, such as topics.live.orders.

    `text` is a value as it is written. Raises InvalidInput, by `wrong`, which says where.
    """

    where: str
    path: str
    value: Value = None
    text: str = ""
    items: tuple[Node, ...] | None = None
    fields: tuple[tuple[str, Node], ...] | None = None

    def wrong(self, fix: str) -> NoReturn:
        """One sentence: where, field, value, fix."""
        raise InvalidInput(f"{self.where}: {self.path or 'the file'} is {self.shown()}: {fix}")

    def refused(self, error: InvalidInput) -> InvalidInput:
        """Return the error that somebody else raised of it, with its place."""
        return InvalidInput(f"{self.where}: {self.path}: {error}")

    def shown(self) -> str:
        if self.fields is not None:
            return "a mapping"
        if self.items is not None:
            return "a list"
        if self.value is None:
            return "empty"
        shown = repr(self.value) if isinstance(self.value, str) else self.text
        return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}..."

    @property
    def is_null(self) -> bool:
        return self.value is None and self.items is None and self.fields is None

    def mapping(self, fix: str) -> tuple[tuple[str, Node], ...]:
        """Its fields; none where it is empty."""
        if self.is_null:
            return ()
        if self.fields is None:
            self.wrong(fix)
        return self.fields

    def only(self, known: Sequence[str]) -> dict[str, Node]:
        """Its fields, by name, which must be among those that are known."""
        found = dict(self.mapping(f"use a mapping with {', '.join(known)}"))
        for name, node in found.items():
            if name not in known:
                raise InvalidInput(f"{node.where}: {node.path} is not known: use {', '.join(known)}")
        return found

    def list(self, fix: str) -> tuple[Node, ...]:
        if self.items is None:
            self.wrong(fix)
        return self.items

    def plain(self) -> Any:
        """Return what is written, as lists, dicts and values."""
        if self.fields is not None:
            return {name: node.plain() for name, node in self.fields}
        return [node.plain() for node in self.items] if self.items is not None else self.value

    def string(self, fix: str = "use a text") -> str:
        """A text; empty where nothing is given. What YAML takes for something else must be quoted."""
        if self.is_null:
            return ""
        if not isinstance(self.value, str):
            self.wrong(f'{fix}, in quotes: "{self.text}"' if self.text else fix)
        return self.value

    def whole(self, least: int, most: int) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            self.wrong(f"use a whole number from {least} to {most}")
        return self.value

    def number(self, fix: str = "use a number from 0") -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not 0 <= self.value <= 1e300:
            self.wrong(fix)
        return float(self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.wrong("use true or false")
        return self.value


def parse(text: str, file: str) -> Node:
    """The one document of the file. Raises InvalidInput."""
    documents = list(parse_all(text, file))
    if len(documents) != 1:
        raise InvalidInput(f"{file} holds {len(documents)} documents: give one")
    return documents[0]


def parse_all(text: str, file: str) -> Iterator[Node]:
    """Each document of the file. Raises InvalidInput."""
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"{file} has {len(text)} characters: split it below {MAX_CHARS}")
    try:
        _require_plain(text, file)
        for root in yaml.compose_all(text, Loader=_LOADER):
            yield _node(root, "", file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{file}:{mark.line + 1}" if mark else file
        raise InvalidInput(f"{at}: not YAML: {error.problem or error.context}: correct it") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{file}: not YAML: {str(error).splitlines()[0]}: correct it") from None
    except UnicodeError as error:
        raise InvalidInput(f"{file}: not text: {error.reason if hasattr(error, 'reason') else error}") from None


def _require_plain(text: str, file: str) -> None:
    """Event by event: what is refused here would cost much, or overflow the stack, as a tree."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = _line_of(event)
        if anchor := getattr(event, "anchor", None):
            raise InvalidInput(f"{file}:{line}: {anchor!r} is an anchor or an alias: write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise InvalidInput(f"{file}:{line}: nested deeper than {_MAX_DEPTH}: this format nests six levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag not in (None, "!"):
            raise InvalidInput(f"{file}:{line}: {event.tag!r} is a tag: leave it out")


def _line_of(what: yaml.Event | yaml.Node) -> int:
    return what.start_mark.line + 1 if what.start_mark is not None else 1


def _node(root: yaml.Node, path: str, file: str) -> Node:
    where = f"{file}:{_line_of(root)}"
    if isinstance(root, yaml.SequenceNode):
        return Node(where, path, items=tuple(_node(item, f"{path}[{n}]", file) for n, item in enumerate(root.value)))
    if isinstance(root, yaml.MappingNode):
        return Node(where, path, fields=tuple(_fields(root, path, file)))
    return Node(where, path, _value(root.tag, root.value, where, path), root.value)


def _fields(root: yaml.MappingNode, path: str, file: str) -> Iterator[tuple[str, Node]]:
    first: dict[str, int] = {}
    for key, value in root.value:
        line = _line_of(key)
        if not isinstance(key, yaml.ScalarNode):
            raise InvalidInput(f"{file}:{line}: a key of {path or 'the file'} is no text: use a text or a number")
        name = f"{path}.{key.value}" if path else key.value
        if key.value in first:
            raise InvalidInput(f"{file}:{line}: {name} is in line {first[key.value]} too: keep one")
        first[key.value] = line
        yield key.value, _node(value, name, file)


def _value(tag: str, text: str, where: str, path: str) -> Value:
    kind = tag.removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on", "y")
    if kind == "int" and text.lstrip("+-").isdecimal() and text.isascii() and len(text) <= _MAX_DIGITS:
        digits = text.lstrip("+-")
        if digits != "0" and digits.startswith("0"):
            raise InvalidInput(f"{where}: {path} is {text}: write it without the 0, or in quotes where it is a text")
        return int(text)
    if kind == "float":
        try:
            return float(text.replace("_", ""))
        except ValueError:
            return text
    return text  # dates, times, numbers in other bases: as they are written
