"""Whatever is sent or written in a file becomes a sentence, never a crash: every RPC of the descriptors, every parser.

A few examples of each here; ten thousand of each, and a look at the memory, in `make soak`.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardian import config
from guardian.core.audit_chain import check_lines
from guardian.core.redacting import redact, redact_tree
from guardian.core.routing import find_rule
from guardian.core.sealing import seal, unseal
from guardian.core.tokens import find_token, make_token, parse_tokens, write_tokens
from guardian.errors import GuardianError
from guardian.model.approval import load_approvals, parse_window
from guardian.model.links import load_links
from guardian.model.roles import parse_roles
from guardian.model.units import parse_duration_ms
from guardian.server.auth_routes import own_path
from tests.unit.server.guarded import ROLES, Guarded, Rpc, call, every_rpc, headers

EXAMPLES, MANY = 2, 10_000
# What gRPC says when a method raised something that is none of guardian.errors.
CRASHES = (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL)
# They wait for news, for as long as the client lets them.
WAITING = ("WatchEvents", "WatchTicket", "FollowSegmentEvents", "PreviewTicket")
_TEXTS = st.text(max_size=40) | st.sampled_from(
    ["live", "t", "fake", "*", "", "t-00000000", "127.0.0.1:9", "balance", "\x00", "a/b", "é" * 30, "-1", "9" * 30]
)
_GROWTH_BYTES = 256 << 20


def _number(field: Any) -> st.SearchStrategy[Any]:
    bits = 64 if "64" in _TYPES[field.type] or "fixed64" in _TYPES[field.type] else 32
    if _TYPES[field.type].startswith(("u", "fixed")):
        return st.integers(0, 3) | st.integers(0, (1 << bits) - 1)
    return st.integers(-2, 3) | st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


_TYPES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


def _value(field: Any, depth: int) -> st.SearchStrategy[Any]:  # noqa: PLR0911  one for each type
    match _TYPES[field.type]:
        case "string":
            return _TEXTS
        case "bytes":
            return st.binary(max_size=20) | st.binary(min_size=16, max_size=16)
        case "bool":
            return st.booleans()
        case "double" | "float":
            return st.floats(width=32)
        case "enum":
            known = [value.number for value in field.enum_type.values]
            return st.sampled_from([*known, 99])
        case "message":
            return message(field.message_type, depth - 1)
    return _number(field)


def message(descriptor: Descriptor, depth: int = 4) -> st.SearchStrategy[Any]:
    """Any message of that type, as its serialised form."""

    @st.composite
    def made(draw: st.DrawFn) -> Any:
        built = message_factory.GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if (field.message_type is not None and depth <= 0) or not draw(st.booleans()):
                continue
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                _fill_map(draw, built, field, depth)
            elif field.is_repeated:
                values = draw(st.lists(_value(field, depth), max_size=3))
                getattr(built, field.name).extend(values)
            elif field.message_type is not None:
                getattr(built, field.name).CopyFrom(draw(_value(field, depth)))
            else:
                setattr(built, field.name, draw(_value(field, depth)))
        return built

    return made()


def _fill_map(draw: st.DrawFn, built: Any, field: Any, depth: int) -> None:
    key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    for _ in range(draw(st.integers(0, 2))):
        drawn, content = draw(_value(key, 0)), draw(_value(value, depth - 1))
        if value.message_type is not None:
            getattr(built, field.name)[drawn].CopyFrom(content)
        else:
            getattr(built, field.name)[drawn] = content


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("fuzz"))
    yield guarded
    guarded.stop()


def fuzzed(guarded: Guarded, rpc: Rpc, examples: int) -> None:
    name = "kafka-1" if "Tiering" in rpc.path and "Delete" not in rpc.path and "List" not in rpc.path else "root"
    metadata = headers(guarded.token[name])
    with grpc.insecure_channel(guarded.member.endpoint) as channel:

        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(message(rpc.method.input_type))
        def tried(request: Any) -> None:
            code = call(channel, rpc, metadata, request)
            assert code not in CRASHES, request
            assert code is not grpc.StatusCode.UNAUTHENTICATED

        tried()
        health = channel.unary_unary("/grpc.health.v1.Health/Check", bytes, bytes)
        assert health(b"", timeout=30)


def names(rpc: Rpc) -> str:
    return rpc.path.removeprefix("/guardian.v1.")


RPCS = [rpc for rpc in every_rpc() if rpc.method.name not in WAITING]


@pytest.mark.parametrize("rpc", RPCS, ids=names)
def test_no_request_makes_an_rpc_fail(guarded: Guarded, rpc: Rpc) -> None:
    fuzzed(guarded, rpc, EXAMPLES)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("rpc", RPCS, ids=names)
def test_no_request_of_many_makes_an_rpc_fail_or_the_member_grow(guarded: Guarded, rpc: Rpc) -> None:
    fuzzed(guarded, rpc, 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fuzzed(guarded, rpc, MANY)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < _GROWTH_BYTES


@pytest.mark.parametrize("rpc", RPCS, ids=names)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(raw=st.binary(max_size=200))
def test_no_bytes_make_an_rpc_fail(guarded: Guarded, rpc: Rpc, raw: bytes) -> None:
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        kind = "stream_stream" if rpc.method.client_streaming else "unary_unary"
        if rpc.method.server_streaming and not rpc.method.client_streaming:
            kind = "unary_stream"
        multi = getattr(channel, kind)(rpc.path, bytes, bytes)
        sent = iter([raw]) if rpc.method.client_streaming else raw
        answer = multi.future(sent, timeout=30) if kind == "unary_unary" else multi(sent, timeout=30)
        # Who says nothing of himself is refused before anything of his is carried out.
        refused = [grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.RESOURCE_EXHAUSTED]
        if not rpc.method.client_streaming:
            refused.append(grpc.StatusCode.INVALID_ARGUMENT)
        assert answer.code() in refused


KEY = b"k" * 32
_STORED = (make_token("ci", b"abcd", b"s" * 32, 1, 0)[1],)


def _file(parse: Callable[[Path], object]) -> Callable[[str, Path], object]:
    def parsed(text: str, folder: Path) -> object:
        path = folder / "file.toml"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return parse(path)

    return parsed


PARSERS: dict[str, tuple[Callable[[str, Path], object], str]] = {
    "roles": (lambda text, _: parse_roles(text), ROLES),
    "tokens": (lambda text, _: parse_tokens(text), write_tokens(_STORED)),
    "token": (lambda text, _: find_token(_STORED, text, 5), "gdn_61626364_" + "A" * 43),
    "seal": (lambda text, _: unseal(KEY, "session", text, 5), seal(KEY, "session", {"name": "x"}, 10)),
    "audit": (lambda text, _: check_lines(text.splitlines()), '{"previous":"0"}\n'),
    "window": (lambda text, _: parse_window(text), "Mon-Fri 22:00-06:00"),
    "duration": (lambda text, _: parse_duration_ms("x", text), "90d"),
    "path": (lambda text, _: own_path(text), "/console/"),
    "route": (lambda text, _: find_rule("GET", text), "/console/clusters/live/topics/t"),
    "redacting": (lambda text, _: (redact(text), redact_tree({text: [text]})), "password=x Bearer abcdefgh"),
    "configuration": (_file(config.load), 'name = "g1"\ndata = "/d"\n[security]\nroles = "r"\nkey_file = "k"\n'),
    "approvals": (_file(load_approvals), '[[rules]]\nname = "x"\napprovers = ["a"]\nwindows = ["22:00-06:00"]\n'),
    "links": (_file(load_links), '[[links]]\nfrom = "a"\nto = "b"\n'),
}


def parsed(name: str, folder: Path, examples: int) -> None:
    parse, good = PARSERS[name]
    mutated = st.builds(
        lambda start, cut, middle: good[:start] + middle + good[start + cut :],
        st.integers(0, len(good)),
        st.integers(0, 8),
        st.text(max_size=12)
        | st.sampled_from(['"', "[", "]", "\n", "=", "{", "\\", "1e999", "9" * 400, "nan", "\x00"]),
    )

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.text(max_size=200) | mutated)
    def tried(text: str) -> None:
        try:
            parse(text, folder)
        except GuardianError as error:
            assert str(error)  # noqa: PT017  most texts are none, some are

    tried()


@pytest.mark.parametrize("name", PARSERS)
def test_no_text_makes_a_parser_fail(name: str, tmp_path: Path) -> None:
    parsed(name, tmp_path, 200)


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
def test_no_text_of_many_makes_a_parser_fail(name: str, tmp_path: Path) -> None:
    parsed(name, tmp_path, MANY)
