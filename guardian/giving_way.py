"""How a member's helper processes yield to the member itself, which has heartbeats to send meanwhile."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_NICER = 5
_GROUP_NICER = 10
_AUTOGROUP = Path("/proc/self/autogroup")


def give_way() -> None:
    """Yield the processor to whoever started this process.

    Where autogrouping is on, Linux weighs sessions against each other by nice values of their own, and one's own nice
    value counts within a session alone (sched(7)). So a process that leads a session lowers that of its session too.
    """
    os.nice(_NICER)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel without it
            _AUTOGROUP.write_text(str(_GROUP_NICER))
