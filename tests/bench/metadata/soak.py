"""What only shows when much is stored: restart, memory, and writes while a snapshot is made."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import grpc

from deploy.local import processes
from protos.guardian.v1 import raft_pb2, raft_pb2_grpc
from tests.bench.metadata import groups
from tests.bench.metadata.driver import Load
from tests.bench.metadata.groups import GuardianGroup
from tests.bench.metadata.measures import Side, Tell
from tests.bench.report import BenchFailed, Figures

_PARTITIONS = 1_000  # so that none has so many events that the oldest are trimmed
_RESTART_DEADLINE_S = 120.0
_USUAL = Load(100, 4, 4)
_WRITE_S = 20.0


def measure(
    group: GuardianGroup, ours: Side, events: int, pulled: int, pulls: Mapping[int, int], tell: Tell
) -> tuple[dict[str, Figures], dict[str, Any]]:
    """A tenth of the events belongs to segments that stay live, so 10 million leave a million."""
    taken = ours.driver.load(group.endpoints, events, pulled, lives=True, partitions=_PARTITIONS)
    tell(f"{events:,} events loaded in {taken:.0f} s")
    figures: dict[str, Figures] = {}
    for count, times in pulls.items():
        mine = ours.driver.pull(group.endpoints, count, times, pulled)
        figures[f"pull_{count}"] = Figures(mine.p50_ms, None, f"{events:,} stored; {mine}")
        tell(f"pull of {count:,}: {mine}")
    figures["snapshot_p99"] = _during_snapshots(group, ours, tell)
    rss_mb = groups.largest_rss_mb(group)
    figures["rss_mb"] = Figures(rss_mb, None, f"after {events:,} events and snapshots")
    tell(f"the largest member has {rss_mb:.0f} MB")
    restarts = [_restart_s(group, member) for member in range(groups.MEMBERS)]
    tell("restarts: " + ", ".join(f"{seconds:.1f} s" for seconds in restarts))
    figures["restart_s"] = Figures(max(restarts), None, f"the slowest of {len(restarts)}")
    return figures, {"events": events, "load_s": round(taken, 1), "restarts_s": [round(s, 2) for s in restarts]}


def _during_snapshots(group: GuardianGroup, ours: Side, tell: Tell) -> Figures:
    """p99 of the same load without and with snapshots of the leader, one after the other."""
    usual = ours.write(_USUAL, _WRITE_S)
    channel = group.channel(groups.wait_leader(group))
    stop = threading.Event()
    snapshots: list[float] = []
    faults: list[str] = []

    def save() -> None:
        while not stop.is_set():
            began = time.monotonic()
            try:
                for _ in raft_pb2_grpc.RaftStub(channel).SaveSnapshot(raft_pb2.SaveSnapshotRequest()):
                    pass
            except grpc.RpcError as error:
                faults.append(str(error))
                return
            snapshots.append(time.monotonic() - began)

    saving = threading.Thread(target=save)
    saving.start()
    try:
        during = ours.write(_USUAL, _WRITE_S)
    finally:
        stop.set()
        saving.join()
    fault = f"a snapshot failed: {faults[0]}" if faults else "" if snapshots else "no snapshot was made"
    tell(f"p99 {usual.p99_ms:.1f} ms, during {len(snapshots)} snapshots {during.p99_ms:.1f} ms")
    return Figures(during.p99_ms, usual.p99_ms, f"{_USUAL}; {len(snapshots)} snapshots of the leader", fault)


def _restart_s(group: GuardianGroup, member: int) -> float:
    """From the start of a member that was killed to its first answer to a linearizable read."""
    processes.kill(group.running[member])
    groups.wait_leader(group, without=member)
    began = time.monotonic()
    group.start(member)
    while not group.is_serving(member):
        if time.monotonic() - began > _RESTART_DEADLINE_S:
            raise BenchFailed(f"member {member} does not serve {_RESTART_DEADLINE_S:.0f} s after its start")
        time.sleep(0.02)
    taken = time.monotonic() - began
    groups.wait_caught_up(group, member)
    return taken
