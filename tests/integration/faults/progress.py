"""What a long test is at, for whoever watches it (`pytest -s`), or looks at why it failed."""

from __future__ import annotations

import time

_started = time.monotonic()


def tell(text: str) -> None:
    print(f"[{time.monotonic() - _started:7.1f} s] {text}", flush=True)  # noqa: T201  this is its purpose
