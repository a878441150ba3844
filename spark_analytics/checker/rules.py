"""What a plan can break."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rule(Enum):
    """The value is the sentence that a violation begins with."""

    CLUSTER = "the plan is for another cluster"
    PARTITION_KNOWN = "a partition is not in the model"
    PARTITION_NEW = "a partition to be created is there already"
    BROKER_KNOWN = "a broker is not in the model"
    LOG_DIR_KNOWN = "a log dir is not in the model"
    ONE_MOVE_A_PARTITION = "a partition is in the plan twice"
    ONE_REPLICA_A_BROKER = "a broker would hold two replicas of a partition"
    ORIGINAL = "the original placement is not the model's"
    SIZE = "the size of a partition is not the model's"
    REPLICATION_FACTOR = "the number of replicas is not what it should be"
    LOG_DIR_CLOSED = "a log dir is offline, or to be emptied"
    CLOSED = "a broker takes no replicas"
    LABEL = "a broker is not for this topic"
    ADDED_GOAL = "a goal of another package would be broken"
    RACKS = "replicas of a partition would share racks more than they must"
    IDC = "replicas of a partition would be in the wrong data centres"
    LEADER = "a partition would be led from the wrong broker"
    SOURCE = "nobody is left to copy a partition from"
    UNSEEN = "a partition has replicas that are not in the model, or no leader"
    PINNED = "a topic that must not move would move"
    DISK_ROOM = "a disk would be too full"
    CAPACITY = "a broker would be used too much"
    BUDGET = "the plan costs more than was allowed"
    TOPIC_SPREAD = "a topic would crowd on a broker"
    REPLICAS = "a broker would hold too many replicas"
    LEADERS = "a broker would lead too few partitions of a topic"
    LOADS = "the load table is wrong"
    TASK = "the plan does not do what was asked for, and does not say why"

    @property
    def is_about_names(self) -> bool:
        """After such a one nothing can be added up."""
        return self in _ABOUT_NAMES

    @property
    def is_shortfall(self) -> bool:
        """The plan may be carried out: it does less than was asked for, not something that must not be."""
        return self is Rule.TASK


_ABOUT_NAMES = frozenset(
    {
        Rule.PARTITION_KNOWN,
        Rule.PARTITION_NEW,
        Rule.BROKER_KNOWN,
        Rule.LOG_DIR_KNOWN,
        Rule.ONE_MOVE_A_PARTITION,
        Rule.ONE_REPLICA_A_BROKER,
        Rule.ORIGINAL,
    }
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the plan breaks, where, and by what numbers."""

    rule: Rule
    detail: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.detail}"
