"""The file system that a lake's URL names, by way of pyarrow. No Spark.

/var/lib/guardian/lake, file:///...     this host
s3://bucket/prefix?region=...           S3 and what speaks it; ?endpoint_override=host:port&scheme=http for others
hdfs://namenode:8020/path               HDFS, where Hadoop's own libhdfs and class path are installed
webhdfs://user@namenode:9870/path       HDFS over HTTP: needs nothing installed
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from guardian.errors import InvalidInput

WEB_HDFS = "webhdfs"


def open_lake(url: str) -> tuple[Any, str]:
    """A pyarrow file system, and the lake's path in it, without a '/' at its end.

    Raises InvalidInput when the URL is of no file system that can be used here.
    """
    if "://" not in url:
        return pafs.LocalFileSystem(), str(Path(url).resolve())
    if urlsplit(url).scheme == WEB_HDFS:
        return _web_hdfs(url)
    try:
        filesystem, root = pafs.FileSystem.from_uri(url)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        fix = f"; {WEB_HDFS}:// needs nothing installed" if urlsplit(url).scheme == "hdfs" else ""
        raise InvalidInput(f"lake is {url!r}: use a path, or a URL that works on this host ({reason}){fix}") from error
    return filesystem, root.rstrip("/")


def _web_hdfs(url: str) -> tuple[Any, str]:
    from fsspec.implementations.webhdfs import WebHDFS  # noqa: PLC0415  only who has such a lake loads it

    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None or not parts.path.strip("/"):
        raise InvalidInput(f"lake is {url!r}: use webhdfs://user@namenode:9870/path")
    filesystem = WebHDFS(parts.hostname, port=port, user=parts.username)
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), parts.path.rstrip("/")
