"""Troubles, what is known of a cluster, and tickets, as tests of healing's rules need them."""

from __future__ import annotations

from dataclasses import replace

from guardian.healing.model import HealingMode, HealingPolicy
from guardian.healing.rules.cure import evidence_of, troubles_of
from guardian.healing.rules.decision import decide
from guardian.healing.rules.trouble import Standing, Trouble
from guardian.healing.rules.verdict import Known
from guardian.health.model.finding import FindingKind, Subject
from guardian.model.actor import Agent
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition

POLICY = HealingPolicy(HealingMode.ACT, broker_grace_s=600, log_dir_grace_s=60, rest_s=900, tickets_per_hour=3)
MINUTE = 60_000
NOW = 100 * MINUTE
DAY = 24 * 60 * MINUTE


def down(broker: int, since_ms: int = 0, standing: Standing = Standing.PRESENT) -> Trouble:
    subject = Subject(FindingKind.BROKER_DOWN, "live", f"broker {broker}")
    return Trouble(subject, f"broker {broker} is fenced or gone", since_ms, standing, (broker,))


def broken(broker: int, path: str, since_ms: int = 0) -> Trouble:
    subject = Subject(FindingKind.LOG_DIR_OFFLINE, "live", f"broker {broker}, log dir {path}")
    return Trouble(subject, "it is offline", since_ms, Standing.PRESENT, (broker,), (path,))


def slow(broker: int, *log_dirs: str, disk: str = "sdb", disks: int = 4, since_ms: int = 0) -> Trouble:
    subject = Subject(FindingKind.SLOW_DISK, "live", f"broker {broker}, disk {disk}")
    return Trouble(subject, "await 60 ms", since_ms, Standing.PRESENT, (broker,), log_dirs, disks=disks)


def fills(broker: int) -> Trouble:
    subject = Subject(FindingKind.DISK_FILLS, "live", f"broker {broker}, log dir /d1")
    return Trouble(subject, "it is full in 3.0 days", 0, Standing.PRESENT, (broker,), ("/d1",))


def known(*found: Trouble, brokers: int = 12, tickets: tuple[Ticket, ...] = (), **others: object) -> Known:
    alive = frozenset(range(brokers)) - {broker for each in found for broker in each.brokers}
    return replace(Known("live", brokers, found, tickets, alive=alive), **others)  # type: ignore[arg-type]


def ticket(
    *found: Trouble,
    state: TicketState = TicketState.RUNNING,
    actor: str = Agent.HEALING,
    at_ms: int = NOW,
    number: int = 1,
    policy: HealingPolicy = POLICY,
    brokers: int = 12,
) -> Ticket:
    decision = decide(policy, known(*found, brokers=brokers), NOW)
    assert decision.cure is not None
    history = (TicketTransition(state, at_ms, actor, "so it is"),)
    kind = decision.cure.kind.value
    return Ticket(
        f"t-{number}",
        "live",
        kind,
        state,
        Agent.HEALING,
        "h",
        1,
        at_ms,
        at_ms,
        history,
        decision.cure.key,
        evidence=evidence_of(decision.cure, NOW),
        troubles=troubles_of(decision.cure),
    )


def move(topic: str, original: tuple[int, ...], target: tuple[int, ...]) -> PartitionMove:
    before, after = (tuple(map(ReplicaPlacement, brokers)) for brokers in (original, target))
    return PartitionMove(TopicPartition(topic, 0), before, after)
