"""`make bench-execute`: tickets, healing and restarts on real brokers by the clock, the rest on simulated fleets.

python -m tests.bench.execute [--only moves|clients|throttle|fleet|heal|restart] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.execute import clients, fleet, healing, moves, restarting, throttle
from tests.bench.execute.bars import MEASURES
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

Tell = Callable[[str], None]
_PARTS: dict[str, Callable[[Tell], tuple[dict[str, Figures], dict[str, Any]]]] = {
    "moves": moves.measured,
    "clients": clients.measured,
    "throttle": throttle.measured,
    "fleet": fleet.measured,
    "heal": healing.measured,
    "restart": restarting.measured,
}


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.execute", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_PARTS, help="may be repeated (all)")
    parser.add_argument("--out", type=Path, default=BUILD / "execute.json", help="the JSON file")
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    figures: dict[str, Figures] = {}
    details: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "cpus": os.cpu_count()}
    try:
        for part in options.only or _PARTS:
            taken, explained = _PARTS[part](tell)
            figures |= taken
            details[part] = explained
    except BenchFailed as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    found = rows(MEASURES, figures)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"rows": [row.to_json() for row in found], **details}, indent=1) + "\n")
    say("\n" + table(found))
    say(f"\nwritten to {options.out}; how to read it: tests/bench/README.md")
    return 0 if all(row.ok for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
