"""Advises on a predicted fault: whom to start first, and what settings would change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guardian.model.faults.cluster import Cluster, TopicPrediction, halting
from guardian.model.faults.fault import Blow, Fault
from guardian.model.faults.outcome import Lost
from guardian.model.faults.times import LATEST_SHRINK
from guardian.model.faults.unfolding import Ended
from guardian.model.text import some

_SHORT_LAG_S = 10.0
_MOST_NAMED = 5


def advice(now: Cluster, fault: Fault, found: Sequence[TopicPrediction]) -> Iterator[str]:
    """Yield sentences for who has to decide, the most urgent first."""
    awaited = sorted({broker for each in found for broker in each.awaited})
    if awaited:
        yield (
            f"partitions without a leader wait for broker {some(awaited, _MOST_NAMED)}: once it has happened, "
            "`guardian durability` names whom to start first"
        )
    if any(each.lost >= Lost.UNFLUSHED for each in found) and fault.blow is Blow.POWER:
        yield "Kafka leaves fsync to the system: put copies into racks of different power, which broker.rack names"
    one = [each for each in found if not each.acks_all and each.may_lose]
    if one and not any(each.may_lose for each in found if each.acks_all):
        yield "only producers with acks=0 or 1 lose records: acks=all loses none"
    unclean = [each.topic for each in found if each.acks_all and each.lost in (Lost.SECONDS, Lost.SINCE_BEHIND)]
    if unclean:
        yield (
            f"acks=all loses records of {some(dict.fromkeys(unclean), _MOST_NAMED)}: set min.insync.replicas to 2 and "
            "unclean.leader.election.enable to false"
        )
    lag_s = now.times.replica_lag_s
    if lag_s > _SHORT_LAG_S and any(each.ended is Ended.SHRUNK for each in found):
        yield (
            f"replica.lag.time.max.ms {_price(lag_s)} of silence; {_price(_SHORT_LAG_S)}, and slow followers leave the "
            "ISR sooner"
        )
    if fault.blow is Blow.CLOCK and found:
        yield (
            "leaders refuse for good what is produced while message.timestamp.after.max.ms or "
            "message.timestamp.before.max.ms is exceeded, with any acks: set clocks by NTP, and watch them"
            if any(each.silent_s.least_s for each in found)
            else "records are taken: neither message.timestamp.after.max.ms nor "
            "message.timestamp.before.max.ms is exceeded"
        )
    yield from _of_disks(now, fault, found)
    if not now.elr:
        yield (
            "controllers keep no eligible leader replicas: raise eligible.leader.replicas.version to 1 (Kafka 4.0), so "
            "that a copy outside the ISR may lead without loss"
        )


def _of_disks(now: Cluster, fault: Fault, found: Sequence[TopicPrediction]) -> Iterator[str]:
    down = halting(now, fault)
    if down:
        yield (
            f"broker {some(down, _MOST_NAMED)} halts: it has no other log dir that works, or its metadata log is there "
            "(metadata.log.dir)"
        )
    if fault.blow is Blow.SLOW_DISK and found:
        yield (
            "nobody else is elected while a disk is slow, though its broker answers: `guardian disk show` names slow "
            "disks; it is reckoned for ext4, other file systems may wait otherwise"
        )


def _price(lag_s: float) -> str:
    return f"{lag_s * 1000:.0f} costs {lag_s:g} to {lag_s * LATEST_SHRINK:g} s"
