"""What a kind of operation does in each phase, when it is taken back, amended and paused. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guardian.execution.operations.effects import AnyEffect
from guardian.execution.operations.turn import Result, Turn
from guardian.model.operation import Ask, OperationPhase

Phase = Callable[[Turn], Result]
Change = Callable[[Turn], tuple[Turn, tuple[AnyEffect, ...]]]


def no_change(turn: Turn) -> tuple[Turn, tuple[AnyEffect, ...]]:
    """Return the turn as it is."""
    return turn, ()


@dataclass(frozen=True, slots=True)
class OperationKind:
    """Define what a kind of operation does. `amend` carries out an amended ask, None: it can't be amended. `let_go`
    undoes what was done to brokers that are no longer asked for; `give_back` what a paused ticket gives back.
    `describe` says what happens to the brokers, by whom, for the ask; `outcome` how it ends.
    """

    phases: Mapping[OperationPhase, Phase]
    undo: Phase
    describe: Callable[[Ask, str], str]
    outcome: Callable[[Ask], str] = lambda _: ""
    amend: Callable[[Turn], Turn] | None = None
    let_go: Change = no_change
    give_back: Change = no_change
