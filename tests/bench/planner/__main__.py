"""`make bench-planner`: plans beside Cruise Control's stored ones, on fresh clusters, at scale.

python -m tests.bench.planner [--only shared|blind|scale|cold|lake] [--shared FOLDER] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.planner import blind, lake_to_plans, scale, shared
from tests.bench.planner.bars import MEASURES
from tests.bench.planner.shared import Compared
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

_PARTS = ("shared", "blind", "scale", "cold", "lake")
_GROUPS = {"data_mixed": "mixed-", "data_skew": "skew-", "data_expand": "expand-", "data_drain": "drain-"}
_FRONTIER = {"expand-100": (0.15, 0.12, 0.10, 0.08, 0.06, 0.047), "drain-100": (0.20, 0.14, 0.12, 0.10, 0.08, 0.047)}

Tell = Callable[[str], None]
Taken = tuple[dict[str, Figures], dict[str, Any]]


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    options = _parse(arguments)
    end_on_sigterm()
    tell = teller()
    parts: dict[str, Callable[[], Taken]] = {
        "shared": lambda: _shared(options.shared, tell),
        "blind": lambda: _blind(tell),
        "scale": lambda: _scale(tell),
        "cold": lambda: _cold(tell),
        "lake": lambda: lake_to_plans.measured(tell),
    }
    figures: dict[str, Figures] = {}
    details: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "cpus": os.cpu_count()}
    try:
        for part in options.only or _PARTS:
            taken, explained = parts[part]()
            figures |= taken
            details[part] = explained
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    found = rows(MEASURES, figures)
    out = options.out or BUILD / "planner.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"rows": [row.to_json() for row in found], **details}, indent=1) + "\n")
    say("\n" + table(found))
    say(f"\nwritten to {out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found) else 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planner", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_PARTS, help="may be repeated (all; lake takes minutes)")
    parser.add_argument(
        "--shared", type=Path, help="models, stored plans and score.py (shared/bench/planner beside us)"
    )
    parser.add_argument("--out", type=Path, help="the JSON file (build/bench/planner.json)")
    return parser.parse_args(arguments)


def _shared(given: Path | None, tell: Tell) -> Taken:
    folder = shared.located(given, Path(__file__).parents[3])
    if folder is None:
        tell("no shared models: there is no shared/bench/planner beside the project; name it by --shared FOLDER")
        return {}, {"left_out": "no folder shared/bench/planner"}
    tell(f"models of {folder}; Cruise Control's plans are stored ones: compare its CPU seconds, not its wall time")
    found = []
    with tempfile.TemporaryDirectory() as home:
        for one in shared.compared(folder, Path(home)):
            tell(_told(one))
            found.append(one)
    faults = [fault for one in found for fault in one.faults]
    figures = {measure: _worst(found, begins, "data_to_move_mb", 1e6) for measure, begins in _GROUPS.items()} | {
        "leader_moves": _worst([one for one in found if one.ours["brokers"] >= 100], "", "leader_moves", 1.0),
        "spread": Figures(len(faults), None, f"{len(found)} models", "; ".join(faults[:5])),
    }
    curves = {name: shared.frontier(folder, name, cvs) for name, cvs in _FRONTIER.items()}
    for name, points in curves.items():
        tell(f"frontier of {name}: " + ", ".join(f"cv {cv:g}: {tb:.1f} TB (max {top:.2f})" for cv, tb, top in points))
    return figures, {"models": [asdict(one) for one in found], "frontier": curves}


def _told(one: Compared) -> str:
    ours, peer = one.ours, one.peer
    spreads = " ".join(f"{name} {ours[name]['cv']:.3f}/{peer[name]['cv']:.3f}" for name in shared.RESOURCES)
    return (
        f"{one.name}: {ours['data_to_move_mb'] / 1e6:.1f} TB, stored {peer['data_to_move_mb'] / 1e6:.1f}; "
        f"replicas {ours['replica_moves']}/{peer['replica_moves']}, leaders {ours['leader_moves']}/"
        f"{peer['leader_moves']}; CPU {one.cpu_s:.2f} s/{one.peer_cpu_s:.1f} s; cv {spreads}"
    )


def _worst(found: Sequence[Compared], begins: str, what: str, scale: float) -> Figures:
    """Of the models whose name begins so, the one where we are worst against the peer."""
    one = max((one for one in found if one.name.startswith(begins)), key=lambda one: one.ours[what] / one.peer[what])
    return Figures(one.ours[what] / scale, one.peer[what] / scale, f"{one.name}, stored plan")


def _blind(tell: Tell) -> Taken:
    found = []
    for one in blind.tried():
        proven = f"; proven out of reach: {', '.join(one.proven)}" if one.proven else ""
        missed = f"; MISSED: {', '.join(one.missed)}" if one.missed else ""
        moved = f"{one.moved:.1%} of all bytes, disk alone {one.least:.1%}"
        tell(f"{one.name}: {one.cpu_s:.2f} s, {moved}{proven}{missed}")
        found.append(one)
    missed_names = [one.name for one in found if one.missed]
    figures = {"blind": Figures(len(missed_names), None, f"of {len(found)}", "; ".join(missed_names))}
    return figures, {"clusters": [asdict(one) for one in found]}


def _scale(tell: Tell) -> Taken:
    """With one disk a broker and with 14."""
    sizes = {100: 20_000, 1000: 200_000, 5000: 1_000_000}
    found: dict[str, dict[str, float]] = {}
    for brokers, replicas in sizes.items():
        for disks in (1, 14) if brokers < 5000 else (1,):
            one = scale.measured(brokers, replicas, disks)
            tell(
                f"{brokers} brokers, {replicas} replicas, {disks} disks each: {one['cpu_s']:.2f} s CPU, "
                f"{one['rss_gb']:.2f} GB"
            )
            found[f"{brokers}/{disks}"] = one
    figures = {f"cpu_{brokers}": Figures(found[f"{brokers}/1"]["cpu_s"], None) for brokers in sizes}
    figures["memory_5000"] = Figures(found["5000/1"]["rss_gb"], None)
    for brokers in (100, 1000):
        with_disks, without = found[f"{brokers}/14"]["cpu_s"], found[f"{brokers}/1"]["cpu_s"]
        figures[f"disks_{brokers}"] = Figures(with_disks / without, None, f"{with_disks:.2f} s / {without:.2f} s")
    exponent = scale.exponent([(replicas, found[f"{brokers}/1"]["cpu_s"]) for brokers, replicas in sizes.items()])
    tell(f"CPU grows as replicas to the power of {exponent:.2f}")
    figures["growth"] = Figures(exponent, None, "1: as the replicas do")
    return figures, {**found, "exponent": exponent}


def _cold(tell: Tell) -> Taken:
    seconds = scale.cold_start_s()
    tell(f"a new process has its first plan after {seconds:.1f} s")
    return {"cold_start": Figures(seconds, None, "12 brokers; generating them included")}, {"cold_start_s": seconds}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
