"""One write or read at one member, and what became of it, for tests that ask a certain member."""

from __future__ import annotations

import grpc

from protos.guardian.v1 import federation_pb2, federation_pb2_grpc

TIMEOUT_S = 4.0


def put(channel: grpc.Channel, name: str, value: str, timeout_s: float = TIMEOUT_S) -> int:
    """Sets a register and returns its revision; raises grpc.RpcError."""
    tenant = federation_pb2.Tenant(name=name, owner="faults", description=value)
    change = federation_pb2.FederationChange(put=federation_pb2.FederationEntry(tenant=tenant))
    request = federation_pb2.ChangeFederationRequest(changes=[change])
    return federation_pb2_grpc.FederationStub(channel).ChangeFederation(request, timeout=timeout_s).revisions[0]


def get(channel: grpc.Channel, name: str, timeout_s: float = TIMEOUT_S) -> str | None:
    """A linearizable read of a register; None: it is not there. Raises grpc.RpcError."""
    request = federation_pb2.ListFederationRequest(table=federation_pb2.TENANTS, name=name)
    entries = federation_pb2_grpc.FederationStub(channel).ListFederation(request, timeout=timeout_s).entries
    return entries[0].tenant.description if entries else None


def refusal_of_put(channel: grpc.Channel, name: str, value: str) -> grpc.StatusCode | None:
    """How a write was refused; None: it was acknowledged."""
    try:
        put(channel, name, value)
    except grpc.RpcError as error:
        return error.code()
    return None


def refusal_of_get(channel: grpc.Channel, name: str) -> grpc.StatusCode | None:
    """How a read was refused; None: it was answered."""
    try:
        get(channel, name)
    except grpc.RpcError as error:
        return error.code()
    return None
