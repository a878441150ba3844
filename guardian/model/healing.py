"""How clusters are healed: what may be done by itself, after how long, and how much of it.

[healing]                          for all clusters
mode              = "observe"      # observe: findings and no more; propose: tickets as drafts for a person;
                                   # act: tickets that the approval policy may approve by itself
broker_grace_s    = 600.0          # a broker that is back by then costs no move
log_dir_grace_s   = 60.0
slow_disk_grace_s = 600.0
balance_grace_s   = 3600.0         # skew, and disks that fill: proposed at most
storm_share       = 0.25           # more than this share of a cluster's brokers at once: nothing is moved
tickets_per_hour  = 6              # in a cluster
throttle          = 50000000       # bytes/s per broker that its tickets ask for
rest_s            = 900.0          # after a ticket that did not help, until the next one for the same trouble

[healing.clusters."live-*"]        # for these; the first that matches, what it does not say is as above
mode = "act"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from guardian.errors import InvalidInput
from guardian.model.throttle import DEFAULT_THROTTLE

_DAY_S = 86_400.0
_LEAST_THROTTLE = 100_000
_MOST_THROTTLE = 10**12


class HealingMode(StrEnum):
    """What healing does about a trouble that lasts."""

    OBSERVE = "observe"
    PROPOSE = "propose"
    ACT = "act"


@dataclass(frozen=True, slots=True)
class HealingPolicy:
    """Of one cluster; see the module's example. Seconds, a share of brokers, bytes/s per broker."""

    mode: HealingMode = HealingMode.OBSERVE
    broker_grace_s: float = 600.0
    log_dir_grace_s: float = 60.0
    slow_disk_grace_s: float = 600.0
    balance_grace_s: float = 3600.0
    storm_share: float = 0.25
    tickets_per_hour: int = 6
    throttle: int = DEFAULT_THROTTLE
    rest_s: float = 900.0

    def most_troubled(self, brokers: int) -> int:
        """How many of so many brokers may be in trouble at once: one in any case, or else small clusters never heal."""
        return max(1, int(self.storm_share * brokers))


@dataclass(frozen=True, slots=True)
class HealingPolicies:
    """`patterns` are in the order in which they are tried: names of clusters as a shell has them (live-*)."""

    default: HealingPolicy = HealingPolicy()
    patterns: tuple[tuple[str, HealingPolicy], ...] = ()

    def of(self, cluster: str) -> HealingPolicy:
        return next((policy for pattern, policy in self.patterns if fnmatchcase(cluster, pattern)), self.default)

    @classmethod
    def of_section(cls, section: Mapping[str, object]) -> HealingPolicies:
        """Of a section [healing]. Raises InvalidInput that names the field, the value and the fix."""
        own = {name: value for name, value in section.items() if name != "clusters"}
        default = _changed(HealingPolicy(), own, "healing.")
        clusters = section.get("clusters", {})
        if not isinstance(clusters, Mapping):
            raise InvalidInput(f"healing.clusters is {clusters!r}: write a section [healing.clusters.NAME] for each")
        patterns = []
        for pattern, changes in clusters.items():
            if not isinstance(changes, Mapping):
                raise InvalidInput(f"healing.clusters.{pattern} is {changes!r}: write it as a section")
            patterns.append((str(pattern), _changed(default, changes, f"healing.clusters.{pattern}.")))
        return cls(default, tuple(patterns))


_SPANS = ("broker_grace_s", "log_dir_grace_s", "slow_disk_grace_s", "balance_grace_s")


def _changed(policy: HealingPolicy, changes: Mapping[str, object], prefix: str) -> HealingPolicy:
    known = [field.name for field in fields(HealingPolicy)]
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known:
            raise InvalidInput(f"{prefix}{name} is not a setting: use one of {', '.join(sorted(known))}")
        values[name] = _mode(prefix, value) if name == "mode" else _number(prefix + name, value)
    for name in ("tickets_per_hour", "throttle"):
        if name in values:
            values[name] = _whole(prefix + name, values[name])
    changed = replace(policy, **values)
    for name, least, most in (
        *((span, 5.0, 30 * _DAY_S) for span in _SPANS),
        ("rest_s", 60.0, 30 * _DAY_S),
        ("storm_share", 0.0, 0.5),
        ("tickets_per_hour", 1, 1000),
        ("throttle", _LEAST_THROTTLE, _MOST_THROTTLE),
    ):
        if not least <= getattr(changed, name) <= most:
            raise InvalidInput(f"{prefix}{name} is {getattr(changed, name):g}: use {least:g} to {most:g}")
    return changed


def _mode(prefix: str, value: object) -> HealingMode:
    try:
        return HealingMode(str(value))
    except ValueError:
        raise InvalidInput(f"{prefix}mode is {value!r}: use {', '.join(HealingMode)}") from None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{name} is {value!r}: give a number")
    return float(value)


def _whole(name: str, value: float) -> int:
    if not float(value).is_integer():
        raise InvalidInput(f"{name} is {value:g}: give a whole number")
    return int(value)
