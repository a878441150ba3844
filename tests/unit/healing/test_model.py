"""The section [healing] of a member's configuration."""

from __future__ import annotations

import tomllib

import pytest

from guardian.errors import InvalidInput
from guardian.healing.model import HealingMode, HealingPolicies, HealingPolicy
from guardian.health.model.finding import FindingKind
from protos.guardian.v1 import insight_pb2


def policies(text: str) -> HealingPolicies:
    return HealingPolicies.read("healing", tomllib.loads(text))


def test_without_a_section_clusters_are_observed() -> None:
    assert policies("").of("live") == HealingPolicy()
    assert HealingPolicy().mode is HealingMode.OBSERVE


def test_the_first_pattern_that_matches_wins_and_inherits_what_it_does_not_say() -> None:
    read = policies(
        'mode = "propose"\nbroker_grace_s = 300\n[clusters."live-1"]\nmode = "act"\n'
        '[clusters."live-*"]\ntickets_per_hour = 2\nthrottle = 1000000\n'
    )
    assert read.of("live-1") == HealingPolicy(HealingMode.ACT, broker_grace_s=300.0)
    other = HealingPolicy(HealingMode.PROPOSE, 300.0, tickets_per_hour=2, throttle=1_000_000)
    assert read.of("live-2") == other
    assert read.of("bulk") == HealingPolicy(HealingMode.PROPOSE, 300.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('mode = "on"', 'healing.mode is \'on\': use "observe", "propose" or "act"'),
        ("mode = 1", 'healing.mode is 1: use "observe", "propose" or "act"'),
        ("grace = 1", "healing.grace is not a setting: use one of balance_grace_s, broker_grace_s,"),
        ("broker_grace_s = true", "healing.broker_grace_s is True: give a number"),
        ("broker_grace_s = 1", "healing.broker_grace_s is 1: use 5 to 2592000"),
        ("storm_share = 0.9", "healing.storm_share is 0.9: use 0 to 0.5"),
        ("tickets_per_hour = 1.5", "healing.tickets_per_hour is 1.5: give a whole number"),
        ("throttle = 10", "healing.throttle is 10: use 100000 to 1000000000000"),
        ("clusters = 3", "healing.clusters is 3: write it as a section"),
        ('[clusters]\n"live-*" = 3', "healing.clusters.live-* is 3: write it as a section"),
        ('[clusters."live-*"]\nrest_s = "1h"', "healing.clusters.live-*.rest_s is '1h': give a number"),
        ("broker_grace_s = nan", "healing.broker_grace_s is nan: give a number"),
        ("throttle = inf", "healing.throttle is inf: give a whole number"),
    ],
)
def test_a_mistake_is_told_by_name(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        policies(text)
    assert str(refused.value).startswith(sentence), str(refused.value)


def test_one_broker_may_be_healed_however_small_the_cluster_is() -> None:
    assert [HealingPolicy().most_troubled(brokers) for brokers in (1, 3, 7, 8, 100)] == [1, 1, 1, 2, 25]


def test_findings_have_the_numbers_of_the_wire_and_an_order() -> None:
    assert {kind.name: kind.value for kind in FindingKind} == {
        name: number for name, number in insight_pb2.FindingKind.items() if number
    }
    assert sorted(FindingKind, key=lambda kind: kind.gravity)[0] is FindingKind.FENCED_SERVES
    assert len({kind.gravity for kind in FindingKind}) == len(FindingKind)
