"""Values of frozen dataclasses drawn from their annotations, so that a new field is drawn as well."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.model.effects import TOPIC_CONFIGS
from guardian.tickets.kinds.acl_repair import OPERATIONS, RESOURCE_TYPES

_Noun = TypeVar("_Noun")
_WORDS = st.text("abc", min_size=1, max_size=3)
_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: _WORDS,
    int: st.integers(1, 100),
    float: st.floats(0.01, 1.0, exclude_max=True),
    bool: st.booleans(),
    bytes: st.binary(min_size=16, max_size=16),
}
# Fields that take few values.
_NAMED: dict[str, st.SearchStrategy[Any]] = {
    "resource_type": st.sampled_from(RESOURCE_TYPES),
    "operation": st.sampled_from(OPERATIONS),
    "pattern_type": st.sampled_from(["LITERAL", "PREFIXED"]),
    "permission": st.sampled_from(["ALLOW", "DENY"]),
    "principal": _WORDS.map("User:{}".format),
    "key": st.sampled_from(sorted(TOPIC_CONFIGS)),
    "idle_ms": st.integers(1_000, 10**9),
    "path": _WORDS.map("/{}".format),
    "slow_disk": st.floats(1.5, 20.0),
    "rate": st.integers(100_000, 10**9),
    "broker_id": st.just(0),
    "preferred_leader_idc": st.just(""),
}


@st.composite
def nouns(draw: st.DrawFn, noun: type[_Noun]) -> _Noun:
    hints = typing.get_type_hints(noun)
    values: dict[str, Any] = {}
    for field in fields(noun):  # type: ignore[arg-type]  # a dataclass
        is_optional = field.default is not MISSING
        if not is_optional or draw(st.booleans()):
            values[field.name] = draw(_NAMED.get(field.name, _of(hints[field.name])))
    try:
        return noun(**values)
    except InvalidInput:
        reject()


def _of(hint: Any) -> st.SearchStrategy[Any]:
    if isinstance(hint, types.UnionType):
        [hint] = [each for each in hint.__args__ if each is not types.NoneType]
    if is_dataclass(hint):
        return nouns(typing.cast(type, hint))
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return st.builds(hint, **{name: _of(of) for name, of in typing.get_type_hints(hint).items()})
    if typing.get_origin(hint) is tuple:
        args = typing.get_args(hint)
        if args[-1] is not Ellipsis:
            return st.tuples(*map(_of, args))
        if typing.get_origin(args[0]) is tuple:
            return st.lists(_of(args[0]), min_size=1, max_size=3, unique_by=lambda pair: pair[0]).map(
                lambda pairs: tuple(sorted(pairs))
            )
        return st.lists(_of(args[0]), min_size=1, max_size=3, unique=True).map(tuple)
    return _SCALARS[hint]
