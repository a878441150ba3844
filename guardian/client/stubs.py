"""A member's services, over one channel that connects when it is first used."""

from __future__ import annotations

import grpc

from guardian import tracing
from guardian.client.bearing import Bearing, bearing_channel
from guardian.client.credentials import ClientTls
from protos.guardian.v1 import (
    activity_pb2_grpc,
    events_pb2_grpc,
    federation_pb2_grpc,
    identities_pb2_grpc,
    insight_pb2_grpc,
    placement_pb2_grpc,
    planning_pb2_grpc,
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
        self.federation = federation_pb2_grpc.FederationStub(self._channel)
        self.tickets = tickets_pb2_grpc.TicketsStub(self._channel)
        self.tiering = tiering_pb2_grpc.TieringStub(self._channel)
        self.raft = raft_pb2_grpc.RaftStub(self._channel)
        self.insight = insight_pb2_grpc.InsightStub(self._channel)
        self.sessions = sessions_pb2_grpc.SessionsStub(self._channel)
        self.identities = identities_pb2_grpc.IdentitiesStub(self._channel)
        self.activity = activity_pb2_grpc.ActivityStub(self._channel)
        self.placement = placement_pb2_grpc.PlacementStub(self._channel)
        self.protection = protection_pb2_grpc.ProtectionStub(self._channel)
        self.planning = planning_pb2_grpc.PlanningStub(self._channel)
        self.events = events_pb2_grpc.EventsStub(self._channel)

    def close(self) -> None:
        self._channel.close()


def _open(endpoint: str, tls: ClientTls | None) -> grpc.Channel:
    if tls is None:
        return grpc.insecure_channel(endpoint, options=_CHANNEL_OPTIONS)
    return grpc.secure_channel(endpoint, tls.credentials(), options=_CHANNEL_OPTIONS)
