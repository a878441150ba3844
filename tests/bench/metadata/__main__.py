"""`make bench-metadata`: Guardian's store beside a 3-node etcd, and whether issue 4's bars are met.

python -m tests.bench.metadata [--soak] [--rounds N] [--seconds S] [--failovers N] [--events N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.metadata import driver, etcd_server, groups, soak
from tests.bench.metadata.bars import MEASURES, SOAK_MEASURES
from tests.bench.metadata.driver import Driver, Load, Pulls
from tests.bench.metadata.groups import EtcdGroup, Group, GuardianGroup
from tests.bench.metadata.measures import (
    MAX_IN_FLIGHT,
    FailoverFigures,
    Rounds,
    Side,
    Tell,
    by_turns,
    etcd_loads,
    failovers,
    find_best,
    our_loads,
)
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, Row, number, rows, table

_PULLED = 20_000  # events of the partition that is pulled from, appended in tens
_PULLED_SINGLY = 12_000  # and of one that got them one by one
_PULLS = {1_000: 200, 10_000: 60}  # how often so many are pulled


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    options = _parse(arguments)
    end_on_sigterm()
    tell = teller()
    try:
        with ExitStack() as stack:
            found, details = _soak(stack, options, tell) if options.soak else _bench(stack, options, tell)
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    say("\n" + table(found))
    out: Path = options.out or BUILD / ("metadata-soak.json" if options.soak else "metadata.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"rows": [row.to_json() for row in found], **details}, indent=1) + "\n")
    say(f"\nwritten to {out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found) else 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.metadata", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--soak", action="store_true", help="10M events, without etcd: restart, memory, snapshots")
    parser.add_argument("--rounds", type=int, default=5, help="of each measure and side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round (%(default)s)")
    parser.add_argument("--failovers", type=int, default=20, help="of each side (%(default)s)")
    parser.add_argument("--events", type=int, help="stored when pulls are measured (1,000,000; soak: 10,000,000)")
    parser.add_argument("--only", choices=("writes", "pulls", "failovers"), help="not the other measures")
    parser.add_argument("--out", type=Path, help="the JSON file (build/bench/metadata.json)")
    return parser.parse_args(arguments)


def _home(stack: ExitStack) -> Path:
    """Below build/, hence on the checkout's disk: /tmp may be memory."""
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="metadata-", dir=BUILD))
    stack.callback(shutil.rmtree, home, ignore_errors=True)
    return home


def _start(stack: ExitStack, group: Group, binary: Path) -> Side:
    stack.callback(groups.stop_all, group)
    groups.start_all(group)
    return Side(group, Driver(binary, group.store))


def _bench(stack: ExitStack, options: argparse.Namespace, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    tell("building the driver")
    binary = driver.build()
    home = _home(stack)
    etcd_group = EtcdGroup(home, etcd_server.find())
    tell(f"starting three members of each, data in {home}")
    ours = _start(stack, GuardianGroup(home), binary)
    etcd = _start(stack, etcd_group, binary)
    details: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "etcd": etcd_group.version(),
        "rounds": options.rounds,
        "seconds": options.seconds,
    }
    figures: dict[str, Figures] = {}
    with_failovers = options.only in (None, "failovers")
    # While etcd is empty: with a million entries its members take half a minute to be back. Ours keep all they have.
    peer = _failovers(etcd, options.failovers, tell, details) if with_failovers else None
    if options.only in (None, "pulls"):
        figures |= _pulls(ours, etcd, options.events or 1_000_000, tell)
    if options.only in (None, "writes"):
        figures |= _writes(ours, etcd, options, tell, details)
    if peer is not None:
        mine = _failovers(ours, options.failovers, tell, details)
        how = f"{options.failovers} kills, {mine.acknowledged:,} acknowledged, {mine.lost} lost"
        figures["failover_p50"] = Figures(mine.median, peer.median, how, mine.fault)
        figures["failover_worst"] = Figures(mine.worst, peer.worst, how, mine.fault)
    details["rss_mb"] = {side.name: round(groups.largest_rss_mb(side.group), 1) for side in (ours, etcd)}
    return rows(MEASURES, figures), details


def _pulls(ours: Side, etcd: Side, events: int, tell: Tell) -> dict[str, Figures]:
    small = events // 10
    tell(f"pulls, with {small:,} and with {events:,} entries stored by each")
    ours.driver.load(ours.group.endpoints, _PULLED_SINGLY, _PULLED_SINGLY, singly=True)
    at_small: dict[int, Pulls] = {}
    figures = {}
    for stored, more, pulled in ((small, small, _PULLED), (events, events - small, 0)):
        for side in (etcd, ours):
            taken = side.driver.load(side.group.endpoints, more, pulled)
            tell(f"    {side.name:8}  {more:,} entries loaded in {taken:.1f} s")
        for count, times in _PULLS.items():
            peer = etcd.driver.pull(etcd.group.endpoints, count, times, _PULLED)
            mine = ours.driver.pull(ours.group.endpoints, count, times, _PULLED)
            single = ours.driver.pull(ours.group.endpoints, count, times, _PULLED_SINGLY, singly=True)
            tell(
                f"    {stored:,} stored, {count:,} pulled: ours {mine}, etcd {peer}, ours appended one by one {single}"
            )
            before = at_small.setdefault(count, mine)
            how = f"{stored:,} stored, all members in turn; {mine}; with {small:,} {before}; one by one {single}"
            figures[f"pull_{count}"] = Figures(mine.p50_ms, peer.p50_ms, how)
    return figures


def _writes(
    ours: Side, etcd: Side, options: argparse.Namespace, tell: Tell, details: dict[str, Any]
) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    turns = partial(by_turns, etcd, ours=ours, rounds=options.rounds, seconds=options.seconds)
    kept: dict[str, dict[str, str]] = {}
    details["writes"] = kept

    def take(name: str, peer_load: Load, our_load: Load) -> tuple[Rounds, Rounds]:
        peer, mine = turns(peer_load, our_load=our_load)
        kept[name] = {etcd.name: str(peer), ours.name: str(mine)}
        for side, rounds in kept[name].items():
            tell(f"    {side:8}  {rounds}")
        return peer, mine

    tell("batches of 100: the best load of each side")
    etcd_100 = find_best(etcd, etcd_loads([100]), tell)
    ours_100 = find_best(ours, our_loads(100), tell)
    tell(f"batches of 100: {options.rounds} rounds of each")
    peer, mine = take("events_100", etcd_100, ours_100)
    figures["events_100"] = Figures(mine.rate, peer.rate, str(ours_100))
    figures["events_100_p99"] = Figures(mine.p99_ms, peer.p99_ms, str(ours_100))

    tell("batches of 1000: the best load of each side, etcd's also with smaller batches")
    etcd_any = find_best(etcd, [etcd_100, *etcd_loads([500, 1000])], tell)
    ours_1000 = find_best(ours, our_loads(1000), tell)
    tell(f"batches of 1000: {options.rounds} rounds of each")
    peer, mine = take("events_1000", etcd_any, ours_1000)
    figures["events_1000"] = Figures(mine.rate, peer.rate, f"{ours_1000}; etcd: {etcd_any}")

    tell(f"single writes: {options.rounds} rounds of each")
    one = Load(1, 1, 1)
    peer, mine = take("write_1", one, one)
    _, unary = take("write_1 by unary calls", one, Load(1, 1, 1, is_unary=True))
    figures["write_1_p50"] = Figures(mine.p50_ms, peer.p50_ms, f"{one}; by unary calls {number(unary.p50_ms, 'ms')}")
    etcd_16 = find_best(etcd, [load for load in etcd_loads([1]) if load.in_flight == MAX_IN_FLIGHT], tell)
    ours_16 = find_best(ours, [load for load in our_loads(1) if load.in_flight == load.streams == MAX_IN_FLIGHT], tell)
    peer, mine = take("write_16", etcd_16, ours_16)
    figures["write_16"] = Figures(mine.rate, peer.rate, str(ours_16))
    return figures


def _failovers(side: Side, times: int, tell: Tell, details: dict[str, Any]) -> FailoverFigures:
    tell(f"failovers of {side.name}: {times}")
    taken = failovers(side, times, tell)
    tell(
        f"    {side.name:8}  median {taken.median:.2f} s, worst {taken.worst:.2f} s; {taken.acknowledged:,} writes "
        f"acknowledged, {taken.lost} lost, {taken.repeated} stored twice"
    )
    details[f"failovers_{side.name}"] = [round(seconds, 3) for seconds in taken.seconds]
    return taken


def _soak(stack: ExitStack, options: argparse.Namespace, tell: Tell) -> tuple[list[Row], dict[str, Any]]:
    tell("building the driver")
    binary = driver.build()
    group = GuardianGroup(_home(stack))
    ours = _start(stack, group, binary)
    figures, details = soak.measure(group, ours, options.events or 10_000_000, _PULLED, _PULLS, tell)
    return rows(SOAK_MEASURES, figures), details


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
