"""Plans of a model in a file, made by the command that its users type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S


def plan_model(model: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run `guardian plan model` on the file."""
    guardian = Path(sys.executable).with_name("guardian")
    return subprocess.run(
        [guardian, "plan", "model", str(model), *more], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
