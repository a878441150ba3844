"""The first plan on a machine takes a minute more than all others, and a person who waits is told why."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from guardian.cli.printing import echo


def announce_compiling() -> None:
    """Says so on stderr unless compiled code lies beside the search, or where numba was told to keep it."""
    package = find_spec("spark_analytics.search")
    here = Path(package.origin).parent / "__pycache__" if package and package.origin else Path()
    kept = Path(os.environ.get("NUMBA_CACHE_DIR", here))
    if not any(kept.rglob("kernels.*.nbi")):
        echo("The first plan on this machine compiles the search: about a minute more, once.", err=True)
