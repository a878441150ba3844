"""Plans under their content hash, in compressed chunks, since a large plan does not fit into one command.

A plan exists once all of its chunks are there and their content has its hash; before, nobody can read it. Until then
a chunk may be sent again: another proposer's zlib may compress the same plan to other bytes. A header says how many
chunks there are, when one was put last, whether all are there, and how many tickets have the plan. One that no ticket
has may go once it is old (metastore.tables.ticket_retention).
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from guardian.errors import InvalidInput
from metastore import keys
from metastore.records import Delete, Put, Record
from metastore.store import Lookup, ReadView
from metastore.tables.proposal import Decision, Proposal
from protos.guardian.v1 import records_pb2

MAX_CHUNK_BYTES = 512 << 10
MAX_CHUNKS = 64
MAX_PLAN_BYTES = 128 << 20  # uncompressed: what a few bytes may unpack to is bounded
_HASH = re.compile(r"[0-9a-f]{64}")
_HEADER = struct.Struct(">IQ?Q")


def split(plan_hash: str, serialized: bytes) -> list[records_pb2.PutPlanChunk]:
    """The commands that store a serialised plan, in the order in which to propose them.

    Raises InvalidInput when the plan is too large.
    """
    packed = zlib.compress(serialized)
    chunks = [packed[start : start + MAX_CHUNK_BYTES] for start in range(0, len(packed), MAX_CHUNK_BYTES)]
    if len(chunks) > MAX_CHUNKS or len(serialized) > MAX_PLAN_BYTES:
        raise InvalidInput(
            f"plan has {len(serialized)} bytes, {len(packed)} compressed: split it into plans of at most "
            f"{MAX_PLAN_BYTES} bytes, {MAX_CHUNKS * MAX_CHUNK_BYTES} compressed"
        )
    return [
        records_pb2.PutPlanChunk(plan_hash=plan_hash, chunk=number, chunks=len(chunks), data=data)
        for number, data in enumerate(chunks)
    ]


def handle(command: records_pb2.PutPlanChunk, view: ReadView, proposal: Proposal) -> Decision:
    """Stores a chunk; the last missing one completes the plan, or, when the content is wrong, removes all of it."""
    _require_valid(command)
    reply = records_pb2.CommandReply()
    header = _header(view, command.plan_hash)
    if header is not None and header.is_complete:
        return [_put_header(command.plan_hash, replace(header, put_at_ms=proposal.at_ms))], reply
    stored = _stored_chunks(view, command.plan_hash)
    known = {number: chunk for number, chunk in stored.items() if chunk.chunks == command.chunks}
    known[command.chunk] = command
    stale: list[Record] = [
        Delete(keys.plan_chunk(command.plan_hash, number)) for number in sorted(stored.keys() - known.keys())
    ]
    header = _Header(command.chunks, proposal.at_ms, is_complete=len(known) == command.chunks)
    if not header.is_complete:
        return [*stale, _put_chunk(command), _put_header(command.plan_hash, header)], reply
    fault = _content_fault(command.plan_hash, [known[number].data for number in range(command.chunks)])
    if fault:
        reply.error_kind, reply.error = records_pb2.INVALID, fault
        return records_of(command.plan_hash), reply
    return [*stale, _put_chunk(command), _put_header(command.plan_hash, header)], reply


def is_complete(view: ReadView, plan_hash: str) -> bool:
    """Return whether all of the plan is stored."""
    header = _header(view, plan_hash)
    return header is not None and header.is_complete


def may_go(view: ReadView, plan_hash: str, before_ms: int) -> bool:
    """Return whether the plan, or a part of it, was put before that time, since the epoch, and no ticket has it."""
    header = _header(view, plan_hash)
    return header is not None and header.put_at_ms < before_ms and not header.tickets


def use(view: Lookup, tickets: Mapping[str, int]) -> list[Record]:
    """Return what notes that so many more tickets, or fewer, have the plans of these hashes."""
    headers = {plan_hash: _header(view, plan_hash) for plan_hash in tickets}
    return [
        _put_header(plan_hash, replace(header, tickets=header.tickets + tickets[plan_hash]))
        for plan_hash, header in headers.items()
        if header is not None
    ]


def records_of(plan_hash: str) -> list[Record]:
    """Return what removes the plan, whichever of its chunks are there: they are large, and need not be read."""
    records: list[Record] = [Delete(keys.plan(plan_hash))]
    return records + [Delete(keys.plan_chunk(plan_hash, number)) for number in range(MAX_CHUNKS)]


def serialized_plan(view: ReadView, plan_hash: str) -> bytes | None:
    """The plan's canonical serialised form, or None when it is not (or not yet) stored."""
    if not is_complete(view, plan_hash):
        return None
    return _unpack([chunk.data for _, chunk in sorted(_stored_chunks(view, plan_hash).items())])


def _require_valid(command: records_pb2.PutPlanChunk) -> None:
    if not _HASH.fullmatch(command.plan_hash):
        raise InvalidInput(f"plan_hash is {command.plan_hash!r}: use the SHA-256 in lower-case hex")
    if not 1 <= command.chunks <= MAX_CHUNKS:
        raise InvalidInput(f"chunks is {command.chunks}: use 1 to {MAX_CHUNKS}")
    if command.chunk >= command.chunks:
        raise InvalidInput(f"chunk is {command.chunk} of {command.chunks}: count from 0")
    if not 1 <= len(command.data) <= MAX_CHUNK_BYTES:
        raise InvalidInput(f"data has {len(command.data)} bytes: use 1 to {MAX_CHUNK_BYTES}")


@dataclass(frozen=True, slots=True)
class _Header:
    chunks: int
    put_at_ms: int
    is_complete: bool
    tickets: int = 0


def _header(view: Lookup, plan_hash: str) -> _Header | None:
    value = view.get(keys.plan(plan_hash))
    return _Header(*_HEADER.unpack(value)) if value is not None else None


def _put_header(plan_hash: str, header: _Header) -> Put:
    value = _HEADER.pack(header.chunks, max(0, header.put_at_ms), header.is_complete, header.tickets)
    return Put(keys.plan(plan_hash), value)


def _stored_chunks(view: ReadView, plan_hash: str) -> dict[int, records_pb2.PutPlanChunk]:
    found = [records_pb2.PutPlanChunk.FromString(value) for _, value in view.scan(keys.plan_chunks(plan_hash))]
    return {chunk.chunk: chunk for chunk in found}


def _put_chunk(command: records_pb2.PutPlanChunk) -> Put:
    return Put(keys.plan_chunk(command.plan_hash, command.chunk), command.SerializeToString(deterministic=True))


def _content_fault(plan_hash: str, chunks: list[bytes]) -> str:
    """Say what is wrong with the plan's content as a whole, in one sentence; empty when nothing is."""
    content = _unpack(chunks)
    if content is None:
        return (
            f"chunks of plan {plan_hash} are no zlib stream of at most {MAX_PLAN_BYTES} bytes: send all of them again"
        )
    found = hashlib.sha256(content).hexdigest()
    if found != plan_hash:
        return f"chunks of plan {plan_hash} hold content with hash {found}: send all of them again"
    return ""


def _unpack(chunks: list[bytes]) -> bytes | None:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(b"".join(chunks), MAX_PLAN_BYTES)
    except zlib.error:
        return None
    return content if unpacker.eof and not unpacker.unused_data else None
