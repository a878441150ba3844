"""How clusters are healed: what may be done by itself, after how long, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from guardian.model import settings
from guardian.model.settings import Section, setting
from guardian.model.throttle import DEFAULT_THROTTLE, MAX_THROTTLE, MIN_THROTTLE

_DAY_S = 86_400.0


class HealingMode(StrEnum):
    """What healing does about a trouble that lasts."""

    OBSERVE = "observe"
    PROPOSE = "propose"
    ACT = "act"


@dataclass(frozen=True, slots=True)
class HealingPolicy(Section):
    """Say what is done by itself about broken brokers and disks (guardian/healing/README.md).

    [healing.clusters."live-*"] has the same settings for clusters of a name or pattern. The first one that matches
    counts, and what it does not say is as in [healing].
    """

    mode: HealingMode = setting(
        HealingMode.OBSERVE,
        "With observe there are findings and no more, with propose tickets as drafts for a person, with act tickets "
        "that the approval policy may approve by itself.",
    )
    broker_grace_s: float = setting(600.0, "A broker that is back by then costs no move.", least=5, most=30 * _DAY_S)
    log_dir_grace_s: float = setting(60.0, "Likewise for a failed log dir.", least=5, most=30 * _DAY_S)
    slow_disk_grace_s: float = setting(600.0, "Likewise for a slow disk.", least=5, most=30 * _DAY_S)
    balance_grace_s: float = setting(
        3600.0,
        "Likewise for skew, disks that fill and links near their limits, which are proposed at most.",
        least=5,
        most=30 * _DAY_S,
    )
    storm_share: float = setting(
        0.25,
        "With more than this share of a cluster's brokers (but one in any case) in trouble nothing is moved.",
        least=0,
        most=0.5,
    )
    tickets_per_hour: int = setting(
        6, "Tickets of healing in a cluster; drafts of what is proposed at most count apart.", least=1, most=1000
    )
    throttle: int = setting(
        DEFAULT_THROTTLE, "Bytes/s per broker that its tickets ask for.", least=MIN_THROTTLE, most=MAX_THROTTLE
    )
    rest_s: float = setting(
        900.0,
        "Time after a ticket that did not help, until the next one; twice as long after each that failed.",
        least=60,
        most=30 * _DAY_S,
    )

    def most_troubled(self, brokers: int) -> int:
        """Return how many of so many brokers may be in trouble at once: one in any case, or else small clusters never
        heal.
        """
        return max(1, int(self.storm_share * brokers))


@dataclass(frozen=True, slots=True)
class HealingPolicies:
    """`patterns` are in the order in which they are tried: names of clusters as a shell has them (live-*)."""

    default: HealingPolicy = HealingPolicy()
    patterns: tuple[tuple[str, HealingPolicy], ...] = ()

    def of(self, cluster: str) -> HealingPolicy:
        return next((policy for pattern, policy in self.patterns if fnmatchcase(cluster, pattern)), self.default)

    @classmethod
    def read(cls, path: str, value: object) -> HealingPolicies:
        """Return what a section [healing] says. Raises InvalidInput that names the field, the value and the fix."""
        table = dict(settings.section(path, value))
        clusters = settings.section(f"{path}.clusters", table.pop("clusters", {}))
        default = settings.read(HealingPolicy, table, path)
        return cls(
            default,
            tuple(
                (pattern, settings.read(HealingPolicy, changes, f"{path}.clusters.{pattern}", base=default))
                for pattern, changes in clusters.items()
            ),
        )
