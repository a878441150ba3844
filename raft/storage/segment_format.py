"""What a segment of the Raft log looks like on disk. Pure: bytes in, values out.

    segment = header, record, record, ...
    header  = magic, version, flags, first index, sequence, the configuration's index and length, CRC-32, configuration
    record  = magic, length, CRC-32 of the entry, batch, index, term, CRC-32 of all before it, entry

Of two segments the one with the higher **sequence** is newer, and where their indexes overlap only the newer one
counts. So a conflicting suffix is replaced by one rename, and never by cutting a file.

A record's **batch** is where the write that brought it began, counted from the header's end. All before it was synced
by then. That tells a write which the power cut short (never acknowledged, to be dropped) from damage (to be refused). A
broken record is the former only on two conditions. No later record proves that it was synced, and the file ends within
it or one of its sectors was never written, hence zero. The last is the test of etcd's decoder, `isTornEntry`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from raft.configuration import Configuration

Entry = tuple[bytes, int, int]
"""What is replicated (raft.entries), its index, its term."""

_RECORD_MAGIC = b"\xf7GRr"
_SEGMENT_MAGIC = b"GRDNRAFT"
_VERSION = 1
_VOIDS_EARLIER = 1
_SECTOR_BYTES = 512
_RECORD = struct.Struct(">4sIIIQQ")  # magic, length, CRC-32 of the entry, batch, index, term
_SEGMENT = struct.Struct(">8sHHQQQI")  # magic, version, flags, first index, sequence, configuration's index and length
_CRC = struct.Struct(">I")
RECORD_HEADER_BYTES = _RECORD.size + _CRC.size

_pack_record = _RECORD.pack
_pack_crc = _CRC.pack
_crc32 = zlib.crc32


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """`configuration` is the one in force before the segment's first entry, None when there is none yet.
    `voids_earlier`: nothing in an older segment counts."""

    first_index: int
    sequence: int
    configuration: Configuration | None
    configuration_index: int
    voids_earlier: bool = False

    def to_bytes(self) -> bytes:
        configuration = b"" if self.configuration is None else self.configuration.to_bytes()
        fixed = _SEGMENT.pack(
            _SEGMENT_MAGIC,
            _VERSION,
            _VOIDS_EARLIER if self.voids_earlier else 0,
            self.first_index,
            self.sequence,
            self.configuration_index,
            len(configuration),
        )
        return fixed + _pack_crc(_crc32(configuration, _crc32(fixed))) + configuration

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[SegmentHeader, int]:
        """The header that `data` starts with, and its length. Raises ValueError when it is damaged."""
        start = _SEGMENT.size + _CRC.size
        if len(data) < start or not data.startswith(_SEGMENT_MAGIC):
            raise ValueError("it is no segment")
        _, version, flags, first_index, sequence, configuration_index, length = _SEGMENT.unpack_from(data)
        configuration = data[start : start + length]
        expected = _crc32(configuration, _crc32(data[: _SEGMENT.size]))
        if len(configuration) != length or _CRC.unpack_from(data, _SEGMENT.size) != (expected,):
            raise ValueError("its header is damaged")
        if version != _VERSION:
            raise ValueError(f"its version is {version}, and this release reads {_VERSION}")
        stored = Configuration.from_bytes(configuration) if configuration else None
        header = cls(first_index, sequence, stored, configuration_index, bool(flags & _VOIDS_EARLIER))
        return header, start + length


def record_header(entry: bytes, index: int, term: int, batch: int) -> bytes:
    """Build the header that goes before `entry` in the file."""
    header = _pack_record(_RECORD_MAGIC, len(entry), _crc32(entry), batch, index, term)
    return header + _pack_crc(_crc32(header))


@dataclass(frozen=True, slots=True)
class Records:
    """The entries of a segment, and where in the file the last one ends. `problem` says what is wrong with what
    follows, "" when nothing is; `is_cut_off` that it was never synced and may be dropped."""

    entries: list[Entry]
    end: int
    problem: str = ""
    is_cut_off: bool = False


def read_records(data: bytes, start: int, first_index: int, stop_index: int | None = None) -> Records:
    """The records from byte `start` on, up to `stop_index` (exclusive; None: all that there are)."""
    entries: list[Entry] = []
    offset, index, size = start, first_index, len(data)
    while offset < size and index != stop_index:
        body = offset + RECORD_HEADER_BYTES
        crc_at = offset + _RECORD.size
        if body > size:
            return Records(entries, offset, f"ends within a record at byte {offset}", is_cut_off=True)
        if data[crc_at:body] != _pack_crc(_crc32(data[offset:crc_at])) or not data.startswith(_RECORD_MAGIC, offset):
            problem = f"has a damaged record header at byte {offset}"
            return Records(entries, offset, problem, _is_torn(data, start, offset, body))
        _, length, checksum, _, stored_index, term = _RECORD.unpack_from(data, offset)
        end = body + length
        if end > size:
            return Records(entries, offset, f"ends within a record at byte {offset}", is_cut_off=True)
        entry = data[body:end]
        if _crc32(entry) != checksum:
            problem = f"has a damaged record at byte {offset}"
            return Records(entries, offset, problem, _is_torn(data, start, offset, end))
        if stored_index != index:
            return Records(entries, offset, f"jumps from index {index - 1} to {stored_index}")
        entries.append((entry, index, term))
        offset, index = end, index + 1
    return Records(entries, offset)


def _is_torn(data: bytes, start: int, offset: int, end: int) -> bool:
    """Return whether the broken record in data[offset:end] is a write that was cut short, not damage to a synced
    one.
    """
    return _has_unwritten_sector(data, offset, end) and not _was_synced(data, start, offset)


def _has_unwritten_sector(data: bytes, offset: int, end: int) -> bool:
    while offset < end:
        sector_end = min(end, (offset // _SECTOR_BYTES + 1) * _SECTOR_BYTES)
        if not data[offset:sector_end].strip(b"\x00"):
            return True
        offset = sector_end
    return False


def _was_synced(data: bytes, start: int, offset: int) -> bool:
    position = offset + 1
    while (position := data.find(_RECORD_MAGIC, position)) >= 0:
        crc_at = position + _RECORD.size
        stored = data[crc_at : crc_at + _CRC.size]
        if stored == _pack_crc(_crc32(data[position:crc_at])):
            batch = _RECORD.unpack_from(data, position)[3]
            if start + batch > offset:
                return True
        position += 1
    return False
