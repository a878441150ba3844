"""Where a local federation lives, for those who start it and those who only look for it. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "GUARDIAN_LOCAL"
DEFAULT_HOME = Path(".guardian/local")
STATE = "state.json"


def default_home() -> Path:
    """$GUARDIAN_LOCAL, or `.guardian/local` in the current directory."""
    return Path(os.environ.get(HOME_VARIABLE, DEFAULT_HOME)).absolute()
