"""One step at a time: what is cut first, what is let go first, and what is not touched."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.model.cluster_state import PartitionState, Reassignment
from guardian.model.effects import AlterConfigs, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import (
    Behaviour,
    ClientUse,
    DiskCondition,
    DiskKey,
    DiskState,
    Doing,
    Hold,
    Lever,
    LeverKind,
    Protection,
)
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaClient, QuotaEntity
from guardian.model.topology import TopicPartition
from guardian.protection.rules.disk_doings import ClusterLook
from guardian.protection.rules.protecting import (
    ProtectionSettings,
    View,
    last_reasons,
    protect,
    released,
    since_ms,
    title,
)

SDB = DiskKey(1, "sdb")
MB = 1_000_000
NOW = 1_000_000
SETTINGS = ProtectionSettings("act", window_s=60, step_s=30, floor_mb_per_s=1, blind_s=100, levers=3)
FREE = Protection("live")


def condition(state: DiskState) -> DiskCondition:
    return DiskCondition(SDB, ("/d",), state, 0.99, 5.0, 0.0, 0.0, 0, "99% busy, limit 90%, for 60 s")


def reads(client_id: str, rate: float) -> Doing:
    client = QuotaClient(client_id, "alice")
    partition = TopicPartition(client_id, 0)
    return Doing(SDB, partition, Behaviour.USER_READ, rate, None, True, True, "late", (ClientUse(client, rate, "g"),))


def view(state: DiskState | None, *doings: Doing, quotas: dict[QuotaEntity, dict[str, float]] | None = None) -> View:
    conditions = {SDB: condition(state)} if state is not None else {}
    return View(ClusterLook(NOW, frozenset({1}), quotas=quotas or {}), conditions, doings)


def lever(client_id: str, value: int, before: int = 100 * MB, set_at_ms: int = 0) -> Lever:
    entity = QuotaEntity("alice", client_id)
    return Lever(SDB, LeverKind.CLIENT_QUOTA, entity.name, CONSUMER_BYTE_RATE, value, before, set_at_ms=set_at_ms)


def values(protection: Protection) -> dict[str, int]:
    return {QuotaEntity.of_name(each.subject).client_id or "": each.value for each in protection.levers}


def test_the_largest_is_halved_and_recorded_before_it_is_sent() -> None:
    step = protect(FREE, view(DiskState.OVER, reads("small", 3.0 * MB), reads("large", 20.0 * MB)), SETTINGS, NOW)
    assert values(step.protection) == {"large": 10 * MB}
    assert [(each.resource_type, each.values, each.replaced) for each in step.protection.intents] == [
        ("CLIENT", ("10000000",), None)
    ]
    (effect,) = step.effects
    assert isinstance(effect, AlterConfigs)
    assert list(effect.changes) == [ConfigKey("CLIENT", "user=alice,client-id=large", CONSUMER_BYTE_RATE)]
    assert step.sentences[0].startswith("disk sdb of broker 1: 99% busy, limit 90%, for 60 s: consumer_byte_rate of ")
    assert "this hits whoever uses client id large as user alice" in step.sentences[0]
    assert since_ms(step.protection, SDB) == NOW


def test_one_step_a_disk_then_its_effect_is_awaited() -> None:
    first = protect(FREE, view(DiskState.OVER, reads("a", 20.0 * MB)), SETTINGS, NOW).protection
    quotas = {QuotaEntity("alice", "a"): {CONSUMER_BYTE_RATE: 10.0 * MB}}
    soon = protect(first, view(DiskState.OVER, reads("a", 10.0 * MB), quotas=quotas), SETTINGS, NOW + 29_000)
    assert values(soon.protection) == {"a": 10 * MB}
    later = protect(first, view(DiskState.OVER, reads("a", 10.0 * MB), quotas=quotas), SETTINGS, NOW + 30_000)
    assert values(later.protection) == {"a": 5 * MB}


def test_one_at_its_least_is_passed_over_for_the_next() -> None:
    held = replace(FREE, levers=(lever("a", MB),))
    step = protect(held, view(DiskState.OVER, reads("a", 9.0 * MB), reads("b", 4.0 * MB)), SETTINGS, NOW)
    assert values(step.protection) == {"a": MB, "b": 2 * MB}


def test_what_is_below_the_floor_already_is_not_touched() -> None:
    step = protect(FREE, view(DiskState.OVER, reads("a", 0.5 * MB)), SETTINGS, NOW)
    assert step.protection.levers == ()
    assert "nothing abnormal is left that could be held back" in step.remarks[-1]


def test_a_persons_quota_is_where_a_cut_begins_and_what_comes_back() -> None:
    quotas = {QuotaEntity("alice", "a"): {CONSUMER_BYTE_RATE: 8.0 * MB}}
    step = protect(FREE, view(DiskState.OVER, reads("a", 20.0 * MB), quotas=quotas), SETTINGS, NOW)
    assert values(step.protection) == {"a": 4 * MB}
    assert [each.replaced for each in step.protection.intents] == ["8000000"]
    assert step.protection.levers[0].before == 8 * MB


@pytest.mark.parametrize("state", [DiskState.BETWEEN, DiskState.UNKNOWN, None])
def test_nothing_is_changed_when_a_disk_is_neither_over_nor_under_its_limits(state: DiskState | None) -> None:
    held = replace(FREE, levers=(lever("a", MB),), stepped_ms=((SDB, NOW - 50_000),))
    step = protect(held, view(state, reads("a", 9.0 * MB)), SETTINGS, NOW)
    assert values(step.protection) == {"a": MB}


def test_what_was_set_last_is_let_go_first_step_by_step() -> None:
    held = replace(FREE, levers=(lever("a", 10 * MB, set_at_ms=1), lever("b", 40 * MB, set_at_ms=2)))
    step = protect(held, view(DiskState.UNDER), SETTINGS, NOW)
    assert values(step.protection) == {"a": 10 * MB, "b": 80 * MB}
    step = protect(step.protection, view(DiskState.UNDER), SETTINGS, NOW + 30_000)
    assert values(step.protection) == {"a": 10 * MB}
    assert "is lifted: the disk has recovered" in step.sentences[0]


def test_one_that_still_wants_all_it_may_have_is_let_go_gently() -> None:
    held = replace(FREE, levers=(lever("a", 10 * MB),))
    step = protect(held, view(DiskState.UNDER, reads("a", 9.0 * MB)), SETTINGS, NOW)
    assert values(step.protection) == {"a": 12_500_000}


def test_a_disk_that_nobody_sees_any_more_is_let_go_of_after_a_while() -> None:
    held = replace(FREE, levers=(lever("a", 60 * MB),), stepped_ms=((SDB, NOW),))
    assert protect(held, view(None), SETTINGS, NOW + 99_000).protection.levers
    step = protect(held, view(None), SETTINGS, NOW + 100_000)
    assert not step.protection.levers
    assert "nothing is seen of disk sdb of broker 1" in step.sentences[0]


@pytest.mark.parametrize("state", [DiskState.OVER, DiskState.BETWEEN, DiskState.UNDER, DiskState.UNKNOWN])
def test_what_had_nothing_abnormal_for_a_window_is_let_go_whatever_else_its_disk_suffers_from(state: DiskState) -> None:
    quiet, reading = lever("quiet", 10 * MB), lever("reading", MB)
    held = replace(FREE, levers=(quiet, reading), stepped_ms=((SDB, NOW),))
    since = {quiet.identity: NOW - 60_000, reading.identity: NOW - 59_999}
    now = replace(view(state, reads("reading", MB)), reasons_ms=since)
    step = protect(held, now, SETTINGS, NOW)
    assert values(step.protection) == {"quiet": 20 * MB, "reading": MB}
    assert step.sentences == (
        f"{title(lever('quiet', 20 * MB))}, up from 10.0 MB/s: for 60 s there was no reason on {SDB} to hold it back",
    )
    assert since_ms(step.protection, SDB) == NOW
    assert values(protect(step.protection, now, SETTINGS, NOW + 29_999).protection)["quiet"] == 20 * MB
    for at_ms in (30_000, 60_000, 90_000):
        # The other one has its reason all the time.
        step = protect(
            replace(step.protection, stepped_ms=((SDB, NOW + at_ms),)),
            replace(now, reasons_ms={quiet.identity: NOW - 60_000}),
            SETTINGS,
            NOW + at_ms,
        )
    assert values(step.protection) == {"reading": MB}


def test_the_last_reason_of_a_lever_is_its_last_abnormal_doing() -> None:
    held = (lever("a", MB), lever("b", MB), CATCHING_UP)
    a, b, rate = (each.identity for each in held)
    behind = Doing(SDB, T0, Behaviour.REPLICATION_WRITE, 1.0, is_abnormal=True, why="late")
    look = catching_up()
    first = last_reasons({}, held, [SDB], [], {}, look, 1000)
    assert first == {a: 1000, b: 1000, rate: 1000}
    second = last_reasons(first, held, [SDB], [reads("a", 5.0), reads("b", 0.0), behind], {}, look, 2000)
    assert second == {a: 2000, b: 1000, rate: 2000}
    tail = replace(reads("a", 5.0), is_abnormal=False)
    elsewhere = replace(reads("a", 5.0), disk=DiskKey(2, "sdb"))
    assert last_reasons(second, held, [SDB], [tail, elsewhere], {}, look, 3000) == second
    # A disk that nobody could look at may suffer from anything.
    assert last_reasons(second, held[:1], [], [], {}, look, 4000) == {a: 4000}


def test_a_quota_has_no_reason_while_nobody_knows_what_its_client_needs_elsewhere() -> None:
    held = (lever("a", MB), lever("b", MB))
    a, b = (each.identity for each in held)
    reading = [reads("a", 5.0), reads("b", 5.0)]
    loads = {QuotaClient("a", "alice"): {2: math.inf}}
    assert last_reasons({a: 1, b: 1}, held, [SDB], reading, loads, catching_up(), 2) == {a: 1, b: 2}
    silent = catching_up(silent_coordinators=frozenset({3}))
    assert last_reasons({a: 1, b: 1}, held, [SDB], reading, {}, silent, 2) == {a: 1, b: 1}
    # What is known of it is no less than it was.
    step = protect(
        replace(FREE, levers=held, stepped_ms=((SDB, NOW),)), replace(view(None), loads=loads), SETTINGS, NOW
    )
    assert values(step.protection) == {"a": MB, "b": MB}


@pytest.mark.parametrize("client", [QuotaClient("a", "alice"), QuotaClient("a")])
def test_a_quota_is_raised_to_what_its_client_needs_elsewhere_though_it_does_nothing_abnormal(
    client: QuotaClient,
) -> None:
    held = replace(FREE, levers=(lever("a", MB),), stepped_ms=((SDB, NOW),))
    loads = {client: {1: 90.0 * MB, 2: 4.0 * MB}, QuotaClient("b", "alice"): {2: 50.0 * MB}}
    step = protect(held, replace(view(DiskState.OVER), loads=loads), SETTINGS, NOW)
    assert values(step.protection) == {"a": 6 * MB}
    much = {client: {3: 70.0 * MB}, QuotaClient("a", "bob"): {3: 70.0 * MB}}
    assert protect(held, replace(view(DiskState.OVER), loads=much), SETTINGS, NOW).protection.levers == ()


def test_a_quota_goes_at_once_with_the_broker_that_it_is_for_and_a_rate_stays_for_its_return() -> None:
    held = replace(FREE, levers=(lever("a", MB), CATCHING_UP), stepped_ms=((SDB, NOW),))
    down = View(replace(catching_up(), brokers=frozenset({2, 3})))
    step = protect(held, down, SETTINGS, NOW)
    assert step.protection.levers == (CATCHING_UP,)
    assert step.sentences[0].endswith("is lifted: broker 1 is down, and its clients have moved to others")
    unknown = View(replace(catching_up(), brokers=frozenset()))
    assert protect(held, unknown, SETTINGS, NOW).protection.levers == held.levers


def test_only_so_many_are_held_at_once() -> None:
    held = replace(FREE, levers=tuple(lever(name, MB) for name in "abc"))
    step = protect(held, view(DiskState.OVER, reads("d", 9.0 * MB)), SETTINGS, NOW)
    assert len(step.protection.levers) == 3
    assert any("3 are held already" in remark for remark in step.remarks)


def test_a_released_disk_is_left_alone_until_the_time_is_up() -> None:
    held = replace(FREE, levers=(lever("a", MB),))
    free, gone = released(held, 1, "sdb", NOW + 5000, "ann")
    assert gone == held.levers
    assert free.holds == (Hold(SDB, NOW + 5000, "ann"),)
    busy = view(DiskState.OVER, reads("a", 9.0 * MB))
    assert protect(free, busy, SETTINGS, NOW + 4999).protection.levers == ()
    later = protect(free, busy, SETTINGS, NOW + 5000).protection
    assert (values(later), later.holds) == ({"a": 4_500_000}, ())


@pytest.mark.parametrize(("broker", "disk"), [(2, ""), (1, "sda")])
def test_a_release_of_another_disk_releases_nothing(broker: int, disk: str) -> None:
    held = replace(FREE, levers=(lever("a", MB),))
    free, gone = released(held, broker, disk, NOW, "ann")
    assert (free.levers, free.holds, gone) == (held.levers, (), ())


def test_unhealthy_disks_without_anything_held_are_released_too() -> None:
    free, gone = released(FREE, None, "", NOW + 1, "ann", [SDB])
    assert (free.holds, gone) == ((Hold(SDB, NOW + 1, "ann"),), ())


def test_where_it_does_not_act_nothing_is_held_and_what_was_goes() -> None:
    observing = ProtectionSettings()
    assert protect(FREE, view(DiskState.OVER, reads("a", 9.0 * MB)), observing, NOW).protection == FREE
    held = replace(FREE, levers=(lever("a", MB),))
    step = protect(held, view(DiskState.OVER, reads("a", 9.0 * MB)), observing, NOW)
    assert step.protection.levers == ()
    assert step.sentences == (f"{title(lever('a', MB))} is lifted: protection does not act any more",)


T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CATCHING_UP = Lever(SDB, LeverKind.FOLLOWER_RATE, "", "", 10 * MB, 90 * MB, ("t:0:1", "t:1:1"), MB)


def catching_up(in_sync: int = 2, **more: Any) -> ClusterLook:
    """Partition 0 has so many in sync, partition 1 two; one is needed."""
    states = {
        T0: PartitionState(2, (2, 3, 1), tuple(range(2, 2 + in_sync))),
        T1: PartitionState(2, (2, 3, 1), (2, 3)),
    }
    return ClusterLook(NOW, frozenset({1, 2, 3}), states, **({"min_isr": {"t": 1}} | more))


def test_a_replica_is_let_go_as_soon_as_its_partition_needs_it() -> None:
    held = replace(FREE, levers=(CATCHING_UP,), stepped_ms=((SDB, NOW),))
    assert protect(held, View(catching_up()), SETTINGS, NOW).protection.levers == (CATCHING_UP,)
    step = protect(held, View(catching_up(in_sync=1)), SETTINGS, NOW)
    assert [each.entries for each in step.protection.levers] == [("t:1:1",)]
    assert "t-0 is not held back: 1 in sync, its replica that catches up is needed" in step.sentences[0]
    moved = View(catching_up(reassignments={T1: Reassignment((2, 3, 1), (1,), ())}))
    assert [each.entries for each in protect(held, moved, SETTINGS, NOW).protection.levers] == [("t:0:1",)]
    assert protect(held, View(catching_up(min_isr={})), SETTINGS, NOW).protection.levers == ()


def test_what_is_held_is_raised_at_once_to_what_must_flow_by_now() -> None:
    behind = Doing(SDB, T0, Behaviour.REPLICATION_WRITE, 30.0 * MB, is_abnormal=True, why="late", write_rate=20.0 * MB)
    held = replace(FREE, levers=(CATCHING_UP,), stepped_ms=((SDB, NOW),))
    step = protect(held, View(catching_up(), {SDB: condition(DiskState.OVER)}, (behind,)), SETTINGS, NOW)
    assert [(each.value, each.least) for each in step.protection.levers] == [(30 * MB, 30 * MB)]
    assert "up from 10.0 MB/s: as much must flow through it by now" in step.sentences[0]
    most = replace(behind, write_rate=60.0 * MB)
    assert protect(held, View(catching_up(), {}, (most,)), SETTINGS, NOW).protection.levers == ()


@pytest.mark.parametrize(("set_before", "expected"), [("2000000", []), ("8000000", [4 * MB]), ("90000000", [10 * MB])])
def test_a_brokers_rate_that_somebody_has_set_is_never_raised(set_before: str, expected: list[int]) -> None:
    """The catch-up moves 20 MB/s, and as much as 1.5 times 2 MB/s must flow."""
    behind = Doing(SDB, T0, Behaviour.REPLICATION_WRITE, 20.0 * MB, is_abnormal=True, why="late", write_rate=2.0 * MB)
    rate = {"follower.replication.throttled.rate": set_before}
    look = catching_up(configs={("BROKER", "1"): rate, ("TOPIC", "t"): {}})
    step = protect(FREE, View(look, {SDB: condition(DiskState.OVER)}, (behind,)), SETTINGS, NOW)
    assert [each.value for each in step.protection.levers] == expected


T5, T7 = TopicPartition("t", 5), TopicPartition("t", 7)
LEADER_RATE = Lever(SDB, LeverKind.LEADER_RATE, "", "", 2 * MB, 90 * MB, ("t:5:1", "t:7:1"), MB)


def led(*isr_of_t5: int, leader: int = 1) -> ClusterLook:
    """Broker 3 catches up on partition 7; both partitions are led by broker 1, unless another is said for the fifth."""
    states = {T5: PartitionState(leader, (1, 2, 3), isr_of_t5), T7: PartitionState(1, (1, 2, 3), (1, 2))}
    configs: dict[tuple[str, str], dict[str, str]] = {("BROKER", "1"): {}, ("TOPIC", "t"): {}}
    return ClusterLook(NOW, frozenset({1, 2, 3}), states, min_isr={"t": 1}, configs=configs)


def copied(partition: TopicPartition, write_rate: float, *, is_abnormal: bool) -> Doing:
    return Doing(
        SDB,
        partition,
        Behaviour.REPLICATION_READ,
        20.0 * MB,
        is_abnormal=is_abnormal,
        why="late" if is_abnormal else "",
        write_rate=write_rate,
        followers=2,
    )


def test_a_replica_that_has_caught_up_leaves_the_rate_to_those_that_have_not() -> None:
    """At 3 MB/s to two followers partition 5 would fill the 2 MB/s, and partition 7 never catch up."""
    doings = (copied(T7, 0.1 * MB, is_abnormal=True), copied(T5, 3.0 * MB, is_abnormal=False))
    held = replace(FREE, levers=(LEADER_RATE,), stepped_ms=((SDB, NOW),))
    step = protect(held, View(led(1, 2, 3), {SDB: condition(DiskState.OVER)}, doings), SETTINGS, NOW)
    assert [(each.entries, each.value) for each in step.protection.levers] == [(("t:7:1",), 2 * MB)]
    assert "nothing catches up with broker 1 on t-5" in step.sentences[0]


def test_a_follower_that_is_in_sync_again_is_held_back_no_more() -> None:
    held = replace(FREE, levers=(CATCHING_UP,), stepped_ms=((SDB, NOW),))
    states = catching_up().partitions
    view_of = View(replace(catching_up(), partitions={**states, T1: replace(states[T1], isr=(2, 3, 1))}))
    assert [each.entries for each in protect(held, view_of, SETTINGS, NOW).protection.levers] == [("t:0:1",)]


def test_a_leader_that_leads_no_more_is_not_listed_and_a_dead_follower_keeps_nothing_listed() -> None:
    held = replace(FREE, levers=(LEADER_RATE,), stepped_ms=((SDB, NOW),))
    for look in (led(1, 2, leader=2), replace(led(1, 2), brokers=frozenset({1, 2}))):
        step = protect(held, View(look), SETTINGS, NOW)
        assert all("t:5:1" not in each.entries for each in step.protection.levers)


def test_as_much_flows_as_all_that_is_listed_needs_also_what_is_not_abnormal_now() -> None:
    """Broker 3 lags on both partitions, and reads the fifth from the page cache at present."""
    doings = (copied(T7, 1.0 * MB, is_abnormal=True), copied(T5, 3.0 * MB, is_abnormal=False))
    held = replace(FREE, levers=(LEADER_RATE,), stepped_ms=((SDB, NOW),))
    step = protect(held, View(led(1, 2), {SDB: condition(DiskState.OVER)}, doings), SETTINGS, NOW)
    assert [(each.value, each.least) for each in step.protection.levers] == [(12 * MB, 12 * MB)]
    wide = replace(held, levers=(replace(LEADER_RATE, value=30 * MB),), stepped_ms=())
    step = protect(wide, View(led(1, 2), {SDB: condition(DiskState.OVER)}, doings), SETTINGS, NOW)
    assert [(each.value, each.least) for each in step.protection.levers] == [(12 * MB, 12 * MB)]


FOLLOWERS = ConfigKey("TOPIC", "t", "follower.replication.throttled.replicas")


def test_a_needed_replica_that_can_not_leave_a_tickets_list_is_freed_of_the_rate() -> None:
    """Nor does a rate come back for others while it is still listed."""
    listed = OwnedSetting(*FOLLOWERS, ("0:1", "1:1"), None)
    u0 = TopicPartition("u", 0)
    held = replace(FREE, levers=(CATCHING_UP,), intents=(listed,))
    needed = catching_up(in_sync=1, min_isr={"t": 1, "u": 1}, configs={("BROKER", "1"): {}})
    look = replace(needed, partitions={**needed.partitions, u0: PartitionState(2, (2, 3, 1), (2, 3))})
    other = Doing(SDB, u0, Behaviour.REPLICATION_WRITE, 20.0 * MB, is_abnormal=True, why="late")
    seen = View(look, {SDB: condition(DiskState.OVER)}, (other,), held=frozenset({FOLLOWERS}))
    step = protect(held, seen, SETTINGS, NOW)
    assert (step.protection.levers, step.protection.intents) == ((), (listed,))
    assert "and a ticket uses the list that it is on" in step.sentences[0]
    assert any("stay listed until a ticket ends" in remark for remark in step.remarks)
    free = protect(replace(FREE), replace(seen, held=frozenset()), SETTINGS, NOW)
    assert [each.entries for each in free.protection.levers] == [("u:0:1",)]


def test_nothing_is_cut_for_a_replica_that_can_not_come_onto_a_tickets_list() -> None:
    behind = Doing(SDB, T0, Behaviour.REPLICATION_WRITE, 20.0 * MB, is_abnormal=True, why="late")
    look = catching_up(configs={("BROKER", "1"): {}})
    seen = View(look, {SDB: condition(DiskState.OVER)}, (behind,), held=frozenset({FOLLOWERS}))
    step = protect(FREE, seen, SETTINGS, NOW)
    assert step.protection.levers == ()
    assert "t-0 is not held back: a ticket lists replicas of t" in step.remarks


@pytest.mark.parametrize("setting", ["step_s", "floor_mb_per_s", "window_s"])
def test_impossible_settings_are_refused(setting: str) -> None:
    with pytest.raises(InvalidInput, match=f"{setting} is 0: use "):
        ProtectionSettings(**{setting: 0})  # type: ignore[arg-type]
