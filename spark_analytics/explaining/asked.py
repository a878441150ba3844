"""What a plan was asked for, as far as its explanation tells it."""

from __future__ import annotations

from dataclasses import dataclass, field

from guardian.model.plan import Excused
from guardian.model.throttle import DEFAULT_THROTTLE
from spark_analytics.search.goal import Budget, Targets


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """`throttle` is bytes/s that a broker may spend on copies, each way.

    `unmet` are sentences that the planner adds to those found here, `notes` what else it has to say. `excused` is what
    its sentences are about, `joins` are (broker id, host) of machines that are to join.
    """

    targets: Targets
    budget: Budget = field(default_factory=Budget)
    throttle: int = DEFAULT_THROTTLE
    unmet: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    excused: Excused = field(default_factory=Excused)
    joins: tuple[tuple[int, str], ...] = ()
