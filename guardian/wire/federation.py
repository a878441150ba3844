"""Clusters and brokers: protobuf <-> model."""

from __future__ import annotations

from guardian.errors import InvalidInput
from guardian.model.topology import Broker, BrokerState, Cluster, ClusterSecurity, SecurityProtocol
from protos.guardian.v1 import federation_pb2 as pb


def cluster_to_proto(cluster: Cluster) -> pb.Cluster:
    security = cluster.security
    return pb.Cluster(
        name=cluster.name,
        cluster_id=cluster.cluster_id,
        bootstrap=cluster.bootstrap,
        security=pb.ClusterSecurity(
            protocol=security.protocol.value,
            sasl_mechanism=security.sasl_mechanism,
            username=security.username,
            password_secret=security.password_secret,
            ca_secret=security.ca_secret,
        ),
        brokers=[
            pb.Broker(
                id=broker.id,
                rack=broker.rack,
                idc=broker.idc,
                reporter=broker.reporter,
                label=broker.label,
                state=broker.state.name,
                registered_reporter=broker.registered_reporter,
                metrics_url=broker.metrics_url,
            )
            for broker in cluster.brokers
        ],
        sampling_paused=cluster.sampling_paused,
        bootstrap_controllers=cluster.bootstrap_controllers,
    )


def cluster_from_proto(message: pb.Cluster) -> Cluster:
    """Raises InvalidInput when a field is wrong."""
    return Cluster(
        name=message.name,
        cluster_id=message.cluster_id,
        bootstrap=message.bootstrap,
        security=_security_from_proto(message.security),
        brokers=tuple(_broker_from_proto(broker) for broker in message.brokers),
        sampling_paused=message.sampling_paused,
        bootstrap_controllers=message.bootstrap_controllers,
    )


def _broker_from_proto(message: pb.Broker) -> Broker:
    return Broker(
        id=message.id,
        rack=message.rack,
        idc=message.idc,
        reporter=message.reporter,
        label=message.label,
        state=broker_state(message.id, message.state),
        registered_reporter=message.registered_reporter,
        metrics_url=message.metrics_url,
    )


def broker_state_to_proto(state: BrokerState) -> pb.BrokerState:
    known: dict[BrokerState, pb.BrokerState] = {
        BrokerState.ACTIVE: pb.ACTIVE,
        BrokerState.DRAINING: pb.DRAINING,
        BrokerState.MAINTENANCE: pb.MAINTENANCE,
    }
    return known[state]


def broker_state(broker_id: int, number: int) -> BrokerState:
    """Of a number on the wire. Raises InvalidInput."""
    try:
        return BrokerState(number)
    except ValueError:
        raise InvalidInput(
            f"state of broker {broker_id} is {number}: use one of {', '.join(state.name for state in BrokerState)}"
        ) from None


def _security_from_proto(message: pb.ClusterSecurity) -> ClusterSecurity:
    name = message.protocol or SecurityProtocol.PLAINTEXT.value
    try:
        protocol = SecurityProtocol(name)
    except ValueError:
        raise InvalidInput(
            f"security.protocol is {name!r}: use one of {', '.join(p.value for p in SecurityProtocol)}"
        ) from None
    return ClusterSecurity(
        protocol=protocol,
        sasl_mechanism=message.sasl_mechanism,
        username=message.username,
        password_secret=message.password_secret,
        ca_secret=message.ca_secret,
    )
