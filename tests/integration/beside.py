"""What goes on beside a test, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def beside(job: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs the job in a thread until its event is set, at the end; what it raises is raised here."""
    over = threading.Event()
    with ThreadPoolExecutor(1, "beside") as pool:
        running = pool.submit(job, over)
        try:
            yield
        finally:
            over.set()
        running.result()
