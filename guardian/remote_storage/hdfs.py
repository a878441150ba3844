"""The plugin's HDFS storage, listed by its own tool: Hadoop's client, its settings and Kerberos stay in Java.

The tool prints one JSON object a file and ends with `{"end": true, "files": N}`: without that line it was cut off.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from guardian.errors import InvalidInput
from guardian.model.tiering import FileKind, SegmentName, StoredFile, uuid_bytes

SCHEMES = frozenset({"hdfs", "viewfs", "webhdfs", "swebhdfs"})
PARTS = frozenset({FileKind.LOG, FileKind.INDEXES})
_CLASS = "guardian.kafka.hdfs.HdfsTool"
_LACKS = re.compile(r"(?:ClassNotFoundException|NoClassDefFoundError): ([\w./$]+)")
_KINDS = {kind.value: kind for kind in FileKind}


class Tool(NamedTuple):
    url: str
    classpath: str
    broker_config: Path | None = None  # a server.properties: its rsm.config.* hold, as those of Kerberos

    def files(self) -> Iterator[StoredFile]:
        """Raises InvalidInput when the tool can't be run, or did not list everything."""
        if not self.classpath:
            raise InvalidInput(
                f"--remote is {self.url} and --classpath is empty: give the plugin's jar, Hadoop's client jars and its "
                "configuration folder, separated by colons"
            )
        settings = ["--config", str(self.broker_config)] if self.broker_config else []
        command = ["java", "-cp", self.classpath, _CLASS, *settings, "list", self.url]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=said, encoding="utf-8", errors="replace"
                )
            except OSError as error:
                raise InvalidInput(f"java can't be run: {error.strerror}; install a JDK 17 or newer") from None
            try:
                yield from self._until_the_end(process, said)
            finally:
                process.kill()
                process.communicate()

    def _until_the_end(self, process: subprocess.Popen[str], said: IO[str]) -> Iterator[StoredFile]:
        count, announced = 0, -1
        for line in process.stdout or ():
            found = parse(line)
            if isinstance(found, int):
                announced = found
            else:
                count += 1
                yield found
        if process.wait() or count != announced:
            said.seek(0)
            last = next((line.strip() for line in reversed(said.readlines()) if line.strip()), "")
            if lacks := _LACKS.search(last):
                raise InvalidInput(f"--classpath is {self.classpath!r}, which lacks {lacks[1]}: add its jar")
            raise InvalidInput(f"{self.url} can't be listed: {last or f'the listing was cut off after {count} files'}")


def parse(line: str) -> StoredFile | int:
    """A file, or at the end how many there were. Raises InvalidInput for what is neither."""
    try:
        found = json.loads(line)
        return int(found["files"]) if found.get("end") else _stored_file(found)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput):
        raise InvalidInput(f"HdfsTool printed {line.strip()[:200]!r}, which is no line of a listing") from None


def _stored_file(found: dict[str, Any]) -> StoredFile:
    segment = kind = None
    if "segmentId" in found:
        segment = SegmentName(uuid_bytes(found["topicId"]), int(found["partition"]), uuid_bytes(found["segmentId"]))
        kind = _KINDS[found["kind"]]
    return StoredFile(
        str(found["path"]), int(found["bytes"]), int(found["modifiedMs"]), segment, kind, str(found.get("topic", ""))
    )
