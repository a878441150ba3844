"""Define a goal of another package: it says which brokers may hold replicas of a topic, and which may lead them.

    narrow   asked by makers of plans: all topics and brokers at once, as arrays that the search obeys
    judge    asked by the checker and the table of goals: one replica on one broker, answered by a sentence

Neither is derived from the other, so a mistake in one shows: a plan that breaks `judge` is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.model.cluster_model import Bools, ClusterModel, Ints


@dataclass(frozen=True, slots=True)
class Topic:
    """Tell what the topic directory has of a topic; "" where it has nothing."""

    name: str
    tenant: str = ""
    label: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Broker:
    """Tell where a broker is; "" where that is not known."""

    id: int
    host: str = ""
    rack: str = ""
    idc: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Name one replica's place: a replica of the topic on the broker, which `leads` its partition or follows."""

    topic: Topic
    broker: Broker
    leads: bool
    settings: PlannerSettings


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """Name the brokers that topics may use: topics under the same demand share a row.

    `may_lead` None: whoever may hold a replica may lead it. A broker that may not hold it leads only where no other
    replica of the partition may.
    """

    row_of_topic: Ints  # [topics] of the model; -1: the goal asks nothing of the topic
    may_hold: Bools  # [rows, brokers] of the model
    may_lead: Bools | None = None  # [rows, brokers]


class AddedGoal(Protocol):
    """Add a hard goal. Both functions are pure: the same arguments give the same answer, and nothing is changed.

    `name` has a prefix of the package's own ("acme/pci-on-secure-hosts"), as has the entry point; `sentence` says
    what holds.
    """

    @property
    def name(self) -> str: ...

    @property
    def sentence(self) -> str: ...

    def narrow(self, model: ClusterModel, settings: PlannerSettings, /) -> Narrowed:
        """Return the brokers that each topic may use."""

    def judge(self, placement: Placement, /) -> str:
        """Return in a sentence why the replica may not be there, or not lead there; "" where it may."""
