"""A group of three members for each test that asks for one; all that it made is gone afterwards, also on failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.faults.group import Group, make_group

# Tests count each partition's events from the first one on.
_KEEP_ALL_EVENTS = {"limits": {"events_per_partition": 100_000_000}}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Group]]:
    """`make(settings)` gives a group of which nothing runs yet."""
    with ExitStack() as stack:

        def new(settings: Mapping[str, Mapping[str, object]] | None = None) -> Group:
            return make_group(stack, tmp_path, settings={**_KEEP_ALL_EVENTS, **(settings or {})})

        yield new


@pytest.fixture
def group(make: Callable[..., Group]) -> Group:
    """A group that serves."""
    group = make()
    group.start()
    group.wait_serving()
    return group
