"""The collectors' assignment: model <-> protobuf."""

from __future__ import annotations

from types import MappingProxyType

from guardian.model.collection import BrokerKey, BrokerMove, CollectionAssignment, CollectorSeat
from protos.guardian.v1 import collection_pb2 as pb


def assignment_to_proto(assignment: CollectionAssignment) -> pb.CollectionAssignment:
    """Owners by member and cluster: a thousand brokers are a few kilobytes."""
    shares: dict[str, dict[str, list[int]]] = {}
    for key in sorted(assignment.owners):
        shares.setdefault(assignment.owners[key], {}).setdefault(key.cluster, []).append(key.broker)
    return pb.CollectionAssignment(
        generation=assignment.generation,
        seats=[
            pb.CollectorSeat(
                member=member,
                incarnation=seat.incarnation,
                acked=seat.acked,
                gone_since_ms=seat.gone_since_ms,
                shares=[
                    pb.CollectorShare(cluster=cluster, brokers=brokers)
                    for cluster, brokers in shares.get(member, {}).items()
                ],
            )
            for member, seat in sorted(assignment.seats.items())
        ],
        moves=[
            pb.BrokerMove(cluster=key.cluster, broker=key.broker, to=move.to, since=move.since)
            for key, move in sorted(assignment.moves.items())
        ],
    )


def assignment_from_proto(message: pb.CollectionAssignment) -> CollectionAssignment:
    return CollectionAssignment(
        generation=message.generation,
        seats=MappingProxyType(
            {seat.member: CollectorSeat(seat.incarnation, seat.acked, seat.gone_since_ms) for seat in message.seats}
        ),
        owners=MappingProxyType(
            {
                BrokerKey(share.cluster, broker): seat.member
                for seat in message.seats
                for share in seat.shares
                for broker in share.brokers
            }
        ),
        moves=MappingProxyType(
            {BrokerKey(move.cluster, move.broker): BrokerMove(move.to, move.since) for move in message.moves}
        ),
    )
