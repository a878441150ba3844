"""Clients that use registers and ids of a group under faults, and write down what they saw: see tests/linearizability.

Run as a process of its own, many clients in one event loop:

    python recorder.py '{"endpoints": ["10.1.1.1:9750"], "clients": 16, "operations": 5000, "name": "a", "output": "x"}'

A register is the description of a tenant, an id sequence is a kind of AllocateIds with a holder for each cluster id.
Every operation asks a member chosen at random. One that did not answer is asked more rarely for a while, but still:
what a member that was cut off answers must be in the history.
Half of the clients have sessions and retry a write with the same sequence until they know; the others try once. What
was never learned is `unknown`: an answer that is lost is no proof of anything.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

import grpc

from protos.guardian.v1 import (
    federation_pb2,
    federation_pb2_grpc,
    sessions_pb2,
    sessions_pb2_grpc,
    tiering_pb2,
    tiering_pb2_grpc,
)
from tests.integration.faults.progress import tell

# A read that takes longer is given up; so is an attempt to write. A member that was cut off holds clients up so long.
ATTEMPT_S = 1.0
# How long a client with a session goes on asking what became of a write.
RETRY_S = 12.0
_PAUSE_S = 0.05
# How long a member that did not answer is asked by this share of the operations only.
_AVOIDED_S = 1.0
_ASKED_ANYWAY = 0.03
_WINDOW = 4
_CHANNEL_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 3000),  # that long one attempt may take, on a machine that is busy
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
]
# The errors of guardian.errors that say: not carried out, and it will not be.
_NOT_APPLIED = ("Unavailable", "Overloaded")
# What gRPC itself says when it has sent nothing.
_NOT_SENT = "failed to connect to all addresses"
_KINDS = {"topic": tiering_pb2.TOPIC_ID, "segment": tiering_pb2.SEGMENT_ID}


@dataclass(frozen=True, slots=True)
class Settings:
    """`operations` is how many are made by all clients together, besides those that failed for sure; `registers` and
    `holders` how many keys they share. `seed` repeats what is asked, not what happens. While the file `goes_on` is
    there, more are made."""

    endpoints: list[str]
    output: str
    name: str
    clients: int = 16
    operations: int = 10_000
    registers: int = 64
    holders: int = 8
    seed: int = 0
    deadline_s: float = 600.0
    goes_on: str = ""


class Attempt(Enum):
    ANSWERED = "answered"
    REFUSED = "refused"  # answered, too: the compare-and-set did not match
    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"
    SESSION_LOST = "session lost"


@dataclass(slots=True)
class Member:
    """`avoided_until` is by the monotonic clock, in seconds."""

    channel: grpc.aio.Channel
    avoided_until: float = 0.0


@dataclass(slots=True)
class Shared:
    """What the clients of one process share."""

    settings: Settings
    members: list[Member]
    file: TextIO
    deadline: float
    left: int
    revisions: dict[str, int] = field(default_factory=dict)
    recorded: int = 0

    def record(self, operation: dict[str, Any]) -> None:
        self.file.write(json.dumps(operation) + "\n")
        self.recorded += 1

    def has_more(self) -> bool:
        goes_on = self.settings.goes_on
        return time.monotonic() < self.deadline and (self.left > 0 or bool(goes_on and Path(goes_on).exists()))


class Client:
    def __init__(self, shared: Shared, number: int) -> None:
        self.name = f"{shared.settings.name}{number}"
        self._shared = shared
        self._random = random.Random(f"{shared.settings.seed}-{self.name}")  # noqa: S311  load, not secrets
        self._has_session = number % 2 == 0
        self._session_id = 0
        self._sequence = 0
        self._values = 0

    async def run(self) -> None:
        while self._shared.has_more():
            self._shared.left -= 1
            op = self._random.choices(
                (self._put, self._get, self._cas, self._alloc, self._read_max), (25, 40, 20, 10, 5)
            )[0]
            status = await op()
            if status == "fail":
                self._shared.left += 1  # it says nothing: another one is made instead
            if status != "ok":
                await asyncio.sleep(_PAUSE_S)

    async def _put(self) -> str:
        key, value = self._register(), self._value()
        reply, status, times = await self._write(_change(key, value, None))
        return self._done("put", key, {"value": value}, _revision(reply), status, times)

    async def _cas(self) -> str:
        key, value = self._register(), self._value()
        expected = self._shared.revisions.get(key, 0)
        reply, status, times = await self._write(_change(key, value, expected))
        return self._done("cas", key, {"value": value, "expected": expected}, _revision(reply), status, times)

    async def _get(self) -> str:
        key = self._register()
        request = federation_pb2.ListFederationRequest(table=federation_pb2.TENANTS, name=key)
        call_ns = time.monotonic_ns()
        outcome, reply = await self._attempt(request)
        times = (call_ns, time.monotonic_ns())
        if outcome is not Attempt.ANSWERED:
            return self._done("get", key, None, None, "fail", times)
        found = [(entry.tenant.description, entry.revision) for entry in reply.entries if entry.tenant.name == key]
        value, revision = found[0] if found else (None, 0)
        return self._done("get", key, None, {"value": value, "revision": revision}, "ok", times)

    async def _alloc(self) -> str:
        kind, holder = self._holder()
        count = self._random.randint(1, 5)
        request = tiering_pb2.AllocateIdsRequest(cluster_id=holder, kind=_KINDS[kind], count=count)
        reply, status, times = await self._write(request)
        output = {"first": reply.first} if reply is not None else None
        return self._done("alloc", f"{kind}/{holder}", {"count": count}, output, status, times)

    async def _read_max(self) -> str:
        kind, holder = self._holder()
        request = tiering_pb2.GetIdsRequest(cluster_id=holder, kind=_KINDS[kind])
        call_ns = time.monotonic_ns()
        outcome, reply = await self._attempt(request)
        times = (call_ns, time.monotonic_ns())
        is_ok = outcome is Attempt.ANSWERED
        output = {"highest": reply.highest} if is_ok else None
        return self._done("read_max", f"{kind}/{holder}", None, output, "ok" if is_ok else "fail", times)

    async def _write(self, request: Any) -> tuple[Any, str, tuple[int, int]]:
        """The reply (None: there is none), the status, and when it was called and returned."""
        if self._has_session and not self._session_id:
            await self._open_session()
        metadata = self._next_in_session()
        call_ns = time.monotonic_ns()
        give_up = time.monotonic() + (RETRY_S if metadata else 0)
        status, reply = "fail", None
        while True:
            outcome, answer = await self._attempt(request, metadata)
            if outcome in (Attempt.ANSWERED, Attempt.REFUSED):
                status, reply = "ok", answer
                break
            if outcome in (Attempt.UNKNOWN, Attempt.SESSION_LOST):
                status = "unknown"
            if outcome is Attempt.SESSION_LOST:
                self._session_id = 0
            if outcome is Attempt.SESSION_LOST or time.monotonic() >= give_up:
                break
            await asyncio.sleep(_PAUSE_S)
        return reply, status, (call_ns, time.monotonic_ns())

    def _next_in_session(self) -> tuple[tuple[str, bytes], ...]:
        if not self._session_id:
            return ()
        self._sequence += 1
        # What was given up is not asked for again: its answer may be forgotten, and it may not be carried out any more.
        reference = sessions_pb2.SessionRef(id=self._session_id, sequence=self._sequence, answered_below=self._sequence)
        return (("guardian-session-bin", reference.SerializeToString()),)

    async def _open_session(self) -> None:
        request = sessions_pb2.OpenSessionRequest(window=_WINDOW, owner=self.name)
        outcome, reply = await self._attempt(request)
        if outcome is Attempt.ANSWERED:
            self._session_id, self._sequence = reply.session_id, 0

    async def _attempt(self, request: Any, metadata: tuple[tuple[str, bytes], ...] = ()) -> tuple[Attempt, Any]:
        now = time.monotonic()
        members = self._shared.members
        if self._random.random() >= _ASKED_ANYWAY:
            members = [member for member in members if member.avoided_until < now] or members
        member = self._random.choice(members)
        outcome, reply = await _attempt(member.channel, request, metadata)
        if outcome in (Attempt.NOT_APPLIED, Attempt.UNKNOWN):
            member.avoided_until = time.monotonic() + _AVOIDED_S
        return outcome, reply

    def _register(self) -> str:
        return f"r{self._random.randrange(self._shared.settings.registers)}"

    def _holder(self) -> tuple[str, str]:
        return self._random.choice(list(_KINDS)), f"holder-{self._random.randrange(self._shared.settings.holders)}"

    def _value(self) -> str:
        self._values += 1
        return f"{self.name}-{self._values}"

    def _done(
        self,
        op: str,
        key: str,
        input_: dict[str, Any] | None,
        output: dict[str, Any] | None,
        status: str,
        times: tuple[int, int],
    ) -> str:
        if output and output.get("revision"):
            self._shared.revisions[key] = output["revision"]
        names = {"client": self.name, "op": op, "key": key, "input": input_, "output": output}
        self._shared.record({**names, "call_ns": times[0], "return_ns": times[1], "status": status})
        return status


def _change(key: str, value: str, expected: int | None) -> federation_pb2.ChangeFederationRequest:
    tenant = federation_pb2.Tenant(name=key, owner="faults", description=value)
    change = federation_pb2.FederationChange(
        put=federation_pb2.FederationEntry(tenant=tenant), expected_revision=expected
    )
    return federation_pb2.ChangeFederationRequest(changes=[change])


def _revision(reply: Any) -> dict[str, Any] | None:
    if reply is None:
        return None
    return {"revision": reply.revisions[0] if reply.revisions else 0}


_METHODS: dict[type, Callable[[grpc.aio.Channel], Any]] = {
    sessions_pb2.OpenSessionRequest: lambda channel: sessions_pb2_grpc.SessionsStub(channel).OpenSession,
    federation_pb2.ChangeFederationRequest: lambda channel: (
        federation_pb2_grpc.FederationStub(channel).ChangeFederation
    ),
    federation_pb2.ListFederationRequest: lambda channel: federation_pb2_grpc.FederationStub(channel).ListFederation,
    tiering_pb2.AllocateIdsRequest: lambda channel: tiering_pb2_grpc.TieringStub(channel).AllocateIds,
    tiering_pb2.GetIdsRequest: lambda channel: tiering_pb2_grpc.TieringStub(channel).GetIds,
}


async def _attempt(
    channel: grpc.aio.Channel, request: Any, metadata: tuple[tuple[str, bytes], ...]
) -> tuple[Attempt, Any]:
    """One call at one member. Raises AssertionError when the group says that the call itself is wrong."""
    try:
        method = _METHODS[type(request)](channel)
        return Attempt.ANSWERED, await method(request, timeout=ATTEMPT_S, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        code = error.code()
        if code is grpc.StatusCode.UNAVAILABLE and (error.details() or "").startswith(_NOT_SENT):
            return Attempt.NOT_APPLIED, None
        said = dict(error.trailing_metadata() or ()).get("guardian-error", "")
        if code is grpc.StatusCode.ABORTED:
            return Attempt.REFUSED, federation_pb2.ChangeFederationReply()
        if code is grpc.StatusCode.DATA_LOSS and said == "SessionExpired":
            return Attempt.SESSION_LOST, None
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED):
            return (Attempt.NOT_APPLIED if said in _NOT_APPLIED else Attempt.UNKNOWN), None
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and said in _NOT_APPLIED:
            return Attempt.NOT_APPLIED, None
        raise AssertionError(f"{type(request).__name__} was answered with {code}: {error.details()}") from error


async def _tell(shared: Shared) -> None:
    while True:
        await asyncio.sleep(5.0)
        tell(f"{shared.settings.name}: {shared.recorded} operations")


async def record(settings: Settings) -> None:
    """Makes the operations, or as many as come about before the deadline, and writes them to `output`."""
    members = [Member(grpc.aio.insecure_channel(at, options=_CHANNEL_OPTIONS)) for at in settings.endpoints]
    with Path(settings.output).open("w") as file:
        shared = Shared(settings, members, file, time.monotonic() + settings.deadline_s, settings.operations)
        telling = asyncio.create_task(_tell(shared))
        await asyncio.gather(*(Client(shared, number).run() for number in range(settings.clients)))
        telling.cancel()
    for member in members:
        await member.channel.close()


if __name__ == "__main__":
    asyncio.run(record(Settings(**json.loads(sys.argv[1]))))
