"""A leader that is cut off, in both directions and in one: the others go on within seconds, the one that is cut off
acknowledges nothing and answers no read, and all are the same once the cut has healed."""

from __future__ import annotations

import grpc
import pytest

from tests.integration.faults import probes
from tests.integration.faults.event_load import EventLoad
from tests.integration.faults.group import Group
from tests.patience import wait_for

pytestmark = pytest.mark.integration

_NOT_SERVED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


@pytest.mark.parametrize(
    ("sends", "receives"),
    [
        pytest.param(False, False, id="in both directions", marks=pytest.mark.soak),
        pytest.param(True, False, id="it is heard and hears nobody"),
        pytest.param(False, True, id="it hears and nobody hears it", marks=pytest.mark.soak),
    ],
)
def test_the_others_go_on_without_a_leader_that_is_cut_off(group: Group, sends: bool, receives: bool) -> None:
    leader = group.leader()
    others = [name for name in group.names if name != leader]
    probes.put(group.channel(leader), "register", "before the cut")
    with EventLoad([group.channel(name) for name in others], writers=4, batch=10) as load:
        load.wait_more(100)
        group.network.isolate(leader, sends=sends, receives=receives)
        new_leader = group.leader(among=others)
        assert new_leader != leader
        load.wait_more(100)
        probes.put(group.channel(new_leader), "register", "after the cut")

        # Nothing that is asked of it is answered: not even what it still has, which is old by now.
        assert probes.refusal_of_get(group.channel(leader), "register") in _NOT_SERVED
        assert probes.refusal_of_put(group.channel(leader), "other", "from the one cut off") in _NOT_SERVED
        wait_for("the old leader has stepped down", lambda: _state(group, leader) != "leader")

        group.network.heal()
        group.wait_serving()
        load.wait_more(100)
    for name in group.names:
        assert probes.get(group.channel(name), "register") == "after the cut"
        load.require_all(group.channel(name))
    group.require_identical()


def test_a_follower_that_comes_back_does_not_unseat_the_leader(group: Group) -> None:
    leader, follower = group.leader(), group.followers()[0]
    term = group.status(leader).term  # type: ignore[union-attr]
    with EventLoad([group.channel(leader)], writers=2, batch=10) as load:
        group.network.isolate(follower)
        wait_for("the follower knows no leader", lambda: _leader_seen_by(group, follower) == "")
        load.wait_more(200)
        group.network.heal()
        wait_for("the follower knows the leader again", lambda: _leader_seen_by(group, follower) == leader)
        load.wait_more(200)
    status = group.status(leader)
    assert status is not None
    assert (status.state, status.term) == ("leader", term)


@pytest.mark.parametrize(
    "is_leader_heard",
    [pytest.param(True, id="it can't answer"), pytest.param(False, id="it hears nothing", marks=pytest.mark.soak)],
)
def test_a_cut_between_the_leader_and_one_follower_stops_nobody(group: Group, is_leader_heard: bool) -> None:
    leader, follower = group.leader(), group.followers()[0]
    with EventLoad([group.channel(name) for name in group.names], writers=4, batch=10) as load:
        load.wait_more(100)
        group.network.cut(*((follower, leader) if is_leader_heard else (leader, follower)))
        load.wait_more(1000)
        before = group.leader()
        term = group.status(before).term  # type: ignore[union-attr]
        load.wait_more(1000)
        status = group.status(before)
        assert status is not None
        assert (status.state, status.term) == ("leader", term)
        group.network.heal()
        load.wait_more(100)
    load.require_all(group.channel(follower))
    group.require_identical()


def _state(group: Group, name: str) -> str:
    status = group.status(name)
    return status.state if status else ""


def _leader_seen_by(group: Group, name: str) -> str | None:
    status = group.status(name)
    return status.leader if status else None
