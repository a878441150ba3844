"""The threads of methods that wait; gRPC hands a call over on the event loop, as soon as its request has come.

What waits for a thread is counted from then on, and until its thread is free again: so one address can't fill the line
in which all others wait.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from guardian.errors import Overloaded
from guardian.serving.errors import Calls, InThread


class CallPool(ThreadPoolExecutor):
    """Answer Overloaded, without a thread, what would be one too many in `calls`."""

    def __init__(self, threads: int, calls: Calls) -> None:
        super().__init__(threads, thread_name_prefix="rpc")
        self._calls = calls

    def submit(self, method: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run `method` in a thread. Arguments of an InThread are its request and context."""
        if not isinstance(method, InThread):
            return super().submit(method, *arguments, **named)
        _, context = arguments
        try:
            end = self._calls.begin(context.peer())
        except Overloaded as error:
            method.refuse(context, error)
            refused = Future[Any]()
            refused.set_result(None)
            return refused
        try:
            running = super().submit(method, *arguments)
        except RuntimeError:  # the server is stopping
            end()
            raise
        running.add_done_callback(lambda _: end())
        return running
