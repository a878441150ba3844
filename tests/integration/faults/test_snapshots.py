"""A member that was away for longer than the log is kept, and a group that is killed while it is being fed."""

from __future__ import annotations

import contextlib
import random
import time
from functools import partial

import pytest

from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.integration.faults.progress import tell
from tests.patience import wait_for

pytestmark = pytest.mark.integration

_PADDING_BYTES = 8000


def _leave_behind(group: Group, load: EventLoad, away: str) -> None:
    """Stops a member and writes until the leader's log begins after all that the member has."""
    status = group.status(away)
    assert status is not None
    had = status.last_index
    group.stop([away])

    def is_trimmed() -> bool:
        leader = group.status(group.leader(among=[name for name in group.names if name != away]))
        return leader is not None and leader.first_index > had + 1

    wait_for(f"the log is cut beyond {had}", is_trimmed)
    tell(f"{away} had {had}; {load.total} events are acknowledged")


def _installed(group: Group, name: str) -> int:
    status = group.status(name)
    return status.counters.get("snapshots_installed", 0) if status else 0


def test_a_member_that_was_down_past_the_trim_point_gets_a_snapshot_and_is_the_same(group: Group) -> None:
    away = group.followers()[0]
    others = [name for name in group.names if name != away]
    channels = [group.channel(name) for name in others]
    with EventLoad(channels, writers=4, batch=100, padding_bytes=_PADDING_BYTES, pause_s=0) as load:
        _leave_behind(group, load, away)
    with EventLoad(channels, writers=2, batch=10, partitions=100) as slow:
        group.start([away])  # writes go on while it is fed
        group.wait_serving([away])
        slow.wait_more(100)
    assert _installed(group, away) >= 1, group.log(away)
    load.require_all(group.channel(away))
    slow.require_all(group.channel(away))
    group.require_identical()


@pytest.mark.long
def test_a_group_that_is_killed_while_a_snapshot_is_installed_comes_back_whole(group: Group) -> None:
    away = group.followers()[0]
    others = [name for name in group.names if name != away]
    channels = [group.channel(name) for name in others]
    with EventLoad(channels, writers=4, batch=100, padding_bytes=_PADDING_BYTES, pause_s=0) as load:
        _leave_behind(group, load, away)
    chooser = random.Random(3)  # noqa: S311  faults, not secrets
    for number in range(4):
        started_at = time.time()
        group.start()
        # Anywhere between its first new chunk and the switch to the new store, differently each time.
        wait_for(f"{away} is being fed", partial(_is_or_was_fed, group, away, started_at))
        time.sleep(chooser.uniform(0, 0.5))
        is_done = _installed(group, away) > 0
        group.kill(group.names)
        tell(f"round {number}: all killed {'after' if is_done else 'during'} the installation")
        if is_done:
            break
    group.start()
    group.wait_serving()
    for name in group.names:
        load.require_all(group.channel(name))
    group.require_identical()


def _is_or_was_fed(group: Group, name: str, since: float) -> bool:
    return _is_fed(group, name, since) or _installed(group, name) > 0


def _is_fed(group: Group, name: str, since: float) -> bool:
    """Whether a file of a snapshot has grown since a moment of the wall clock."""
    with contextlib.suppress(FileNotFoundError):  # what is installed is moved away meanwhile
        for path in (group.data(name) / "raft" / "incoming").rglob("*"):
            if path.is_file() and path.stat().st_mtime > since:
                return True
    return False
