"""A log dir that fails under real brokers: those on it lead no more, the broker goes on, and nothing is lost."""

from __future__ import annotations

import pytest

from guardian.model.faults.event import CleanStop, LogDirFails, LogDirWorks, Start
from guardian.model.faults.stories import story
from tests.integration.cut_brokers import witness
from tests.integration.cut_brokers.writers import numbers_in
from tests.integration.predictions.happening import create
from tests.integration.predictions.lab import FaultLab
from tests.integration.predictions.settings import ALL, LEADER, Setting
from tests.integration.predictions.writing import Writing
from tests.patience import wait_for

pytestmark = pytest.mark.integration

TOPICS = {setting: setting.topic("log-dirs") for setting in (Setting(1, ALL), Setting(2, ALL), Setting(2, LEADER))}
FAILING, OTHERS = 1, (2, 3)


def test_a_broker_whose_log_dir_fails_leads_no_more_and_lives(tmp_path_factory: pytest.TempPathFactory) -> None:
    with FaultLab(tmp_path_factory.mktemp("dirs"), log_dirs=2) as lab:
        create(lab, TOPICS)
        with Writing(lab.cluster, TOPICS, lab.home / "writers.log") as writing:
            wait_for("that all topics are written to", lambda: all(writing.acked().values()))
            lab.carry_out(story("a log dir fails", (0.0, LogDirFails(FAILING))))

            def seen() -> set[tuple[int, frozenset[int]]]:
                found = witness.partitions(lab.listener(OTHERS[0]), list(TOPICS.values()))
                return {(each.leader, each.isr) for each in found.values()}

            wait_for("that others lead and are in sync", lambda: seen() == {(OTHERS[0], frozenset(OTHERS))})
            assert FAILING in witness.alive(lab.listener(OTHERS[0]))
            back = (LogDirWorks(FAILING), Start(FAILING))
            lab.carry_out(story("it is repaired", (0.0, CleanStop(FAILING)), *((0.5, act) for act in back)))
            lab.wait_in_sync(list(TOPICS.values()))
        for setting, acked in writing.acked().items():
            if setting.is_acks_all:
                assert acked.keys() <= numbers_in(lab.cluster, TOPICS[setting]), f"records of {setting} are gone"
