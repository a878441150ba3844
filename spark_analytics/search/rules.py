"""The hard goals of one planning task, compiled to arrays: what no step of the search may break.

Partitions under the same rules share a class, so that the rules of a million partitions fit into a few rows. Rules are
made by planners from labels, exclusions, IDC policies and the task itself ("these brokers leave"); the search obeys.
"""

from __future__ import annotations

from dataclasses import dataclass

from guardian.model.planner_settings import PlannerSettings
from spark_analytics.extensions.installed import Installed
from spark_analytics.model.cluster_model import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """Tell which goals of other packages forbid what: the rules forbid it already, this is for naming them."""

    goals: tuple[Installed, ...]
    settings: PlannerSettings
    may_hold: Bools  # [goals, classes, brokers]
    may_lead: Bools  # [goals, classes, brokers]


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """`classes` are rows; a partition's row is `class_of[partition]`.

    A replica on a broker that `may_stay` forbids is moved away first, whatever it costs; one goes only where
    `may_take` allows. `may_take` implies `may_stay`. Replicas of one partition never share a broker, and share a rack
    only when there are fewer usable racks than replicas (then as few as can be, `rack_max` per rack). Those that crowd
    a rack already are parted; with `keeps_crowds` they are not, but no other rack becomes crowded in its place.
    A number of replicas per IDC is kept between `idc_min` and `idc_max`, and reached first where it is not kept.
    """

    class_of: Ints  # [partitions]
    may_stay: Bools  # [classes, brokers]
    may_take: Bools  # [classes, brokers]
    may_lead: Bools  # [classes, brokers]; where none of a partition's brokers may, any of them does
    idc_min: Ints  # [classes, idcs]
    idc_max: Ints  # [classes, idcs]; a large number: no limit
    rack_max: Ints  # [classes] replicas of a partition per rack
    log_dir_may_take: Bools  # [log dirs] online and not being emptied
    log_dir_may_stay: Bools  # [log dirs]; for classes that may be taken anywhere: the others are out of the task
    capacity_limit: Floats  # [4] share of a broker's capacity that may be used; it may stay above where it is now
    disk_limit: float  # share of a disk's bytes that replicas may fill, copies included while both are there
    free_to_move: Bools  # [slots] False: neither this replica nor its leadership moves but to keep a rule
    must_leave: Bools  # [slots] this replica leaves its log dir first, for another one of its broker or of another
    disk_reserve: float = 0.05  # share of a disk's bytes that copies leave usable, whatever else fills the disk
    mends: bool = True  # False: only what the task forces is touched, whatever else breaks a rule already
    keeps_crowds: bool = False  # a rack may keep as many replicas of a partition as it has now
    disk_spare: Floats | None = None  # [disks] bytes that copies leave free beside that, for what grows; None: nothing
    disk_io_limit: float = float("inf")  # share of a disk's io capacity, where that is known, that replicas may use
    most_replicas: Ints | None = None  # [brokers] that one may hold; it may stay above where it is now; None: no limit
    least_leaders: Ints | None = None  # [topics] partitions of it that each broker leads that may; None: 0 of all
    compared: Bools | None = None  # [classes, brokers] held against one another; None: those that may take
    added: Added | None = None  # None: no package adds a goal
