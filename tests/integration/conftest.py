"""What only tests of the whole service need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from deploy.local.federation import Federation
from tests.patience import PATIENCE_S


@pytest.fixture(scope="session")
def guardian() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the CLI as an operator does: `guardian(members, "ticket", "list")`."""

    def run(members: Federation, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"GUARDIAN_TIMEOUT": "120s", **os.environ, "GUARDIAN_ENDPOINTS": ",".join(members.endpoints)}
        command = [sys.executable, "-m", "guardian.cli.main", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    return run
