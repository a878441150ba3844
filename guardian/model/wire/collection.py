"""The collectors' assignment: model <-> protobuf."""

from __future__ import annotations

from types import MappingProxyType

from guardian.model.collection import BrokerKey, BrokerMove, CollectionAssignment, CollectorSeat
from guardian.model.wire.fields import filled, read
from protos.guardian.v1 import collection_pb2 as pb


def assignment_to_proto(assignment: CollectionAssignment) -> pb.CollectionAssignment:
    """Owners by member and cluster: a thousand brokers are a few kilobytes."""
    shares: dict[str, dict[str, list[int]]] = {}
    for key in sorted(assignment.owners):
        shares.setdefault(assignment.owners[key], {}).setdefault(key.cluster, []).append(key.broker)
    return pb.CollectionAssignment(
        generation=assignment.generation,
        seats=[
            filled(
                pb.CollectorSeat(
                    member=member,
                    shares=[
                        pb.CollectorShare(cluster=name, brokers=ids) for name, ids in shares.get(member, {}).items()
                    ],
                ),
                seat,
            )
            for member, seat in sorted(assignment.seats.items())
        ],
        moves=[filled(filled(pb.BrokerMove(), key), move) for key, move in sorted(assignment.moves.items())],
    )


def assignment_from_proto(message: pb.CollectionAssignment) -> CollectionAssignment:
    return CollectionAssignment(
        generation=message.generation,
        seats=MappingProxyType({seat.member: read(CollectorSeat, seat) for seat in message.seats}),
        owners=MappingProxyType(
            {
                BrokerKey(share.cluster, broker): seat.member
                for seat in message.seats
                for share in seat.shares
                for broker in share.brokers
            }
        ),
        moves=MappingProxyType({read(BrokerKey, move): read(BrokerMove, move) for move in message.moves}),
    )
