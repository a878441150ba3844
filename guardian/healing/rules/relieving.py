"""What takes load off a line between data centres that nears its limit. Pure.

    crossers in the line's busiest minute, the largest first
      │ its topic has an IDC policy that would end the crossing ─▶ migrate-idc: the topic goes where the policy wants it
      │ clients read it over the line, and it has no policy     ─▶ leaders: they go to where the readers are
      └ neither                                                 ─▶ nothing can be planned: a person is called

What moves copy is none of it: they have yielded already (line_room), and are in no finding. Leaders only follow
readers: when they follow producers, replication to the followers left behind carries over the line what producers
carried before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from guardian.model.federation import IdcPolicy
from guardian.model.links import Crosser, Crossing, Direction
from guardian.model.text import some


@dataclass(frozen=True, slots=True)
class ClusterPlaces:
    """Of one cluster: the IDCs of its brokers, and the policies of those of its topics that have one."""

    idcs: Mapping[int, str] = field(default_factory=dict)
    policies: Mapping[str, IdcPolicy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relief:
    """What is planned for `topics`: with `policy` replicas go where that wants them; without one leaders leave
    `away_from`, and nothing is copied. `sentence` says how that helps."""

    topics: tuple[str, ...]
    sentence: str
    policy: IdcPolicy | None = None
    away_from: tuple[int, ...] = ()


def relief_of(crossers: Sequence[Crosser], cluster: str, places: ClusterPlaces) -> Relief | None:
    """Find the relief for the largest of the cluster's crossers that something can be planned for, and all others that
    the same plan helps. None: there is none. `crossers` are of one line and direction, the largest first.
    """
    own = [crosser for crosser in crossers if crosser.cluster == cluster]
    first = next((crosser for crosser in own if _helps(crosser, places)), None)
    if first is None:
        return None
    policy = places.policies.get(first.topic)
    alike = [each for each in own if _helps(each, places) and places.policies.get(each.topic) == policy]
    topics = tuple(dict.fromkeys(each.topic for each in alike))
    to_idc = first.direction.to_idc
    if policy is not None:
        told = f"IDC policy {policy.name} wants {some(topics)} where that does not cross {_line(first.direction)}"
        return Relief(topics, told, policy)
    away_from = tuple(sorted(broker for broker, idc in places.idcs.items() if idc != to_idc))
    told = f"leaders of {some(topics)} go to {to_idc}, where clients read over the line now: nothing is copied"
    return Relief(topics, told, None, away_from)


def cluster_of(crossers: Iterable[Crosser], places: Mapping[str, ClusterPlaces]) -> str:
    """Choose the cluster to plan in: that of the largest crosser that something can be planned for, or else of the
    largest one. Empty where nobody of these clusters is known to cross.
    """
    own = [crosser for crosser in crossers if crosser.cluster in places]
    helped = (crosser for crosser in own if _helps(crosser, places[crosser.cluster]))
    found = next(helped, own[0] if own else None)
    return found.cluster if found is not None else ""


def _helps(crosser: Crosser, places: ClusterPlaces) -> bool:
    """Return whether there is something to plan. A consumer reads in its own IDC when a replica is there. What is
    written, or replicated, into an IDC ends only when nothing of the topic is to be there.
    """
    to_idc = crosser.direction.to_idc
    policy = places.policies.get(crosser.topic)
    if policy is not None:
        return (to_idc in policy.idcs) is (crosser.crossing is Crossing.CONSUME)
    return crosser.crossing is Crossing.CONSUME and to_idc in places.idcs.values()


def _line(direction: Direction) -> str:
    return f"from {direction.from_idc} to {direction.to_idc}"
