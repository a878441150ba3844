"""Decides as KRaft's active controller does: who leads, who is in the ISR and who in the ELR (KIP-966).

Oracle: org.apache.kafka.controller.PartitionChangeBuilder and ReplicationControlManager of Kafka 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

NO_LEADER = -1
Lives = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Settings:
    """`min_isr` is min.insync.replicas, `elr` tells that eligible.leader.replicas.version is 1.

    `after_max_s` and `before_max_s` are message.timestamp.after.max.ms and message.timestamp.before.max.ms: how many
    seconds a record's time may be ahead of the leader's clock, or behind it (KIP-937). The defaults are Kafka 4's.
    """

    min_isr: int = 1
    unclean: bool = False
    elr: bool = True
    after_max_s: float = 3600.0
    before_max_s: float = math.inf

    def effective_min_isr(self, replicas: int) -> int:
        """Return the min.insync.replicas that Kafka applies: never more than there are replicas (since 3.7)."""
        return min(self.min_isr, replicas)

    def refuses_at(self, ahead_s: float) -> bool:
        """Tell whether a leader whose clock is so much ahead (negative: behind) refuses what is produced now."""
        return ahead_s > self.before_max_s or -ahead_s > self.after_max_s


@dataclass(frozen=True, slots=True)
class Record:
    """A partition as the metadata log has it. `last_known` led last, where nobody in sync or eligible is left."""

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: int = NO_LEADER
    epoch: int = 0

    def awaited(self) -> tuple[int, ...]:
        """Return the brokers one of which must come back to lead without loss; empty while somebody leads."""
        if self.leader != NO_LEADER:
            return ()
        return self.isr or self.elr or ((self.last_known,) if self.last_known != NO_LEADER else ())


def fence(record: Record, broker: int, settings: Settings, lives: Lives) -> Record:
    """Return the record once `broker` is fenced, or has stopped by itself."""
    return changed(record, tuple(each for each in record.isr if each != broker), settings, lives)


def prefer(record: Record, lives: Lives) -> Record:
    """Return the record once the preferred leader is elected: it stays as it is unless that one is in sync."""
    preferred = record.replicas[0]
    may_lead = preferred in record.isr and lives(preferred)
    return _led(record, preferred) if may_lead and preferred != record.leader else record


def forget(record: Record, broker: int, settings: Settings, lives: Lives) -> Record:
    """Return the record once `broker` registers after an unclean end: with ELR its copy proves nothing any more."""
    if not settings.elr:
        return fence(record, broker, settings, lives)
    isr = tuple(each for each in record.isr if each != broker)
    return changed(record, isr, settings, lives, unclean_end=broker)


def changed(
    record: Record, isr: tuple[int, ...], settings: Settings, lives: Lives, *, unclean_end: int | None = None
) -> Record:
    """Return the record with `isr`, the ELR that follows, and a leader if one can be had."""
    needed = settings.effective_min_isr(len(record.replicas))
    elr: tuple[int, ...] = ()
    if settings.elr and len(isr) < needed:
        eligible = {*record.isr, *record.elr} - {*isr, unclean_end}
        elr = tuple(each for each in record.replicas if each in eligible)
    if not isr and not settings.elr:
        isr = record.isr
    return _elected(replace(record, isr=isr, elr=elr), record, settings, lives)


def _elected(record: Record, before: Record, settings: Settings, lives: Lives) -> Record:
    clean = record.isr or record.elr
    valid = [each for each in record.replicas if each in clean and lives(each)]
    if record.leader in valid:
        return replace(record, last_known=NO_LEADER)
    if valid:
        return _led(record, valid[0])
    if settings.elr and not clean and before.last_known != NO_LEADER and lives(before.last_known):
        return _led_alone(record, before.last_known)
    living = [each for each in record.replicas if lives(each)]
    if settings.unclean and living:
        return _led_alone(record, living[0])
    last = record.last_known
    if settings.elr and not record.isr and last == NO_LEADER:
        last = before.leader
    epoch = record.epoch + (record.leader != NO_LEADER)
    return replace(record, leader=NO_LEADER, epoch=epoch, last_known=last)


def _led(record: Record, leader: int) -> Record:
    isr = record.isr or (leader,)
    elr = tuple(each for each in record.elr if each not in isr)
    return replace(record, leader=leader, isr=isr, elr=elr, last_known=NO_LEADER, epoch=record.epoch + 1)


def _led_alone(record: Record, leader: int) -> Record:
    return replace(record, leader=leader, isr=(leader,), elr=(), last_known=NO_LEADER, epoch=record.epoch + 1)
