"""Requests hold printable text only: one rule for every text field of every method, found by protobuf's reflection."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from guardian.model.text import require_printable
from guardian.serving.errors import MethodInterceptor

# Texts of several lines, which renderers show line by line.
_OF_LINES = frozenset({"guardian.v1.CreateTicketRequest.evidence"})


class TextInterceptor(MethodInterceptor):
    """Refuse a request with a character that no text needs. It comes last: who may not ask learns nothing else."""

    def wrap(self, _call: Any, kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return _checked(method, _each_checked if kind.startswith("stream") else _checked_request)


def require_printable_texts(message: Message) -> None:
    """Raise InvalidInput, naming the field, for the first text in the message that is not printable."""
    _require(message, "")


def _checked(method: Callable[..., Any], check: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the same kind of function: gRPC looks at it to know how to call it."""
    if inspect.isasyncgenfunction(method):

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            async for reply in method(check(request), context):
                yield reply

        return stream
    if inspect.iscoroutinefunction(method):

        async def coroutine(request: Any, context: Any) -> Any:
            return await method(check(request), context)

        return coroutine

    def plain(request: Any, context: Any) -> Any:
        return method(check(request), context)

    return plain


def _checked_request(request: Any) -> Any:
    if isinstance(request, Message):
        require_printable_texts(request)
    return request


async def _each_checked(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked_request(request)


def _require(message: Message, path: str) -> None:
    has_texts = _fields_with_texts(message.DESCRIPTOR)
    if not has_texts:
        return
    for field, value in message.ListFields():
        if field.name not in has_texts:
            continue
        place = f"{path}{field.name}"
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            for key in value:
                _require_value(entry.fields_by_name["key"], key, f"the key of {place}")
                _require_value(entry.fields_by_name["value"], value[key], f"{place}[{key}]")
        elif field.is_repeated:
            for index, each in enumerate(value):
                _require_value(field, each, f"{place}[{index}]")
        else:
            _require_value(field, value, place)


def _require_value(field: FieldDescriptor, value: Any, place: str) -> None:
    if isinstance(value, str):
        require_printable(place, value, "\n" if field.full_name in _OF_LINES else "")
    elif isinstance(value, Message):
        _require(value, f"{place}.")


@cache
def _fields_with_texts(descriptor: Descriptor) -> frozenset[str]:
    """Return the names of the fields that are texts or hold some: most of what brokers append holds none."""
    return frozenset(field.name for field in descriptor.fields if _holds_text(field, frozenset({descriptor})))


def _holds_text(field: FieldDescriptor, above: frozenset[Descriptor]) -> bool:
    if field.type == FieldDescriptor.TYPE_STRING:
        return True
    inside = field.message_type
    return inside is not None and any(
        _holds_text(each, above | {inside}) for each in inside.fields if each.message_type not in above | {inside}
    )
