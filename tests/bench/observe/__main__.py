"""`make bench-observe`: what observing costs: a broker, a member with a thousand brokers, an audit.

python -m tests.bench.observe [--only broker|fleet|audit|query] [--brokers N] [--rounds N] [--rows N] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deploy.local.distribution import KAFKA, PLUGIN, kafka_libs, plugin_jar
from tests.bench.observe import audit, broker, fleet
from tests.bench.observe.bars import MEASURES
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

_AUDIT_COST = "guardian.kafka.activity.AuditCost"
_PARTS = ("broker", "fleet", "audit", "query")

Tell = Callable[[str], None]
Found = tuple[dict[str, Figures], dict[str, Any]]


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    options = _parse(arguments)
    end_on_sigterm()
    tell = teller()
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="observe-", dir=BUILD))
    figures: dict[str, Figures] = {}
    details: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "kafka": KAFKA,
    }
    try:
        for part in options.only or _PARTS:
            found, explained = _measure(part, home / part, options, tell)
            figures |= found
            details[part] = explained
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return _tell(figures, details, options.out or BUILD / "observe.json")


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.observe", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_PARTS, help="may be repeated (all)")
    parser.add_argument("--brokers", type=int, default=1000, help="of the simulated fleet (%(default)s)")
    parser.add_argument("--replicas", type=int, default=1000, help="of each of them (%(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=1, help="of one member, after the first; a minute each (%(default)s)"
    )
    parser.add_argument("--rows", type=int, default=100_000_000, help="of the audited day (%(default)s)")
    parser.add_argument("--out", type=Path, help="the JSON file (build/bench/observe.json)")
    return parser.parse_args(arguments)


def _measure(part: str, home: Path, options: argparse.Namespace, tell: Tell) -> Found:
    home.mkdir()
    if part == "broker":
        with ExitStack() as stack:
            return broker.measure(stack, home, tell)
    if part == "fleet":
        return fleet.measure(home, options.brokers, options.replicas, options.rounds, tell)
    return _audit_cost(tell) if part == "audit" else _audit_query(home, options.rows, tell)


def _audit_cost(tell: Tell) -> Found:
    """The plugin's own microbenchmark, in a JVM as a broker's."""
    tell("counting authorizations in process")
    path = f"{PLUGIN / 'target' / 'test-classes'}:{plugin_jar()}:{kafka_libs()}/*"
    done = subprocess.run(
        ["java", "-Xms512m", "-Xmx512m", "-cp", path, _AUDIT_COST], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BenchFailed(f"{_AUDIT_COST} ended with {done.returncode}; it says last:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    tell(f"    {found}")
    return {"audit_ns": Figures(found["audit_ns"], None, "besides what StandardAuthorizer takes")}, found


def _audit_query(home: Path, count: int, tell: Tell) -> Found:
    tell(f"a day of {count:,} rows in the embedded ClickHouse")
    found = audit.measure(home, count)
    tell(f"    filled in {found.fill_s:.0f} s, {found.bytes_per_row:.1f} B a row")
    how = f"the slowest of {len(found.query_s)} questions, {found.rows:,} rows"
    return {"audit_query_s": Figures(found.audit_query_s, None, how)}, asdict(found)


def _tell(figures: dict[str, Figures], details: dict[str, Any], out: Path) -> int:
    found = rows(MEASURES, figures)
    say("\n" + table(found))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"rows": [row.to_json() for row in found], **details}, indent=1) + "\n")
    say(f"\nwritten to {out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
