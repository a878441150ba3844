"""HDFS on a laptop: Hadoop's client for brokers, and a NameNode with its DataNodes in one process, for tests.

    with MiniHdfs(directory) as hdfs:
        ...  # hdfs.uri is hdfs://localhost:PORT

The process ends when its stdin closes, so that it never outlives the one that started it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from deploy.local.distribution import HERE, PLUGIN, TARGET, fetch, plugin_jar, require_java
from guardian.errors import Unavailable

CLIENT = "hadoop-client-3.4"
CLUSTER = "hadoop-minicluster-3.4"
SOURCE = PLUGIN / "src" / "test" / "java" / "guardian" / "kafka" / "hdfs" / "MiniHdfs.java"
STOP_S = 30.0


def hadoop_client_libs() -> Path:
    """The directory of Hadoop's client, which a broker gets beside the plugin's jar; see `distribution.fetch`."""
    return fetch(HERE / "jars" / f"{CLIENT}.xml", TARGET / CLIENT, "Hadoop's client (50 MB when its cache is empty)")


def storage_class_path() -> str:
    """For `remote.log.storage.manager.class.path`: the plugin and Hadoop's client."""
    return os.pathsep.join([str(plugin_jar()), f"{hadoop_client_libs()}/*"])


def tool_class_path() -> str:
    """For a JVM of its own with `guardian.kafka.hdfs.HdfsTool` or MiniHdfs: brokers would bring SLF4J."""
    libs = fetch(HERE / "jars" / f"{CLUSTER}.xml", TARGET / CLUSTER, "HDFS (90 MB when its cache is empty)")
    return os.pathsep.join([str(plugin_jar()), f"{libs}/*"])


class MiniHdfs:
    """A context manager: HDFS, started and empty; it ends with it."""

    def __init__(self, directory: Path, *, data_nodes: int = 1) -> None:
        self.directory = directory
        self.data_nodes = data_nodes
        self.uri = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> MiniHdfs:
        self.directory.mkdir(parents=True, exist_ok=True)
        java = [require_java(), "-Xmx384m", "-cp", tool_class_path(), str(SOURCE)]
        with (self.directory / "hdfs.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*java, str(self.directory / "data"), "0", str(self.data_nodes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        try:
            self.uri = self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def stop_namenode(self) -> None:
        self._command("stop-namenode")

    def start_namenode(self) -> None:
        self._command("start-namenode")

    def _command(self, command: str) -> None:
        process = self._running()
        if process.stdin is not None:
            process.stdin.write(f"{command}\n")
            process.stdin.flush()
        answer = self._answer()
        if answer != "ok":
            raise Unavailable(f"HDFS said {answer!r} to {command}: see {self.directory / 'hdfs.log'}")

    def _answer(self) -> str:
        process = self._running()
        answer = process.stdout.readline().strip() if process.stdout is not None else ""
        if not answer:
            raise Unavailable(f"HDFS has ended: see {self.directory / 'hdfs.log'}")
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise Unavailable("HDFS does not run: use `with MiniHdfs(...)`")
        return self._process
