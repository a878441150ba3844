"""Every RPC, route, stream and page of metrics of a member, asked by somebody about everything.

Requests are made of the descriptors and of the routes' signatures: nobody has to list what is new.
"""

from __future__ import annotations

import base64
import inspect
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, product
from typing import Any
from urllib.parse import urlencode

import grpc
import httpx
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from guardian.member.web_routes import routes_of
from guardian.model.ticket import TicketState
from guardian.rest.api import api_routes
from guardian.rest.cruise_control.endpoints import BY_NAME, ENDPOINTS
from guardian.rest.openapi import api_document
from tests.unit.member.bodies import Values, forms, json_bodies, queries
from tests.unit.member.guarded import Rpc, every_rpc, headers
from tests.unit.member.two_clusters import HOOK, MARKER, MINE, Texts, TwoClusters

_STREAM_S = 20.0  # those of what has ended end by themselves
_TIMES = {"from_ms": -1_800_000, "since_ms": -1_800_000, "to_ms": 0, "until_ms": 0}  # of now
_FIXED = {"partition": 0, "until_caught_up": True, "ahead_s": 60.0, "share": 0.5, "each_s": 2.0}
_COUNTS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT32)
_MOST_REPLIES = 50
_DEPTH = 3
_DRAWN_ANEW = re.compile(r"<(input|meta)[^>]*csrf[^>]*>")
_NAMING = ("cluster", "clusters", "cluster_id", "name", "plan_hash", "ticket_id", "page_token", "topic_id")
_MARKED = re.compile(rf"{MARKER}[a-zA-Z0-9-]*")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(?::path)?\}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back of one question: `place` is the RPC or route, `raw` every byte, `sent` the texts of the question,
    which an answer may repeat; `said` is why it was refused, with what the question named left out."""

    place: str
    outcome: str
    raw: bytes
    sent: tuple[str, ...] = ()
    said: str = ""

    def shown(self) -> str:
        """Return what stands around a marker that the question did not hold; empty: there is none."""
        raw = self.raw.lower()
        for text in sorted((text for text in self.sent if MARKER in text), key=len, reverse=True):
            raw = raw.replace(text.lower().encode(), b"")
        for spelled in _SPELLED:
            at = raw.find(spelled)
            if at >= 0:
                return f"{self.place} ({self.outcome}): {raw[max(0, at - 60) : at + 60]!r}"
        return ""


def _in_base64(text: str) -> Iterator[bytes]:
    """Spell it as it stands within base64, wherever it begins."""
    for before in range(3):
        coded = base64.b64encode(b"x" * before + text.encode() + b"xx")
        yield coded[4 * bool(before) : -4].lower()


_SPELLED = (MARKER.encode(), MARKER.encode().hex().encode(), *_in_base64(MARKER))


def values(texts: Texts, plan_hash: str, state: TicketState = TicketState.PENDING) -> Callable[[str], object]:
    """Return what a field of a name is filled with, to ask about the cluster of these texts, and its ticket in a
    state."""
    named: dict[str, object] = {
        "cluster": texts.cluster,
        "clusters": texts.cluster,
        "cluster_id": texts.kafka_id,
        "topic_id": texts.topic_id,
        "segment_id": texts.topic_id,
        "ticket_id": texts.ticket(state),
        "page_token": texts.ticket(state),
        "plan_hash": plan_hash,
        "topic": texts("topic"),
        "topics": texts("topic"),
        "tenant": texts("tenant"),
        "principal": f"User:{texts('user')}",
        "host": texts("machine"),
        "disk": texts("disk"),
        "path": f"/{texts('dir')}/a",
        "log_dirs": f"/{texts('dir')}/a",
        "reason": "because",
        "kind": "balance",
    }
    return lambda name: named.get(name, texts.cluster)


def filled(descriptor: Descriptor, of: Callable[[str], object], only: str = "", depth: int = _DEPTH) -> Any:
    """Return a message with every field filled, or with one of them only."""
    message = message_factory.GetMessageClass(descriptor)()
    for each in descriptor.fields:
        if only and each.name not in (only, "from_ms", "until_caught_up"):
            continue
        if each.message_type is not None:
            if each.message_type.GetOptions().map_entry or depth == 0:
                continue
            content = filled(each.message_type, of, depth=depth - 1)
            if each.is_repeated:
                getattr(message, each.name).append(content)
            else:
                getattr(message, each.name).CopyFrom(content)
            continue
        value = _value(each, of)
        if value is not None:
            if each.is_repeated:
                getattr(message, each.name).append(value)
            else:
                setattr(message, each.name, value)
    return message


def _value(field: FieldDescriptor, of: Callable[[str], object]) -> object:
    """Return a value of the field's type; None: its default, as of numbers that limit an answer, flags and kinds."""
    if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        kind, value = (str if field.type == FieldDescriptor.TYPE_STRING else bytes), of(field.name)
        return value if isinstance(value, kind) else None
    if field.name in _TIMES:
        return time.time_ns() // 1_000_000 + _TIMES[field.name]
    if field.name in _FIXED:
        return _FIXED[field.name]
    return 1 if field.type in _COUNTS else None


def texts_in(message: Any) -> tuple[str, ...]:
    """Return every text that a message holds, at any depth."""
    found: list[str] = []
    for each, value in message.ListFields():
        for one in value if each.is_repeated else (value,):
            if each.message_type is not None:
                found += texts_in(one) if hasattr(one, "ListFields") else ()
            elif isinstance(one, str):
                found.append(one)
            elif isinstance(one, bytes):
                found.append(one.decode("latin-1"))
    return tuple(found)


def requests_of(rpc: Rpc, *about: Callable[[str], object]) -> Iterator[Any]:
    """Yield an empty request, one of each kind, and those that name the one cluster, or the other, or both of them."""
    descriptor = rpc.method.input_type
    yield rpc.request
    for each in descriptor.fields:
        if each.enum_type is not None and not each.is_repeated:
            for value in each.enum_type.values:
                yield message_factory.GetMessageClass(descriptor)(**{each.name: value.number})
    for of in about:
        yield filled(descriptor, of)
        for each in descriptor.fields:
            yield filled(descriptor, of, each.name)
        for choice in descriptor.oneofs:
            if len(choice.fields) > 1 and "cluster" in descriptor.fields_by_name:  # the whole of it takes the last one
                chosen = filled(descriptor, of, choice.fields[0].name)
                chosen.MergeFrom(filled(descriptor, of, "cluster"))
                yield chosen
    for one, other in pairwise(about):
        for each in descriptor.fields:
            mixed = filled(descriptor, one)
            mixed.ClearField(each.name)
            mixed.MergeFrom(filled(descriptor, other, each.name))
            yield mixed


def ask(channel: grpc.Channel, rpc: Rpc, token: str, request: Any) -> Answer:
    """Return all of the answer to one call: messages, status, details, metadata."""
    kind = {
        (False, False): "unary_unary",
        (False, True): "unary_stream",
        (True, False): "stream_unary",
        (True, True): "stream_stream",
    }[rpc.method.client_streaming, rpc.method.server_streaming]
    multi = getattr(channel, kind)(rpc.path, lambda message: message.SerializeToString(), bytes)
    is_stream = rpc.method.server_streaming
    sent = iter([request]) if rpc.method.client_streaming else request
    found: list[bytes] = []
    if is_stream or rpc.method.client_streaming:
        call = multi(sent, metadata=headers(token), timeout=_STREAM_S)
        outcome = "OK"
        try:
            for reply in call:
                found.append(reply)
                if len(found) >= _MOST_REPLIES:
                    break
        except grpc.RpcError:
            outcome = call.code().name
        finally:
            call.cancel()
        told = call
    else:
        try:
            reply, told = multi.with_call(sent, metadata=headers(token), timeout=60)
            found.append(reply)
            outcome = "OK"
        except grpc.RpcError as error:
            told, outcome = error, error.code().name
    said = told.details() or ""
    found.append(said.encode())
    found += [
        value if isinstance(value, bytes) else value.encode()
        for _, value in chain(told.initial_metadata() or (), told.trailing_metadata() or ())
    ]
    sent = texts_in(request)
    return Answer(rpc.path, outcome, b"\n".join(found), sent, _without(said, sent))


def _without(said: str, sent: Iterable[str]) -> str:
    for text in sorted(filter(None, sent), key=len, reverse=True):
        said = said.replace(text, "...")
    return said


def walk_rpcs(
    both: TwoClusters, name: str, is_wanted: Callable[[Rpc], bool] = lambda _: True, *, of_other: bool = False
) -> Iterator[Answer]:
    """Call every RPC as somebody, about both clusters, or the other one alone."""
    with grpc.insecure_channel(both.config.grpc) as channel:
        for rpc in filter(is_wanted, every_rpc()):
            # What is over is not followed for long.
            state = TicketState.REJECTED if rpc.method.server_streaming else TicketState.PENDING
            about = [
                values(texts, both.plans[texts.cluster], state)
                for texts in (both.texts[1:] if of_other else both.texts)
            ]
            for request in requests_of(rpc, *about):
                yield ask(channel, rpc, both.tokens[name], request)


def asked_about(both: TwoClusters, name: str, texts: Texts, plan_hash: str) -> Iterator[Answer]:
    """Ask about one thing at a time, as somebody: by each field of an RPC and each part of a path that names it."""
    of = values(texts, plan_hash)
    with grpc.insecure_channel(both.config.grpc) as channel:
        for rpc in every_rpc():
            for each in rpc.method.input_type.fields:
                if each.name in _NAMING or each.message_type is not None:
                    yield ask(channel, rpc, both.tokens[name], filled(rpc.method.input_type, of, each.name))
    with _browser(both, name) as browser:
        for method, template, _ in routes_of(both.application):
            for path, sent in _paths(template, texts, plan_hash):
                if sent:
                    yield _fetched(browser, method, template, path, sent)


def _paths(template: str, texts: Texts, plan_hash: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    names, known = _PLACEHOLDER.findall(template), _in_a_path(texts, plan_hash)
    for endpoint in sorted(endpoint.name for endpoint in ENDPOINTS) if "endpoint" in names else [""]:
        filling = {**known, "endpoint": endpoint}
        path = _PLACEHOLDER.sub(lambda found, filling=filling: filling[found[1]], template)  # type: ignore[misc]
        yield path, tuple(filling[each] for each in names if each != "endpoint")


def _paths_with_queries(both: TwoClusters, about: Iterable[Texts]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield method, template, path with query, and texts in them, for every route that the member serves."""
    for method, template, handler in routes_of(both.application):
        queried = [
            each
            for each in inspect.signature(handler).parameters
            if f"{{{each}" not in template and each not in ("request", "user", "body")
        ]
        for texts in about:
            known = _in_a_path(texts, both.plans[texts.cluster])
            # Pages that read their query by themselves.
            query = {**known, "q": texts.mark[:4], "tenant": texts("tenant"), "host": texts("machine")}
            # Pages repeat what they are asked, and no marker is looked for in what is coded: for those that take it.
            query |= {name: value for name, value in _of_messages(texts).items() if name in queried}
            for path, sent in _paths(template, texts, both.plans[texts.cluster]):
                yield method, template, path, sent
                for each in queried:
                    value = query.get(each, texts("asked"))
                    yield method, template, f"{path}?{each}={value}", (*sent, value)
                yield method, template, f"{path}?{urlencode(query)}", (*sent, *query.values())


def _of_messages(texts: Texts) -> dict[str, str]:
    """Return parameters that are fields of a request."""
    return {
        "table": "TOPICS",
        "cluster_id": texts.kafka_id,
        "topic_id": base64.urlsafe_b64encode(texts.topic_id).decode(),
        "partition": "0",
    }


def _in_a_path(texts: Texts, plan_hash: str) -> dict[str, str]:
    return {
        "cluster": texts.cluster,
        "broker": "1",
        "broker_id": "1",
        "topic": texts("topic"),
        "ticket_id": texts.ticket(TicketState.PENDING),
        "plan_hash": plan_hash,
        "name": texts("tenant"),
        "disk": texts("disk"),
        "action": "reject",
        "form": "balance",
        "asked_id": "nothing",
        "rest": "nothing",
        "ticket": texts.ticket(TicketState.PENDING),
    }


def walk_routes(both: TwoClusters, name: str, *, of_other: bool = False) -> Iterator[Answer]:
    """Get every route as somebody, about both clusters, or the other one alone."""
    asked: set[str] = set()
    with _browser(both, name) as browser:
        for method, template, path, sent in _paths_with_queries(both, both.texts[1:] if of_other else both.texts):
            if method != "GET" or path in asked:
                continue
            asked.add(path)
            yield _fetched(browser, method, template, path, sent)


def walk_bodies(both: TwoClusters, name: str, *, of_roles: bool = False) -> Iterator[Answer]:
    """Send every kind of body that a route takes, as somebody; Cruise Control's routes take parameters instead.

    The path and the field `cluster` name one cluster, all else is of one too: the same, or the other one. Who names the
    other cluster sends one kind: that is refused, whatever else it holds. `of_roles`: without what every viewer may.
    """
    document = both.application.openapi()
    document["components"]["schemas"] |= api_document(api_routes())["components"][
        "schemas"
    ]  # some are made of messages
    with _browser(both, name) as browser:
        for method, template, handler in routes_of(both.application):
            if method == "GET":
                continue
            described = document["paths"].get(template, {}).get(method.lower(), {})
            for named, told in product(both.texts, both.texts):
                of = _in_a_body(named, told, both.plans[told.cluster])
                for path, sent in _paths(template, named, both.plans[named.cluster]):
                    if "{endpoint}" in template:
                        is_whole = "{cluster}" in template and named is told and not of_roles
                        kinds = [*_of_cruise_control(path, of, None if is_whole else 2)]
                    else:
                        kinds = [({}, body) for body in _bodies(document, described, handler, of)]
                    for query, body in kinds if named.cluster == MINE else kinds[-1:]:
                        said = (*sent, *_MARKED.findall(f"{query} {body}"))
                        where = f"{path}?{urlencode(query)}" if query else path
                        answer = _fetched(browser, method, template, where, said, body)
                        yield replace(answer, place=f"{answer.place} {_kind_of(path, body)}".rstrip())


def _kind_of(path: str, body: Mapping[str, Any]) -> str:
    """Return what a request asks for, where a route takes several kinds."""
    if "kafkacruisecontrol" in path:
        return path.rpartition("/")[2]
    asked = body.get("json", {})
    kinds = (each["kind"] for each in (asked, *asked.values()) if isinstance(each, dict) and "kind" in each)
    return next(kinds, "")


def _of_cruise_control(path: str, of: Values, most: int | None) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield so many queries at most, and the body that one endpoint takes instead."""
    endpoint = BY_NAME[path.rpartition("/")[2]]
    if endpoint.method == "POST":
        for query in islice(queries(endpoint, of), most):
            yield {"json": "true", **query}, {}
    if endpoint.name == "topic_configuration":
        factors = {"topic_by_replication_factor": {"3": of("topic")}}
        yield {"json": "true"}, {"json": {"replication_factor": factors}}


def _bodies(
    document: Mapping[str, Any], described: Mapping[str, Any], handler: Callable[..., Any], of: Values
) -> Iterator[dict[str, Any]]:
    """Yield arguments of the HTTP client that carry a body: JSON where the document describes it, or a form."""
    content = described.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        for body in json_bodies(document["components"]["schemas"], content["schema"], of):
            yield {"json": body}
    for form in forms(handler, of):
        yield {"data": form}


def _in_a_body(named: Texts, told: Texts, plan_hash: str) -> Values:
    """Return what a field of a body is filled with: the cluster's name is of `named`, all else of `told`."""
    topic = told("topic")
    reassignment = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2, 1]}]}
    rule = {
        "resource_type": "TOPIC",
        "resource_name": topic,
        "principal": f"User:{told('user')}",
        "operation": "WRITE",
        "host": told("host"),
    }
    other = values(told, plan_hash)
    known: dict[str, Any] = {
        "cluster": named.cluster,
        "topic": topic,
        "topics": [topic],
        "excluded_topics": [told("idle")],
        "accepted_partitions": [f"{topic}-0"],
        "path": f"/{told('dir')}/a",
        "policy": told("policy"),
        "goals": ["ReplicaDistributionGoal"],
        "partitions": 3,
        "replication_factor": 3,
        "brokers": [1],
        "controllers": [],
        "hook": HOOK,
        "shutdown": False,
        "submit": False,
        "unthrottled": False,
        "change_replication_factor": False,
        "metadata_version": 0,
        "idempotency_key": told(f"key-{TicketState.PENDING.name}"),
        "key": told(f"key-{TicketState.PENDING.name}"),
        "reassignment": reassignment,
        "text": json.dumps(reassignment),
        "rules": json.dumps({"add": [rule], "remove": []}),
        "broker": 1,
        "rate": "20MB",
        "most": "30MB",
        "throttle": 20_000_000,
        "for": "8h",
        "idle": "1d",
        "hold": "7d",
        "set": ["retention.ms=3600000"],
        "unset": ["segment.bytes"],
        "reason": "because",
    }
    return lambda name: known[name] if name in known else other(name)


def _browser(both: TwoClusters, name: str) -> httpx.Client:
    shown = {"Authorization": f"Bearer {both.tokens[name]}"}
    return httpx.Client(base_url=f"http://{both.config.http}", headers=shown, timeout=60)


def _fetched(
    browser: httpx.Client,
    method: str,
    template: str,
    path: str,
    sent: tuple[str, ...],
    body: Mapping[str, Any] | None = None,
) -> Answer:
    raw = b""
    if body is None:
        body = {"json": {}} if method == "POST" else {}
    with browser.stream(method, path, **body, timeout=httpx.Timeout(60, read=60)) as answer:
        is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
        try:
            for part in answer.iter_raw():
                raw += part
                if is_stream and b"data:" in raw:
                    break  # the first news: it would go on for ever
        except httpx.HTTPError:
            pass
        told = "\n".join(f"{key}: {value}" for key, value in answer.headers.items())
        said = _DRAWN_ANEW.sub("", raw.decode(errors="replace")) if answer.status_code != 200 else ""
        where = f"{method} {template}"
        return Answer(where, str(answer.status_code), told.encode() + b"\n" + raw, sent, _without(said, sent))
