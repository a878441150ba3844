"""`make bench-console`: the console over a thousand simulated brokers, on the server and in Chromium.

python -m tests.bench.console [--only pages|live|change|commands|plans] [--brokers N] [--replicas N] [--rounds N]
    [--seconds S] [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import urllib.error
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.console import change, commands, live, pages
from tests.bench.console.bars import MEASURES
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, BenchFailed, Figures, rows, table

_PARTS = ("pages", "live", "change", "commands", "plans")
_DEATHS = 3
_COMMAND_ROUNDS = 3


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: a part could not be measured, and has no rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.console", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_PARTS, help="may be repeated (all)")
    parser.add_argument("--brokers", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=200, help="on each broker")
    parser.add_argument("--rounds", type=int, default=20, help="that each page is asked for")
    parser.add_argument("--seconds", type=float, default=60.0, help="that CPU is read, with pages and without")
    parser.add_argument("--out", type=Path, default=BUILD / "console.json", help="the JSON file")
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="console-", dir=BUILD))
    figures: dict[str, Figures] = {}
    details: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "cpus": os.cpu_count()}
    missing = []
    try:
        for part in options.only or _PARTS:
            try:
                found, details[part] = _measured(part, home, options, tell)
                figures |= found
            except (BenchFailed, FileNotFoundError, urllib.error.URLError) as failure:
                say(f"Error: {part}: {failure}", sys.stderr)
                missing.append(part)
    except KeyboardInterrupt:
        say("interrupted: nothing was written", sys.stderr)
        return 2
    finally:
        shutil.rmtree(home, ignore_errors=True)
    found_rows = rows(MEASURES, figures)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"rows": [row.to_json() for row in found_rows], **details}, indent=1) + "\n")
    say("\n" + table(found_rows))
    say(f"\nwritten to {options.out}; how to read it: tests/bench/README.md")
    if missing:
        return 2
    return 0 if all(row.ok for row in found_rows) else 1


def _measured(
    part: str, home: Path, options: argparse.Namespace, tell: Callable[[str], None]
) -> tuple[dict[str, Figures], Any]:
    """Return the rows of one part, and what explains them. Raises BenchFailed, FileNotFoundError and URLError."""
    if part == "pages":
        return pages.measured(home, options.brokers, options.replicas, options.rounds, tell)
    if part == "live":
        return live.measured(options.seconds, tell)
    if part == "commands":
        return commands.measured(home / part, options.brokers, options.replicas, _COMMAND_ROUNDS, tell)
    if part == "plans":
        return commands.plans_measured(home / part, tell)
    return change.measured(home / part, _DEATHS, tell)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
