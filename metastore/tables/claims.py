"""Who may append to a partition: the writer with its highest fencing token.

A writer claims the partitions that it leads and gets a token for each; with a lower one than the highest, events are
refused. Tokens only go up, whoever claims and in whichever mode, and 0 means: never claimed.

    claim order   each claim gets the next number, the last claimer wins
    verified      the proposer found out from other brokers which leader epoch the claimant has. A higher epoch than the
                  highest wins, a lower one is refused. The token is epoch + 1 (Kafka's epochs begin at 0), or the next
                  number where claims in claim order have been made before.

The same epoch again:
- from the same broker: the same token, also for another writer instance. Mostly it is a repetition whose answer was
  lost. If it is a restarted broker: Kafka's controller lets one process at a time have a broker id, so the earlier
  instance is gone. Refusing would keep the new one out until the next election. A new token would let a late repetition
  of the earlier instance's claim fence the living one.
- from another broker: refused. Kafka elects one leader for an epoch, so one of the two findings was wrong, and the
  earlier one is what other events already relied on.

Once verified, a partition can't be claimed in claim order: there anybody could fence its leader.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from guardian.errors import InvalidInput
from metastore import keys
from metastore import segment_keys as sk
from metastore.keys import PartitionId
from metastore.records import Record
from metastore.store import ReadView
from metastore.tables.partition_heads import Getter, Head, partition_from_proto, stored_head, topic_fault
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2, tiering_pb2

MAX_WRITER_CHARS = 200
MAX_TOPIC_CHARS = 249  # Kafka's own limit
MAX_CLAIMS = 10_000  # partitions in one command
MAX_EPOCH = (1 << 31) - 1
# What earlier versions stored: epoch (-1: in claim order), broker id, writer. Its first byte is 00 or ff, with which no
# serialised PartitionClaim begins.
_EARLIER = struct.Struct(">qi")
_EARLIER_FIRST_BYTES = (0x00, 0xFF)


def claim(command: records_pb2.ClaimPartitions, view: ReadView, proposal: Proposal) -> Decision:
    """Gives a token for each partition, or says why not."""
    request = command.request
    epochs = _epochs(command)
    changes = _Changes(view)
    claims = [
        _claim(partition, _asked(request, topic, epoch, proposal), changes)
        for partition, topic, epoch in zip(request.partitions, _topics(request), epochs, strict=True)
    ]
    reply = records_pb2.CommandReply(claims=tiering_pb2.ClaimPartitionsReply(claims=claims))
    return changes.records(), reply


def require_claimable(request: tiering_pb2.ClaimPartitionsRequest) -> None:
    """Raises InvalidInput when the request as a whole is malformed or over the limits."""
    if not request.partitions:
        raise InvalidInput("partitions is empty: claim at least one")
    if len(request.partitions) > MAX_CLAIMS:
        raise InvalidInput(f"{len(request.partitions)} partitions are claimed: claim at most {MAX_CLAIMS} at a time")
    if len(request.writer) > MAX_WRITER_CHARS:
        raise InvalidInput(f"writer has {len(request.writer)} characters: use up to {MAX_WRITER_CHARS}")
    if request.mode not in (tiering_pb2.CLAIM_ORDER, tiering_pb2.VERIFIED):
        raise InvalidInput(f"mode is {request.mode}: use CLAIM_ORDER or VERIFIED")
    if len(request.topics) not in (0, len(request.partitions)):
        raise InvalidInput(
            f"there are {len(request.topics)} topics for {len(request.partitions)} partitions: "
            f"name one for each, or none at all"
        )
    longest = max(map(len, request.topics), default=0)
    if longest > MAX_TOPIC_CHARS:
        raise InvalidInput(f"a name in topics has {longest} characters: use up to {MAX_TOPIC_CHARS}")


def stored_claim(view: Getter, partition: PartitionId) -> tiering_pb2.PartitionClaim | None:
    """The partition's last claim; None when it was never claimed. Its token is missing in one of an earlier version."""
    value = view.get(sk.CLAIM + sk.partition(partition))
    return claim_from_bytes(value) if value is not None else None


def claim_from_bytes(value: bytes) -> tiering_pb2.PartitionClaim:
    """Decode the claim that is stored under a partition's name."""
    if value[0] not in _EARLIER_FIRST_BYTES:
        return tiering_pb2.PartitionClaim.FromString(value)
    epoch, broker_id = _EARLIER.unpack_from(value)
    claim = tiering_pb2.PartitionClaim(broker_id=broker_id, writer=value[_EARLIER.size :].decode())
    if epoch >= 0:
        claim.leader_epoch = epoch
    return claim


class _Changes:
    """The view with this command's changes on top, since it may name a partition or topic twice."""

    def __init__(self, view: Getter) -> None:
        self._view = view
        self._written: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._written.get(key) or self._view.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._written[key] = value

    def records(self) -> list[Record]:
        return [*self._written.items()]


def _epochs(command: records_pb2.ClaimPartitions) -> list[int | None]:
    """Return for each partition its leader's epoch, None in claim order. Raises InvalidInput."""
    request, epochs = command.request, command.leader_epochs
    require_claimable(request)
    if request.mode == tiering_pb2.CLAIM_ORDER:
        return [None] * len(request.partitions)
    if len(epochs) != len(request.partitions):
        raise InvalidInput(
            f"there are {len(epochs)} leader epochs for {len(request.partitions)} partitions: give one for each"
        )
    if max(epochs) > MAX_EPOCH:
        raise InvalidInput(f"a leader epoch is {max(epochs)}: use Kafka's, up to {MAX_EPOCH}")
    return list(epochs)


def _topics(request: tiering_pb2.ClaimPartitionsRequest) -> Sequence[str]:
    return request.topics or [""] * len(request.partitions)


def _asked(
    request: tiering_pb2.ClaimPartitionsRequest, topic: str, epoch: int | None, proposal: Proposal
) -> tiering_pb2.PartitionClaim:
    """Build the claim that is stored if it is granted; the token is missing."""
    claim = tiering_pb2.PartitionClaim(
        broker_id=request.broker_id, writer=request.writer, topic=topic, claimed_at_ms=proposal.at_ms
    )
    if epoch is not None:
        claim.leader_epoch = epoch
    return claim


def _claim(
    name: tiering_pb2.TopicIdPartition, asked: tiering_pb2.PartitionClaim, changes: _Changes
) -> tiering_pb2.Claim:
    result = tiering_pb2.Claim(partition=name)
    try:
        partition = partition_from_proto(name)
    except InvalidInput as error:
        result.error, result.error_kind = str(error), tiering_pb2.APPEND_INVALID
        return result
    encoded = sk.partition(partition)
    head = stored_head(changes, encoded)
    last = stored_claim(changes, partition)
    epoch = _epoch(asked)
    fault = _partition_fault(changes, partition, head) or _epoch_fault(last, asked.broker_id, epoch)
    if fault is not None:
        result.error_kind, result.error = fault
        return result
    head = head or Head()
    result.next_event_id = head.next_event_id
    if epoch is not None and last is not None and _epoch(last) == epoch:
        result.fencing_token = head.fencing_token
        return result
    asked.fencing_token = head.fencing_token + 1 if epoch is None else max(head.fencing_token, epoch) + 1
    changes.put(sk.HEAD + encoded, head._replace(fencing_token=asked.fencing_token).to_bytes())
    changes.put(sk.CLAIM + encoded, asked.SerializeToString(deterministic=True))
    changes.put(keys.topic_owner(partition.topic_id), partition.cluster_id.encode())
    result.fencing_token = asked.fencing_token
    return result


def _epoch(claim: tiering_pb2.PartitionClaim | None) -> int | None:
    return claim.leader_epoch if claim is not None and claim.HasField("leader_epoch") else None


_Fault = tuple[tiering_pb2.AppendErrorKind, str]


def _partition_fault(view: Getter, partition: PartitionId, head: Head | None) -> _Fault | None:
    if head is not None:
        return (tiering_pb2.PARTITION_DELETED, "the partition is deleted") if head.is_deleted else None
    fault = topic_fault(view.get(keys.topic_owner(partition.topic_id)), partition)
    return (tiering_pb2.BELONGS_ELSEWHERE, fault) if fault else None


def _epoch_fault(last: tiering_pb2.PartitionClaim | None, broker_id: int, epoch: int | None) -> _Fault | None:
    highest = _epoch(last)
    if epoch is None:
        if highest is None:
            return None
        return tiering_pb2.FENCED_LEADER_EPOCH, (
            f"the partition was claimed in verified mode with leader epoch {highest}: claim it in that mode"
        )
    if epoch < 0:
        return tiering_pb2.NOT_VERIFIED, (
            f"too few other brokers say that broker {broker_id} leads the partition: retry when they have heard of it"
        )
    if last is None or highest is None or epoch > highest:
        return None
    if epoch < highest or broker_id != last.broker_id:
        return tiering_pb2.FENCED_LEADER_EPOCH, (
            f"leader epoch {epoch} of broker {broker_id} does not come after epoch {highest}, "
            f"with which broker {last.broker_id} has claimed the partition"
        )
    return None
