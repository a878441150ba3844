"""Compile what goals of other packages leave of the brokers: a row for topics under the same demands of all goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.extensions.installed import Installed
from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints
from spark_analytics.planners.arrays import unique_rows
from spark_analytics.search.rules import Rules


@dataclass(frozen=True, slots=True, eq=False)
class Demands:
    """Name the brokers that each goal leaves; where there is no goal, one row without a demand."""

    goals: tuple[Installed, ...]
    row_of_topic: Ints  # [topics]
    hold: Bools  # [goals, rows, brokers]
    lead: Bools  # [goals, rows, brokers]

    @classmethod
    def of(cls, model: ClusterModel, settings: PlannerSettings, goals: Sequence[Installed]) -> Demands:
        """Ask all goals before any of their answers holds. Raises InvalidInput that names the package."""
        asked = [each.narrow(model, settings) for each in goals]
        key = np.column_stack([np.zeros(len(model.topics), np.int64), *(each.row_of_topic for each in asked)])
        rows, row_of_topic = unique_rows(key)
        shape = (len(asked), len(rows), model.brokers)
        hold, lead = np.ones(shape, np.bool_), np.ones(shape, np.bool_)
        for nth, each in enumerate(asked):
            under = rows[:, nth + 1] >= 0
            hold[nth, under] = each.may_hold[rows[under, nth + 1]]
            if each.may_lead is not None:
                lead[nth, under] = each.may_lead[rows[under, nth + 1]]
        return cls(tuple(goals), row_of_topic, hold, lead)

    @property
    def may_hold(self) -> Bools:
        """[rows, brokers]"""
        return np.asarray(self.hold.all(axis=0))

    @property
    def may_lead(self) -> Bools:
        """[rows, brokers]"""
        return np.asarray(self.lead.all(axis=0))

    def names(self, row: int, brokers: Bools) -> str:
        """Return the goals that forbid some of these brokers to the topics of a row, with what they say."""
        forbids: Bools = np.asarray((~self.hold[:, row] & brokers).any(axis=1))
        named = [f"{each.name} ({each.sentence})" for each, does in zip(self.goals, forbids, strict=True) if does]
        return f"goal{'s' if len(named) > 1 else ''} {' and '.join(named)}"


def notes(rules: Rules) -> Iterator[str]:
    """Name the goals of other packages that a plan keeps, whatever they forbade."""
    if rules.added is not None:
        for each in rules.added.goals:
            yield f"goal {each.name} of {each.package} is kept: {each.sentence}"
