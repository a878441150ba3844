"""Predicts for a topic of the lab, by the code that `guardian what-if` stands on."""

from __future__ import annotations

from guardian.model.faults.controller import Record
from guardian.model.faults.event import Story
from guardian.model.faults.outcome import Outcome, outcome
from guardian.model.faults.stories import Roles
from guardian.model.faults.times import Times
from guardian.model.faults.unfolding import Beginning
from tests.integration.predictions.settings import Setting


def predict(roles: Roles, times: Times, story: Story, setting: Setting, *, elr: bool = True) -> Outcome:
    """Return the outcome of a story that finds all replicas in sync, the first broker leading."""
    brokers = roles.brokers
    beginning = Beginning(Record(replicas=brokers, leader=brokers[0], isr=brokers))
    return outcome(
        beginning,
        setting.predicted_by(elr=elr),
        story,
        acks_all=setting.is_acks_all,
        times=times,
        controllers=roles.controllers,
    )
