"""Which change of membership a leader may carry out now. Pure: what it decides is one Configuration to append.

A change is its own goal: one that is in force already needs nothing but its commit, so it may be asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raft.configuration import Configuration
from raft.errors import ChangeRefused
from raft.protocol import AddLearner, Change, Promote, Remove

MAX_PROMOTION_LAG = 1000
"""Entries. A learner that lags more would, once it counts, hold up what is committed."""


@dataclass(frozen=True, slots=True)
class LeaderView:
    """`match` and `incarnations` hold what the leader knows of the members that are connected. `is_settled`: the
    configuration in force is committed (two that are not could have majorities that share no member)."""

    name: str
    configuration: Configuration
    is_settled: bool
    last_index: int
    match: Mapping[str, int]
    incarnations: Mapping[str, str]


def is_in_force(change: Change, configuration: Configuration) -> bool:
    """Return whether nothing is left to be done. Raises ChangeRefused when the change can never fit this
    configuration.
    """
    return changed(change, configuration, {}) == configuration


def changed(change: Change, configuration: Configuration, incarnations: Mapping[str, str]) -> Configuration:
    """Raises ChangeRefused."""
    match change:
        case AddLearner(name, address):
            return configuration.with_learner(name, address)
        case Promote(name):
            return configuration.with_promoted(name, incarnations.get(name, ""))
        case Remove(name):
            return configuration.without(name)


def must_hand_over(change: Change, view: LeaderView) -> bool:
    """A leader does not remove itself: it would count itself among those that keep the entry. Its successor does."""
    return isinstance(change, Remove) and change.name == view.name


def next_configuration(change: Change, view: LeaderView) -> Configuration:
    """Return the configuration that the leader appends for a change not in force yet. Raises ChangeRefused when that
    must not be now.
    """
    goal = changed(change, view.configuration, view.incarnations)
    if not view.is_settled:
        raise ChangeRefused("another change of the group is not committed yet: wait, then ask again")
    if isinstance(change, Promote):
        _require_caught_up(change.name, view)
    return goal


def _require_caught_up(name: str, view: LeaderView) -> None:
    match = view.match.get(name)
    if match is None or name not in view.incarnations:
        raise ChangeRefused(f"learner {name} is not connected to leader {view.name}: start it, then promote it")
    lag = view.last_index - match
    if lag > MAX_PROMOTION_LAG:
        raise ChangeRefused(
            f"learner {name} lags by {lag} entries, more than {MAX_PROMOTION_LAG}: promote it when it has caught up"
        )
