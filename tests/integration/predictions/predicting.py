"""Predicts what a story does in the lab."""

from __future__ import annotations

from guardian.model.faults.controller import Record
from guardian.model.faults.event import Story
from guardian.model.faults.outcome import Outcome, outcome
from guardian.model.faults.unfolding import Beginning
from tests.integration.predictions.lab import FaultLab
from tests.integration.predictions.settings import Setting


def predict(lab: FaultLab, story: Story, setting: Setting, *, elr: bool = True) -> Outcome:
    """Return the outcome of a story that finds all replicas in sync; brokers start as fast as they just did."""
    brokers = lab.roles.brokers
    beginning = Beginning(Record(replicas=brokers, leader=brokers[0], isr=brokers))
    return outcome(
        beginning,
        setting.predicted_by(elr=elr),
        story,
        acks_all=setting.is_acks_all,
        times=lab.times(),
        controllers=lab.roles.controllers,
    )
