"""Numbered records by Kafka's own client: NumberedWriters.java in a JVM of its own."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from deploy.local.distribution import kafka_libs, require_java
from guardian.model.topology import Cluster
from tests.patience import PATIENCE_S

_SOURCE = Path(__file__).parent / "NumberedWriters.java"
_NS = 1e9


class JavaWriters:
    """A context manager: it writes into `topics`, each with the acks and kind (plain, idempotent, transactional) given,
    until its end. `acked` has, by topic and number, the monotonic time of the acknowledgement."""

    def __init__(
        self, cluster: Cluster, topics: Mapping[str, tuple[str, str]], log: Path, *, a_second: int, timeout_s: float
    ) -> None:
        self.acked: defaultdict[str, dict[int, float]] = defaultdict(dict)
        self._log = log
        java = [require_java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_libs()}/*", str(_SOURCE)]
        self._command = [
            *java,
            cluster.bootstrap,
            str(a_second),
            str(round(timeout_s * 1000)),
            *(f"{topic}:{acks}:{kind}" for topic, (acks, kind) in topics.items()),
        ]
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> JavaWriters:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(os.linesep)
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            topic, number, at_ns = line.split()
            self.acked[topic][int(number)] = int(at_ns) / _NS
