"""The plugin's HDFS storage, through its own tool: Hadoop's client, its settings and Kerberos stay in Java.

The tool prints one JSON object a file and ends with `{"end": true, "files": N}`: without that line it was cut off.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from guardian.errors import InvalidInput
from guardian.tiering.model import FileKind, SegmentName, StoredFile, uuid_bytes

SCHEMES = frozenset({"hdfs", "viewfs", "webhdfs", "swebhdfs"})
PARTS = frozenset({FileKind.LOG, FileKind.INDEXES})
_CLASS = "guardian.kafka.hdfs.HdfsTool"
_LACKS = re.compile(r"(?:ClassNotFoundException|NoClassDefFoundError): ([\w./$]+)")
_KINDS = {kind.value: kind for kind in FileKind}

T = TypeVar("T")


class Tool(NamedTuple):
    url: str
    classpath: str
    broker_config: Path | None = None  # a server.properties: its rsm.config.* hold, as those of Kerberos

    def files(self) -> Iterator[StoredFile]:
        """Raises InvalidInput when the tool can't be run, or did not list everything."""
        return self._run("list", "listed", stored_file)

    def delete(self, stored: Iterable[StoredFile]) -> Iterator[StoredFile]:
        """Deletes files of a listing and gives those that were still there. Raises InvalidInput, like `files`."""
        files = {file.path: file for file in stored}
        if not files:
            return
        with tempfile.TemporaryFile("w+", encoding="utf-8") as wanted:
            wanted.writelines(json.dumps({"path": path}) + "\n" for path in files)
            wanted.seek(0)

            def outcome(found: dict[str, Any]) -> tuple[StoredFile, bool]:
                return files[found["path"]], bool(found["deleted"])

            for file, was_there in self._run("delete", "swept", outcome, wanted):
                if was_there:
                    yield file

    def _run(
        self, command: str, done: str, read: Callable[[dict[str, Any]], T], stdin: IO[str] | None = None
    ) -> Iterator[T]:
        """Yield what the tool's lines say, of which the last must confirm how many there were. Raises InvalidInput."""
        if not self.classpath:
            raise InvalidInput(
                f"--remote is {self.url} and --classpath is empty: give the plugin's jar, Hadoop's client jars and its "
                "configuration folder, separated by colons"
            )
        settings = ["--config", str(self.broker_config)] if self.broker_config else []
        words = ["java", "-cp", self.classpath, _CLASS, *settings, command, self.url]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            try:
                process = subprocess.Popen(
                    words,
                    stdin=stdin or subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise InvalidInput(f"java can't be run: {error.strerror}; install a JDK 17 or newer") from None
            try:
                yield from self._until_the_end(process, said, done, read)
            finally:
                process.kill()
                process.communicate()

    def _until_the_end(
        self, process: subprocess.Popen[str], said: IO[str], done: str, read: Callable[[dict[str, Any]], T]
    ) -> Iterator[T]:
        count, announced = 0, -1
        for line in process.stdout or ():
            found = parse(line, read)
            if isinstance(found, _End):
                announced = found.files
            else:
                count += 1
                yield found
        if process.wait() or count != announced:
            said.seek(0)
            last = next((line.strip() for line in reversed(said.readlines()) if line.strip()), "")
            if lacks := _LACKS.search(last):
                raise InvalidInput(f"--classpath is {self.classpath!r}, which lacks {lacks[1]}: add its jar")
            cut_off = f"the tool was cut off after {count} files"
            raise InvalidInput(f"{self.url} can't be {done}: {last or cut_off}")


class _End(NamedTuple):
    files: int


def parse(line: str, read: Callable[[dict[str, Any]], T]) -> T | _End:
    """Parse what a line says, or at the end how many files there were. Raises InvalidInput for what is neither."""
    try:
        found = json.loads(line)
        return _End(int(found["files"])) if found.get("end") else read(found)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput):
        raise InvalidInput(f"HdfsTool printed {line.strip()[:200]!r}, which is no line of its output") from None


def stored_file(found: dict[str, Any]) -> StoredFile:
    segment = kind = None
    if "segmentId" in found:
        segment = SegmentName(uuid_bytes(found["topicId"]), int(found["partition"]), uuid_bytes(found["segmentId"]))
        kind = _KINDS[found["kind"]]
    return StoredFile(
        str(found["path"]), int(found["bytes"]), int(found["modifiedMs"]), segment, kind, str(found.get("topic", ""))
    )
