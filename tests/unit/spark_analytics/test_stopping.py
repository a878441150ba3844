from __future__ import annotations

import os
import signal
from threading import Event, Lock, current_thread, main_thread

import pytest

from spark_analytics.jobs.stopping import stopping

LONG_S = 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_what_runs_is_cancelled_in_another_thread(number: signal.Signals) -> None:
    cancelled, threads = Event(), []

    def cancel() -> None:
        threads.append(current_thread())
        cancelled.set()

    with stopping(cancel) as stopped:
        assert not stopped.is_set()
        os.kill(os.getpid(), number)
        assert cancelled.wait(LONG_S)
        assert stopped.is_set()
    assert main_thread() not in threads


def test_it_is_cancelled_again_since_more_may_have_begun_whatever_becomes_of_the_first_time() -> None:
    calls, twice = [], Event()

    def cancel() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("gone")
        twice.set()

    with stopping(cancel):
        os.kill(os.getpid(), signal.SIGTERM)
        assert twice.wait(LONG_S)


def test_a_signal_that_comes_while_the_main_thread_holds_what_cancelling_needs_waits_for_it() -> None:
    """As a call of Spark's does: cancelled in the handler, this would never end."""
    held, cancelled = Lock(), Event()

    def cancel() -> None:
        with held:
            cancelled.set()

    with stopping(cancel) as stopped:
        with held:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stopped.wait(LONG_S)
        assert cancelled.wait(LONG_S)


def test_without_a_signal_nothing_is_cancelled_and_the_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopping(lambda: pytest.fail("cancelled")) as stopped:
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert not stopped.is_set()
