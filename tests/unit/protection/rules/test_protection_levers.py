"""What can be held back, how far, and whom it hits."""

from __future__ import annotations

import math

import pytest

from guardian.model.cluster_state import PartitionState, Reassignment
from guardian.model.effects import ConfigChange, ConfigKey
from guardian.model.owned_setting import OwnedSetting
from guardian.model.protection import Behaviour, ClientUse, DiskKey, Doing, Lever, LeverKind
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaClient, QuotaEntity
from guardian.model.topology import TopicPartition
from guardian.protection.rules.disk_doings import ClientLoads, ClusterLook
from guardian.protection.rules.protection_levers import Age, Candidates, candidates, reconcile, wanted
from guardian.settings.rules import CLIENT
from guardian.throttle.rules.throttling import Throttle

SDB = DiskKey(1, "sdb")
T0 = TopicPartition("t", 0)
MB = 1_000_000
ETL, ALICE = QuotaClient("etl"), QuotaClient("etl", "alice")
QUOTA = ConfigKey(CLIENT, "client-id=etl", CONSUMER_BYTE_RATE)
FOLLOWER = ConfigKey("BROKER", "1", "follower.replication.throttled.rate")
FOLLOWERS = ConfigKey("TOPIC", "t", "follower.replication.throttled.replicas")


def read(client: QuotaClient = ETL, rate: float = 20 * MB) -> Doing:
    return Doing(SDB, T0, Behaviour.USER_READ, rate, None, True, True, "g is late", (ClientUse(client, rate, "g"),))


def catch_up(behaviour: Behaviour = Behaviour.REPLICATION_WRITE, write_rate: float = 0.0) -> Doing:
    return Doing(SDB, T0, behaviour, 30 * MB, is_abnormal=True, why="catches up", write_rate=write_rate, followers=2)


def offered(*doings: Doing, loads: ClientLoads | None = None, look: ClusterLook | None = None) -> Candidates:
    return candidates(SDB, doings, loads or {}, look or cluster(), MB)


def cluster(isr: tuple[int, ...] = (2, 3), min_isr: int = 1, **more: object) -> ClusterLook:
    return ClusterLook(0, frozenset({1, 2, 3}), {T0: PartitionState(2, (2, 3, 1), isr)}, min_isr={"t": min_isr}, **more)  # type: ignore[arg-type]


def test_the_client_that_reads_from_disk_is_offered_with_all_that_it_reads_here() -> None:
    found = offered(read(rate=8 * MB), loads={ETL: {1: 20.0 * MB, 2: 3.0 * MB, 3: 1.0 * MB}}).found[0]
    assert (found.kind, found.subject, found.quota_key) == (LeverKind.CLIENT_QUOTA, "client-id=etl", CONSUMER_BYTE_RATE)
    assert (found.rate, found.traffic) == (20 * MB, 8 * MB)
    # A quota holds on every broker: 1.5 times what it reads elsewhere is the least.
    assert found.least == 4_500_000
    assert found.hit == (
        "whoever uses client id etl, on every broker: it reads 20.0 MB/s from broker 1, and 3.0 MB/s from another one"
    )


@pytest.mark.parametrize(
    ("loads", "silent", "why"),
    [
        (
            {ETL: {1: 20.0 * MB, 2: math.inf}},
            (),
            "how large the records are that it reads from other brokers is not known",
        ),
        (
            {ETL: {1: 20.0 * MB}},
            (3,),
            "broker 3 did not tell all consumer groups, so that how much it reads elsewhere is not known",
        ),
    ],
)
def test_a_client_is_left_alone_where_nobody_knows_how_much_it_reads_elsewhere(
    loads: ClientLoads, silent: tuple[int, ...], why: str
) -> None:
    found = offered(read(), loads=loads, look=cluster(silent_coordinators=frozenset(silent)))
    assert (found.found, found.remarks) == ((), (f"client etl can't be held back: {why}",))


def test_a_known_user_makes_the_entity_that_nothing_outranks() -> None:
    look = cluster(quotas={QuotaEntity("bob"): {CONSUMER_BYTE_RATE: 1.0}})
    assert offered(read(ALICE), look=look).found[0].subject == "user=alice,client-id=etl"


def test_a_client_whose_user_is_not_known_is_left_alone_where_a_users_quota_may_outrank_its_own() -> None:
    found = offered(read(), look=cluster(quotas={QuotaEntity("bob"): {CONSUMER_BYTE_RATE: 1.0}}))
    assert found.found == ()
    assert found.remarks == (
        "client etl can't be held back: its user is not known, and the quota of user bob may outrank its own",
    )


def test_a_reader_that_nobody_can_name_is_remarked() -> None:
    nobody = Doing(SDB, T0, Behaviour.USER_READ, 1.0, None, True, True, "g is late")
    assert offered(nobody).remarks == ("t-0: g is late, but which client it is nobody tells",)


def test_a_writer_is_not_held_back_as_nobody_knows_what_it_writes_elsewhere() -> None:
    write = Doing(SDB, T0, Behaviour.USER_WRITE, 9.0 * MB, 1.0, False, True, "9 times", (ClientUse(ALICE, 9.0 * MB),))
    found = offered(write)
    assert found.found == ()
    assert found.remarks == (f"{ALICE} can't be held back: how much it writes elsewhere is not known",)


def test_what_catches_up_must_still_take_in_more_than_is_written() -> None:
    follower = offered(catch_up(write_rate=4.0 * MB)).found[0]
    assert (follower.kind, follower.least, follower.entries) == (LeverKind.FOLLOWER_RATE, 6 * MB, ("t:0:1",))
    leader = offered(catch_up(Behaviour.REPLICATION_READ, write_rate=4.0 * MB)).found[0]
    # In-sync followers are never held back, yet count against the leader's rate.
    assert (leader.kind, leader.least, leader.entries) == (LeverKind.LEADER_RATE, 12 * MB, ("t:0:1",))


@pytest.mark.parametrize(("isr", "min_isr"), [((2,), 1), ((2, 3), 2), ((), 1)])
def test_a_replica_that_redundancy_needs_is_never_held_back(isr: tuple[int, ...], min_isr: int) -> None:
    found = offered(catch_up(), look=cluster(isr, min_isr))
    assert found.found == ()
    assert found.remarks == (f"t-0 is not held back: {len(isr)} in sync, its replica that catches up is needed",)


def test_what_a_reassignment_brings_is_left_to_its_own_throttle() -> None:
    found = offered(catch_up(), look=cluster(reassignments={T0: Reassignment((2, 3, 1), (1,), ())}))
    assert found.remarks == ("t-0 is being moved: its move has a throttle of its own",)


def test_a_copy_between_log_dirs_needs_no_more_in_sync() -> None:
    copy = Doing(SDB, T0, Behaviour.MOVE_READ, 9.0 * MB, is_abnormal=True, why="copied", write_rate=1.0 * MB)
    found = offered(copy, look=cluster(isr=(2,))).found[0]
    assert (found.kind, found.least, found.entries) == (LeverKind.LOG_DIR_RATE, 1_500_000, ())


def test_the_largest_comes_first_and_other_disks_do_not_come_at_all() -> None:
    elsewhere = Doing(DiskKey(2, "sdb"), T0, Behaviour.MOVE_READ, 99.0 * MB, is_abnormal=True)
    normal = Doing(SDB, T0, Behaviour.USER_READ, 99.0 * MB)
    kinds = [each.kind for each in offered(read(), elsewhere, catch_up(), normal).found]
    assert kinds == [LeverKind.FOLLOWER_RATE, LeverKind.CLIENT_QUOTA]


def lever(value: int, broker: int = 1, kind: LeverKind = LeverKind.CLIENT_QUOTA, least: int = 0) -> Lever:
    subject, key = ("client-id=etl", CONSUMER_BYTE_RATE) if kind is LeverKind.CLIENT_QUOTA else ("", "")
    entries = ("t:0:1",) if kind is LeverKind.FOLLOWER_RATE else ()
    return Lever(DiskKey(broker, "sdb"), kind, subject, key, value, 99, entries, least)


def test_of_several_disks_the_lowest_value_counts_but_none_below_what_must_flow() -> None:
    assert wanted([lever(5), lever(3, broker=2)]).rates == {QUOTA: 3}
    assert wanted([lever(5, least=4), lever(3, broker=2)]).rates == {QUOTA: 4}
    found = wanted([lever(7, kind=LeverKind.FOLLOWER_RATE)])
    assert (found.rates, found.entries) == ({FOLLOWER: 7}, {FOLLOWERS: frozenset({"0:1"})})


def look(quota: float | None = None, **configs: str) -> ClusterLook:
    quotas = {QuotaEntity(None, "etl"): {CONSUMER_BYTE_RATE: quota}} if quota is not None else {}
    return cluster(quotas=quotas, configs={("BROKER", "1"): configs, ("TOPIC", "t"): {}})


def setting(*values: str, replaced: str | None = None, key: ConfigKey = QUOTA) -> OwnedSetting:
    return OwnedSetting(*key, values, replaced)


NOBODY: frozenset[ConfigKey] = frozenset()


def test_a_quota_is_recorded_before_it_is_set_with_what_it_replaces() -> None:
    found = reconcile((), Throttle({QUOTA: 7}), Age.FORGOTTEN, look(30.0), NOBODY)
    assert found.settings == (setting("7", replaced="30"),)
    assert found.changes == {QUOTA: ConfigChange("30", "7")}


def test_what_several_disks_need_together_raises_nobodys_rate() -> None:
    look = cluster(configs={("BROKER", "1"): {FOLLOWER.key: "5"}})
    found = reconcile((), Throttle({FOLLOWER: 8}, {}), Age.FORGOTTEN, look, frozenset())
    assert (found.settings, found.changes) == ((), {})
    mine = (OwnedSetting(*FOLLOWER, ("3",), "5"),)
    look = cluster(configs={("BROKER", "1"): {FOLLOWER.key: "3"}})
    assert reconcile(mine, Throttle({FOLLOWER: 8}, {}), Age.FORGOTTEN, look, frozenset()).changes == {
        FOLLOWER: ConfigChange("3", "5")
    }


def test_every_value_that_was_sent_is_ours_until_the_lever_goes() -> None:
    recorded = (setting("7", "5", replaced="30"),)
    for present in (7.0, 5.0, 30.0):
        found = reconcile(recorded, Throttle({QUOTA: 3}), Age.FORGOTTEN, look(present), NOBODY)
        assert found.changes == {QUOTA: ConfigChange(str(int(present)), "3")}
        assert found.settings == (setting("7", "5", "3", replaced="30"),)


def test_what_is_wanted_no_more_is_put_back_and_the_record_goes_when_that_is_seen_and_settled() -> None:
    recorded = (setting("7", replaced="30"),)
    restoring = reconcile(recorded, Throttle(), Age.FORGOTTEN, look(7.0), NOBODY)
    assert (restoring.settings, restoring.changes) == (recorded, {QUOTA: ConfigChange("7", "30")})
    assert reconcile(recorded, Throttle(), Age.NEW, look(30.0), NOBODY).settings == recorded
    assert reconcile(recorded, Throttle(), Age.FORGOTTEN, look(30.0), NOBODY).settings == ()
    unset = reconcile((setting("7"),), Throttle(), Age.FORGOTTEN, look(7.0), NOBODY)
    assert unset.changes == {QUOTA: ConfigChange("7", None)}


def test_a_quota_that_was_put_back_stays_on_record_for_a_late_request_and_a_rate_does_not() -> None:
    quota, rate = (setting("5", "7", replaced="30"),), setting("7", key=FOLLOWER)
    back = reconcile((*quota, rate), Throttle(), Age.SETTLED, look(30.0), NOBODY)
    assert (set(back.settings), back.changes) == (set(quota), {})
    late = reconcile(back.settings, Throttle(), Age.SETTLED, look(5.0), NOBODY)
    assert (late.settings, late.changes) == (back.settings, {QUOTA: ConfigChange("5", "30")})
    # Somebody's own value is what comes back from now on, and a lever may come back too.
    theirs = reconcile(back.settings, Throttle(), Age.SETTLED, look(9.0), NOBODY)
    assert (theirs.settings, theirs.changes) == ((setting("5", "7", replaced="9"),), {})
    late = reconcile(theirs.settings, Throttle(), Age.SETTLED, look(5.0), NOBODY)
    assert late.changes == {QUOTA: ConfigChange("5", "9")}
    assert reconcile(theirs.settings, Throttle(), Age.SETTLED, look(9.0), NOBODY).notes == ()
    again = reconcile(back.settings, Throttle({QUOTA: 3}), Age.SETTLED, look(30.0), NOBODY)
    assert (again.settings, again.changes) == (
        (setting("5", "7", "3", replaced="30"),),
        {QUOTA: ConfigChange("30", "3")},
    )
    assert reconcile(back.settings, Throttle(), Age.FORGOTTEN, look(30.0), NOBODY).settings == ()


def test_what_somebody_else_has_set_meanwhile_is_left_alone() -> None:
    for now in (Throttle({QUOTA: 3}), Throttle()):
        found = reconcile((setting("7", replaced="30"),), now, Age.FORGOTTEN, look(9.0), NOBODY)
        assert not found.changes
        assert set(found.foreign) == {QUOTA}
        assert found.notes == ("consumer_byte_rate of client id etl was set to 9 by somebody else and is left alone",)


def test_a_key_that_a_ticket_holds_is_left_alone_and_stays_on_record() -> None:
    recorded = (setting("7", key=FOLLOWER), setting("0:1", key=FOLLOWERS))
    found = reconcile(recorded, Throttle(), Age.FORGOTTEN, look(None), frozenset({FOLLOWER, FOLLOWERS}))
    assert set(found.settings) == set(recorded)
    assert not found.changes


def test_what_somebody_else_has_set_on_a_broker_is_left_alone_when_it_is_down() -> None:
    ours = (setting("7", replaced="30", key=FOLLOWER),)
    wants, name = Throttle({FOLLOWER: 7}), FOLLOWER.key
    seen = reconcile(ours, wants, Age.FORGOTTEN, look(None, **{name: "9"}), NOBODY)
    assert set(seen.foreign) == {FOLLOWER}
    assert not seen.changes
    assert reconcile(seen.settings, wants, Age.FORGOTTEN, look(None, **{name: "9"}), NOBODY).settings == seen.settings
    down = ClusterLook(0, frozenset({2, 3}))
    assert reconcile(seen.settings, wants, Age.FORGOTTEN, down, NOBODY).settings == seen.settings
    gone = reconcile(seen.settings, Throttle(), Age.FORGOTTEN, down, NOBODY)
    assert gone.settings == ()
    assert not gone.debts
    assert not gone.changes
    # Ours again: it is owed.
    back = reconcile(seen.settings, wants, Age.FORGOTTEN, look(None, **{name: "7"}), NOBODY)
    assert reconcile(back.settings, Throttle(), Age.FORGOTTEN, down, NOBODY).debts == {FOLLOWER: "30"}


def test_a_broker_that_does_not_answer_stays_on_record() -> None:
    recorded = (setting("7", key=FOLLOWER),)
    found = reconcile(recorded, Throttle(), Age.FORGOTTEN, cluster(), NOBODY)
    assert (found.settings, found.changes) == (recorded, {})
    assert "can't be read until it answers" in found.notes[0]


def test_clients_that_come_and_go_do_not_fill_the_record() -> None:
    """All of it is one command: beyond so many, what was put back is remembered only until it has settled."""

    def of_clients(count: int) -> tuple[OwnedSetting, ...]:
        keys = [ConfigKey(CLIENT, f"client-id=batch-{number:04}", CONSUMER_BYTE_RATE) for number in range(count)]
        return tuple(setting("7", key=key) for key in keys)

    few, many = of_clients(200), of_clients(201)
    assert reconcile(few, Throttle(), Age.SETTLED, look(), NOBODY).settings == few
    assert reconcile(many, Throttle(), Age.NEW, look(), NOBODY).settings == many
    assert reconcile(many, Throttle(), Age.SETTLED, look(), NOBODY).settings == ()
