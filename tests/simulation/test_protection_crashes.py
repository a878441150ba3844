"""A disk suffers, is protected and recovers, and the protector dies between any two of its calls.

demand ──▶ what Kafka's quotas and throttles let through ──▶ the disk's load ──▶ the protector ──▶ quotas, throttles
   ▲ stops after a while                                                                │
   └───────────────────────── in the end all is as it was before ◀──────────────────────┘
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from guardian.errors import Conflict
from guardian.health.rules.disk_limits import DiskCounters, judge_limits
from guardian.kafka.admin import KafkaAdmin
from guardian.kafka.fake import FakeKafka
from guardian.model.effects import ConfigKey
from guardian.model.protection import Behaviour, ClientUse, DiskKey, Doing, LeverKind, Protection
from guardian.model.quota import CONSUMER_BYTE_RATE, QuotaClient, QuotaEntity, effective_quota
from guardian.model.topology import TopicPartition
from guardian.protection.loop.protecting import Protector, look_at_cluster
from guardian.protection.rules.disk_doings import BrokerLook, ClusterLook
from guardian.protection.rules.protecting import (
    ProtectionSettings,
    View,
    last_reasons,
    released,
    remembers_alone,
    since_ms,
)
from guardian.protection.rules.protection_levers import LeverIdentity
from guardian.settings.rules import SETTLE_MS
from tests.memory_protection import MemoryProtectionStore
from tests.simulation.sweeping import DEATHS
from tests.simulation.world import CLUSTER, MB, Crash, Wire, Wired

pytestmark = pytest.mark.slow

SDB = DiskKey(2, "sdb")
TICK_MS = 5_000
CAPACITY = 60 * MB
SOUND = 10 * MB  # what the disk does besides
SETTINGS = ProtectionSettings(
    "act", window_s=20, step_s=10, utilisation=0.9, await_ms=1000.0, floor_mb_per_s=1, blind_s=60, late_ms=90_000
)
ETL, BATCH = QuotaClient("etl"), QuotaClient("batch", "bob")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
STORM_MS = 150_000  # how long somebody asks for too much
MAX_TICKS = 600


class DiskWorld:
    """Broker 2's disk sdb has two readers from disk, a replica that catches up and a copy between log dirs on it.
    Before all this somebody had set a quota, a rate and an entry of a list: those are to be there in the end."""

    def __init__(self, storm_ms: int = STORM_MS) -> None:
        self.storm_ms = storm_ms
        self.kafka = FakeKafka({b: f"rack{b}" for b in (1, 2, 3)}, dict.fromkeys((1, 2, 3), ("/d0", "/d1")), 1)
        self.kafka.create_topic("t", {0: [1, 3, 2], 1: [1, 3]}, 100 * MB, write_rate=1000)
        self.kafka.kill_broker(2)
        self.kafka.start_broker(2)
        self.kafka.bytes_per_call = 0  # it catches up for ever: how fast is the disk world's own affair
        self.kafka.set_quota(QuotaEntity("bob", "batch"), CONSUMER_BYTE_RATE, 30.0 * MB)
        self.kafka.set_quota(QuotaEntity("ann"), CONSUMER_BYTE_RATE, 5.0)
        self.kafka.set_config(("BROKER", "2"), FOLLOWER_RATE, "777000000")
        self.kafka.set_config(("TOPIC", "t"), FOLLOWER_REPLICAS, "9:1")
        self.before = self.settings()
        self.store = MemoryProtectionStore(CLUSTER)
        self.wire = Wire(self.check)
        self.counters = DiskCounters(0, 0, 0, 0, 0, 0)
        self.samples = [self.counters]
        self.is_blind = False
        self.batch_reads_elsewhere = False
        self.storm_load: float | None = None  # what the disk has to do in the storm, whatever is held back
        self.reasons_ms: dict[LeverIdentity, int] = {}
        self.lowest = CAPACITY * 10.0
        self.settings_of_protector = SETTINGS
        self.protector = self.new_protector()

    # What Kafka shows.

    def settings(self) -> object:
        now = self.kafka.peek()
        quotas = {entity: dict(values) for entity, values in self.kafka.describe_client_quotas().items()}
        return quotas, {resource: dict(values) for resource, values in now.configs.items()}

    def config(self, kind: str, name: str, key: str) -> str:
        return self.kafka.peek().configs[kind, name].get(key, "")

    def allowed(self) -> dict[str, float]:
        """What moves of each demand, within the limits that Kafka shows."""
        storms = self.kafka.now_ms < self.storm_ms
        demand = {"etl": 40.0 * MB, "batch": 25.0 * MB, "catch-up": 30.0 * MB, "copy": 20.0 * MB}
        quotas = self.kafka.describe_client_quotas()
        for client in (ETL, BATCH):
            # The entity of a client whose user nobody knows is its client id.
            found = effective_quota(quotas, CONSUMER_BYTE_RATE, client)
            demand[client.client_id] = min(demand[client.client_id], found.value if found else 1e12)
        if "0:2" in self.config("TOPIC", "t", FOLLOWER_REPLICAS).split(","):
            demand["catch-up"] = min(demand["catch-up"], float(self.config("BROKER", "2", FOLLOWER_RATE) or 1e12))
        demand["copy"] = min(demand["copy"], float(self.config("BROKER", "2", LOG_DIR_RATE) or 1e12))
        return demand if storms else {name: rate / 100 for name, rate in demand.items()}

    def load(self) -> float:
        if self.storm_load is not None and self.kafka.now_ms < self.storm_ms:
            return self.storm_load
        return SOUND + sum(self.allowed().values())

    # guardian.protection.loop.protecting.Watch

    def look(self, cluster: str, admin: Callable[[], KafkaAdmin], held: Protection, now_ms: int) -> View | None:
        assert cluster == CLUSTER
        disks = {} if self.is_blind else {"sdb": self.counters}
        look = BrokerLook(2, now_ms, disks, 0, {"/d0": "sdb"}, {}, dict.fromkeys((T0, T1), "/d0"))
        now = look_at_cluster(admin(), [look], held, now_ms)
        since = since_ms(held, SDB)
        least = SETTINGS.step_ms if since > now_ms - SETTINGS.limits.window_ms else None
        condition = judge_limits(SDB, ("/d0",), self.samples, SETTINGS.limits, now_ms, since, least)
        conditions = {} if self.is_blind else {SDB: condition}
        doings = self.doings(now)
        loads = self.loads()
        self.reasons_ms = last_reasons(self.reasons_ms, held.levers, [*conditions], doings, loads, now, now_ms)
        return View(now, conditions, doings, loads, self.store.held, self.reasons_ms)

    def tell(self, cluster: str, view: View, remarks: tuple[str, ...]) -> None:
        del cluster, view, remarks

    def doings(self, _now: ClusterLook) -> list[Doing]:
        rates = self.allowed()
        found = [
            Doing(SDB, T1, Behaviour.USER_READ, rates["etl"], None, True, True, "old", (ClientUse(ETL, rates["etl"]),)),
            Doing(
                SDB,
                T1,
                Behaviour.USER_READ,
                rates["batch"],
                None,
                True,
                True,
                "old",
                (ClientUse(BATCH, rates["batch"]),),
            ),
            Doing(
                SDB, T0, Behaviour.REPLICATION_WRITE, rates["catch-up"], is_abnormal=True, why="catches up", followers=2
            ),
            Doing(SDB, T1, Behaviour.MOVE_WRITE, rates["copy"], is_abnormal=True, why="is copied"),
        ]
        return [each for each in found if BATCH not in {use.client for use in each.clients} or self.batch_is_here]

    @property
    def batch_is_here(self) -> bool:
        return not self.batch_reads_elsewhere and 2 in self.kafka.peek().brokers

    def loads(self) -> Mapping[QuotaClient, Mapping[int, float]]:
        rates = self.allowed()
        batch = {2: rates["batch"], 1: 4.0 * MB} if self.batch_is_here else {3: rates["batch"], 1: 4.0 * MB}
        return {ETL: {2: rates["etl"]}, BATCH: batch}

    # The story.

    def new_protector(self) -> Protector:
        """Another process, which knows only the store and Kafka."""
        store, admin = Wired(self.wire, self.store), Wired(self.wire, self.kafka)
        self.reasons_ms = {}
        self.protector = Protector(
            store,  # type: ignore[arg-type]
            lambda _: admin,  # type: ignore[arg-type, return-value]
            self,
            self.settings_of_protector,
            lambda: self.kafka.now_ms,
        )
        return self.protector

    def tick(self) -> None:
        self.kafka.now_ms += TICK_MS
        load, old = self.load(), self.counters
        lasts_ms = self.kafka.now_ms - old.at_ms  # reading takes time, too
        self.counters = DiskCounters(
            self.kafka.now_ms,
            old.bytes_read + int(load * lasts_ms / 1000),
            0,
            old.completed + 1000,
            old.service_ms + 1000,
            old.busy_ms + int(min(1.0, load / CAPACITY) * lasts_ms),
        )
        self.samples = [*self.samples, self.counters][-30:]
        if self.kafka.now_ms < self.storm_ms:
            self.lowest = min(self.lowest, load)
        try:
            self.protector.tick_cluster(CLUSTER)
        except Crash:
            self.protector.close()
            self.new_protector()

    def run(self, until: Callable[[], bool] | None = None) -> DiskWorld:
        """Until the storm is over and nothing is held or recorded any more."""
        for _ in range(MAX_TICKS):
            self.tick()
            if until() if until else self.is_over():
                return self
        raise AssertionError(f"not over: {self.store.protection(CLUSTER)}")

    def is_over(self) -> bool:
        return self.kafka.now_ms > self.storm_ms + SETTLE_MS and self.store.protection(CLUSTER).is_idle

    def check(self) -> None:
        """After each call: what others have set for others is as it was, and nobody is held below the least."""
        quotas = self.kafka.describe_client_quotas()
        assert quotas[QuotaEntity("ann")] == {CONSUMER_BYTE_RATE: 5.0}
        assert "9:1" in self.config("TOPIC", "t", FOLLOWER_REPLICAS).split(",")
        for entity in (QuotaEntity(None, "etl"), QuotaEntity("bob", "batch")):
            assert quotas.get(entity, {}).get(CONSUMER_BYTE_RATE, MB) >= MB
        # A quota holds on every broker: what batch does on broker 1 goes on.
        assert quotas[QuotaEntity("bob", "batch")][CONSUMER_BYTE_RATE] >= 4 * MB

    def leaves_nothing(self) -> None:
        assert self.settings() == self.before
        assert self.store.protection(CLUSTER).is_idle


@pytest.fixture
def world() -> DiskWorld:
    return DiskWorld()


def test_a_suffering_disk_is_relieved_from_the_top_and_all_is_let_go_when_it_recovers() -> None:
    world = DiskWorld(storm_ms=2 * STORM_MS)
    # The user of etl is not known, and ann's quota may be one of its: etl is left alone, all else is cut.
    assert world.load() > 2 * CAPACITY
    world.run()
    assert world.lowest < CAPACITY
    first = [did.split(" at ")[0].rsplit(": ", 1)[1] for did in world.store.did if "limit 90%" in did]
    assert first[:2] == [f"{FOLLOWER_RATE} of broker 2", f"{CONSUMER_BYTE_RATE} of user=bob,client-id=batch"]
    assert f"{LOG_DIR_RATE} of broker 2" in first
    world.leaves_nothing()


def test_a_client_without_a_known_user_is_held_back_where_no_users_quota_may_outrank_it(world: DiskWorld) -> None:
    world.kafka.set_quota(QuotaEntity("ann"), CONSUMER_BYTE_RATE, None)
    world.kafka.set_quota(QuotaEntity("bob", "batch"), CONSUMER_BYTE_RATE, None)
    world.check = lambda: None  # type: ignore[method-assign]
    world.wire = Wire(world.check)
    world.new_protector()
    world.before = world.settings()
    etl = QuotaEntity(None, "etl")
    world.run(lambda: CONSUMER_BYTE_RATE in world.kafka.describe_client_quotas().get(etl, {}))
    assert world.kafka.describe_client_quotas()[etl][CONSUMER_BYTE_RATE] == 20 * MB
    world.run()
    world.leaves_nothing()


def calls_of_the_story() -> int:
    world = DiskWorld()
    world.run()
    return world.wire.calls


@pytest.mark.slow
@DEATHS
def test_a_crash_at_any_call_leaves_nothing_behind(after: bool, late: int) -> None:
    calls = calls_of_the_story()
    assert calls > 200
    # Of each case every seventeenth call, others in other cases: all of them would take minutes.
    for die_at in range(1 + (3 * after + late) % 17, calls + 1, 17):
        world = DiskWorld()
        world.wire.die_at, world.wire.after, world.wire.late = die_at, after, late
        world.run()
        world.leaves_nothing()


class WithALateQuota(Wire):
    """The process dies at the so many-eth change of a quota, which lies in a broker that is stopped."""

    def __init__(self, check: Callable[[], None], die_at_quota: int) -> None:
        super().__init__(check)
        self.left = die_at_quota
        self.arrive: Callable[[], object] | None = None

    def call(self, name: str, function: Callable[..., object], *args: object) -> object:
        self.left -= name == "alter_client_quotas"
        if not self.left and self.arrive is None:
            self.arrive = lambda: function(*args)
            raise Crash(name)
        return super().call(name, function, *args)


@pytest.mark.parametrize("die_at_quota", [1, 2, 3])
def test_a_quota_that_a_stopped_broker_sets_long_after_is_taken_back(world: DiskWorld, die_at_quota: int) -> None:
    world.wire = wire = WithALateQuota(world.check, die_at_quota)
    world.new_protector()
    world.run(lambda: world.kafka.now_ms > world.storm_ms and world.settings() == world.before)
    world.run(lambda: remembers_alone(world.store.protection(CLUSTER), world.kafka.now_ms))
    assert world.settings() == world.before
    assert wire.arrive is not None
    wire.arrive()
    assert world.settings() != world.before
    world.tick()
    assert world.settings() == world.before
    world.run()
    world.leaves_nothing()


@pytest.mark.parametrize("seed", range(6))
def test_many_crashes_and_a_cluster_that_comes_and_goes_leave_nothing_behind(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (a seeded story, not cryptography)
    world = DiskWorld()
    for _ in range(MAX_TICKS):
        if world.is_over():
            break
        world.kafka.reachable = chance.random() > 0.2 or world.kafka.now_ms > STORM_MS * 2
        if world.kafka.now_ms < STORM_MS * 2:
            world.wire.die_at = world.wire.calls + chance.randrange(1, 40)
            world.wire.after = chance.random() < 0.5
            world.wire.late = chance.choice([0, 0, 2])
        world.kafka.reachable, is_reachable = True, world.kafka.reachable
        moved = world.load()
        assert moved > 0
        world.kafka.reachable = is_reachable
        tick_unreachable(world) if not is_reachable else world.tick()
    world.kafka.reachable = True
    world.leaves_nothing()


def tick_unreachable(world: DiskWorld) -> None:
    world.kafka.now_ms += TICK_MS
    try:
        world.protector.tick_cluster(CLUSTER)
    except Crash:
        world.new_protector()


def test_what_somebody_else_sets_meanwhile_is_left_alone(world: DiskWorld) -> None:
    batch = QuotaEntity("bob", "batch")
    world.run(lambda: world.kafka.describe_client_quotas()[batch][CONSUMER_BYTE_RATE] < 30 * MB)
    world.kafka.set_quota(batch, CONSUMER_BYTE_RATE, 50.0 * MB)
    world.run()
    assert world.kafka.describe_client_quotas()[batch] == {CONSUMER_BYTE_RATE: 50.0 * MB}
    world.kafka.set_quota(batch, CONSUMER_BYTE_RATE, 30.0 * MB)
    world.leaves_nothing()


def test_a_person_releases_a_disk_and_nothing_is_held_for_it_for_a_while(world: DiskWorld) -> None:
    world.run(lambda: len(world.store.protection(CLUSTER).levers) > 1)
    until_ms = world.kafka.now_ms + 100_000
    now, gone = released(world.store.protection(CLUSTER), 2, "sdb", until_ms, "ann")
    world.store.save(now, now.note)
    assert len(gone) > 1
    while world.kafka.now_ms < until_ms - TICK_MS:
        world.tick()
        assert not world.store.protection(CLUSTER).levers
        if world.kafka.now_ms > until_ms - 60_000:
            assert world.settings() == world.before
    world.run(lambda: bool(world.store.protection(CLUSTER).levers))
    world.run()
    world.leaves_nothing()


def test_what_was_decided_from_before_a_release_is_not_sent(world: DiskWorld) -> None:
    world.run(lambda: bool(world.store.protection(CLUSTER).levers))
    stale = world.store.protection(CLUSTER)
    now, _ = released(stale, None, "", world.kafka.now_ms + 1000, "ann")
    world.store.save(now, now.note)
    with pytest.raises(Conflict):
        world.store.save(stale, "")


def test_when_protection_no_longer_acts_all_that_is_held_is_taken_back(world: DiskWorld) -> None:
    world.run(lambda: len(world.store.protection(CLUSTER).levers) > 1)
    world.settings_of_protector = replace(SETTINGS, mode="observe")
    world.new_protector()
    world.run(lambda: world.settings() == world.before)
    assert world.kafka.now_ms < STORM_MS
    world.run(lambda: world.store.protection(CLUSTER).is_idle)
    world.leaves_nothing()


def test_a_disk_that_can_not_be_seen_any_more_is_let_go_of(world: DiskWorld) -> None:
    world.run(lambda: len(world.store.protection(CLUSTER).levers) > 1)
    world.is_blind = True
    world.run(lambda: world.store.protection(CLUSTER).is_idle)
    world.leaves_nothing()


def quota_of_batch(world: DiskWorld) -> float:
    return world.kafka.describe_client_quotas()[QuotaEntity("bob", "batch")][CONSUMER_BYTE_RATE]


@pytest.mark.parametrize("load", [1.5 * CAPACITY, 0.8 * CAPACITY])
def test_a_quota_does_not_outlive_its_reason_on_a_disk_that_does_not_recover(load: float) -> None:
    """The reader goes to another broker, where its quota holds too; the disk is over its limits or near them."""
    world = DiskWorld(storm_ms=4 * STORM_MS)
    world.run(lambda: quota_of_batch(world) < 30 * MB)
    world.batch_reads_elsewhere, world.storm_load = True, load
    gone_ms = world.kafka.now_ms
    world.run(lambda: quota_of_batch(world) == 30 * MB)
    assert world.kafka.now_ms - gone_ms < 4 * (SETTINGS.limits.window_ms + SETTINGS.step_ms)
    assert world.kafka.now_ms < world.storm_ms
    # What is abnormal there still is not let go.
    assert {lever.kind for lever in world.store.protection(CLUSTER).levers} >= {LeverKind.FOLLOWER_RATE}
    world.run()
    world.leaves_nothing()


def test_a_reader_is_not_held_back_on_the_broker_that_takes_over_from_a_dead_one(world: DiskWorld) -> None:
    world.run(lambda: quota_of_batch(world) < 30 * MB)
    world.kafka.kill_broker(2)
    world.is_blind = True
    down_ms = world.kafka.now_ms
    world.run(lambda: quota_of_batch(world) == 30 * MB)
    assert world.kafka.now_ms - down_ms <= 2 * TICK_MS
    world.run(lambda: world.store.protection(CLUSTER).is_idle)
    world.leaves_nothing()


@pytest.mark.parametrize("die_at", range(0, 60, 6))
def test_a_brokers_rates_are_put_back_while_it_is_down(die_at: int) -> None:
    """Through a controller; the protector dies meanwhile."""
    world = DiskWorld()
    world.run(lambda: len({lever.kind for lever in world.store.protection(CLUSTER).levers}) > 2)
    world.kafka.kill_broker(2)
    world.is_blind = True
    world.wire.die_at = world.wire.calls + die_at if die_at else -1
    world.run(lambda: world.store.protection(CLUSTER).is_idle)
    assert 2 not in world.kafka.describe_cluster().brokers
    world.leaves_nothing()


def test_a_key_that_a_ticket_holds_is_left_alone_and_taken_back_after_it(world: DiskWorld) -> None:
    """The ticket has recorded our rate as the one that it replaces, and restores it when it ends."""
    key = ConfigKey("BROKER", "2", FOLLOWER_RATE)
    world.run(lambda: world.config(*key) != "777000000")
    ours = world.config(*key)
    world.store.held = frozenset({key})
    world.kafka.set_config(("BROKER", "2"), FOLLOWER_RATE, "123000")
    while world.kafka.now_ms < STORM_MS + 200_000:
        world.tick()
        assert world.config(*key) == "123000"
    world.kafka.set_config(("BROKER", "2"), FOLLOWER_RATE, ours)
    world.store.held = frozenset()
    world.run()
    world.leaves_nothing()
