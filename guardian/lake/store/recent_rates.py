"""The newest rates of a cluster, for loads that people ask to see.

Reading Parquet is seconds of arithmetic, and a member has heartbeats to send meanwhile. So it is done in a process of
its own (guardian.lake.store.recent_rates_worker), one for a cluster at a time. Its answer serves everybody for some
seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from guardian.lake.model.recent_rates import PartitionRate, Rates
from guardian.model.topology import TopicPartition

_KEPT_S = 15.0
_DEADLINE_S = 60.0


class LakeRates:
    """Thread-safe. `lake_url` may be empty: then nothing is known of any cluster."""

    def __init__(
        self, lake_url: str, now_ms: Callable[[], int], kept_s: float = _KEPT_S, deadline_s: float = _DEADLINE_S
    ) -> None:
        self._lake_url = lake_url
        self._now_ms = now_ms
        self._kept_s = kept_s
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._reading: dict[str, threading.Lock] = {}
        self._kept: dict[str, tuple[float, Rates]] = {}

    def __call__(self, cluster: str) -> Rates:
        """Never raises: what can't be read is told in the remark."""
        if not self._lake_url:
            return Rates(remark="no metrics lake is configured")
        with self._lock:
            reading = self._reading.setdefault(cluster, threading.Lock())
        with reading:
            kept = self._kept.get(cluster)
            if kept is not None and time.monotonic() - kept[0] < self._kept_s:
                return kept[1]
            rates = self._read(cluster)
            self._kept[cluster] = (time.monotonic(), rates)
            return rates

    def _read(self, cluster: str) -> Rates:
        question = json.dumps({"lake": self._lake_url, "cluster": cluster, "now_ms": self._now_ms()})
        command = [sys.executable, "-m", "guardian.lake.store.recent_rates_worker"]
        try:
            done = subprocess.run(
                command, input=question.encode(), stdout=subprocess.PIPE, timeout=self._deadline_s, check=False
            )
        except subprocess.TimeoutExpired:
            return Rates(remark=f"the metrics lake was not read within {self._deadline_s:g} s")
        if done.returncode != 0:
            return Rates(remark=f"the process that reads the metrics lake ended with {done.returncode}: see the log")
        return rates_of(json.loads(done.stdout))


def rates_of(answer: Mapping[str, Any]) -> Rates:
    """Read the rates that the worker wrote."""
    return Rates(
        {
            TopicPartition(topic, partition): PartitionRate(written, read, messages)
            for topic, partition, written, read, messages in answer["partitions"]
        },
        {int(broker): value for broker, value in answer["cpu"].items()},
        {int(broker): value for broker, value in answer["cores"].items()},
        {int(broker): value for broker, value in answer["nics"].items()},
        answer["remark"],
    )
