"""What an operation can ask for besides what is sent to Kafka for its moves. Data too, and harmless when repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guardian.model.effects import Effect
from guardian.model.federation import Exclusion
from guardian.model.operation import HookKey
from guardian.model.topology import BrokerState


@dataclass(frozen=True, slots=True)
class PutExclusions:
    """All of them or none, in one command to the store."""

    exclusions: tuple[Exclusion, ...]


@dataclass(frozen=True, slots=True)
class LiftExclusions:
    """Drops each of these where it still is what it says here; one that is gone or somebody else's by now is left."""

    exclusions: tuple[Exclusion, ...]


@dataclass(frozen=True, slots=True)
class SetBrokerStates:
    """What the federation says of brokers; one that it does not know (any more) is left out."""

    states: Mapping[int, BrokerState]


@dataclass(frozen=True, slots=True)
class RunHook:
    """Starts the hook for one node, unless the run with this key was started by this process already."""

    key: HookKey
    hook: str


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """Takes a broker that is down out of the cluster; the sender asks once more whether it is fenced (trap 8)."""

    broker: int


@dataclass(frozen=True, slots=True)
class ForgetBroker:
    """The federation knows it no longer: it has left its cluster."""

    broker: int


@dataclass(frozen=True, slots=True)
class RaiseMetadataVersion:
    """Raises Kafka's `metadata.version` to this level for good; where it is that already, nothing happens."""

    level: int


OperationEffect = (
    PutExclusions | LiftExclusions | SetBrokerStates | RunHook | UnregisterBroker | ForgetBroker | RaiseMetadataVersion
)
AnyEffect = Effect | OperationEffect
