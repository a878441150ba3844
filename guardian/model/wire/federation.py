"""Clusters and brokers: protobuf <-> model."""

from __future__ import annotations

from typing import cast

from guardian.model.topology import BrokerState, Cluster
from guardian.model.wire.fields import codec, known
from protos.guardian.v1 import federation_pb2 as pb

cluster_to_proto, cluster_from_proto = codec(Cluster, pb.Cluster)


def broker_state_to_proto(state: BrokerState) -> pb.BrokerState:
    return cast(pb.BrokerState, state.value)


def broker_state(broker_id: int, number: int) -> BrokerState:
    """Return the state of a number on the wire. Raises InvalidInput."""
    return known(BrokerState, f"state of broker {broker_id}", number)
