"""Why a partition moves, in one sentence an operator can check against a dashboard."""

from __future__ import annotations

from guardian.model.units import human_bytes
from spark_analytics.model.placement import Placement
from spark_analytics.planners.steps import Source, Terms


def replica_moves(placement: Placement, terms: Terms, source: Source, slot: int, log_dir: int) -> str:
    """Such as: log dir /d1 of broker 1 at 2.3x the mean; log dir /d2 of broker 3 at 0.4x."""
    model, load = placement.model, placement.load
    here = int(placement.slot_log_dir[slot])
    if source.is_broker:
        over, under = (int(model.log_dir_broker[place]) for place in (here, log_dir))
        times = [load.broker[broker] / terms.broker_mean for broker in (over, under)]
        return f"{_broker(placement, over)} at {times[0]:.2f}x the mean; {_broker(placement, under)} at {times[1]:.2f}x"
    times = [load.log_dir[place] / terms.log_dir_mean for place in (here, log_dir)]
    return f"{_log_dir(placement, here)} at {times[0]:.2f}x the mean; {_log_dir(placement, log_dir)} at {times[1]:.2f}x"


def leader_hands_over(placement: Placement, slot: int) -> str:
    """Such as: broker 1 leads 18 partitions (40.0 MB/s in), broker 2 leads 6 (9.1 MB/s in)."""
    load = placement.load
    leader = placement.leader_slot[placement.model.slot_partition[slot]]
    over, under = (int(broker) for broker in placement.slot_broker[[leader, slot]])
    return (
        f"{_broker(placement, over)} leads {load.leaders[over]:.0f} partitions "
        f"({_rate(load.leader_bytes_in[over])} in, {_rate(load.broker[over])} in all); "
        f"{_broker(placement, under)} leads {load.leaders[under]:.0f} "
        f"({_rate(load.leader_bytes_in[under])} in, {_rate(load.broker[under])} in all)"
    )


def _broker(placement: Placement, index: int) -> str:
    return f"broker {placement.model.broker_ids[index]}"


def _log_dir(placement: Placement, index: int) -> str:
    model = placement.model
    return f"log dir {model.log_dirs[index]} of {_broker(placement, int(model.log_dir_broker[index]))}"


def _rate(bytes_per_second: float) -> str:
    return f"{human_bytes(bytes_per_second)}/s"
