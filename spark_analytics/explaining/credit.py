"""Which goal a move serves, and which replica of it shows that best.

Every row of the changes takes load away from one place and brings it to another. What that is worth, goal by goal, is
its part of the fall of the squared deviations (see measure.py): parts of all moves add up to the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analytics.explaining.changes import Changes
from spark_analytics.explaining.measure import Places
from spark_analytics.model.cluster_model import Bools, Floats, Ints
from spark_analytics.model.resources import RESOURCES, Resource

LOG_DIR_BYTES = RESOURCES
LOG_DIR_IO = RESOURCES + 1
GOALS = RESOURCES + 2
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Credit:
    """For each item the goal that gains most by it, what that goal gains, and what all that were asked for gain.

    `row` and `takes` say where it shows: that row's old place (it takes load away there), or its new one.
    """

    goal: Ints  # [items] a Resource, or LOG_DIR_BYTES, LOG_DIR_IO
    gain: Floats  # [items] of that goal
    relief: Floats  # [items] of all goals asked for
    row: Ints  # [items]
    takes: Bools  # [items]


def credit_of(changes: Changes, brokers: Places, log_dirs: Places, asked: Bools) -> Credit:
    """`asked` [GOALS]: which count."""
    taken, brought = _parts(changes, brokers, log_dirs)
    taken[:, ~asked] = 0.0
    brought[:, ~asked] = 0.0
    gains = np.column_stack([changes.per_item((taken + brought)[:, goal]) for goal in range(GOALS)])
    goal = gains.argmax(axis=1)
    rows = np.arange(len(changes.item))
    column = goal[changes.item]
    side_taken, side_brought = taken[rows, column], brought[rows, column]
    best = np.maximum(side_taken, side_brought)
    row = _first_best(changes.item, best, changes.items)
    return Credit(
        goal=goal,
        gain=gains[np.arange(changes.items), goal],
        relief=gains.sum(axis=1),
        row=row,
        takes=side_taken[row] >= side_brought[row] - _ROUNDING * np.abs(side_brought[row]),
    )


def _parts(changes: Changes, brokers: Places, log_dirs: Places) -> tuple[Floats, Floats]:
    """[rows, GOALS] what a row's leaving its old place is worth, and its coming to the new one."""
    taken, brought = (np.zeros((len(changes.item), GOALS)) for _ in range(2))
    stays = (changes.from_broker == changes.to_broker)[:, None]
    was = np.where(stays, changes.was - changes.will, changes.was)
    will = np.where(stays, 0.0, changes.will)
    taken[:, :RESOURCES] = _worth(brokers, changes.from_broker, was)
    brought[:, :RESOURCES] = -_worth(brokers, changes.to_broker, will)
    moves = (changes.from_dir != changes.to_dir)[:, None]
    written = np.column_stack([changes.was[:, Resource.DISK], changes.io]) * moves
    comes = np.column_stack([changes.will[:, Resource.DISK], changes.io]) * moves
    taken[:, RESOURCES:] = _worth(log_dirs, changes.from_dir, written)
    brought[:, RESOURCES:] = -_worth(log_dirs, changes.to_dir, comes)
    return taken, brought


def _worth(places: Places, at: Ints, load: Floats) -> Floats:
    """Return by how much the squared deviations fall when `load` leaves these places (-1: there is none)."""
    known = np.maximum(at, 0)
    worth = 2 * load / places.unit[known] * places.half_way[known]
    return np.where((at >= 0)[:, None], worth, 0.0)


def _first_best(item: Ints, value: Floats, items: int) -> Ints:
    """[items] the row with the highest value, the first of those that are equal."""
    order = np.lexsort((np.arange(len(item)), -value, item))
    return np.asarray(order[np.searchsorted(item[order], np.arange(items))])
