"""The host of a simulated broker: a disk for each log dir, network, processors and memory. Pure.

Counters began with the simulation: hosts, unlike brokers, are not started anew. A slow disk does the same work in many
times the time; a dead one is gone.
"""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np

from deploy.local.fleet.clocks import BEGINNING_S, Floats
from deploy.local.fleet.names import BROKER_METERS
from deploy.local.fleet.replicas import Replicas
from deploy.local.fleet.shape import ClusterShape
from protos.guardian.v1 import reporter_pb2 as pb

_BYTES_OUT = next(at for at, name in enumerate(BROKER_METERS) if name.endswith("BytesOutPerSec"))
_GIB = 1 << 30
DIR_BYTES = 4_000 * _GIB
_MEMORY = 64 * _GIB
_CORES = 16
_NIC_BITS_S = 25_000_000_000
_PACKET_BYTES = 1400
_WRITE_BYTES, _READ_BYTES = 262_144, 131_072
_WRITE_MS, _READ_MS = 2.0, 4.0
_FROM_DISK = 0.1  # the share of what consumers read that the page cache has no more
# While it is slow: what its operations wait in a second, how busy it is, and how much of that tasks wait for.
_SLOW_WAIT_MS, _SLOW_BUSY_MS, _SLOW_STALL_US = 1500.0, 600.0, 300_000.0


def host_facts(
    shape: ClusterShape, position: int, replicas: Replicas, sizes: Floats, at_s: float, log_dirs: tuple[str, ...]
) -> pb.HostFacts:
    """Build the facts of a broker's host at this time; `sizes` are those of the replicas."""
    wave = shape.wave
    load, total = wave.rate(at_s), wave.total(at_s)
    slow_s = shape.slow_seconds(position, at_s)
    written = shape.written(at_s)
    bytes_in, bytes_out, *_, copied_in, copied_out = (int(total) for total in replicas.broker_rates @ written)
    return pb.HostFacts(
        disks=_disks(shape, position, replicas, written, slow_s),
        memory=pb.MemoryFacts(
            total_bytes=_MEMORY,
            available_bytes=int(_MEMORY * (0.9 - 0.05 * load)),
            page_cache_bytes=int(_MEMORY * 0.78),
            dirty_bytes=int(300_000_000 * load),
        ),
        log_dirs=_log_dirs(shape, position, replicas, sizes, log_dirs),
        nics=[
            pb.NicFacts(
                name="eth0",
                bytes_received=bytes_in + copied_in,
                bytes_sent=bytes_out + copied_out,
                packets_received=(bytes_in + copied_in) // _PACKET_BYTES,
                packets_sent=(bytes_out + copied_out) // _PACKET_BYTES,
                bits_per_s=_NIC_BITS_S,
            )
        ],
        pressure=pb.PressureFacts(
            cpu_some_us=int(20_000 * total),
            io_some_us=int(5_000 * total + _SLOW_STALL_US * slow_s.sum()),
            io_full_us=int(1_000 * total + _SLOW_STALL_US / 3 * slow_s.sum()),
        ),
        cpu=_cpu(at_s, total, float(slow_s.sum())),
    )


def _cpu(at_s: float, total: float, slow_s: float) -> pb.CpuFacts:
    user_ms, system_ms = int(_CORES * 80 * total), int(_CORES * 40 * total)
    wait_ms = int(_CORES * (4 * total + 100 * slow_s))
    spent_ms = _CORES * (124 * total + 100 * slow_s)
    idle_ms = int(_CORES * 1000 * (at_s - BEGINNING_S) - spent_ms)
    return pb.CpuFacts(cores=_CORES, user_ms=user_ms, system_ms=system_ms, io_wait_ms=wait_ms, idle_ms=idle_ms)


def _disks(
    shape: ClusterShape, position: int, replicas: Replicas, written: Floats, slow_s: Floats
) -> list[pb.DiskFacts]:
    appended = replicas.dir_rates @ written
    share = replicas.dir_rates.sum(axis=1) / max(1.0, replicas.dir_rates.sum())
    fetched = share * float(replicas.broker_rates[_BYTES_OUT] @ written) * _FROM_DISK
    disks = []
    for at in np.flatnonzero(~shape.dead_dirs[position]):
        writes, reads = appended[at] / _WRITE_BYTES, fetched[at] / _READ_BYTES
        disks.append(
            pb.DiskFacts(
                name=f"sd{ascii_lowercase[at + 1]}",
                bytes_read=int(fetched[at]),
                bytes_written=int(appended[at]),
                reads_completed=int(reads),
                writes_completed=int(writes),
                busy_ms=int((writes * _WRITE_MS + reads * _READ_MS) / 2 + _SLOW_BUSY_MS * slow_s[at]),
                read_ms=int(reads * _READ_MS + _SLOW_WAIT_MS / 3 * slow_s[at]),
                write_ms=int(writes * _WRITE_MS + _SLOW_WAIT_MS * slow_s[at]),
            )
        )
    return disks


def _log_dirs(
    shape: ClusterShape, position: int, replicas: Replicas, sizes: Floats, log_dirs: tuple[str, ...]
) -> list[pb.LogDirFacts]:
    facts = []
    used = replicas.dir_sizes(sizes)
    topics = shape.topics.names
    names = [f"{topics[topic]}-{number}" for topic, number in zip(replicas.topics, replicas.numbers, strict=True)]
    for at, path in enumerate(log_dirs):
        if shape.dead_dirs[position, at]:
            facts.append(pb.LogDirFacts(path=path, offline=True))
            continue
        facts.append(
            pb.LogDirFacts(
                path=path,
                total_bytes=DIR_BYTES,
                usable_bytes=max(0, DIR_BYTES - int(used[at])),
                disk=f"sd{ascii_lowercase[at + 1]}",
                replicas=[names[row] for row in np.flatnonzero(replicas.dirs == at)],
                size_bytes=int(used[at]),
            )
        )
    return facts
