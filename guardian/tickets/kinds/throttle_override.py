"""throttle-override: a standing rate for what Guardian copies on a broker; the ticket is its owner, reason and end.

    ticket ── RUNNING until its end, or until somebody cancels it ──▶ SUCCEEDED, CANCELLED
      └── meanwhile: of every ticket on the cluster that has a throttle, copies on that broker get no more than its rate

It sends nothing itself: a throttle acts on the replicas that move (KAFKA.md, trap 17), and those are of other tickets.
What must flow anyway, so that a move ends at all, flows (throttling.py); a ticket that asked for no throttle has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from guardian.errors import InvalidInput
from guardian.model.tasks import PlanTask
from guardian.model.topology import require_broker_id
from guardian.model.units import human_bytes
from guardian.tickets.kinds.requested import Facts, Moment, Option, OptionType, Query, RequestKind, RequestStep

MIN_RATE = 100_000  # bytes/s
MAX_RATE = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class ThrottleOverride(PlanTask):
    """Limit the bytes/s that copies on one broker may take, until a time (ms since the epoch)."""

    kind: ClassVar[str] = "throttle-override"
    broker: int
    rate: int
    until_ms: int

    def __post_init__(self) -> None:
        require_broker_id(self.broker)
        if not MIN_RATE <= self.rate <= MAX_RATE:
            raise InvalidInput(f"rate is {self.rate} bytes/s: use {MIN_RATE} to {MAX_RATE}")
        if self.until_ms < 0:
            raise InvalidInput(f"until_ms is {self.until_ms}: use ms since the epoch")


class ThrottleOverrideKind(RequestKind[ThrottleOverride]):
    name = ThrottleOverride.kind
    task = ThrottleOverride
    limits_rates = True
    command = "broker", "throttle"
    help = """Ask for a standing rate: what Guardian's copies may take of a broker, of all tickets that have a throttle.

    The ticket is its owner, its reason and its end; cancelled, the rate holds no longer.

    Example: guardian broker throttle 7 20MB --cluster live --for 8h --reason "its controller is slow"
    """
    options = (
        Option("broker", OptionType.INTEGER, "The broker's id.", is_argument=True),
        Option("rate", OptionType.RATE, "Bytes/s for copies there, such as 20MB.", is_argument=True),
        Option("for", OptionType.DURATION, "How long it holds from now on, such as 8h."),
    )
    opening = "its rate holds from now on"
    idle = "paused: its rate does not hold"

    def ask(self, values: Mapping[str, Any], now_ms: int) -> ThrottleOverride:
        return ThrottleOverride(values["broker"], values["rate"], now_ms + values["for"])

    def query(self, task: ThrottleOverride, moment: Moment) -> Query:
        return Query(brokers=not moment.began_ms)

    def resolve(self, task: ThrottleOverride, cluster: str, facts: Facts, now_ms: int) -> ThrottleOverride:
        if task.broker not in facts.brokers:
            names = ", ".join(map(str, sorted(facts.brokers)))
            raise InvalidInput(f"broker {task.broker} is not alive in cluster {cluster}: choose from {names}")
        return task

    def step(self, task: ThrottleOverride, moment: Moment, facts: Facts, refused: tuple[str, ...]) -> RequestStep:
        gone = f"broker {task.broker} has no standing rate any more"
        if moment.is_back:
            return moment.ended(gone, settles=False)
        if moment.now_ms >= task.until_ms:
            return moment.ended(f"its time is over: {gone}")
        return RequestStep(None, (), "its rate holds")

    def rates(self, task: ThrottleOverride) -> Mapping[int, int]:
        return {task.broker: task.rate}

    def notes(self, task: ThrottleOverride) -> Iterator[str]:
        rate = f"{human_bytes(task.rate)}/s of broker {task.broker}"
        yield f"copies of all tickets but those without a throttle take no more than {rate}"

    def is_repeated(self, made: ThrottleOverride, asked: ThrottleOverride) -> bool:
        """Tell whether both ask for the same rate: the end is counted from the request."""
        return replace(asked, until_ms=made.until_ms) == made


KIND = ThrottleOverrideKind()
