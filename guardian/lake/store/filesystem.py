"""The file system that a lake's URL names, by way of pyarrow. No Spark, no JVM.

/var/lib/guardian/lake, file:///...     this host
s3://bucket/prefix?region=...           S3 and what speaks it; ?endpoint_override=host:port&scheme=http for others
hdfs://namenode:8020/path               HDFS; hdfs://nameservice/path and Kerberos as $HADOOP_CONF_DIR says
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from guardian.errors import InvalidInput

HDFS = "hdfs"


def open_lake(url: str) -> tuple[Any, str]:
    """A pyarrow file system, and the lake's path in it, without a '/' at its end.

    Raises InvalidInput when the URL is of no file system that can be used here.
    """
    if "://" not in url:
        return pafs.LocalFileSystem(), str(Path(url).resolve())
    try:
        if urlsplit(url).scheme == HDFS:
            return _hdfs(url)
        filesystem, root = pafs.FileSystem.from_uri(url)
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"lake is {url!r}: use a path, or a URL that works on this host ({reason})") from error
    return filesystem, root.rstrip("/")


@contextmanager
def written_whole(filesystem: Any, directory: str, name: str) -> Iterator[str]:
    """Yield a hidden path to write, whose file gets its name once it is whole, and goes where that fails."""
    hidden = f"{directory}/.{name}"
    try:
        yield hidden
        filesystem.move(hidden, f"{directory}/{name}")
    except BaseException:
        with suppress(OSError):
            filesystem.delete_file(hidden)
        raise


def _hdfs(url: str) -> tuple[Any, str]:
    from hdfs_native.fsspec import HdfsFileSystem  # noqa: PLC0415  only who has such a lake loads it

    class TimedHdfs(HdfsFileSystem):
        """Tells the time of modification under the name by which pyarrow asks for it."""

        def info(self, path: str, **options: Any) -> dict[str, Any]:
            return _with_time(super().info(path, **options))

        def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
            found: list[Any] = super().ls(path, detail, **options)
            return [_with_time(each) for each in found] if detail else found

    parts = urlsplit(url)
    if not parts.hostname or not parts.path.strip("/"):
        raise ValueError("such as hdfs://namenode:8020/path")
    filesystem = TimedHdfs(parts.hostname, parts.port)
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), parts.path.rstrip("/")


def _with_time(info: dict[str, Any]) -> dict[str, Any]:
    return {**info, "mtime": info["modification_time"] / 1000}
