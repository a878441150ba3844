"""A member's services, over one channel that connects when it is first used."""

from __future__ import annotations

from functools import cached_property

import grpc

from guardian import tracing
from guardian.client.bearing import Bearing, bearing_channel
from guardian.client.credentials import ClientTls
from protos.guardian.v1 import (
    activity_pb2_grpc,
    events_pb2_grpc,
    federation_pb2_grpc,
    insight_pb2_grpc,
    placement_pb2_grpc,
    protection_pb2_grpc,
    raft_pb2_grpc,
    sessions_pb2_grpc,
    tickets_pb2_grpc,
    tiering_pb2_grpc,
)

MAX_MESSAGE_BYTES = 64 << 20

_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5000),  # that long one attempt may take: TLS over a slow line needs seconds
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Members are on loopback or near: a proxy for the web, as http_proxy names, knows nothing of them.
    ("grpc.enable_http_proxy", 0),
]


class Stubs:
    """`endpoint` is host:port; `tls` None: in plain text; `bearing` is shown with each call. Raises InvalidInput when
    the files of `tls` can't be read."""

    def __init__(self, endpoint: str, tls: ClientTls | None = None, bearing: Bearing | None = None) -> None:
        self.endpoint = endpoint
        traced = bearing_channel(_open(endpoint, tls), tracing.headers if tracing.is_on() else None)
        self._channel = bearing_channel(traced, bearing)

    @cached_property
    def federation(self) -> federation_pb2_grpc.FederationStub:
        return federation_pb2_grpc.FederationStub(self._channel)

    @cached_property
    def tickets(self) -> tickets_pb2_grpc.TicketsStub:
        return tickets_pb2_grpc.TicketsStub(self._channel)

    @cached_property
    def tiering(self) -> tiering_pb2_grpc.TieringStub:
        return tiering_pb2_grpc.TieringStub(self._channel)

    @cached_property
    def raft(self) -> raft_pb2_grpc.RaftStub:
        return raft_pb2_grpc.RaftStub(self._channel)

    @cached_property
    def insight(self) -> insight_pb2_grpc.InsightStub:
        return insight_pb2_grpc.InsightStub(self._channel)

    @cached_property
    def sessions(self) -> sessions_pb2_grpc.SessionsStub:
        return sessions_pb2_grpc.SessionsStub(self._channel)

    @cached_property
    def activity(self) -> activity_pb2_grpc.ActivityStub:
        return activity_pb2_grpc.ActivityStub(self._channel)

    @cached_property
    def placement(self) -> placement_pb2_grpc.PlacementStub:
        return placement_pb2_grpc.PlacementStub(self._channel)

    @cached_property
    def protection(self) -> protection_pb2_grpc.ProtectionStub:
        return protection_pb2_grpc.ProtectionStub(self._channel)

    @cached_property
    def events(self) -> events_pb2_grpc.EventsStub:
        return events_pb2_grpc.EventsStub(self._channel)

    def close(self) -> None:
        self._channel.close()


def _open(endpoint: str, tls: ClientTls | None) -> grpc.Channel:
    if tls is None:
        return grpc.insecure_channel(endpoint, options=_CHANNEL_OPTIONS)
    return grpc.secure_channel(endpoint, tls.credentials(), options=_CHANNEL_OPTIONS)
