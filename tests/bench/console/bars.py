"""What issues 9 and 32 ask of the console, as their text gives it."""

from __future__ import annotations

from tests.bench.report import BarOn, Better, Measure

MEASURES = (
    Measure(
        "page_ms",
        "1000 simulated brokers: the slowest page, 95 % of its answers",
        "ms",
        Better.LOWER,
        300,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "interactive_ms",
        "the same in Chromium: the slowest page, from the click until it answers to people, median",
        "ms",
        Better.LOWER,
        1000,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "live_cores",
        "a ticket of 1000 partitions that runs: CPU of the member for each page that watches it",
        "cores",
        Better.LOWER,
        0.05,
        BarOn.OURS,
        inclusive=False,
    ),
    Measure(
        "change_ms",
        "a broker dies: until the board tells it in an open browser, and never calls the cluster healthy after that",
        "ms",
        Better.LOWER,
        30_000,
        BarOn.OURS,
    ),
    Measure(
        "plan_ms",
        "a plan of 300 brokers and 60,000 replicas, asked for by the form: until it is on the page, the slowest",
        "ms",
        Better.LOWER,
        10_000,
        BarOn.OURS,
    ),
    Measure(
        "cli_ms",
        "1000 simulated brokers: the slowest command that lists or shows, median of its runs",
        "ms",
        Better.LOWER,
        1000,
        BarOn.OURS,
    ),
    Measure(
        "cli_lake_ms",
        "the same, of those that read the lake, with a word within a second",
        "ms",
        Better.LOWER,
        5000,
        BarOn.OURS,
    ),
    Measure("help_ms", "guardian --help, median", "ms", Better.LOWER, 300, BarOn.OURS),
)
