"""[audit_query_s]: a day of a large fleet's client activity in the embedded ClickHouse, and how long questions take.

A day of 1000 brokers with 70 clients' doings a minute each is 100.8 million rows. ClickHouse makes them itself, seeded;
a client does the same thing every minute, more or less often, as real ones do, and few topics have most of the traffic.

    python -m tests.bench.observe.audit FOLDER [--rows 100000000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from guardian.activity.rules import questions
from guardian.activity.rules.database import Database, Question, prepare
from guardian.activity.rules.questions import HOUR_MS, Span
from guardian.activity.rules.rows import SliceName, slice_rows
from guardian.activity.store.embedded import EmbeddedDatabase
from guardian.activity.store.store import ActivityStore
from protos.guardian.v1.reporter_pb2 import ActivitySlice, MetricBatch

CLUSTER = "live"
BROKERS = 1000
TOPICS = 5000
MINUTES = 24 * 60
DAY_MS = int(datetime(2040, 3, 4, tzinfo=UTC).timestamp() * 1000)  # far ahead: no retention ends it
LIFE_MS = DAY_MS - HOUR_MS
_SEED = 42
_MEMORY_MB = 700
_RETENTION_DAYS = 30
_REPEATS = 5
_STEP_MINUTES = 10  # one statement


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Medians in seconds by question, their first times, and what it costs to keep the day."""

    rows: int
    fill_s: float
    bytes_per_row: float
    worker_rss_mb: float
    worker_peak_rss_mb: float
    audit_query_s: float  # the slowest of them
    query_s: Mapping[str, float]
    first_query_s: Mapping[str, float]


def measure(folder: Path, rows: int = 100_000_000) -> AuditResult:
    """Fills an empty folder with a day of so many rows, asks, and leaves the folder to the caller."""
    with closing(EmbeddedDatabase(folder, _MEMORY_MB)) as database:
        prepare(database, _RETENTION_DAYS)
        started = time.monotonic()
        stored = fill(database, rows)
        fill_s = time.monotonic() - started
        times = {name: _times(database, question) for name, question in slice_questions()}
        disk = database.query(
            Question(
                "SELECT sum(bytes_on_disk) / sum(rows) AS each FROM system.parts WHERE active AND table = 'activity'"
            )
        )
        rss_mb, peak_mb = worker_rss_mb(folder)
    medians = {name: statistics.median(found) for name, found in times.items()}
    return AuditResult(
        rows=stored,
        fill_s=fill_s,
        bytes_per_row=float(disk[0]["each"]),
        worker_rss_mb=rss_mb,
        worker_peak_rss_mb=peak_mb,
        audit_query_s=max(medians.values()),
        query_s=medians,
        first_query_s={name: found[0] for name, found in times.items()},
    )


def fill(database: Database, rows: int = 100_000_000) -> int:
    """Stores a day of about so many rows, and the slices' markers; returns how many."""
    slots = max(1, round(rows / (BROKERS * MINUTES)))
    for first in range(0, MINUTES, _STEP_MINUTES):
        database.execute(_doings(slots, first))
        database.execute(_markers(first))
    return BROKERS * MINUTES * (slots + 1)


def slice_questions() -> Iterator[tuple[str, Question]]:
    """Ten minutes at three o'clock, and the whole day."""
    for title, span in (
        ("10 min", Span(DAY_MS + 3 * HOUR_MS, DAY_MS + 3 * HOUR_MS + 600_000)),
        ("day", Span(DAY_MS, DAY_MS + 24 * HOUR_MS)),
    ):
        yield f"topic, {title}", questions.topic_users(CLUSTER, "topic-7", span, 1000)
        yield f"broker, {title}", questions.broker_activity(CLUSTER, 7, span, 1000)
        yield f"principal, {title}", questions.principal_activity(CLUSTER, "User:team-3", span, 1000)
        yield f"coverage, {title}", questions.coverage(CLUSTER, span)
    yield "idle topics, day", questions.topic_last_uses(CLUSTER, DAY_MS)
    yield "tenant costs, day", questions.topic_sums(CLUSTER, span)
    yield "ACLs' uses, day", questions.uses(CLUSTER, DAY_MS)
    yield (
        "ACLs' uses from 100 addresses, day",
        questions.uses_from(CLUSTER, [f"10.{number}.7.7" for number in range(100)], DAY_MS),
    )


def worker_rss_mb(folder: Path) -> tuple[float, float]:
    """Now and at most, of the process that holds the folder."""
    wanted = f"guardian.activity.store.worker\0{folder.absolute()}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "cmdline").read_bytes():
                fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
                return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]
        except (OSError, KeyError):
            continue
    return 0.0, 0.0


def _times(database: Database, question: Question) -> list[float]:
    times = []
    for _ in range(_REPEATS):
        started = time.monotonic()
        database.query(question)
        times.append(time.monotonic() - started)
    return times


def _doings(slots: int, first_minute: int) -> str:
    """A client is a slot of a broker: who it is follows from a hash of both, how often it comes from one with time."""
    return f"""
INSERT INTO activity (cluster, broker, life, slice, from_time, duration_ms, resource_type, resource, operation,
    principal, client_id, address, allowed, denied, bytes_produced, bytes_fetched, bytes_shared, dropped, lost)
SELECT '{CLUSTER}', broker, {LIFE_MS}, minute + 1, {_FROM_TIME}, 60000, 'TOPIC', 'topic-' || toString(topic),
    if(reads, 'READ', 'WRITE'), 'User:team-' || toString(intDiv(topic, 20)),
    'app-' || toString(topic) || '-' || toString(who % 5),
    '10.' || toString(topic % 200) || '.' || toString(who % 40) || '.7',
    often, if(often % 997 = 0, 1, 0), if(reads, 0, often * 1000 + often % 91), if(reads, often * 1200 + often % 83, 0),
    who % 3 = 0, 0, 0
FROM (
    SELECT {first_minute} + intDiv(number, {BROKERS * slots}) AS minute, number % {BROKERS} AS broker,
        intDiv(number, {BROKERS}) % {slots} AS slot, cityHash64(broker, slot, {_SEED}) AS who,
        toUInt32({TOPICS} * pow((who % 1000000) / 1000000, 2)) AS topic, bitTest(who, 40) AS reads,
        1 + (bitShiftRight(who, 20) % 300) + cityHash64(who, minute) % 50 AS often
    FROM numbers({_STEP_MINUTES * BROKERS * slots}))
"""


def _markers(first_minute: int) -> str:
    return f"""
INSERT INTO activity (cluster, broker, life, slice, from_time, duration_ms)
SELECT '{CLUSTER}', broker, {LIFE_MS}, minute + 1, {_FROM_TIME}, 60000
FROM (SELECT {first_minute} + intDiv(number, {BROKERS}) AS minute, number % {BROKERS} AS broker
      FROM numbers({_STEP_MINUTES * BROKERS}))
"""


# Each broker has minutes of its own.
_FROM_TIME = f"fromUnixTimestamp64Milli(toInt64({DAY_MS} + minute * 60000 + broker * 59), 'UTC')"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What it costs to store slices as the collector brings them: seconds of CPU for a round of a fleet."""

    rows: int
    member_cpu_s: float
    worker_cpu_s: float


def measure_ingest(folder: Path, rounds: int = 5, brokers: int = BROKERS, slots: int = 70) -> IngestResult:
    """A round is a slice of each broker. The costs are those of one."""
    with closing(ActivityStore(EmbeddedDatabase(folder, _MEMORY_MB), _RETENTION_DAYS, flush_s=1.0)) as store:
        store.start()
        while store.position(CLUSTER, 0) is None:
            time.sleep(0.05)
        batches = [[_batch(broker, number, slots) for broker in range(brokers)] for number in range(1, rounds + 1)]
        worker_before, before = _worker_cpu_s(folder), time.process_time()
        for number, round_batches in enumerate(batches, 1):
            for batch in round_batches:
                store.write(CLUSTER, batch)
            while store.status().stored_slices < number * brokers:
                time.sleep(0.02)
        member_s = time.process_time() - before
        worker_s = _worker_cpu_s(folder) - worker_before
    return IngestResult(brokers * (slots + 1), member_s / rounds, worker_s / rounds)


def _batch(broker: int, number: int, slots: int) -> MetricBatch:
    names = [f"topic-{(broker * 31 + slot * 17) % TOPICS}" for slot in range(slots)]
    strings = ["TOPIC", "READ", "WRITE", "", *names, *(f"User:team-{slot % 9}" for slot in range(slots))]
    strings += [f"app-{slot}" for slot in range(slots)] + [f"10.0.{broker % 250}.{slot}" for slot in range(slots)]
    strings += [f"team-{slot % 9}" for slot in range(slots)]
    texts = [range(4 + kind * slots, 4 + (kind + 1) * slots) for kind in range(5)]
    found = ActivitySlice(
        number=number,
        from_ms=DAY_MS + number * 60_000,
        to_ms=DAY_MS + (number + 1) * 60_000,
        strings=strings,
        principals=texts[1],
        client_ids=texts[2],
        addresses=texts[3],
        resource_types=[0] * slots,
        resources=texts[0],
        operations=[1 + slot % 2 for slot in range(slots)],
        allowed=[slot + 1 for slot in range(slots)],
        denied=[0] * slots,
        byte_users=texts[4],
        byte_client_ids=texts[2],
        bytes_produced=[1000.0 * (slot % 2) for slot in range(slots)],
        bytes_fetched=[1000.0 * (1 - slot % 2) for slot in range(slots)],
    )
    slice_rows(SliceName(CLUSTER, broker, LIFE_MS, number), found)  # it is a slice that is taken
    return MetricBatch(broker_id=broker, broker_started_at_ms=LIFE_MS, collected_at_ms=DAY_MS, activity=[found])


def _worker_cpu_s(folder: Path) -> float:
    wanted = f"guardian.activity.store.worker\0{folder.absolute()}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "cmdline").read_bytes():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / 100
        except OSError:
            continue
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="A day of client activity in the embedded ClickHouse.")
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument("--rows", type=int, default=100_000_000)
    options = parser.parse_args()
    json.dump(asdict(measure(options.folder, options.rows)), sys.stdout, indent=2)
    json.dump(asdict(measure_ingest(options.folder.with_name(options.folder.name + "-ingest"))), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
