"""A member with [security]: who may what, tokens to come with, and every RPC that there is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor

import protos.guardian.v1
from guardian.model import federation
from guardian.planning.service.planning import LivePlanner
from guardian.replication.store.documents import StoredDocument
from guardian.replication.store.store import ReplicatedStore
from guardian.security.model.roles import stored_roles
from guardian.security.rules.rate_limiting import RateLimits
from guardian.security.rules.tokens import Token, make_token, parse_tokens, write_tokens
from guardian.security.service.permissions import Gate, PermissionInterceptor
from guardian.security.service.proving import IdTokens, Prover
from guardian.security.service.refusals import Refusals
from guardian.security.service.roles import MemberRoles
from guardian.security.service.watched_file import WatchedFile
from guardian.security.store import EndedOnMembers
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1.federation_pb2 import (
    ChangeFederationRequest,
    FederationChange,
    FederationEntry,
    SharedDocument,
)
from protos.guardian.v1.records_pb2 import Command
from tests.patience import PATIENCE_S
from tests.unit.member.member import Member

KEY = b"k" * 32
ROLES = """
[[grants]]
who = ["root"]
role = "admin"
[[grants]]
who = ["ann", "ben"]
role = "operator"
[[grants]]
who = ["analyze"]
role = "planner"
[[grants]]
who = ["eve"]
role = "approver"
[[grants]]
who = ["vic"]
role = "viewer"
[[grants]]
who = ["olga"]
role = "operator"
clusters = ["other-*"]
[[grants]]
who = ["tess"]
role = "operator"
tenants = ["payments"]
[[grants]]
who = ["kafka-*"]
role = "broker"
[[grants]]
who = ["certificate:spy"]
role = "admin"
"""
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Rpc:
    """Of the descriptors: nobody has to list it."""

    path: str
    method: MethodDescriptor

    @property
    def request(self) -> Any:
        return message_factory.GetMessageClass(self.method.input_type)()


def every_rpc() -> list[Rpc]:
    found = []
    for module in pkgutil.iter_modules(protos.guardian.v1.__path__):
        if not module.name.endswith("_pb2"):
            continue
        file = importlib.import_module(f"protos.guardian.v1.{module.name}").DESCRIPTOR
        for service in file.services_by_name.values():
            if service.name == "BrokerReporter":
                continue  # brokers serve that one
            found += [Rpc(f"/{service.full_name}/{method.name}", method) for method in service.methods]
    return sorted(found, key=lambda rpc: rpc.path)


class Guarded:
    """`token[name]` is a token of everybody in ROLES; "late" has expired, "gone" is not in the file (any more)."""

    def __init__(
        self,
        folder: Path,
        machine: MetastoreStateMachine | None = None,
        id_tokens: IdTokens | None = None,
        credentials: grpc.ServerCredentials | None = None,
        live_planner: LivePlanner | None = None,
    ) -> None:
        self.roles = folder / "roles.toml"
        self.roles.write_text(ROLES)
        self.tokens = folder / "tokens.toml"
        self.now_ms = 1_000_000
        self.token: dict[str, str] = {}
        self.stored: list[Token] = []
        for number, name in enumerate(
            ("root", "ann", "ben", "eve", "vic", "olga", "tess", "kafka-1", "spy", "nil", "late", "gone", "analyze"),
            start=1,
        ):
            lifetime_ms = 1 if name == "late" else _DAY_MS
            text, token = make_token(name, bytes([number] * 4), bytes([number] * 32), self.now_ms - 10, lifetime_ms)
            self.token[name] = text
            if name != "gone":
                self.stored.append(token)
        self.tokens.write_text(write_tokens(self.stored))
        self.limits = RateLimits(1e6, 1_000_000)
        self._id_tokens = id_tokens
        self.member = Member(
            machine,
            author_may_approve=False,
            guarded=self._interceptors,
            credentials=credentials,
            live_planner=live_planner,
            roles=self._member_roles,
        )

    def _interceptors(self, store: ReplicatedStore) -> list[grpc.aio.ServerInterceptor]:
        self.prover = Prover(
            self.member_roles,
            WatchedFile("tokens file", self.tokens, parse_tokens),
            KEY,
            lambda: self.now_ms,
            self._id_tokens,
            EndedOnMembers(store),
        )
        self.refusals = Refusals(store, lambda: self.now_ms)
        self.gate = Gate(self.prover, self.refusals, self.limits, clock=lambda: self.clock)
        return [PermissionInterceptor(self.gate, store.read_local)]

    def _member_roles(self, machine: MetastoreStateMachine) -> MemberRoles:
        self.member_roles = MemberRoles(self.roles, StoredDocument(machine, federation.ROLES, stored_roles).current)
        return self.member_roles

    def store_document(self, name: str, table: Mapping[str, Any]) -> None:
        """Stores the roles, or the approval policy, as whoever may."""
        put = FederationEntry(document=SharedDocument(name=name, json=federation.document_of(name, table).json))
        change = ChangeFederationRequest(changes=[FederationChange(put=put)])
        self.member.store.propose(Command(change_federation=change))

    clock = 0.0

    def without(self, name: str) -> None:
        """Revokes a token."""
        self.stored = [token for token in self.stored if token.name != name]
        self.tokens.write_text(write_tokens(self.stored))

    def refused(self) -> list[tuple[str, str, str]]:
        """Who, what and why, as the audit has it now, newest first."""
        self.refusals.flush()
        records, _ = self.member.store.read_local().audit_page(0, 0, "", b"", 1000)
        return [(each.actor, each.subject, each.error) for each in records if each.action == "refused"]

    def stop(self) -> None:
        self.member.stop()


def headers(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")] if token else []


def call(channel: grpc.Channel, rpc: Rpc, metadata: list[tuple[str, str]], request: Any = None) -> grpc.StatusCode:
    """How the call ends: OK at the first message of an answer."""
    asked = request if request is not None else rpc.request
    kind = {
        (False, False): "unary_unary",
        (False, True): "unary_stream",
        (True, False): "stream_unary",
        (True, True): "stream_stream",
    }[rpc.method.client_streaming, rpc.method.server_streaming]
    multi = getattr(channel, kind)(rpc.path, lambda message: message.SerializeToString(), bytes)
    sent = iter([asked]) if rpc.method.client_streaming else asked
    try:
        answer = multi(sent, metadata=metadata, timeout=PATIENCE_S)
        if rpc.method.server_streaming:
            _first(answer)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def _first(answer: Iterator[Any]) -> None:
    try:
        next(answer)
    except StopIteration:
        return
    finally:
        answer.cancel()  # type: ignore[attr-defined]
