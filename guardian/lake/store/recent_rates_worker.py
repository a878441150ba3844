"""The process that reads the newest samples; question and answer are JSON.

python -m guardian.lake.store.recent_rates_worker < question > answer
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pyarrow.compute as pc

from guardian.errors import InvalidInput, Unavailable
from guardian.giving_way import give_way
from guardian.lake.model.window import recent_window
from guardian.lake.model.windows import Windows
from guardian.lake.store.reader import LakeReader, ReadLimits
from guardian.lake.store.windows import windows_of

_LAKE_S = 20.0


def main() -> int:
    answer_to = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is logged goes to the member's log, not into the answer
    give_way()
    question = json.load(sys.stdin)
    now_ms = question["now_ms"]
    remark = ""
    try:
        reader = LakeReader(question["lake"], ReadLimits(seconds=_LAKE_S))
        found = windows_of(reader, question["cluster"], recent_window(now_ms))
    except (InvalidInput, Unavailable) as error:
        found, remark = Windows(), str(error)
    with answer_to:
        json.dump(answer_of(found, remark), answer_to)
    return 0


def answer_of(found: Windows, remark: str = "") -> dict[str, Any]:
    """Of each partition the row of the replica that led it; its followers' rows say less."""
    led = found.replicas.filter(pc.field("is_leader"))
    columns = ("topic", "partition", "write_rate", "read_rate", "messages_rate")
    rows = zip(*(led[name].to_pylist() for name in columns), strict=True)
    partitions = [
        [topic, partition, written or 0.0, read or 0.0, messages or 0.0]
        for topic, partition, written, read, messages in rows
    ]
    return {
        "partitions": partitions,
        "cpu": dict(found.cpu),
        "cores": dict(found.cores),
        "nics": dict(found.nics),
        "remark": remark or ("" if partitions else "the metrics lake has no new samples of this cluster"),
    }


if __name__ == "__main__":
    sys.exit(main())
