"""What all goals share: a placement to be judged, and the words in which a goal explains its judgement.

A goal is pure and knows nothing of how plans are made. A hard goal counts what breaks it, each breach a sentence; a
soft one measures how uneven something is, and says where it is worst. What is allowed stands in Rules, what is asked
for in Targets: goals read both, and the search obeys both, so that there is one truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints, brokers_of
from spark_analytics.model.load import Load, load_of
from spark_analytics.model.resources import Resource
from spark_analytics.search.goal import Targets
from spark_analytics.search.pools import pools_of
from spark_analytics.search.rules import Rules


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Replicas and leaders in their places, under rules and targets."""

    model: ClusterModel
    rules: Rules
    targets: Targets
    slot_log_dir: Ints  # [slots]
    leader_slot: Ints  # [partitions]
    slot_broker: Ints  # [slots]
    load: Load
    pool: Ints  # [brokers]

    @classmethod
    def of(
        cls,
        model: ClusterModel,
        rules: Rules,
        targets: Targets,
        slot_log_dir: Ints | None = None,
        leader_slot: Ints | None = None,
    ) -> Placed:
        """Build the placement to be judged: as the model has it, where nothing else is given."""
        slots = model.slot_log_dir if slot_log_dir is None else slot_log_dir
        leaders = model.leader_slot if leader_slot is None else leader_slot
        return cls(
            model=model,
            rules=rules,
            targets=targets,
            slot_log_dir=slots,
            leader_slot=leaders,
            slot_broker=brokers_of(model, slots),
            load=load_of(model, slots, leaders),
            pool=pools_of(rules, model.alive),
        )

    @property
    def counts(self) -> Bools:
        """[brokers] those that are held against one another."""
        return np.asarray(self.model.alive & (self.pool >= 0))

    def broker(self, index: int) -> str:
        return f"broker {self.model.broker_ids[index]}"

    def log_dir(self, index: int) -> str:
        return f"log dir {self.model.log_dirs[index]} of {self.broker(int(self.model.log_dir_broker[index]))}"


class Goal(Protocol):
    """`resources` are those whose spread the search makes even for this goal; () where it needs none."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Cruise Control's names."""

    @property
    def is_hard(self) -> bool: ...

    @property
    def resources(self) -> tuple[Resource, ...]: ...

    def measure(self, placed: Placed) -> float:
        """Hard: how many breaches. Soft: how uneven; smaller is better."""

    def target(self, placed: Placed) -> float:
        """Return what `measure` should be at most; inf: not asked for."""

    def violations(self, placed: Placed) -> Iterator[str]:
        """Each breach, or each place that is beyond the target, in one sentence; the worst first where one is worse."""


class Hard:
    """Defaults of a goal that counts breaches."""

    is_hard: ClassVar[bool] = True
    resources: ClassVar[tuple[Resource, ...]] = ()

    def target(self, placed: Placed) -> float:  # noqa: ARG002 - the same for every placement
        return 0.0
