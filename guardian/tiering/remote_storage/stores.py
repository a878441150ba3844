"""Which store a URL names, what it holds of every finished segment, and how its files are listed and deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from guardian.errors import InvalidInput
from guardian.tiering.model import FileKind, StoredFile
from guardian.tiering.remote_storage import hdfs, local


@dataclass(frozen=True, slots=True)
class RemoteStore:
    """`parts` are there of every finished segment. `files` lists once, lazily, and raises InvalidInput when the store
    can't be listed to its end: a listing with holes would name what is missing wrongly. `delete` takes files of a
    listing and gives, as it goes, those that were still there; InvalidInput says that the rest may be there still."""

    url: str
    parts: frozenset[FileKind]
    files: Callable[[], Iterator[StoredFile]]
    delete: Callable[[Iterable[StoredFile]], Iterator[StoredFile]]


def open_store(url: str, classpath: str = "", broker_config: Path | None = None) -> RemoteStore:
    """Raises InvalidInput for a URL that names no store that Guardian can list."""
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        root = Path(unquote(parts.path))
        return RemoteStore(url, local.PARTS, lambda: local.files(root), lambda files: local.delete(root, files))
    if parts.scheme in hdfs.SCHEMES:
        tool = hdfs.Tool(url, classpath, broker_config)
        return RemoteStore(url, hdfs.PARTS, tool.files, tool.delete)
    raise InvalidInput(
        f"--remote is {url!r}: use hdfs://host:port/dir for the plugin's HDFS storage, or file:///dir for Kafka's "
        "LocalTieredStorage"
    )
