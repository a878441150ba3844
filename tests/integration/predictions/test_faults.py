"""Six faults on real brokers: what is predicted to be lost or safe is, with every setting.

Only losses are compared here, no seconds: those are told by `make bench-faults`, since this machine may be busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from guardian.model.faults import stories
from guardian.model.faults.event import Story
from guardian.model.faults.stories import Roles
from tests.integration.predictions.happening import describe, happen
from tests.integration.predictions.lab import FaultLab
from tests.integration.predictions.predicting import predict
from tests.integration.predictions.settings import SETTINGS
from tests.integration.predictions.verdicts import judge

pytestmark = pytest.mark.integration

_CUT_S = 20.0  # twice replica.lag.time.max.ms of the lab, and three session time-outs
_EVERY_S = 8.0

SIX: Mapping[str, Callable[[Roles], Story]] = {
    "a follower is cut from the leader": lambda roles: stories.follower_from_leader(roles, _CUT_S),
    "the leader is cut from its followers and dies": lambda roles: stories.cut_then_leader_dies(roles, _CUT_S, 15.0),
    "the leader is cut from the controllers": lambda roles: stories.leader_from_controllers(roles, _CUT_S),
    "the leader is alone": lambda roles: stories.leader_alone(roles, _CUT_S),
    "all die and the leader comes back last": lambda roles: stories.all_die(
        roles.brokers, tuple(reversed(roles.brokers)), _EVERY_S
    ),
    "all lose their power": lambda roles: stories.power_loss(roles.brokers, roles.brokers),
}
IN_MAKE_TEST = ("all lose their power",)
# Recorded of real brokers before there was a predictor: with other intervals and in part with other settings.
LOST = {
    "the leader is cut from the controllers": {setting for setting in SETTINGS if not setting.is_acks_all},
    "the leader is alone": {setting for setting in SETTINGS if not setting.is_acks_all},
    "all lose their power": set(SETTINGS),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    with FaultLab(tmp_path_factory.mktemp("faults")) as running:
        yield running


@pytest.mark.parametrize(
    "name", [name if name in IN_MAKE_TEST else pytest.param(name, marks=pytest.mark.long) for name in SIX]
)
def test_what_is_said_to_be_lost_is_and_nothing_else(lab: FaultLab, name: str) -> None:
    roles = lab.roles
    story = SIX[name](roles)
    happened = happen(lab, story, SETTINGS)
    predicted = {setting: predict(roles, lab.times(), story, setting) for setting in SETTINGS}
    told = describe(happened.items(), lambda setting: f"predicted {predicted[setting]}")
    verdicts = {setting: judge(predicted[setting], happened[setting]) for setting in SETTINGS}
    wrong = [each for each, it in verdicts.items() if any((it.wrong_lost, it.wrong_safe, it.wrong_read))]
    assert not wrong, told
    if max(lab.boots_s, default=0.0) - min(lab.boots_s, default=0.0) < _EVERY_S:  # else they were back in another order
        assert not [each for each, it in verdicts.items() if it.wrong_elr], told
    assert {each for each in SETTINGS if happened[each].lost} >= LOST.get(name, set()), (
        f"the fault was not felt:\n{told}"
    )
