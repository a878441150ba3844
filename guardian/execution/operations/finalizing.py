"""`metadata.version` raised at the end of a rolling restart that was asked to: the one step that nobody can take back.

    all is restarted ─▶ every node is up and supports the level ─▶ (from, to) stored ─▶ asked for, until it is in force

Brokers say themselves what they support. For the controllers, and for brokers that are registered and can't be asked,
the active controller speaks: it would refuse a level that one of them lacks (`MetadataVersion.refused`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from guardian.execution.operations.effects import RaiseMetadataVersion
from guardian.execution.operations.turn import Turn, named
from guardian.model.operation import Ask, MetadataVersion, Operation, OperationPhase, Standing

_FEATURE = "metadata.version"
FOR_GOOD = "which can't be taken back"


@dataclass(frozen=True, slots=True)
class Waits:
    """For what, or for Kafka to do what is asked for."""

    sentence: str
    effect: RaiseMetadataVersion | None = None


@dataclass(frozen=True, slots=True)
class Stuck:
    """Waiting does not mend it."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Over:
    """The level is in force, or there is nothing to raise."""

    sentence: str


def is_told(ask: Ask, operation: Operation) -> bool:
    """Return whether the level is of use to the next step. It is not asked for in the middle of a restart, when brokers
    are down.
    """
    if not ask.kind.traits.has_batches:
        return False
    is_last = all(work.standing is not Standing.WAITING for work in operation.brokers)
    at_the_end = operation.phase in (OperationPhase.LEADERS_BACK, OperationPhase.GATE) and is_last
    return at_the_end or operation.phase in (OperationPhase.VALIDATE, OperationPhase.FINALIZE)


def candidates(ask: Ask, operation: Operation, version: MetadataVersion) -> tuple[int, ...]:
    """The levels that the controllers are worth being asked about now, best first: until they would take one."""
    if not ask.finalize or operation.phase is not OperationPhase.FINALIZE:
        return ()
    wanted = operation.metadata_version_to or ask.metadata_version
    if wanted:
        return (wanted,) if version.level < wanted <= version.highest else ()
    return tuple(range(version.highest, version.level, -1))


def why_never(turn: Turn) -> str:
    """Say what no restart mends, before anything is restarted; empty when it can work out. Brokers of this ticket may
    support more when they are back: the hook may upgrade them.
    """
    version, wanted = turn.world.metadata_version, turn.ask.metadata_version
    if version is None or not wanted:
        return ""
    if wanted < version.level:
        return f"{_FEATURE} is {version.level} already, above {wanted}, and is never lowered: name a level above it"
    staying = {broker: most for broker, most in version.supported.items() if broker not in turn.ask.brokers}
    lacking = _lacking(staying, wanted)
    if lacking:
        return f"{_FEATURE} can't be raised from {version.level} to {wanted}: {lacking}, and is not restarted here"
    return ""


def foretold(ask: Ask, version: MetadataVersion) -> str:
    """Say for a dry run what becomes of the level, from what brokers support before they are restarted."""
    level, highest, wanted = version.level, version.highest, ask.metadata_version
    if wanted:
        lacking = _lacking(version.supported, wanted)
        unless = f"; now {lacking}, so what the hook starts must support {wanted}" if lacking else ""
        return f"then {_FEATURE} {level} -> {wanted}, {FOR_GOOD}{unless}"
    if highest > level:
        return f"then {_FEATURE} {level} -> {highest}, or what all nodes support once they are restarted, {FOR_GOOD}"
    return f"{_FEATURE} stays {level}, or is raised to what all nodes support once they are restarted, {FOR_GOOD}"


def decide(turn: Turn) -> tuple[Turn, Waits | Stuck | Over]:
    """The next thing to do about it, when all is restarted and the cluster is well."""
    version = turn.world.metadata_version
    if version is None:
        return turn, Waits(f"asks the brokers which levels of {_FEATURE} they support")
    over = _why_over(turn, version)
    if over:
        return turn, Over(over)
    missing = _who_is_missing(turn, version)
    if missing:
        return turn, Waits(f"waits to raise {_FEATURE} from {version.level}: {missing}")
    return _raise(turn, version)


def _why_over(turn: Turn, version: MetadataVersion) -> str:
    operation = turn.operation
    if operation.metadata_version_to and version.level >= operation.metadata_version_to:
        return f"{_FEATURE} raised from {operation.metadata_version_from} to {version.level}"
    if turn.ask.metadata_version and version.level >= turn.ask.metadata_version:
        return f"{_FEATURE} is {version.level} already"
    return ""


def _who_is_missing(turn: Turn, version: MetadataVersion) -> str:
    """Nodes that can't say what they support."""
    silent = turn.world.registered - version.supported.keys()
    if silent:
        return f"{named(silent)} can't be asked which levels it supports"
    quorum = turn.world.quorum
    behind = quorum.voters - quorum.caught_up if quorum is not None else frozenset()
    return f"{named(behind, 'controller')} has not caught up" if behind else ""


def _raise(turn: Turn, version: MetadataVersion) -> tuple[Turn, Waits | Stuck | Over]:
    operation, before = turn.operation, version.level
    wanted = operation.metadata_version_to or turn.ask.metadata_version
    lacking = _lacking(version.supported, wanted)
    if lacking:
        return turn, Stuck(f"{_FEATURE} can't be raised from {before} to {wanted}: {lacking}; upgrade it, then resume")
    levels = candidates(turn.ask, operation, version)
    if not levels:
        return turn, Over(f"{_FEATURE} stays {before}: it is the highest that all brokers support")
    if levels[0] not in version.refused:
        return turn, Waits(f"asks the controllers whether they would raise {_FEATURE} from {before} to {levels[0]}")
    chosen = next((level for level in levels if version.refused.get(level) == ""), 0)
    if not chosen:
        why = f"{_FEATURE} can't be raised from {before} to {levels[0]}: {version.refused[levels[0]]}"
        return turn, Stuck(f"{why}; upgrade what lacks it, then resume")
    if not operation.metadata_version_to:
        operation = replace(operation, metadata_version_from=before, metadata_version_to=chosen)
        turn = turn.with_operation(operation)
    return turn, Waits(f"raises {_FEATURE} from {before} to {chosen}", RaiseMetadataVersion(chosen))


def left_at_the_end(turn: Turn) -> str:
    """Say that a restart which was not to raise the level leaves a higher one; empty when there is none, or nobody can
    tell.
    """
    version = turn.world.metadata_version
    if version is None or turn.world.registered - version.supported.keys() or version.highest <= version.level:
        return ""
    return (
        f"{_FEATURE} is {version.level}; all brokers support {version.highest}: --finalize of a later restart raises "
        f"it, {FOR_GOOD}"
    )


def left_by_a_cancel(turn: Turn) -> str:
    """Say what became of raising the level; empty where it was never asked for."""
    version, operation = turn.world.metadata_version, turn.operation
    before, to = operation.metadata_version_from, operation.metadata_version_to
    if not turn.ask.finalize:
        return ""
    if not to:
        return f"{_FEATURE} was not raised"
    if version is not None and version.level >= to:
        return f"{_FEATURE} was raised from {before} to {version.level}, {FOR_GOOD}"
    return f"{_FEATURE} was to be raised from {before} to {to}, and is not yet"


def _lacking(supported: Mapping[int, int], wanted: int) -> str:
    """Say which of these brokers do not support it, and the highest level that they all do; empty when all do."""
    short = {broker: most for broker, most in supported.items() if most < wanted}
    return f"{named(short)} supports up to {min(short.values())}" if short else ""
