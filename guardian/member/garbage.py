"""How often a member looks for cyclic garbage: Python's defaults stop all threads too often for one.

A tick of the executor makes and drops tens of thousands of small objects that are in no cycle, and the defaults look
through the youngest at each 700. With 10,000 moves on 20 clusters a fifth of a tick went into that.
"""

from __future__ import annotations

import gc

_YOUNG = 50_000
_MIDDLE = 20
_OLD = 50


def collect_rarely() -> None:
    """Collect garbage rarely: what exists now (modules, what was read at the start) is never looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
