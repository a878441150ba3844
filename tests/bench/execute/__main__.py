"""`make bench-execute`: tickets, healing and restarts on real brokers by the clock, the rest on simulated fleets.

python -m tests.bench.execute [--only moves|clients|throttle|fleet|ended|heal|restart] [--first-seed N] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from tests.bench.execute import clients, ended, fleet, healing, moves, record, restarting, throttle
from tests.bench.execute.bars import MEASURES
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

Tell = Callable[[str], None]
_PARTS: dict[str, Callable[[Tell], tuple[dict[str, Figures], dict[str, Any]]]] = {
    "moves": moves.measured,
    "clients": clients.measured,
    "throttle": throttle.measured,
    "fleet": fleet.measured,
    "ended": ended.measured,
    "heal": healing.measured,
    "restart": restarting.measured,
}


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.execute", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_PARTS, help="may be repeated (all)")
    parser.add_argument("--first-seed", type=int, help="of the throttle's fleets (1)")
    parser.add_argument("--out", type=Path, help="the JSON file (build/bench/execute.json; with other seeds, its own)")
    options = parser.parse_args(arguments)
    measured, stem = _PARTS, "execute"
    if options.first_seed is not None:
        measured = _PARTS | {"throttle": partial(throttle.measured, first_seed=options.first_seed)}
        stem = f"execute-seed-{options.first_seed}"
    out = options.out or BUILD / f"{stem}.json"
    end_on_sigterm()
    tell = teller()
    parts = tuple(dict.fromkeys(options.only or _PARTS))
    figures: dict[str, Figures] = {}
    told: dict[str, Any] = {}
    try:
        _stored(out)  # a file that can't be read is found before anything is measured
        commit = _commit()
        for part in parts:
            taken, told[part] = measured[part](tell)
            figures |= taken
        stored = _stored(out)
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    found = rows(MEASURES, figures)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    merged = record.merged(stored, told, found, at=at, commit=commit, cpus=os.cpu_count())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(merged, indent=1) + "\n")
    say("\n" + table(found))
    for line in record.kept(merged, parts):
        say(f"not measured now, {line}")
    say(f"\nwritten to {out}; how to read it: tests/bench/README.md")
    missing = record.missing(parts, figures)
    if missing:
        say(f"Error: not measured, though asked for: {', '.join(missing)}", sys.stderr)
        return 2
    return 0 if all(row.ok for row in found) else 1


def _stored(path: Path) -> record.Record:
    """What earlier runs wrote; empty where there is none. Raises BenchFailed."""
    try:
        return cast("record.Record", json.loads(path.read_text()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BenchFailed(f"{path} is no JSON ({error}), so its rows can't be kept: delete it") from error


def _commit() -> str:
    """Of this tree, with "-dirty" where it was changed since; empty: it is no repository."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    told = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return told.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
