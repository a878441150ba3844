"""Brokers at a moment that is past, of the samples before it.

Of counters only what went forward counts, and only within one life of the broker. A rate is the gain of such pairs of
samples over the time between them, and is not known where there is no pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from guardian.health.model.past import PastBroker, PastLogDir, Sample, Samples

_MS = 1000
_COUNTED = {
    "bytes_in_per_s": "bytes_in_total",
    "bytes_out_per_s": "bytes_out_total",
    "replication_bytes_in_per_s": "replication_bytes_in_total",
    "replication_bytes_out_per_s": "replication_bytes_out_total",
    "messages_in_per_s": "messages_in_total",
}
_IO = ("bytes_read", "bytes_written")
_REQUESTS = ("reads_completed", "writes_completed")
_WAITED = ("read_ms", "write_ms")


def past_brokers(samples: Samples, registered: Iterable[int]) -> tuple[PastBroker, ...]:
    """Return the brokers that are registered and those of which there are samples, by id."""
    return tuple(_broker(broker, samples) for broker in sorted({*registered, *samples.brokers}))


def _broker(broker: int, samples: Samples) -> PastBroker:
    rows = samples.brokers.get(broker, ())
    good = [row for row in rows if not row["error"]]
    error = rows[-1]["error"] if rows else ""
    if not good:
        return PastBroker(broker, error=error)
    last = good[-1]
    life = "broker_started_at_ms"
    return PastBroker(
        broker,
        last["at_ms"],
        error,
        last[life] or None,
        last["rack"],
        last["idc"],
        **{name: _per_s(good, (column,), life) for name, column in _COUNTED.items()},
        cpu=_cpu(good),
        memory_available_bytes=last["memory_available_bytes"],
        held=samples.held.get(broker),
        log_dirs=tuple(_log_dirs(broker, samples)),
    )


def _log_dirs(broker: int, samples: Samples) -> Iterator[PastLogDir]:
    for (of, log_dir), rows in sorted(samples.log_dirs.items()):
        if of != broker:
            continue
        last = rows[-1]
        steps = samples.disks.get((broker, last["disk"]), ())
        requests, waited, busy = (_gain(steps, columns) for columns in (_REQUESTS, _WAITED, ("busy_ms",)))
        yield PastLogDir(
            log_dir,
            last["disk"],
            last["total_bytes"],
            last["usable_bytes"],
            last["offline"],
            busy=busy and busy[0] / busy[1],
            await_ms=waited[0] / requests[0] if requests and waited and requests[0] else None,
            bytes_per_s=_per_s(steps, _IO),
        )


def _cpu(rows: Sequence[Sample]) -> float | None:
    gain, cores = _gain(rows, ("cpu_busy_ms",)), rows[-1]["cores"]
    return gain[0] / (gain[1] * cores) if gain and cores else None


def _per_s(rows: Sequence[Sample], columns: Sequence[str], life: str = "") -> float | None:
    gain = _gain(rows, columns, life)
    return gain and gain[0] * _MS / gain[1]


def _gain(rows: Sequence[Sample], columns: Sequence[str], life: str = "") -> tuple[int, int] | None:
    """Return by how much the sum of counters grew, and in how many ms."""
    gained = lasted = 0
    for before, after in pairwise(rows):
        steps = [_step(before[column], after[column]) for column in columns]
        took = after["at_ms"] - before["at_ms"]
        if took > 0 and None not in steps and (not life or before[life] == after[life]):
            gained += sum(step or 0 for step in steps)
            lasted += took
    return (gained, lasted) if lasted else None


def _step(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before
