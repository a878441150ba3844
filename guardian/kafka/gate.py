"""What proves that a request which changes something may be sent: KafkaAdmin.each_change_proven_by asks it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Prove = Callable[[], None]


def needs_no_proof() -> None:
    """Prove nothing: for what changes nothing, and for callers that nobody else may have replaced: tools and tests."""


class Gate(threading.local):
    """`prove` is what the calls of this thread need, until somebody says by what they are to be proven meanwhile.

    A caller of whom only one may act must say it: without, a change goes out unproven.
    """

    def __init__(self) -> None:
        self.prove: Prove = needs_no_proof

    @contextmanager
    def proven_by(self, prove: Prove) -> Iterator[None]:
        before, self.prove = self.prove, prove
        try:
            yield
        finally:
            self.prove = before
