"""Text that is written for people: it is shown, and nothing is decided by it.

`Text` marks a field where it is declared. A property test puts noise into all of them, and no decision changes
(tests/properties/test_texts.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import cycle
from typing import Annotated, Any, get_args, get_origin, get_type_hints

FOR_PEOPLE = "for people"
Text = Annotated[str, FOR_PEOPLE]

Say = Callable[[str], str]


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
