"""`make bench-faults`: the fault matrix, on real brokers, beside what is predicted.

python -m tests.bench.faults [--only FAULT] [--repeats N] [--elr on|off] [--recorded FILE] [--page PAGE] [--out OUT]

It takes hours: a fault takes one to five minutes. What was measured is kept at once, and is not measured again by the
next call with the same file; a run on a machine that was too busy for seconds is not kept. Everything is in network
namespaces of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from guardian.errors import GuardianError
from guardian.model.faults.stories import NAMED
from tests.bench.faults.bars import MEASURES, judged
from tests.bench.faults.page import page
from tests.bench.faults.rows import line_of, rows_of
from tests.bench.faults.runs import Run, keep, latest, recorded
from tests.bench.faults.starving import Starving
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, rows, table
from tests.integration.predictions.happening import happen
from tests.integration.predictions.lab import FaultLab, describe_times
from tests.integration.predictions.settings import OF_OTHER_CLIENTS, SETTINGS

_REPEATS = 5
_STARVING_S = 1.0  # which a silence may be shorter than foretold
_BEFORE_ELR = "4.0"  # whose feature levels leave eligible.leader.replicas.version at 0


@dataclass(frozen=True, slots=True)
class _Shape:
    """Describe a lab: some faults need another one than most."""

    controllers: int = 1
    log_dirs: int = 1
    slow_disks: bool = False


_USUAL = _Shape()
_SHAPES: Mapping[str, _Shape] = {
    "cut8": _Shape(controllers=3),
    "log-dir-fails": _Shape(log_dirs=2),
    "slow-disk": _Shape(slow_disks=True),
}


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=list(NAMED), help="may be repeated (all)")
    parser.add_argument("--repeats", type=int, default=_REPEATS, help="of each fault; 0 tells what is recorded")
    parser.add_argument("--elr", choices=("on", "off"), help="eligible leader replicas (both)")
    parser.add_argument(
        "--recorded", type=Path, default=BUILD / "faults-recorded.jsonl", help="the runs so far, and those of this call"
    )
    parser.add_argument("--page", type=Path, help="the Markdown page that is written")
    parser.add_argument("--out", type=Path, default=BUILD / "faults.json", help="the JSON file")
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    names = options.only or list(NAMED)
    try:
        done = {run.key for run in recorded(options.recorded)}
        for elr in [options.elr == "on"] if options.elr else [True, False]:
            for shape in (_USUAL, *_SHAPES.values()):
                of_these = [name for name in names if _SHAPES.get(name, _USUAL) == shape]
                wanted = [
                    (name, repeat)
                    for repeat in range(1, options.repeats + 1)
                    for name in of_these
                    if (name, elr, repeat) not in done
                ]
                for run in _measured(wanted, elr=elr, shape=shape, tell=tell):
                    keep(options.recorded, run)
    except KeyboardInterrupt:
        say("interrupted: what was measured is written", sys.stderr)
    except (AssertionError, GuardianError, OSError) as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    found = list(rows_of(latest(recorded(options.recorded))))
    told = rows(MEASURES, judged(found))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"rows": [row.to_json() for row in told]}, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(found, describe_times()))
    say("\n" + table(told))
    return 0 if all(row.ok for row in told) else 1


def _measured(
    wanted: Sequence[tuple[str, int]], *, elr: bool, shape: _Shape, tell: Callable[[str], None]
) -> Iterator[Run]:
    """Yield the run of each fault and repeat, but for those on a machine that was too busy; a fault that the cluster
    does not get over ends it."""
    if not wanted:
        return
    with _lab(elr=elr, shape=shape) as lab:
        tell(f"three brokers run, ELR {'on' if elr else 'off'}")
        for name, repeat in wanted:
            roles = lab.roles
            with Starving() as starving:
                happened = happen(lab, NAMED[name](roles), (*SETTINGS, *OF_OTHER_CLIENTS), f"-{name}-{repeat}")
            if starving.longest_s > _STARVING_S:
                tell(f"{name}: the machine let a thread wait for {starving.longest_s:.1f} s; it is not counted")
                continue
            day = datetime.now(UTC).date().isoformat()
            run = Run(name, elr, repeat, day, roles, tuple(lab.boots_s), happened)
            for row in rows_of([run]):
                tell(line_of(row))
            yield run


@contextmanager
def _lab(*, elr: bool, shape: _Shape) -> Iterator[FaultLab]:
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="faults-", dir=BUILD))
    try:
        release = "" if elr else _BEFORE_ELR
        with FaultLab(home, **asdict(shape), release=release) as lab:
            yield lab
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
