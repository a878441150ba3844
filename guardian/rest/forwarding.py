"""Routes that are RPCs: parameters become the request, the reply becomes JSON, the right is that of the RPC.

    path, query or body ──▶ request ──▶ RPC, as the person who asks ──▶ reply ──▶ JSON

What a GET takes is made of the request's fields: a part of the path, or a parameter of the query; a message within it
has its fields there too. What else is sent is the request itself as JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from fastapi import Body, Query, Request, Response
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from guardian.client.messages import Way
from guardian.errors import InvalidInput
from guardian.rest.parts import RestParts, actor_of
from guardian.rest.schemas import as_dict, message_of
from guardian.security.model.identity import Identity, Role
from guardian.security.rules.permitting import RPCS, Rule, Where
from guardian.security.rules.routing import RouteRule
from guardian.web.answers import JsonAnswer
from protos.guardian.v1 import (
    activity_pb2,
    events_pb2,
    federation_pb2,
    identities_pb2,
    insight_pb2,
    placement_pb2,
    protection_pb2,
    raft_pb2,
    tickets_pb2,
    tiering_pb2,
)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MAX_LIMIT = 1000
_FILES: tuple[Any, ...] = (
    activity_pb2,
    events_pb2,
    federation_pb2,
    identities_pb2,
    insight_pb2,
    placement_pb2,
    protection_pb2,
    raft_pb2,
    tickets_pb2,
    tiering_pb2,
)
_METHODS: dict[str, MethodDescriptor] = {
    f"{name}/{method.name}": method
    for file in _FILES
    for name, service in file.DESCRIPTOR.services_by_name.items()
    for method in service.methods
}
_TYPES: dict[int, type] = {
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_STRING: str,
    FieldDescriptor.TYPE_BYTES: str,
    FieldDescriptor.TYPE_ENUM: str,
}
_ABOUT = {
    "topic": "Who used this topic.",
    "broker": "What this broker did, and for whom.",
    "principal": "What this principal did, such as User:alice.",
    "from_ms": "Since the epoch.",
    "to_ms": "Exclusive; 0: now.",
    "since_ms": "Since the epoch.",
    "with_internal": "Also topics whose name begins with __.",
    "topics": "Patterns, as of the shell; none: all but Kafka's own.",
    "with_settings": "Also what is in force and no default of Kafka.",
    "clusters": "Of these only.",
    "cluster": "Of this cluster only.",
    "name": "This one only.",
    "page_token": "The `next_page_token` of the page before; the header Link has the whole address.",
    "actor": "Counts while security is off; else it is who is signed in.",
    "cluster_id": "Kafka's id of a cluster.",
    "topic_id": "As Kafka prints it, or in base64.",
    "partition": "Its number.",
}
_ANNOTATED: Any = Annotated  # of what is known at run time only
_LIST: Any = list


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query, and the field of the request that it is."""

    name: str
    place: tuple[str, ...]
    descriptor: FieldDescriptor

    def declared(self) -> inspect.Parameter:
        """Return it as FastAPI reads it; None where it is left out."""
        if self.name == "limit":
            kind: Any = _ANNOTATED[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
            return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=100, annotation=kind)
        about = _ABOUT.get(self.name)
        if self.descriptor.enum_type is not None:
            about = f"One of {', '.join(each.name for each in self.descriptor.enum_type.values[1:])}."
        one: Any = _TYPES.get(self.descriptor.type, int)
        kind = _LIST[one] if self.descriptor.is_repeated else one
        annotation = _ANNOTATED[kind | None, Query(description=about)]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


@dataclass(frozen=True)
class Forwarded:
    """An RPC that a route is. `names` say which field a part of the path is, where that has another name. Of a time
    that is left out the last `back_ms` are told of."""

    method: str
    path: str
    rpc: str
    way: Way
    tag: str
    about: str  # what it does
    what: str  # what is answered
    names: Mapping[str, str] = field(default_factory=dict)
    back_ms: int = 0

    @property
    def rule(self) -> RouteRule:
        """Return the rule of the RPC for people, as far as the path tells what it is about: the RPC asks again, and
        for all. Programs of brokers come over gRPC alone."""
        rule = self.of_rpc
        roles = tuple(role for role in rule.roles if role is not Role.BROKER)
        if rule.where is Where.CLUSTER and "{cluster}" in self.path:
            return RouteRule(Where.CLUSTER, roles)
        exact = rule.where in (Where.PROVEN, Where.EVERYWHERE)
        return RouteRule(rule.where if exact else Where.ANYWHERE, roles)

    @property
    def of_rpc(self) -> Rule:
        """Return the rule that stands at the RPC."""
        return RPCS[f"/guardian.v1.{self.rpc}"]

    @cached_property
    def request(self) -> type[Message]:
        """Return what it is asked with."""
        return message_factory.GetMessageClass(_METHODS[self.rpc].input_type)

    @cached_property
    def reply(self) -> type[Message]:
        """Return what it answers."""
        return message_factory.GetMessageClass(_METHODS[self.rpc].output_type)

    @property
    def takes_body(self) -> bool:
        """Return whether the request is sent as JSON."""
        return self.method in ("POST", "PUT")

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """Return the names of the path's parts."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return those of its query."""
        if self.takes_body:
            return ()
        bound = {self.names.get(name, name) for name in self.in_path}
        found = _flat(self.request.DESCRIPTOR.fields, ())
        return tuple(each for each in found if ".".join(each.place) not in bound)

    def signature(self) -> inspect.Signature:
        """Return the parameters of its handler."""
        plain = inspect.Parameter.KEYWORD_ONLY
        found = [inspect.Parameter("request", plain, annotation=Request)]
        found += [inspect.Parameter(name, plain, annotation=str) for name in self.in_path]
        found += [each.declared() for each in self.parameters]
        if self.takes_body:
            schema = {"$ref": f"#/components/schemas/{self.request.DESCRIPTOR.name}"}
            kind = _ANNOTATED[dict[str, Any], Body(json_schema_extra=schema)]
            found.append(inspect.Parameter("body", plain, annotation=kind))
        return inspect.Signature(found, return_annotation=Response)

    def asked(self, given: Mapping[str, Any], user: Identity, now_ms: int) -> Message:
        """Return the request. Raises InvalidInput, also where a body names another thing than the path."""
        document: dict[str, Any] = given["body"] if self.takes_body else self._document(given)
        for name in self.in_path:
            _bind(document, self.names.get(name, name), given[name])
        message = message_of(self.request(), document)
        if self.back_ms:
            _bound(message, self.back_ms, now_ms)
        who = self.of_rpc.who
        if who:
            setattr(message, who, actor_of(user, getattr(message, who)))
        return message

    def _document(self, given: Mapping[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = {}
        for each in self.parameters:
            if given[each.name] is not None:
                *above, last = each.place
                inner = document
                for part in above:
                    inner = inner.setdefault(part, {})
                inner[last] = given[each.name]
        return document


def forward(row: Forwarded, parts: RestParts, headers: Callable[[Request, str], dict[str, str]]) -> Callable[..., Any]:
    """Return the handler of a route; `headers` are those that lead to the page of a token."""

    def handler(request: Request, **given: Any) -> Response:
        user = parts.user_of(request)
        asked = row.asked(given, user, parts.now_ms())
        reply = parts.client_for(user).call(row.rpc, asked, row.way)
        answer = as_dict(row.reply() if reply is None else reply)
        return JsonAnswer(answer, 200, headers(request, answer.get("next_page_token", "")))

    handler.__name__ = row.rpc.partition("/")[2]
    handler.__doc__ = row.about
    signature = row.signature()
    handler.__signature__ = signature  # type: ignore[attr-defined]  # FastAPI reads it
    handler.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    marked: Callable[..., Any] = answers(row.rpc)(handler)
    return marked


def answers(*rpcs: str) -> Callable[[Any], Any]:
    """Return a decorator that says which RPCs a handler stands for, besides those that it is seen to call."""

    def declare(handler: Any) -> Any:
        handler.answers_rpcs = rpcs
        return handler

    return declare


def answered_by(handler: Any) -> tuple[str, ...]:
    """Return the RPCs that a handler says it stands for."""
    found: tuple[str, ...] = getattr(handler, "answers_rpcs", ())
    return found


def _flat(fields: Any, above: tuple[str, ...]) -> Iterator[Parameter]:
    for each in fields:
        if each.message_type is not None:
            yield from _flat(each.message_type.fields, (*above, each.name))
        else:
            is_limit = each.name.startswith("max_") or each.name in ("limit", "page_size")
            yield Parameter("limit" if is_limit else each.name, (*above, each.name), each)


def _bind(document: dict[str, Any], place: str, value: str) -> None:
    """Put a part of the path where it belongs. Raises InvalidInput where something else stands there."""
    *above, last = place.split(".")
    for part in above:
        inner = document.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InvalidInput(f"{part}: no object (got {str(inner)[:60]!r}); see openapi.json")
        document = inner
    if document.get(last, "") not in ("", value):
        raise InvalidInput(f"{place}: not that of the path (got {str(document[last])[:60]!r}); leave it out")
    document[last] = value


def _bound(message: Any, back_ms: int, now_ms: int) -> None:
    """Fill in the time that a request leaves out."""
    names = message.DESCRIPTOR.fields_by_name
    if "to_ms" in names and not message.to_ms:
        message.to_ms = now_ms + 1
    first = "from_ms" if "from_ms" in names else "since_ms"
    if not getattr(message, first):
        setattr(message, first, max(0, (message.to_ms if "to_ms" in names else now_ms) - back_ms))
