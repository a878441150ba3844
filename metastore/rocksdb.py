"""The store on RocksDB. The one module that imports rocksdict.

A write is one WriteBatch into RocksDB's memtable, without a log of RocksDB's own. The Raft log is that log, and writing
it twice costs a sixth of the CPU and a third of the bytes. RocksDB flushes memtables as a whole and in their order, and
each batch holds its applied index. So what is found at start is always the state after some command, not before the one
that `sync` returned last. The commands that are missing (at most what the memtables held) are applied again.

Other threads read snapshots: taking one costs a microsecond and does not hold up the writer.

The data is one generation (metastore.generations), replaced as a whole when a snapshot of another member is installed.
`save` is RocksDB's Checkpoint: hard links to files that never change. rocksdict holds the GIL in it (72 ms with 40 MB
in the memtable), not in `flush`; so `save` flushes first, and the checkpoint takes some milliseconds.

Every block and blob has a checksum, and reading one that is wrong is an error. What nobody reads is read by `verify`,
in a checkpoint that is opened beside the store: so it comes from the disk, not from the cache, and the manifest too.
`save` verifies its copy likewise, before another member or a backup gets it. OPTIONS files are never read.
"""

from __future__ import annotations

import errno
import shutil
import struct
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from metastore import keys
from metastore.generations import Generations
from metastore.records import Record
from metastore.store import StoreDamaged, StoreError, StoreFull

_INDEX = struct.Struct(">Q")
_APPLIED_INDEX = keys.applied_index()
_CLOSED = "the store is closed"
_REPLACED = "the store was replaced by another member's snapshot: read again"
_BEHIND = "the store had no room and was opened anew: it applies again what it had not written, retry"
_UNREADABLE = "metastore can't be read"
_UNWRITABLE = "metastore can't be written"

# What RocksDB may hold in memory, about: the cache (with indexes and filters in it) and all write buffers.
_CACHE_BYTES = 128 << 20
_WRITE_BUFFER_BYTES = 64 << 20
_WRITE_BUFFERS = 4
# A group of some events or more lies in a blob file, written once: a compaction moves its key alone.
_BLOB_BYTES = 1 << 10
_BLOB_FILE_BYTES = 64 << 20
# Of a verification: keys between pauses (a millisecond or two), and the pause of a copy that somebody waits for.
_PIECE_KEYS = 512
_REST_S = 0.001
# RocksDB tells what is wrong by text alone; these are its names of a status, which no locale changes.
_LACKS = {"No space left on device": errno.ENOSPC, "Too many open files": errno.EMFILE}
_DAMAGE = ("Corruption:", "No such file or directory", "CURRENT: does not exist", "Input/output error")


class RocksDbSnapshot:
    """The store at one moment. RocksDB keeps what it needs until the object goes away, or the store is closed.

    Lookups go to a Snapshot of rocksdict, which uses the bloom filters; scans to an iterator, which pins what it sees
    when it is made. (The Snapshot pins its lookups only: what it iterates over is the newest state.) Both are made
    while no write can come between them.
    """

    def __init__(self, health: _Health, lookups: Any, iterator: Any, applied_index: int) -> None:
        self._health = health
        self._lookups = lookups
        self._iterator = iterator
        self._applied_index = applied_index
        self._lock = threading.Lock()  # an iterator has one position
        self._gone = ""

    @property
    def applied_index(self) -> int:
        if self._gone:
            raise StoreError(self._gone)
        return self._applied_index

    def get(self, key: bytes) -> bytes | None:
        with self._lock:
            lookups = self._require(self._lookups)
            return self._health.read(lambda: _found(lookups, key), _UNREADABLE)  # type: ignore[no-any-return]

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            lookups = self._require(self._lookups)
            return self._health.read(lambda: [_found(lookups, key) for key in wanted], _UNREADABLE)  # type: ignore[no-any-return]

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        with self._lock:
            iterator = self._require(self._iterator)
            return self._health.read(lambda: _read(iterator, prefix, start, limit), _UNREADABLE)  # type: ignore[no-any-return]

    def floor(self, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
        with self._lock:
            iterator = self._require(self._iterator)
            return self._health.read(lambda: _floor(iterator, prefix, key), _UNREADABLE)  # type: ignore[no-any-return]

    def release(self, reason: str) -> None:
        """RocksDB stays open, and its folder locked, as long as anybody holds on to an iterator."""
        with self._lock:
            self._gone = reason
            self._lookups = self._iterator = None

    def _require(self, handle: Any) -> Any:
        self._health.require()
        if handle is None:
            raise StoreError(self._gone)
        return handle


class RocksDbStore:
    """Satisfies metastore.store.Store."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the store in folder `path`, and repairs what an install left that did not come to its end.

        Raises StoreError when it can't, or another process has it.
        """
        self._health = health = _Health()
        self._cache = Cache(_CACHE_BYTES)
        self._write_options = _write_options()
        self._removal: threading.Thread | None = None  # of a replaced generation: gigabytes take seconds
        self._told_index = 0  # up to where readers may have seen it
        self._lock = threading.Lock()  # over one write, and over what must not come between two writes
        self._snapshots: weakref.WeakSet[RocksDbSnapshot] = weakref.WeakSet()
        unopened = f"metastore {path} can't be opened"
        self._generations: Generations = health.read(lambda: Generations(path), unopened)
        try:
            self._db: Any = health.read(self._open_current, unopened)
            self._applied_index: int = health.read(lambda: _stored_index(self._db), _UNREADABLE)
        except StoreError:
            self._generations.unlock()
            raise

    @property
    def applied_index(self) -> int:
        return self._applied_index

    @property
    def damage(self) -> str:
        return self._health.damage

    def get(self, key: bytes) -> bytes | None:
        db = self._require_open()
        return self._health.read(lambda: db.get(key), _UNREADABLE)  # type: ignore[no-any-return]

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        db = self._require_open()
        return self._health.read(lambda: db.get(list(wanted)), _UNREADABLE)  # type: ignore[no-any-return]

    def scan(self, prefix: bytes, start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]:
        db = self._require_open()
        return self._health.read(lambda: _read(db.iter(), prefix, start, limit), _UNREADABLE)  # type: ignore[no-any-return]

    def floor(self, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
        db = self._require_open()
        return self._health.read(lambda: _floor(db.iter(), prefix, key), _UNREADABLE)  # type: ignore[no-any-return]

    def write(self, records: Sequence[Record], applied_index: int) -> None:
        batch = WriteBatch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in records:
            if value is None:
                delete(key)
            else:
                put(key, value)
        put(_APPLIED_INDEX, _INDEX.pack(applied_index))
        with self._lock:
            db = self._require_open()
            self._health.write(lambda: db.write(batch, self._write_options), _UNWRITABLE)
            self._applied_index = applied_index

    def snapshot(self) -> RocksDbSnapshot:
        with self._lock:
            db = self._require_open()
            if self._applied_index < self._told_index:
                raise StoreFull(errno.ENOSPC, _BEHIND)
            lookups, iterator = self._health.read(lambda: (db.snapshot(), db.iter()), _UNREADABLE)
            snapshot = RocksDbSnapshot(self._health, lookups, iterator, self._applied_index)
            self._snapshots.add(snapshot)
            return snapshot

    def sync(self) -> int:
        applied_index = self._applied_index
        db = self._require_open()
        self._health.write(db.flush, _UNWRITABLE)
        return applied_index

    def save(self, directory: Path) -> int:
        index = self._copy(directory)
        self._verify_copy(directory, _resting)
        return index

    def verify(self, directory: Path, pause: Callable[[float], None]) -> None:
        with self._lock:
            self._health.read(self._generations.verify, _UNREADABLE)
        self._copy(directory)
        try:
            self._verify_copy(directory, pause)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _copy(self, directory: Path) -> int:
        uncopied = f"metastore can't be copied to {directory}"
        if not directory.parent.is_dir():
            raise StoreError(f"{uncopied}: {directory.parent} is no folder")
        db = self._require_open()
        self._health.write(db.flush, uncopied)
        with self._lock:
            db = self._require_open()
            self._health.read(lambda: Checkpoint(db).create_checkpoint(str(directory)), uncopied)
            return self._applied_index

    def _verify_copy(self, directory: Path, pause: Callable[[float], None]) -> None:
        """Its files are the store's, so what is wrong with one of them is wrong with the store."""
        options = _options(Cache(0), create=False)
        unreadable = f"a file of metastore {self._generations.current} is damaged"
        copy = self._health.read(lambda: Rdict(str(directory), options, access_type=AccessType.read_only()), unreadable)
        read, iterator = 0, copy.iter(_past_cache())
        try:
            keys_there = sum(int(file["num_entries"]) for file in copy.live_files())
            iterator.seek_to_first()
            while self._health.read(lambda: _pass(iterator, _PIECE_KEYS), unreadable):
                read += _PIECE_KEYS
                pause(min(1.0, read / keys_there))
            pause(1.0)
        finally:
            copy.close()

    def install(self, directory: Path) -> None:
        failure = f"metastore can't install {directory}"
        following: Path = _call(lambda: self._generations.take_over(directory), failure)
        try:
            fresh = _call(lambda: self._open(following, create=False), failure)
            index = _call(lambda: _stored_index(fresh), failure)
        except StoreError:
            self._generations.remove(following)
            raise
        with self._lock:
            replaced = self._generations.current
            _call(lambda: self._generations.switch(following), failure)
            old, self._db, self._applied_index = self._db, fresh, index
            self._release(_REPLACED)
        _call(old.close, failure)
        self._join_removal()
        self._removal = threading.Thread(target=self._generations.remove, args=(replaced,), name="metastore-removal")
        self._removal.start()

    def reopen(self) -> None:
        """RocksDB takes nothing more once a flush has failed, also when there is room again."""
        with self._lock:
            self._require_open()
            self._told_index = max(self._told_index, self._applied_index)
            self._release(_BEHIND)
            with suppress(Exception):  # it flushes, for which there may still be no room
                self._db.close()
            self._db = self._health.read(self._open_current, _UNREADABLE)
            self._applied_index = self._health.read(lambda: _stored_index(self._db), _UNREADABLE)

    def close(self) -> None:
        with self._lock:
            if self._db is None:
                return
            self._release(_CLOSED)
            db, self._db = self._db, None
        self._join_removal()
        try:
            # What was not written is in the log still.
            with suppress(StoreError if self.damage else StoreFull):
                self._health.write(lambda: (db.flush(), db.close()), "metastore can't be closed")
        finally:
            self._generations.unlock()

    def _join_removal(self) -> None:
        if self._removal is not None:
            self._removal.join()

    def _release(self, reason: str) -> None:
        for snapshot in self._snapshots:
            snapshot.release(reason)
        self._snapshots.clear()

    def _open_current(self) -> Any:
        generations = self._generations
        if not generations.is_new:
            return self._open(generations.current, create=False)
        generations.begin()
        db = self._open(generations.current, create=True)
        generations.began()
        return db

    def _open(self, generation: Path, *, create: bool) -> Any:
        return Rdict(str(generation), _options(self._cache, create=create))

    def _require_open(self) -> Any:
        self._health.require()
        db = self._db
        if db is None:
            raise StoreError(_CLOSED)
        return db


def _options(cache: Any, *, create: bool) -> Any:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_keep_log_file_num(2)
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(_WRITE_BUFFERS)
    options.set_memtable_whole_key_filtering(True)
    options.set_memtable_prefix_bloom_ratio(0.1)
    options.set_compression_type(DBCompressionType.none())
    options.set_block_based_table_factory(_table_options(cache))
    options.set_enable_blob_files(True)
    options.set_min_blob_size(_BLOB_BYTES)
    options.set_blob_file_size(_BLOB_FILE_BYTES)
    options.set_enable_blob_gc(True)
    # Compaction is what costs CPU, and it comes at the same moment on all members. With the groups in it, and files
    # of half the size, the rate of appends fell to half for its seconds; RocksDB's defaults of 4 files and 256 MiB cost
    # half more again, LZ4 a third. Every file is one more bloom filter for the look-up of a segment that is new, so few
    # and large ones; a burst may pile up more of them before it is slowed down.
    options.set_level_zero_file_num_compaction_trigger(8)
    options.set_max_bytes_for_level_base(512 << 20)
    options.set_level_zero_slowdown_writes_trigger(40)
    options.set_level_zero_stop_writes_trigger(80)
    options.set_max_background_jobs(2)
    options.set_bytes_per_sync(1 << 20)  # no burst of dirty pages at the end of a flush, which the journal would feel
    return options


def _write_options() -> Any:
    options = WriteOptions()
    options.disable_wal = True  # type: ignore[method-assign, assignment]  # the stub says that it is a method
    return options


def _table_options(cache: Any) -> Any:
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, False)
    table.set_format_version(5)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    return table


def _read(iterator: Any, prefix: bytes, start: bytes, limit: int | None) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    is_valid, key_here, value_here, go_on = iterator.valid, iterator.key, iterator.value, iterator.next
    iterator.seek(max(prefix, start))
    while len(found) != limit and is_valid():
        key = key_here()
        if not key.startswith(prefix):
            break
        found.append((key, value_here()))
        go_on()
    iterator.status()  # raises when it stopped over a damaged file and not at the end
    return found


def _floor(iterator: Any, prefix: bytes, key: bytes) -> tuple[bytes, bytes] | None:
    iterator.seek_for_prev(key)
    if not iterator.valid():
        iterator.status()
        return None
    found: bytes = iterator.key()
    return (found, iterator.value()) if found.startswith(prefix) else None


def _found(lookups: Any, key: bytes) -> bytes | None:
    try:
        return lookups[key]  # type: ignore[no-any-return]
    except Exception as error:  # rocksdict raises nothing narrower
        if error.args == ("key not found",):
            return None
        raise


class _Health:
    """Whether the store is sound, for all that use it. Shared by the store and its snapshots."""

    def __init__(self) -> None:
        self.damage = ""  # the first that was found

    def require(self) -> None:
        """Raises StoreDamaged."""
        if self.damage:
            raise StoreDamaged(self.damage)

    def read(self, action: Callable[[], Any], failure: str) -> Any:
        """Returns the action's result, or raises StoreError; of what can't be read back, StoreDamaged."""
        return self._watched(action, failure, _DAMAGE)

    def write(self, action: Callable[[], Any], failure: str) -> Any:
        """The same, where only a wrong checksum is damage: a disk that takes nothing more may still be whole."""
        return self._watched(action, failure, _DAMAGE[:1])

    def _watched(self, action: Callable[[], Any], failure: str, signs: Sequence[str]) -> Any:
        try:
            return _call(action, failure)
        except StoreError as error:
            if isinstance(error, StoreDamaged) or any(sign in str(error.__cause__) for sign in signs):
                self.damage = self.damage or str(error)
                raise StoreDamaged(self.damage) from error
            raise


def _call(action: Callable[[], Any], failure: str) -> Any:
    try:
        return action()
    except StoreError:
        raise
    except Exception as error:  # rocksdict raises nothing narrower
        lack = next((number for sign, number in _LACKS.items() if sign in str(error)), None)
        if lack is not None:
            raise StoreFull(lack, f"{failure}: {error}") from error
        raise StoreError(f"{failure}: {error}") from error


def _resting(_share: float) -> None:
    """Leaves the processor to others for a while: other threads wait for the interpreter's lock."""
    time.sleep(_REST_S)


def _past_cache() -> Any:
    options = ReadOptions()
    options.fill_cache(False)  # type: ignore[call-arg]  # the stub has another signature
    return options


def _pass(iterator: Any, keys_at_once: int) -> bool:
    """Reads so many keys with their values, or those that are left. Returns whether there may be more."""
    is_valid, go_on = iterator.valid, iterator.next
    for _ in range(keys_at_once):
        if not is_valid():
            iterator.status()  # raises when it stopped over a damaged file and not at the end
            return False
        go_on()
    return True


def _stored_index(db: Any) -> int:
    value = db.get(_APPLIED_INDEX)
    return int(_INDEX.unpack(value)[0]) if value is not None else 0
