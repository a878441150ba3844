"""SIGTERM ends a member, at whatever line it comes: also at those by which the member begins to wait for it."""

from __future__ import annotations

import subprocess
import sys

DEADLINE_S = 120.0
LINES = 20
SIGNALLED = f"""
import signal, sys
from pathlib import Path
from guardian.config import ServerConfig
from guardian.server import app

config = ServerConfig("g1", Path("/nowhere"), "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "/nowhere")

def signalled_at(number):
    def trace(frame, event, _):
        nonlocal number
        number -= event == "line"
        if number == 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGTERM)
        return trace
    return trace

for number in range(1, {LINES}):
    app.start = lambda *_: sys.settrace(signalled_at(number))
    app.collect_rarely = lambda: None
    app._log.info = lambda what, **_: None
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
    signal.setitimer(signal.ITIMER_REAL, 0.05)  # where it has fewer lines
    app.serve(config)
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(None)
print("ended each time")
"""


def test_a_signal_at_any_line_ends_the_member() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert (done.stdout, done.returncode) == ("ended each time\n", 0), done.stderr
