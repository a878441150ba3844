"""Who collects which broker: one record. What becomes of it is decided in guardian.collection.rules.assigning."""

from __future__ import annotations

from guardian.errors import Conflict, InvalidInput
from guardian.model.collection import CollectionAssignment
from guardian.model.wire.collection import assignment_from_proto, assignment_to_proto
from metastore import keys
from metastore.records import Put, Record
from metastore.store import ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import collection_pb2, records_pb2


def handle_join(command: records_pb2.JoinCollection, view: ReadView, _proposal: Proposal) -> Decision:
    """A process takes its member's seat."""
    if not command.member or not command.incarnation:
        raise InvalidInput("member or incarnation is empty: name the member and its process")
    now = stored_assignment(view)
    return _records(now, now.joined(command.member, command.incarnation)), records_pb2.CommandReply()


def handle_ack(command: records_pb2.AckCollection, view: ReadView, _proposal: Proposal) -> Decision:
    """A process has acted on a generation. Refused when another one has taken its seat."""
    now = stored_assignment(view)
    then = now.acknowledged(command.member, command.incarnation, command.generation)
    return _records(now, then), records_pb2.CommandReply()


def handle_put(command: records_pb2.PutCollection, view: ReadView, _proposal: Proposal) -> Decision:
    """The leader's decision, made from the generation before."""
    now = stored_assignment(view)
    then = assignment_from_proto(command.assignment)
    if then.generation != now.generation + 1:
        raise Conflict(f"generation is {then.generation}, but {now.generation} is stored: decide anew")
    return _records(now, then), records_pb2.CommandReply()


def stored_assignment(view: ReadView) -> CollectionAssignment:
    """The one that counts; an empty one before the first."""
    value = view.get(keys.collection())
    return assignment_from_proto(collection_pb2.CollectionAssignment.FromString(value or b""))


def _records(now: CollectionAssignment, then: CollectionAssignment) -> list[Record]:
    if then is now:
        return []
    return [Put(keys.collection(), assignment_to_proto(then).SerializeToString(deterministic=True))]
