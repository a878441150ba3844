"""What an operator may ask of a plan. Standard library only: a command line reads it before Spark is there."""

from __future__ import annotations

from dataclasses import dataclass

from guardian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class BalanceSettings:
    """`target_spread` and `leader_spread` are max/mean - 1: where the planner stops, or as near as it gets.

    `capacity_limit` is the share of a disk that replicas may fill, `capacity_reserve` the share that stays usable.
    """

    target_spread: float = 0.1
    leader_spread: float = 0.1
    capacity_limit: float = 0.8
    capacity_reserve: float = 0.05

    def __post_init__(self) -> None:
        for name in ("target_spread", "leader_spread"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise InvalidInput(f"{name} is {value}: use a number from 0 up, such as 0.1")
        for name in ("capacity_limit", "capacity_reserve"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InvalidInput(f"{name} is {value}: use a share of the disk between 0 and 1")
