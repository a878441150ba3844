"""Whatever is sent or written in a file becomes a sentence, never a crash: every RPC of the descriptors, every parser.

A few examples of each here; ten thousand of each, and a look at the memory, in `make soak`. Requests are made of bytes
that hypothesis draws, many of one draw: to draw each field costs more than to serve the call.
"""

from __future__ import annotations

import gc
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch
from urllib.parse import parse_qsl

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from guardian import config
from guardian.cli import contexts
from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import GuardianError
from guardian.federation.wire import federation_yaml
from guardian.interop import reassignment_json, topicctl_yaml
from guardian.interop.broker_sets_json import sets_of
from guardian.interop.capacity_json import capacities_of
from guardian.interop.confluent_placement import policy_of
from guardian.interop.json_file import read_json
from guardian.member.web_routes import route_table
from guardian.model.links import load_links
from guardian.model.tickets.approval import load_approvals, parse_window
from guardian.model.units import parse_duration_ms
from guardian.rest.cruise_control.endpoints import ENDPOINTS
from guardian.rest.cruise_control.parameters import parse
from guardian.security.model.roles import parse_roles
from guardian.security.rules.audit_chain import check_lines
from guardian.security.rules.redacting import redact, redact_tree
from guardian.security.rules.sealing import seal, unseal
from guardian.security.rules.tokens import find_token, make_token, parse_tokens, write_tokens
from guardian.security.service.auth_routes import own_path
from guardian.tickets.kinds.registry import HAVE_SIZE
from tests.unit.member.guarded import ROLES, Guarded, Rpc, every_rpc, headers
from tests.unit.member.member import plan

pytestmark = pytest.mark.slow

MANY = 10_000
EACH = 10  # requests of one draw, under way at the same time
# What gRPC says when a method raised something that is none of guardian.errors.
CRASHES = (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL)
# They wait for news, for as long as the client lets them.
WAITING = ("WatchEvents", "WatchTicket", "FollowSegmentEvents", "PreviewTicket")
WAIT_S, NEWS_S = 30.0, 0.1
_TEXTS = (
    "live", "t", "fake", "*", "", "t-00000000", "127.0.0.1:9", "balance", "\x00", "a/b", "é" * 30, "-1", "9" * 30,
)  # fmt: skip
_FLOATS = (0.0, 1.0, -1.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))
_GROWTH_BYTES = 96 << 20
_BYTES = 1 << 12
_DEPTH = 4
_TYPES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


class Choices:
    """Made by bytes, the same of the same; without any left each is the simplest."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, count: int) -> bytes:
        taken = self._raw[self._at : self._at + count]
        self._at += count
        return taken.ljust(count, b"\x00")

    def below(self, bound: int) -> int:
        return int.from_bytes(self.take(2)) % bound

    def of(self, options: tuple[Any, ...]) -> Any:
        return options[self.below(len(options))]

    def number(self, bits: int, *, is_signed: bool) -> int:
        """Small, at an end of what fits, or any."""
        lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        match self.below(4):
            case 0:
                return self.below(4)
            case 1:
                return int.from_bytes(self.take(bits // 8), signed=is_signed)
            case 2:
                return cast("int", self.of((lowest, highest, highest - 1, lowest + 1)))
            case _:
                return max(lowest, -self.below(3))

    def text(self) -> str:
        if self.below(3):
            return cast("str", self.of(_TEXTS))
        return self.take(self.below(40)).decode("latin-1" if self.below(2) else "utf-16", errors="replace")

    def message(self, descriptor: Descriptor, depth: int = _DEPTH) -> Any:
        """Any message of that type."""
        built = message_factory.GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if (field.message_type is None or depth > 0) and self.take(1)[0] % 2:
                self._fill(built, field, depth)
        return built

    def _fill(self, built: Any, field: Any, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
            for _ in range(self.below(3)):
                drawn, content = self.value(key, 0), self.value(value, depth - 1)
                if value.message_type is not None:
                    getattr(built, field.name)[drawn].CopyFrom(content)
                else:
                    getattr(built, field.name)[drawn] = content
        elif field.is_repeated:
            getattr(built, field.name).extend(self.value(field, depth - 1) for _ in range(self.below(4)))
        elif field.message_type is not None:
            getattr(built, field.name).CopyFrom(self.value(field, depth - 1))
        else:
            setattr(built, field.name, self.value(field, depth))

    def value(self, field: Any, depth: int) -> Any:  # noqa: PLR0911  one for each type
        match _TYPES[field.type]:
            case "string":
                return self.text()
            case "bytes":
                return self.take(self.of((0, 16, self.below(20))))
            case "bool":
                return bool(self.below(2))
            case "double" | "float":
                return self.of((*_FLOATS, struct.unpack("<f", self.take(4))[0]))
            case "enum":
                return self.of((*(value.number for value in field.enum_type.values), 99))
            case "message":
                return self.message(field.message_type, depth)
        kind = _TYPES[field.type]
        return self.number(64 if "64" in kind else 32, is_signed=not kind.startswith(("u", "fixed")))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("fuzz"))
    add_a_ticket(guarded)
    yield guarded
    guarded.stop()


def add_a_ticket(guarded: Guarded) -> None:
    """Of an id that requests name."""
    with (
        patch("guardian.tickets.service.new_tickets.secrets.token_hex", return_value="00000000"),
        GuardianClient([guarded.member.endpoint], WAIT_S, bearing=bearer(guarded.token["ann"])) as client,
    ):
        ticket, _ = client.create_ticket(plan(2, 3), author="ann", submit=True)
    assert ticket.id in _TEXTS


def fuzzed(guarded: Guarded, rpc: Rpc, examples: int) -> None:
    """So many requests, at least."""
    name = "kafka-1" if "Tiering" in rpc.path and "Delete" not in rpc.path and "List" not in rpc.path else "root"
    metadata = headers(guarded.token[name])
    with grpc.insecure_channel(guarded.member.endpoint) as channel:

        @settings(
            max_examples=-(-examples // EACH),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=(Phase.generate, Phase.shrink),
        )
        @given(st.binary(min_size=_BYTES, max_size=_BYTES))
        def tried(raw: bytes) -> None:
            choices = Choices(raw)
            requests = [choices.message(rpc.method.input_type) for _ in range(EACH)]
            for request, code in zip(requests, ends(channel, rpc, metadata, requests), strict=True):
                assert code not in CRASHES, request
                assert code is not grpc.StatusCode.UNAUTHENTICATED

        tried()
        health = channel.unary_unary("/grpc.health.v1.Health/Check", bytes, bytes)
        assert health(b"", timeout=30)
    # A client that no longer waits is not told of a crash.
    assert not [ended for ended, code in guarded.member.calls.ended() if code in {crash.name for crash in CRASHES}]


def ends(
    channel: grpc.Channel, rpc: Rpc, metadata: list[tuple[str, str]], requests: list[Any]
) -> list[grpc.StatusCode]:
    """How each call ends, or OK at its first news. All are under way at once."""
    timeout_s = NEWS_S if rpc.method.name in WAITING else WAIT_S
    multi = getattr(channel, kind_of(rpc))(rpc.path, lambda message: message.SerializeToString(), bytes)
    start = multi.future if kind_of(rpc) == "unary_unary" else multi
    answers = [
        start(iter([request]) if rpc.method.client_streaming else request, metadata=metadata, timeout=timeout_s)
        for request in requests
    ]
    return [end_of(answer, is_stream=rpc.method.server_streaming) for answer in answers]


def kind_of(rpc: Rpc) -> str:
    asks, answers = (
        "stream" if is_stream else "unary" for is_stream in (rpc.method.client_streaming, rpc.method.server_streaming)
    )
    return f"{asks}_{answers}"


def end_of(answer: Any, *, is_stream: bool) -> grpc.StatusCode:
    if not is_stream:
        return cast("grpc.StatusCode", answer.code())
    try:
        next(answer)
    except StopIteration:
        return cast("grpc.StatusCode", answer.code())
    except grpc.RpcError as error:
        return error.code()
    answer.cancel()
    return grpc.StatusCode.OK


def names(rpc: Rpc) -> str:
    return rpc.path.removeprefix("/guardian.v1.")


RPCS = every_rpc()


@pytest.mark.parametrize("rpc", RPCS, ids=names)
def test_no_request_makes_an_rpc_fail(guarded: Guarded, rpc: Rpc) -> None:
    fuzzed(guarded, rpc, EACH)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("rpc", RPCS, ids=names)
def test_no_request_of_many_makes_an_rpc_fail_or_the_member_grow(
    guarded: Guarded, rpc: Rpc, record_property: Callable[[str, object], None]
) -> None:
    fuzzed(guarded, rpc, 1000)
    before = resident_bytes()
    fuzzed(guarded, rpc, MANY)
    grown = resident_bytes() - before
    record_property("grown_bytes", grown)
    assert grown < _GROWTH_BYTES


def resident_bytes() -> int:
    """Of this process, which serves and asks."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("rpc", RPCS, ids=names)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(raw=st.binary(max_size=200))
def test_no_bytes_make_an_rpc_fail(guarded: Guarded, rpc: Rpc, raw: bytes) -> None:
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        kind = kind_of(rpc)
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


def _json(read: Callable[[Any], object]) -> Callable[[str, Path], object]:
    return _file(lambda path: read(read_json(path, "the file")))


ROUTES = route_table()
PARSERS: dict[str, tuple[Callable[[str, Path], object], str]] = {
    "roles": (lambda text, _: parse_roles(text), f"{ROLES}[signed_out]\nann = 2026-11-23T08:00:00Z\n"),
    "tokens": (lambda text, _: parse_tokens(text), write_tokens(_STORED)),
    "token": (lambda text, _: find_token(_STORED, text, 5), "gdn_61626364_" + "A" * 43),
    "seal": (lambda text, _: unseal(KEY, "session", text, 5), seal(KEY, "session", {"name": "x"}, 10)),
    "audit": (lambda text, _: check_lines(text.splitlines()), '{"previous":"0"}\n'),
    "window": (lambda text, _: parse_window(text), "Mon-Fri 22:00-06:00"),
    "duration": (lambda text, _: parse_duration_ms("x", text), "90d"),
    "path": (lambda text, _: own_path(text), "/console/"),
    "route": (lambda text, _: ROUTES.find("GET", text), "/console/clusters/live/topics/t"),
    "redacting": (lambda text, _: (redact(text), redact_tree({text: [text]})), "password=x Bearer abcdefgh"),
    "configuration": (_file(config.load), 'name = "g1"\ndata = "/d"\n[security]\nroles = "r"\nkey_file = "k"\n'),
    "approvals": (
        _file(lambda path: load_approvals(path, HAVE_SIZE)),
        '[[rules]]\nname = "x"\napprovers = ["a"]\nwindows = ["22:00-06:00"]\n',
    ),
    "links": (_file(load_links), '[[links]]\nfrom = "a"\nto = "b"\n'),
    "contexts": (_file(contexts.load), '[contexts.lab]\nendpoints = ["127.0.0.1:9750"]\n'),
    "federation.yaml": (
        lambda text, _: federation_yaml.read(text, "federation.yaml"),
        "clusters:\n- name: live\n  bootstrap: h:9092\n  idc: a\ntenants:\n- name: t\n  quota: 10 MB\n",
    ),
    "topicctl": (
        lambda text, _: topicctl_yaml.read(text, "t.yaml"),
        "meta:\n  name: t\n  cluster: live\nspec:\n  partitions: 3\n  replicationFactor: 2\n"
        "  placement:\n    strategy: any\n",
    ),
    "reassignment": (
        lambda text, _: reassignment_json.read(text, "live"),
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","/d"]}]}',
    ),
    "capacity.json": (
        _json(capacities_of),
        '{"brokerCapacities":[{"brokerId":"-1","capacity":{"DISK":"100","CPU":"100","NW_IN":"1","NW_OUT":"1"}}]}',
    ),
    "brokerSets.json": (_json(sets_of), '{"brokerSets":[{"brokerSetId":"a","brokerIds":[1,2]}]}'),
    "placement constraints": (
        _json(lambda document: policy_of(document, "p")),
        '{"version":2,"replicas":[{"count":2,"constraints":{"rack":"a"}}],"observers":[]}',
    ),
    "Cruise Control's query": (
        lambda text, _: [parse(endpoint, parse_qsl(text)) for endpoint in ENDPOINTS],
        "dryrun=false&goals=RackAwareGoal&brokerid=1,2&json=true&destination_broker_ids=3",
    ),
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
