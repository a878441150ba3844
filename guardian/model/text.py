"""Text that is written for people: it is shown, and nothing is decided by it.

`Text` marks a field where it is declared. A property test puts noise into all of them, and no decision changes
(tests/properties/test_texts.py).

Text from others may hold characters that move a cursor, end a line or turn the direction of reading. The services
refuse them in requests (guardian.serving.texts). What comes from elsewhere is stored raw; each renderer escapes it:

    escaped         for terminals, text logs and pages: "\\x1b[2J" in place of what clears a screen
    escaped_tree    for values that a page's script shows
    json_escaped    for documents of JSON: the same value, in ASCII where a character is unsafe

A name of a person or program follows a stricter rule (guardian.model.actor).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import cycle
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from guardian.errors import InvalidInput

FOR_PEOPLE = "for people"
Text = Annotated[str, FOR_PEOPLE]

Say = Callable[[str], str]

_SHOWN_CHARS = 60
# Control characters, lone surrogates, line and paragraph separators, and what is of no width and no letter: marks that
# turn the direction, joiners of words, tags. Zero-width joiners stay: Persian and many emoji need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)


def some(names: Iterable[object], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    every = [str(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def with_texts(value: Any, say: Say, hint: object = None) -> Any:
    """Return the value, which `hint` is the type of, with each text in place of which `say` has another one."""
    if is_dataclass(value):
        of_class: Any = type(value)
        hints = _hints(of_class)
        changes = {
            each.name: with_texts(getattr(value, each.name), say, hints[each.name])
            for each in fields(value)
            if each.init
        }
        return replace(value, **changes)  # type: ignore[type-var]  # an instance: nobody has a class among its values
    kind, parts = get_origin(hint), get_args(hint)
    if isinstance(value, str):
        return say(value) if FOR_PEOPLE in parts or any(FOR_PEOPLE in get_args(part) for part in parts) else value
    if isinstance(value, list):
        return [with_texts(each, say, *parts[:1]) for each in value]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        of_tuple = parts if kind is tuple else next((get_args(part) for part in parts if get_origin(part) is tuple), ())
        of_parts = of_tuple[:1] if Ellipsis in of_tuple else of_tuple
        return tuple(with_texts(each, say, part) for each, part in zip(value, cycle(of_parts or (None,)), strict=False))
    if isinstance(value, Mapping):
        return {key: with_texts(each, say, parts[1] if len(parts) > 1 else None) for key, each in value.items()}
    return value


def without_text(value: Any) -> Any:
    """Return the value with all of its texts empty."""
    return with_texts(value, lambda _: "")


@cache
def _hints(kind: type) -> Mapping[str, object]:
    return get_type_hints(kind, include_extras=True)


def uuid_text(value: bytes) -> str:
    """Return a topic's or segment's id as Kafka prints it: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def is_printable(text: str, keep: str = "") -> bool:
    """Return whether a terminal shows the text as it is; `keep` names control characters that may be in it."""
    return all(found[0] in keep for found in _UNSAFE.finditer(text))


def escaped(text: str, keep: str = "") -> str:
    """Return the text with each unsafe character written out, but for those in `keep`."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else _written_out(found[0]), text)


def json_escaped(document: str) -> str:
    """Return the document of JSON with each unsafe character in its strings as an escape of JSON's own."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in "\n\r\t" else _in_json(found[0]), document)


def escaped_tree(value: object) -> object:
    """Return mappings, lists and texts as `json` takes them, with every key and text escaped."""
    if isinstance(value, Mapping):
        return {escaped(key) if isinstance(key, str) else key: escaped_tree(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [escaped_tree(each) for each in value]
    return escaped(value) if isinstance(value, str) else value


def require_printable(field: str, text: str, keep: str = "") -> None:
    """Raise InvalidInput where the text holds an unsafe character that is not in `keep`."""
    unsafe = next((found for found in _UNSAFE.finditer(text) if found[0] not in keep), None)
    if unsafe is None:
        return
    begin = max(0, unsafe.start() - _SHOWN_CHARS // 2)
    shown = escaped(text[begin : begin + _SHOWN_CHARS])
    raise InvalidInput(
        f"{field}: U+{ord(unsafe[0]):04X} is not printable (got '{shown}'); use printable characters on one line"
    )


def _written_out(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _in_json(letter: str) -> str:
    units = letter.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
