"""balance: even use of brokers, disks and leaders, for the least data."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.model.tasks import Balance
from guardian.tickets.kinds.planned import PlannedKind


class BalanceKind(PlannedKind[Balance]):
    name = Balance.kind
    task = Balance

    def topics_named(self, task: Balance) -> Sequence[str]:
        return task.topics


KIND = BalanceKind()
