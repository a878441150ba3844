"""`make bench-tiering`: Guardian's RemoteLogMetadataManager beside Kafka's topic-based one, on the same brokers.

python -m tests.bench.tiering [--rounds N] [--seconds S] [--segments N] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deploy.local import members, processes
from deploy.local.distribution import KAFKA, kafka_libs, plugin_jar
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import Member
from deploy.local.tiered_storage import GUARDIAN_METADATA, TOPIC_METADATA
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table
from tests.bench.tiering.bars import MEASURES
from tests.bench.tiering.manager import Manager

_MEMBERS = 3
_BROKERS = 3
_IN_FLIGHT = (1, 64, 1000, 4000)
_SEGMENTS_EACH = 1000
_LOOKUPS = 400_000
_MOVED_IN = 15  # partitions, besides those that are loaded together
_BROKER_ID = 1

Tell = Callable[[str], None]


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    options = _parse(arguments)
    end_on_sigterm()
    tell = teller()
    try:
        with ExitStack() as stack:
            figures, details = _bench(stack, options, tell)
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    found = rows(MEASURES, figures)
    say("\n" + table(found))
    out: Path = options.out or BUILD / "tiering.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"rows": [row.to_json() for row in found], **details}, indent=1) + "\n")
    say(f"\nwritten to {out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found) else 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tiering", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="of each load and side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a round (%(default)s)")
    parser.add_argument(
        "--segments", type=int, default=70_000, help="stored when look-ups, heap and loading are measured (%(default)s)"
    )
    parser.add_argument("--out", type=Path, help="the JSON file (build/bench/tiering.json)")
    return parser.parse_args(arguments)


def _bench(stack: ExitStack, options: argparse.Namespace, tell: Tell) -> tuple[dict[str, Figures], dict[str, Any]]:
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="tiering-", dir=BUILD))
    stack.callback(shutil.rmtree, home, ignore_errors=True)
    tell(f"starting {_BROKERS} brokers of Kafka {KAFKA} and {_MEMBERS} members of Guardian, data in {home}")
    cluster = stack.enter_context(KafkaCluster.start(ClusterSpec("bench", log_dirs=1, plugin=False), home / "kafka"))
    endpoints = _start_members(stack, home)
    peer = stack.enter_context(_topic_based(cluster, home))
    ours = stack.enter_context(_guardians(cluster, endpoints, home))
    details: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "kafka": KAFKA,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "segments": options.segments,
    }
    return _writes(peer, ours, options, tell, details) | _stored(peer, ours, options, tell, details), details


def _start_members(stack: ExitStack, home: Path) -> list[str]:
    group = members.plan_members(_MEMBERS, home / "guardian")
    lake = home / "lake"
    lake.mkdir()
    started: list[Member] = []
    stack.callback(lambda: processes.stop_all([m.process for m in started if m.process], deadline_s=10.0))
    for member in group:
        member.data.mkdir(parents=True, exist_ok=True)
        started.append(members.start_member(member, group, lake, home / f"{member.name}.log"))
    members.wait_ready(started)
    return [member.grpc for member in started]


def _topic_based(cluster: KafkaCluster, home: Path) -> Manager:
    """With Kafka's defaults: 50 partitions with three replicas, two of which must be in sync."""
    settings = {
        "remote.log.metadata.common.client.bootstrap.servers": cluster.bootstrap,
        "broker.id": str(_BROKER_ID),
        "cluster.id": cluster.cluster_id,
        "log.dir": str(home / "topic-based"),
    }
    return Manager("topic-based", TOPIC_METADATA, f"{kafka_libs()}/*", settings, home)


def _guardians(cluster: KafkaCluster, endpoints: Sequence[str], home: Path) -> Manager:
    """Its partitions are made up, so nobody can be asked who leads them."""
    settings = {
        "guardian.endpoints": ",".join(endpoints),
        "guardian.fence": "claim-order",
        "broker.id": str(_BROKER_ID),
        "cluster.id": cluster.cluster_id,
        "log.dir": str(home / "guardian-based"),
    }
    return Manager("guardian", GUARDIAN_METADATA, f"{plugin_jar()}:{kafka_libs()}/*", settings, home)


def _writes(
    peer: Manager, ours: Manager, options: argparse.Namespace, tell: Tell, details: dict[str, Any]
) -> dict[str, Figures]:
    """By turns, so that a noisy moment hits both; a figure is the median of its rounds."""
    figures = {}
    for in_flight in _IN_FLIGHT:
        taken: dict[str, list[dict[str, float]]] = {peer.name: [], ours.name: []}
        for _ in range(options.rounds):
            for side in (peer, ours):
                taken[side.name].append(side.ask("writes", in_flight, options.seconds))
        medians = {
            name: {key: statistics.median(run[key] for run in runs) for key in ("rate", "p50_ms", "p99_ms")}
            for name, runs in taken.items()
        }
        details[f"writes_{in_flight}"] = medians
        for name, median in medians.items():
            tell(
                f"    {name:12} {in_flight:5,} under way: {median['rate']:9,.1f} events/s, "
                f"p50 {median['p50_ms']:.2f} ms, p99 {median['p99_ms']:.2f} ms"
            )
        mine, theirs = medians[ours.name], medians[peer.name]
        how = f"p50 {mine['p50_ms']:.2f} ms, topic-based {theirs['p50_ms']:.2f} ms"
        figures[f"rlmm_{in_flight}"] = Figures(mine["rate"], theirs["rate"], how)
    return figures


def _stored(
    peer: Manager, ours: Manager, options: argparse.Namespace, tell: Tell, details: dict[str, Any]
) -> dict[str, Figures]:
    taken: dict[str, dict[str, dict[str, float]]] = {}
    partitions = max(2, options.segments // _SEGMENTS_EACH)
    segments = partitions * _SEGMENTS_EACH
    for side in (peer, ours):
        filled = side.ask("fill", partitions + _MOVED_IN, _SEGMENTS_EACH)
        stored = int(filled["segments"])
        tell(f"    {side.name:12} {stored:,} finished segments stored in {filled['seconds']:.1f} s")
        side.ask("reload", _MOVED_IN)  # the JVM knows the code by then
        reload = side.ask("reload", _MOVED_IN)
        found = {"reload": reload, "lookups": side.ask("lookups", _LOOKUPS), "move_in": side.ask("move_in")}
        taken[side.name] = found
        tell(
            f"    {side.name:12} loaded in {reload['seconds']:.2f} s, {reload['heap_bytes'] / segments:.0f} B of heap "
            f"a segment, look-up {found['lookups']['p50_ns']:.0f} ns, "
            f"a partition moves in in {found['move_in']['p50_ms']:.1f} ms"
        )
    details["stored"] = taken
    mine, theirs = taken[ours.name], taken[peer.name]
    return {
        "lookup_ns": Figures(mine["lookups"]["p50_ns"], theirs["lookups"]["p50_ns"], f"among {segments:,}"),
        "heap_per_segment": Figures(
            mine["reload"]["heap_bytes"] / segments, theirs["reload"]["heap_bytes"] / segments, f"of {segments:,}"
        ),
        "move_in_ms": Figures(
            mine["move_in"]["p50_ms"],
            theirs["move_in"]["p50_ms"],
            f"median of {_MOVED_IN}, worst {mine['move_in']['worst_ms']:.0f} ms",
        ),
        "reload_s": Figures(mine["reload"]["seconds"], theirs["reload"]["seconds"], f"{2 * segments:,} events"),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
