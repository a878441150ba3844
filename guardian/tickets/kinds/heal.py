"""heal: what lies on dead brokers and broken disks, or breaks a rule."""

from __future__ import annotations

from guardian.model.plan import PartitionMove, Plan
from guardian.model.tasks import Heal
from guardian.model.topology import ANY_LOG_DIR
from guardian.tickets.kinds.planned import PlannedKind


class HealKind(PlannedKind[Heal]):
    name = Heal.kind
    task = Heal

    def is_for_anybody(self, plan: Plan) -> bool:
        return all(map(_leaves_what_is_gone, plan.moves))


def _leaves_what_is_gone(move: PartitionMove) -> bool:
    """Tell whether the move takes replicas only off places that are gone. Of a broker that is down, and of a log dir
    that is offline, the original log dir is not known.
    """
    target = {place.broker: place.log_dir for place in move.target}
    left = [place for place in move.original if target.get(place.broker) not in (ANY_LOG_DIR, place.log_dir)]
    return bool(left) and all(place.log_dir == ANY_LOG_DIR for place in left)


KIND = HealKind()
