"""What `guardian durability` says of topics while brokers are taken from them, and what then comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from guardian.errors import ClusterUnavailable
from guardian.health.loop.durability_facts import durability_facts
from guardian.health.rules.durability import rate_all
from guardian.kafka.control import KafkaControl
from guardian.model.durability import Rating, TopicDurability
from guardian.model.faults.event import Kill, Start
from guardian.model.faults.stories import story
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.writers import numbers_in
from tests.integration.predictions.happening import create
from tests.integration.predictions.lab import FaultLab
from tests.integration.predictions.settings import ALL, Setting
from tests.integration.predictions.writing import Writing
from tests.patience import CONTROL_S, wait_for

pytestmark = pytest.mark.integration

SAFE, THIN = Setting(2, ALL), Setting(1, ALL)
TOPICS = {setting: setting.topic("durability") for setting in (SAFE, THIN)}
LEADER, FIRST, SECOND = 1, 2, 3


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    with FaultLab(tmp_path_factory.mktemp("durability")) as running:
        create(running, TOPICS)
        yield running


def said(lab: FaultLab) -> Mapping[Setting, TopicDurability]:
    """Return what is said of each topic now. Raises ClusterUnavailable."""
    with closing(KafkaControl(lab.cluster, CONTROL_S)) as admin:
        rated = {each.topic: each for each in rate_all(*durability_facts(admin, lab.cluster, TOPICS.values()))}
    return {setting: rated[topic] for setting, topic in TOPICS.items()}


def wait_said(lab: FaultLab, **expected: Rating) -> Mapping[Setting, TopicDurability]:
    """Return what is said once the topics are rated so."""
    wanted = {SAFE: expected["safe"], THIN: expected["thin"]}

    def rated() -> tuple[Mapping[Setting, TopicDurability]] | None:
        found = said(lab)
        return (found,) if {setting: each.rating for setting, each in found.items()} == wanted else None

    return wait_for(f"that it is said: {expected}", rated, despite=(ClusterUnavailable,), every_s=1.0)[0]


def leaders(lab: FaultLab, asked: int) -> dict[Setting, int]:
    """Return who leads, as one broker says."""
    seen = witness.partitions(lab.listener(asked), list(TOPICS.values()))
    return {setting: seen[topic, 0].leader for setting, topic in TOPICS.items()}


def test_each_rating_is_followed_by_what_it_said(lab: FaultLab) -> None:
    with Writing(lab.cluster, TOPICS, lab.home / "writers.log") as writing:
        wait_for("that both topics are written to", lambda: all(writing.acked().values()))
        found = wait_said(lab, safe=Rating.SOUND, thin=Rating.WEAK)
        assert (found[SAFE].survives_brokers, found[THIN].survives_brokers) == (1, 0)

        # Sound: any one broker may go. Both go on being written to.
        lab.carry_out(story("one follower dies", (0.0, Kill(SECOND))))
        found = wait_said(lab, safe=Rating.DEGRADED, thin=Rating.WEAK)
        assert not any(each.under_min_isr for each in found.values())
        _require_acknowledged(writing, SAFE, THIN)

        # The other follower goes: one copy is in sync, and nobody else who lives may lead.
        lab.carry_out(story("the other follower dies", (0.0, Kill(FIRST))))
        found = wait_said(lab, safe=Rating.AT_RISK, thin=Rating.AT_RISK)
        assert [found[SAFE].under_min_isr, found[THIN].under_min_isr] == [1, 0]
        _require_acknowledged(writing, THIN)

        # At risk, and the last copy goes: the topics wait for those whom it says to start, and for nobody else.
        lab.carry_out(story("the leader dies, a follower is back", (0.0, Kill(LEADER)), (8.0, Start(SECOND))))
        lab.wait_alive([SECOND], [SECOND])
        found = wait_said(lab, safe=Rating.OFFLINE, thin=Rating.OFFLINE)
        assert (found[THIN].start_first, set(found[SAFE].start_first)) == ((LEADER,), {LEADER, FIRST})
        assert set(leaders(lab, SECOND).values()) == {-1}
        lab.carry_out(story("who led last is back", (0.0, Start(LEADER))))
        wait_for("that who was named leads", lambda: leaders(lab, LEADER)[THIN] == LEADER)
        assert leaders(lab, LEADER)[SAFE] == -1
        lab.carry_out(story("all are back", (0.0, Start(FIRST))))
        wait_for("that somebody who was named leads", lambda: leaders(lab, LEADER)[SAFE] in {LEADER, FIRST})
        lab.wait_in_sync(list(TOPICS.values()))
        wait_said(lab, safe=Rating.SOUND, thin=Rating.WEAK)
        _require_acknowledged(writing, SAFE, THIN)
    for setting, acked in writing.acked().items():
        assert acked.keys() <= numbers_in(lab.cluster, TOPICS[setting]), f"acknowledged records of {setting} are gone"


def _require_acknowledged(writing: Writing, *settings: Setting) -> None:
    """Wait until records are acknowledged that were not yet at this moment."""
    now_s = time.monotonic()
    wait_for(
        f"that records are acknowledged with {settings}",
        lambda: all(max(writing.acked()[each].values(), default=0.0) > now_s for each in settings),
    )
