"""Files of the lake whose bytes are damaged: told from a lake that is away, and set aside so that no reader meets them.

Where they go is said in guardian.lake.rules.setting_aside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import structlog

from guardian.lake.rules.setting_aside import DAMAGED, may_be_under_way, place_set_aside

_LOG = structlog.get_logger(__name__)

UNREADABLE = (OSError, pa.ArrowException, ValueError)  # texts of a damaged footer may be no UTF-8, a ValueError
_OURS = (pa.ArrowMemoryError, pa.ArrowCancelled, pa.ArrowNotImplementedError, FileNotFoundError)
_BATCH_ROWS = 1 << 16
_CHUNK = 1 << 20


def may_be_damage(error: BaseException) -> bool:
    """Return whether an error may be of a file's bytes; one with an errno is the file system's own."""
    return isinstance(error, UNREADABLE) and not isinstance(error, _OURS) and not getattr(error, "errno", None)


def why_damaged(fs: Any, path: str) -> str:
    """Read a Parquet file whole, checksums included, and return what is wrong with it, in one line.

    Return nothing where it is good or gone, and where the file system does not give its bytes: that is no damage.
    """
    try:
        with pq.ParquetFile(path, filesystem=fs, page_checksum_verification=True) as file:
            for _ in file.iter_batches(_BATCH_ROWS):
                pass
    except (*UNREADABLE, MemoryError) as error:
        if may_be_damage(error) and _gives_all_bytes(fs, path):
            return (str(error).splitlines() or [type(error).__name__])[0]
    return ""


def set_aside(fs: Any, path: str, why: str, now_s: Callable[[], float] = time.time) -> bool:
    """Move a damaged file out of all readers' way, and log it; return whether it is out of it.

    One that came less than a minute ago stays: whoever copies it may not be done.
    """
    try:
        info = fs.get_file_info(path)
        if not info.is_file:
            return True
        if may_be_under_way(None if info.mtime_ns is None else info.mtime_ns // 1_000_000, int(now_s() * 1000)):
            _LOG.warning("a file of the lake is damaged, or not whole yet", file=path, why=why)
            return False
        to = place_set_aside(path)
        fs.create_dir(to.rpartition("/")[0], recursive=True)
        fs.move(path, to)
    except FileNotFoundError:  # somebody else was faster
        return True
    except (OSError, pa.ArrowException) as error:
        _LOG.error("a damaged file of the lake can't be set aside: move it away", file=path, why=why, error=str(error))
        return False
    _LOG.error("a damaged file of the lake is set aside, its rows are lost", file=path, why=why, to=to)
    return True


def _gives_all_bytes(fs: Any, path: str) -> bool:
    try:
        left = fs.get_file_info(path).size
        with fs.open_input_stream(path) as stream:
            while chunk := stream.read(_CHUNK):
                left -= len(chunk)
    except (OSError, pa.ArrowException):
        return False
    return bool(left == 0)


def files_set_aside(fs: Any, root: str) -> list[Any]:
    """Return what is known of each file that was set aside, by path."""
    selector = pafs.FileSelector(f"{root}/{DAMAGED}", allow_not_found=True, recursive=True)
    return sorted((info for info in fs.get_file_info(selector) if info.is_file), key=lambda info: info.path)
