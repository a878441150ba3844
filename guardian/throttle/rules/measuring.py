"""What a broker did between two looks at its counters.

disk        busy ms / ms        its utilisation;   ms of operations / operations   its await
interface   bytes / s / speed   the busier way of the two
requests    Kafka's mean is of all requests since the broker started, and so is its count: the two tell what the
            requests of the last second took, though no metric does. Kafka's p99 remembers some minutes: it is
            quick to rise, because one request in a hundred does it, and slow to fall.
"""

from __future__ import annotations

from guardian.throttle.model import (
    BrokerCounters,
    BrokerReading,
    DiskCounters,
    Latency,
    NicCounters,
    RequestCounters,
)

_LEAST_MS = 100  # two looks closer than this tell nothing


def reading(before: BrokerCounters | None, now: BrokerCounters, nic_bits_per_s: float = 0.0) -> BrokerReading:
    """The time between the looks; a young reading when there is only one, or when the broker restarted.

    `nic_bits_per_s` is the speed of interfaces whose host does not tell it; 0: they have no limit.
    """
    if before is None or before.started_at_ms != now.started_at_ms or now.at_ms - before.at_ms < _LEAST_MS:
        seen = {kind: Latency(counted.p99_ms, counted.p99_ms) for kind, counted in now.requests.items()}
        return BrokerReading(now.broker, latencies=seen, is_young=True)
    ms = now.at_ms - before.at_ms
    busy = {
        name: _utilisation(before.disks[name], disk, ms) for name, disk in now.disks.items() if name in before.disks
    }
    waits = {name: _await_ms(before.disks[name], disk) for name, disk in now.disks.items() if name in before.disks}
    flows = {name: _bits_per_s(before.nics[name], nic, ms) for name, nic in now.nics.items() if name in before.nics}
    nics = {
        name: flow / speed for name, flow in flows.items() if (speed := now.nics[name].bits_per_s or nic_bits_per_s)
    }
    disk, slowest, nic = (max(each, key=lambda n: (each[n], n), default="") for each in (busy, waits, nics))
    return BrokerReading(
        now.broker,
        disk=disk,
        utilisation=busy.get(disk, 0.0),
        slowest_disk=slowest,
        await_ms=waits.get(slowest, 0.0),
        nic=nic,
        nic_share=nics.get(nic, 0.0),
        nic_without_speed="" if nics else min(flows, default=""),
        latencies={
            kind: latency
            for kind, counted in now.requests.items()
            if kind in before.requests and (latency := _latency(before.requests[kind], counted)) is not None
        },
        copied_per_s=max(0.0, now.copied_bytes - before.copied_bytes) * 1000 / ms,
    )


def _utilisation(before: DiskCounters, now: DiskCounters, ms: int) -> float:
    return min(1.0, max(0, now.busy_ms - before.busy_ms) / ms)


def _await_ms(before: DiskCounters, now: DiskCounters) -> float:
    operations = now.operations - before.operations
    return max(0, now.operation_ms - before.operation_ms) / operations if operations > 0 else 0.0


def _bits_per_s(before: NicCounters, now: NicCounters, ms: int) -> float:
    most = max(now.bytes_received - before.bytes_received, now.bytes_sent - before.bytes_sent)
    return max(0, most) * 8 * 1000 / ms


def _latency(before: RequestCounters, now: RequestCounters) -> Latency | None:
    """None when there were no requests: nobody waited."""
    count = now.count - before.count
    if count < 1:
        return None
    took_ms = now.mean_ms * now.count - before.mean_ms * before.count
    return Latency(max(0.0, took_ms / count), now.p99_ms)
