"""`make bench-faults`: the fault matrix, on real brokers, beside what is predicted.

python -m tests.bench.faults [--only STORY] [--repeats N] [--elr on|off] [--beside JSON] [--page PAGE] [--out OUT]

It takes hours: a fault takes one to five minutes. Everything is in network namespaces of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from guardian.errors import GuardianError
from guardian.model.faults.stories import NAMED
from tests.bench.faults.bars import MEASURES, judged
from tests.bench.faults.page import page
from tests.bench.faults.rows import Row
from tests.bench.progress import end_on_sigterm, say, teller
from tests.bench.report import BUILD, rows, table
from tests.integration.predictions.happening import happen
from tests.integration.predictions.lab import FaultLab, describe_times
from tests.integration.predictions.predicting import predict
from tests.integration.predictions.settings import OF_OTHER_CLIENTS, SETTINGS

_REPEATS = 5
_BEFORE_ELR = "4.0"  # whose feature levels leave eligible.leader.replicas.version at 0
_QUORUM = 3
_OF_QUORUM = frozenset({"cut8"})


def main(arguments: Sequence[str]) -> int:
    """0: all bars are met; 1: not; 2: it could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=list(NAMED), help="may be repeated (all)")
    parser.add_argument("--repeats", type=int, default=_REPEATS, help="of each fault")
    parser.add_argument("--elr", choices=("on", "off"), help="eligible leader replicas (both)")
    parser.add_argument(
        "--beside", type=Path, action="append", help="the JSON file of an earlier run, told with this one"
    )
    parser.add_argument("--page", type=Path, help="the Markdown page that is written")
    parser.add_argument("--out", type=Path, default=BUILD / "faults.json", help="the JSON file")
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    names = options.only or list(NAMED)
    found = [Row.of_json(each) for path in options.beside or () for each in json.loads(path.read_text())["matrix"]]
    try:
        for elr in [options.elr == "on"] if options.elr else [True, False]:
            for several in (False, True):
                of_these = [name for name in names if (name in _OF_QUORUM) == several]
                found += _measured(of_these, options.repeats, elr=elr, controllers=_QUORUM if several else 1, tell=tell)
    except KeyboardInterrupt:
        say("interrupted: what was measured is written", sys.stderr)
    except (AssertionError, GuardianError, OSError) as failure:
        say(f"Error: {failure}", sys.stderr)
        return 2
    told = rows(MEASURES, judged(found))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"rows": [row.to_json() for row in told], "matrix": [row.to_json() for row in found]}
    options.out.write_text(json.dumps(document, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(found, describe_times()))
    say("\n" + table(told))
    return 0 if all(row.ok for row in told) else 1


def _measured(
    names: Sequence[str], repeats: int, *, elr: bool, controllers: int, tell: Callable[[str], None]
) -> Iterator[Row]:
    """Yield the rows of each fault; a fault that the cluster does not get over ends it."""
    if not names:
        return
    with _lab(elr=elr, controllers=controllers) as lab:
        tell(f"three brokers run, ELR {'on' if elr else 'off'}")
        for repeat in range(1, repeats + 1):
            for name in names:
                story = NAMED[name](lab.roles)
                settings = (*SETTINGS, *OF_OTHER_CLIENTS)
                happened = happen(lab, story, settings, f"-{name}-{repeat}")
                day = datetime.now(UTC).date().isoformat()
                for setting in settings:
                    predicted = predict(lab, story, setting, elr=elr)
                    row = Row(f"{name}: {story.name}", elr, repeat, setting, predicted, happened[setting], day)
                    tell(json.dumps(row.to_json()))
                    yield row


@contextmanager
def _lab(*, elr: bool, controllers: int) -> Iterator[FaultLab]:
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="faults-", dir=BUILD))
    try:
        with FaultLab(home, controllers=controllers, release="" if elr else _BEFORE_ELR) as lab:
            yield lab
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
