"""What issues 8 and 28 ask of carrying out, as their texts give it. Cruise Control's are stored ones (PLANNER.md)."""

from __future__ import annotations

from tests.bench.execute.clients import NOISE
from tests.bench.report import BarOn, Better, Measure

CRUISE_CONTROL_41_S = 50.5

# What each part measures, in the order in which they run.
IDS_OF_PART = {
    "moves": ("execute_41_s", "resume_s"),
    "clients": ("produce_p99", "fetch_p99"),
    "throttle": ("throttle_p99", "throttle_time"),
    "fleet": ("tick_ms", "exec_cores"),
    "ended": ("tick_50k_ms",),
    "heal": ("heal_s",),
    "restart": ("restart_vs_script",),
}

MEASURES = (
    Measure(
        "execute_41_s",
        "41 partitions, 45 MB, unthrottled: from approval to verified",
        "s",
        Better.LOWER,
        10,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "resume_s",
        "81 partitions at 300 kB/s, leader kill -9 from 22 s on: moving again",
        "s",
        Better.LOWER,
        5,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "produce_p99",
        "acks=all on real brokers while copies go at adaptive rates, beside none",
        "ms",
        Better.LOWER,
        NOISE,
        BarOn.RATIO,
    ),
    Measure(
        "fetch_p99",
        "the same records, until they are read",
        "ms",
        Better.LOWER,
        NOISE,
        BarOn.RATIO,
    ),
    Measure(
        "throttle_p99",
        "clients' p99 while copies go at adaptive rates, beside none",
        "x",
        Better.LOWER,
        1.5,
        BarOn.OURS,
    ),
    Measure(
        "throttle_time",
        "that the copies take, beside the best fixed rate that keeps the p99",
        "x",
        Better.LOWER,
        1.3,
        BarOn.OURS,
    ),
    Measure(
        "tick_ms",
        "10,000 moves on 20 clusters side by side: 99 % of ticks",
        "ms",
        Better.LOWER,
        500,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "exec_cores",
        "10,000 moves on 20 clusters: the leader's CPU",
        "cores",
        Better.LOWER,
        0.5,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "tick_50k_ms",
        "a tick beside 50,000 tickets that have ended, over one with none",
        "ms",
        Better.LOWER,
        1.1,
        BarOn.RATIO,
    ),
    Measure(
        "heal_s",
        "kill -9 of a broker that stays away: its grace period over, until all is whole elsewhere",
        "s",
        Better.LOWER,
        300,
        BarOn.OURS,
    ),
    Measure(
        "restart_vs_script",
        "six brokers restarted under acks=all load, beside one by one",
        "s",
        Better.LOWER,
        1.5,
        BarOn.RATIO,
    ),
)
