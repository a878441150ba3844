"""Kafka's protocol at a listener for each broker, and one for the controller, of a simulated cluster.

Every kind of request that Guardian sends is answered from one truth (truth.py), so that tickets run and plans are made
as on real brokers. Whoever asks for anything else learns by ApiVersions that it is not there, as from a broker too old
for it. Nobody produces or consumes here.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from deploy.local.fleet.protocol import access, cluster, groups, moves, settings, topics
from deploy.local.fleet.protocol.asked import CONTROLLER, NO_ERROR, Asked, Handler, Values
from deploy.local.fleet.shape import ClusterShape
from deploy.local.fleet.truth import Truth, truth_of
from guardian.kafka.kafka_python import ApiVersionsRequest, MetadataRequest, answer_to

_MAX_REQUEST_BYTES = 16 << 20
_LENGTH = struct.Struct(">i")
_KEY_AND_VERSION = struct.Struct(">hh")
_UNSUPPORTED_VERSION = 35
_FIRST_WITH_FEATURES = 3
_SUBJECTS = (cluster, moves, settings, topics, access, groups)
HANDLERS: Mapping[Any, Handler] = MappingProxyType(
    {kind: handler for subject in _SUBJECTS for kind, handler in subject.HANDLERS.items()}
)
_BY_KEY: Mapping[int, tuple[Any, Handler]] = {kind.API_KEY: (kind, handler) for kind, handler in HANDLERS.items()}


def _versions(asked: Asked, version: int, error: int = NO_ERROR) -> Values:
    """Say what is answered, and in which versions."""
    most = {ApiVersionsRequest: ApiVersionsRequest.max_version} | {
        kind: groups.MOST_VERSIONS.get(kind, kind.max_version) for kind in HANDLERS
    }
    told: Values = {
        "error_code": error,
        "api_keys": [
            {"api_key": kind.API_KEY, "min_version": 0, "max_version": last}
            for kind, last in sorted(most.items(), key=lambda each: int(each[0].API_KEY))
        ],
    }
    return told | cluster.features(asked) if version >= _FIRST_WITH_FEATURES else told


class SimulatedKafka:
    """Answers for one cluster. What it has is worked out when it is first asked about."""

    def __init__(self, shape: ClusterShape, truth: Truth | None = None) -> None:
        self._shape = shape
        self._given = truth
        self._written: tuple[tuple[int, int], bytes] = ((-1, -1), b"")
        found = {broker.id: broker.listener for broker in shape.brokers} | {CONTROLLER: shape.controller}
        self._addresses = {node: _host_and_port(where) for node, where in found.items()}

    @cached_property
    def truth(self) -> Truth:
        return self._given if self._given is not None else truth_of(self._shape)

    async def serve(self, stack: AsyncExitStack) -> None:
        """Listens until the stack ends. Raises OSError when an address is taken."""
        for node, (host, port) in self._addresses.items():
            server = await asyncio.start_server(partial(self._connected, node), host, port)
            stack.callback(server.close)

    def answer(self, node: int, request: bytes) -> bytes | None:
        """The answer of a broker, or the controller, to a request, both without their length; None to what is no
        request that is answered here, and from who is down."""
        key, version = _KEY_AND_VERSION.unpack_from(request)
        asked = Asked(self.truth, node, self._addresses)
        if not asked.is_answered:
            return None
        if key == ApiVersionsRequest.API_KEY:
            return self._told_versions(asked, request, version)
        if key not in _BY_KEY:
            return None
        kind, handler = _BY_KEY[key]
        read = kind.decode(request, version=version, header=True)
        if kind is MetadataRequest and read.topics is None and asked.hears_controllers:
            return self._told_all(asked, read)
        return bytes(answer_to(read, handler(asked, read)).encode(header=True))

    def _told_all(self, asked: Asked, read: Any) -> bytes:
        """The state of all partitions, which takes a while to write down: written once, while nothing changes."""
        key = (asked.truth.changes, read.API_VERSION)
        if self._written[0] != key:
            answer = answer_to(read, HANDLERS[MetadataRequest](asked, read))
            self._written = (key, bytes(answer.encode(header=True)))
        return bytes(_LENGTH.pack(read.header.correlation_id) + self._written[1][_LENGTH.size :])

    @staticmethod
    def _told_versions(asked: Asked, request: bytes, version: int) -> bytes:
        if version > ApiVersionsRequest.max_version:
            # A client that is newer than this asks again with the version that it is told.
            read = ApiVersionsRequest(version=0)
            read.with_header(correlation_id=int.from_bytes(request[4:8], signed=True))
            values = _versions(asked, 0, _UNSUPPORTED_VERSION)
        else:
            read = ApiVersionsRequest.decode(request, version=version, header=True)
            values = _versions(asked, version)
        return bytes(answer_to(read, values).encode(header=True))

    async def _connected(self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: what is no request of these ends it."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                if not _KEY_AND_VERSION.size <= length <= _MAX_REQUEST_BYTES:
                    return
                response = self.answer(node, await reader.readexactly(length))
                if response is None:
                    return
                writer.write(_LENGTH.pack(len(response)) + response)
                await writer.drain()
        except (EOFError, OSError, ValueError, IndexError, struct.error):
            return  # the client has gone, or speaks something else
        except asyncio.CancelledError:
            return  # the fleet ends: asyncio's streams would tell of a connection that is still open as of a failure
        finally:
            writer.close()


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
