"""A member leaves out pandas, which pyarrow loads wherever it is installed and which nothing of a member uses: half of
what a start costs it, and 40 MB. (The planner's processes have it: PySpark needs it.)"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec


def leave_out(package: str) -> None:
    """Keep the package from being imported in this process from now on, as if it were not installed."""
    sys.meta_path.insert(0, _Absent(package))


class _Absent:
    """A finder (importlib.abc.MetaPathFinder) that comes before all others."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        if name == self._package:
            raise ModuleNotFoundError(f"{name} is left out of this process", name=name)
        return None
