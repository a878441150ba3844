"""The recorder and the judge together, against a store in this process: one that is sound though it loses answers,
and ones that break a promise each, which must be found out."""

from __future__ import annotations

import asyncio
import collections
import copy
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from protos.guardian.v1 import federation_pb2, sessions_pb2, tiering_pb2
from tests.integration.faults import recorder
from tests.integration.faults.judge import LINEARIZABLE, VIOLATION, judge

pytestmark = pytest.mark.integration

_LOST_ANSWERS = 0.05
_LATE = 0.02
_STALE = 0.02
_STALE_OF_FEW = 0.2  # ids are asked for so rarely that a smaller share may break no promise in a whole history
_FAULTS = ("stale reads", "sessions are ignored", "cas is put", "ids again", "lost write", "read_max behind")


class Store:
    """Registers, ids and sessions under one lock. Some answers get lost, and some writes happen much later."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.random = random.Random(7)  # noqa: S311  load, not secrets
        self.lock = threading.Lock()
        self.index = 0
        self.registers: dict[str, tuple[str, int]] = {}
        self.older: dict[str, tuple[str, int]] = {}
        self.ids: collections.Counter[int] = collections.Counter()
        self.highest: collections.Counter[tuple[str, int]] = collections.Counter()
        self.answers: dict[tuple[int, int], Any] = {}
        self.below: collections.Counter[int] = collections.Counter()
        self.late: list[Any] = []

    def open_session(self, request: Any, _context: grpc.ServicerContext) -> sessions_pb2.OpenSessionReply:
        with self.lock:
            self.index += 1
            return sessions_pb2.OpenSessionReply(session_id=self.index, window=request.window)

    def list_federation(self, request: Any, _context: grpc.ServicerContext) -> federation_pb2.ListFederationReply:
        with self.lock:
            is_stale = self.fault == "stale reads" and self.random.random() < _STALE
            found = (self.older if is_stale else self.registers).get(request.name)
        reply = federation_pb2.ListFederationReply()
        if found:
            tenant = federation_pb2.Tenant(name=request.name, description=found[0])
            reply.entries.append(federation_pb2.FederationEntry(tenant=tenant, revision=found[1]))
        return reply

    def get_ids(self, request: Any, _context: grpc.ServicerContext) -> tiering_pb2.GetIdsReply:
        with self.lock:
            highest = self.highest[request.cluster_id, request.kind]
            is_behind = self.fault == "read_max behind" and self.random.random() < _STALE_OF_FEW
        return tiering_pb2.GetIdsReply(highest=max(0, highest - 10) if is_behind else highest)

    def write(self, request: Any, context: grpc.ServicerContext) -> Any:
        metadata: dict[str, Any] = dict(context.invocation_metadata())
        session = sessions_pb2.SessionRef.FromString(metadata.get("guardian-session-bin", b""))
        key = (session.id, session.sequence)
        with self.lock:
            draw = self.random.random()
            self.below[session.id] = max(self.below[session.id], session.answered_below)
            if draw < _LATE and not session.id:
                self.late.append(copy.deepcopy(request))
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "nobody knows yet")
            if self.late and draw > 1 - _LATE:
                self._apply(self.late.pop(0))
            if session.id and key in self.answers and self.fault != "sessions are ignored":
                reply = self.answers[key]
            elif session.id and session.sequence < self.below[session.id]:
                context.abort(grpc.StatusCode.DATA_LOSS, "that was answered")
            else:
                reply = self.answers[key] = self._apply(request)
        if draw < _LATE + _LOST_ANSWERS:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer got lost")
        if reply is None:
            context.abort(grpc.StatusCode.ABORTED, "another revision")
        return reply

    def _apply(self, request: Any) -> Any:
        self.index += 1
        is_of_ids = isinstance(request, tiering_pb2.AllocateIdsRequest)
        is_wrong = self.random.random() < (_STALE_OF_FEW if is_of_ids else _STALE)
        if is_of_ids:
            first = self.ids[request.kind] + 1
            self.highest[request.cluster_id, request.kind] = first + request.count - 1
            if not (self.fault == "ids again" and is_wrong):
                self.ids[request.kind] += request.count
            return tiering_pb2.AllocateIdsReply(first=first)
        [change] = request.changes
        tenant = change.put.tenant
        stored = self.registers.get(tenant.name, ("", 0))
        is_checked = change.HasField("expected_revision") and self.fault != "cas is put"
        if is_checked and change.expected_revision != stored[1]:
            return None
        if tenant.name in self.registers:
            self.older[tenant.name] = stored
        if not (self.fault == "lost write" and is_wrong):
            self.registers[tenant.name] = (tenant.description, self.index)
        return federation_pb2.ChangeFederationReply(revisions=[self.index])


def _handlers(store: Store) -> list[grpc.GenericRpcHandler]:
    methods: dict[str, dict[str, tuple[Any, Any]]] = {
        "Sessions": {"OpenSession": (sessions_pb2.OpenSessionRequest, store.open_session)},
        "Federation": {
            "ChangeFederation": (federation_pb2.ChangeFederationRequest, store.write),
            "ListFederation": (federation_pb2.ListFederationRequest, store.list_federation),
        },
        "Tiering": {
            "AllocateIds": (tiering_pb2.AllocateIdsRequest, store.write),
            "GetIds": (tiering_pb2.GetIdsRequest, store.get_ids),
        },
    }
    return [
        grpc.method_handlers_generic_handler(
            f"guardian.v1.{service}",
            {
                name: grpc.unary_unary_rpc_method_handler(
                    call, request.FromString, lambda reply: bytes(reply.SerializeToString())
                )
                for name, (request, call) in calls.items()
            },
        )
        for service, calls in methods.items()
    ]


@pytest.fixture
def serve() -> Iterator[Any]:
    servers = []

    def start(store: Store) -> str:
        server = grpc.server(ThreadPoolExecutor(16))
        server.add_generic_rpc_handlers(_handlers(store))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(0).wait()


def _record(endpoint: str, output: Path) -> None:
    settings = recorder.Settings([endpoint], str(output), "c", clients=16, operations=4000, registers=8, holders=2)
    asyncio.run(recorder.record(settings))


def test_a_sound_store_that_loses_answers_and_is_late_passes(tmp_path: Path, serve: Any) -> None:
    history = tmp_path / "sound.jsonl"
    _record(serve(Store()), history)
    verdict = judge([history])
    assert verdict.code == LINEARIZABLE, verdict.text
    assert "4000 operations" in verdict.text
    assert " 0 unknown" not in verdict.text


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_broken_promise_is_found_out(tmp_path: Path, serve: Any, fault: str) -> None:
    history = tmp_path / "broken.jsonl"
    _record(serve(Store(fault)), history)
    verdict = judge([history])
    assert verdict.code == VIOLATION, verdict.text
