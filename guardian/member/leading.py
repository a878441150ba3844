"""What only the leader does: its duties, each in a loop of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from guardian.collection.service import CollectionAssigner
from guardian.config import planner_settings
from guardian.cordons.loop import Cordoner
from guardian.events.loop.calling import PersonCaller
from guardian.execution.loop.around import LiveSurroundings
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.loop.topic_uses import ActivityTopicUses
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.execution.store.operation_store import ReplicatedOperationStore
from guardian.healing.loop.straying import StrayGuard
from guardian.member.loop import LeaderLoop, stop_all
from guardian.member.parts import MemberParts
from guardian.model.throttle import DEFAULT_THROTTLE
from guardian.replication.loop import Housekeeper
from guardian.replication.store.founding import Founder
from guardian.replication.store.group_clock import ClockKeeper
from guardian.serving.admins import ClusterAdmins
from guardian.serving.counting import LoopCounters
from guardian.tickets.service.approvals import ApprovalKeeper

_HOUSEKEEPING_S = 10.0
_ASSIGNING_S = 1.0
_LAKE_KEEPING_S = 60.0
_FINDINGS_S = 2.0
_LINES_S = 10.0
_HEALING_S = 2.0
_APPROVALS_S = 1.0
_PLACEMENT_S = 2.0
_SINKS_S = 0.5
_FOUNDING_S = 0.2
_CLOCK_S = 1.0
_STOPPING_S = 3.0


@dataclass(frozen=True, slots=True)
class Duty:
    """What the leader does every `interval_s` seconds, sooner while it `has_more` to do. Nearly all of it waits for the
    group's clock."""

    name: str
    tick: Callable[[], list[str]]
    interval_s: float
    has_more: Callable[[], bool] = lambda: False
    needs_clock: bool = True


def start_loops(parts: MemberParts, stack: ExitStack) -> dict[str, LoopCounters]:
    """Start a loop for each duty; return their counters by name."""
    is_leader, clock = parts.group.store.is_leader, parts.group.clock
    counters: dict[str, LoopCounters] = {}
    loops: dict[str, LeaderLoop] = {}
    duties = _duties(parts, stack)
    stack.callback(stop_all, loops, _STOPPING_S)
    for duty in duties:
        counters[duty.name] = LoopCounters()
        gate = (lambda: is_leader() and clock.is_set) if duty.needs_clock else is_leader
        loops[duty.name] = LeaderLoop(gate, duty.tick, duty.interval_s, counters[duty.name], duty.has_more)
        loops[duty.name].start()
    return counters


def _duties(parts: MemberParts, stack: ExitStack) -> list[Duty]:
    config, store, findings, healer = parts.config, parts.group.store, parts.health.findings, parts.healer
    driver = _driver(parts, stack)
    assigner = CollectionAssigner(store, parts.collection.known, config.collect.delay_s, store.now_ms)
    clock_keeper = ClockKeeper(store)
    approval_keeper = ApprovalKeeper(store, parts.approvals, store.now_ms)
    return [
        Duty("executor", driver.tick, config.execute.tick_s, driver.has_more),
        Duty("housekeeping", Housekeeper(store, config.limits).tick, _HOUSEKEEPING_S),
        Duty("assignment", assigner.tick, _ASSIGNING_S),
        Duty("lake", parts.collection.lake_keeper.tick, _LAKE_KEEPING_S),
        Duty("findings", findings.tick, _FINDINGS_S),
        Duty("lines", parts.lines.tick, _LINES_S),
        Duty("healing", healer.tick, _HEALING_S),
        Duty("calls", PersonCaller(store, findings, healer, store.now_ms).tick, _HEALING_S),
        Duty("sinks", parts.sinks.tick, _SINKS_S),
        Duty("placement", _cordoner(parts, stack).tick, _PLACEMENT_S),
        Duty("protection", parts.protection.protector.tick, config.protection.look_s),
        Duty("clock", clock_keeper.tick, _CLOCK_S, clock_keeper.has_more, needs_clock=False),
        Duty("founding", Founder(store, parts.group.founded).tick, _FOUNDING_S, needs_clock=False),
        Duty("approvals", approval_keeper.tick, _APPROVALS_S),
    ]


def _driver(parts: MemberParts, stack: ExitStack) -> Driver:
    """Make the driver, with admin connections on which one broker has little time to answer."""
    config, store, kafka = parts.config, parts.group.store, parts.kafka
    broker_timeout_s = config.execute.broker_timeout_s
    admins = ClusterAdmins(
        parts.group.cluster,
        lambda cluster: kafka.connector.connect(cluster, broker_timeout_s=broker_timeout_s),
    )
    stack.callback(admins.close)
    driver = Driver(
        DriverPorts(
            ReplicatedExecutionStore(store),
            admins,
            surroundings=LiveSurroundings(
                parts.group.cluster, kafka.reporters, config.throttle, parts.lines.room, store.now_ms
            ),
            operations=parts.execution.operations,
            replanner=parts.execution.replanner,
            labels=ReplicatedOperationStore(store, store.now_ms),
            uses=ActivityTopicUses(parts.collection.activity, store.now_ms).last_uses,
        ),
        DriverClocks(store.now_ms),
        DriverSettings(
            config.execute.limits,
            tiered_warm_up_s=config.execute.tiered_warm_up_s,
            max_plan_age_s=config.execute.plan_age_s,
            shared_labels=planner_settings(config.planner).shared_labels,
            max_ticket_bytes=config.execute.max_ticket_bytes,
        ),
    )
    stack.callback(driver.close)
    return driver


def _cordoner(parts: MemberParts, stack: ExitStack) -> Cordoner:
    """Make the cordoner, with admin connections of its own: the executor's serve its threads."""
    store = parts.group.store
    admins = ClusterAdmins(parts.group.cluster, parts.kafka.for_rpc)
    stack.callback(admins.close)
    settings = planner_settings(parts.config.planner)
    guard = StrayGuard(store, settings, DEFAULT_THROTTLE, store.now_ms, parts.healer.why_not_move)
    return Cordoner(store, admins, store.now_ms, guard)
