"""Migrations between data centres: one policy that says for each replication factor where its replicas live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from guardian.errors import InvalidInput
from guardian.model.federation import IdcPlacement, IdcPolicy
from guardian.model.tasks import Balance, MigrateIdc, ReplicationFactor
from spark_analytics.model.cluster_model import ClusterModel, TopicFacts
from tests.unit.spark_analytics.planners.small import brokers, cluster, planned

IDCS = {broker: "shanghai" if broker <= 4 else "suzhou" for broker in range(1, 8)}
OF_EACH = {3: {"shanghai": 1, "suzhou": 2}, 2: {"shanghai": 1, "suzhou": 1}, 1: {"suzhou": 1}}
OTHERS = tuple(IdcPlacement(tuple(OF_EACH[factor].items())) for factor in (2, 1))
POLICY = IdcPolicy("all", tuple(OF_EACH[3].items()), "suzhou", OTHERS)


def _held() -> dict[str, tuple[Sequence[int], int]]:
    """Twelve partitions each of topics of three, two and one replicas, all of them in shanghai."""
    held: dict[str, tuple[Sequence[int], int]] = {}
    for number in range(12):
        turn = [1 + (number + step) % 4 for step in range(3)]
        held |= {f"three-{number}": (turn, 5), f"two-{number}": (turn[:2], 3), f"one-{number}": (turn[:1], 1)}
    return held


def _model(policy: IdcPolicy | None = None, **held: tuple[Sequence[int], int]) -> ClusterModel:
    on = brokers(7, **{f"b{broker}": {"idc": idc} for broker, idc in IDCS.items()})
    given = {name.replace("_", "-"): at for name, at in held.items()} or _held()
    topics = {name.rpartition("-")[0] for name in given}
    told: dict[str, Any] = {}
    if policy:
        told = {"topics": [TopicFacts(each, policy=policy.name) for each in topics], "policies": [policy]}
    return cluster(on, given, rate=1e6, **told)


def _idcs(on: Sequence[int]) -> Mapping[str, int]:
    return Counter(IDCS[broker] for broker in on)


def test_topics_of_several_replication_factors_migrate_under_one_policy() -> None:
    plan = planned(_model(), MigrateIdc(POLICY))

    assert plan.unmet == ()
    now = {name: at for name, (at, _) in _held().items()}
    now |= {str(move.partition): move.target_brokers for move in plan.moves}
    for on in now.values():
        assert _idcs(on) == OF_EACH[len(on)]
        assert IDCS[on[0]] == "suzhou"
    held = Counter(broker for on in now.values() for broker in on)
    for idc in ("shanghai", "suzhou"):
        of_idc = [held[broker] for broker in IDCS if IDCS[broker] == idc]
        assert max(of_idc) <= 1.3 * sum(of_idc) / len(of_idc), held


def test_a_plan_under_the_policy_leaves_alone_what_stands_as_it_says() -> None:
    stands = {"three_0": ((5, 6, 1), 5), "two_0": ((6, 2), 3), "one_0": ((7,), 1)}
    assert planned(_model(POLICY, **stands), MigrateIdc(POLICY)).moves == ()


def test_a_replication_factor_of_which_the_policy_says_nothing_is_refused_with_what_to_say() -> None:
    known = IdcPolicy("all", POLICY.replicas, other_factors=OTHERS[:1])
    with pytest.raises(InvalidInput, match="policy all does not say where 1 replicas live, as one have them"):
        planned(_model(), MigrateIdc(known))


def test_only_idcs_of_replication_factors_that_are_there_must_have_brokers() -> None:
    elsewhere = IdcPolicy("all", POLICY.replicas, other_factors=(*OTHERS, IdcPlacement((("beijing", 4),))))
    assert planned(_model(), MigrateIdc(elsewhere)).moves
    with pytest.raises(InvalidInput, match="places replicas in beijing, where cluster live has no broker"):
        planned(
            _model(), MigrateIdc(IdcPolicy("all", POLICY.replicas, other_factors=(IdcPlacement((("beijing", 2),)),)))
        )


def test_other_tasks_keep_what_the_policy_says_of_a_factor() -> None:
    """To balance mends it; a replication factor that changes is placed, or thinned, as its new one says."""
    astray = {"three_0": ((5, 6, 1), 5), "two_0": ((6, 7), 3), "one_0": ((1,), 1)}
    mended = {str(move.partition): move.target_brokers for move in planned(_model(POLICY, **astray), Balance()).moves}
    assert _idcs(mended["two-0"]) == OF_EACH[2]
    assert _idcs(mended["one-0"]) == OF_EACH[1]

    for before, factor in (((5, 6, 1), 2), ((6, 2), 3), ((6, 2), 1)):
        [move] = planned(_model(POLICY, t_0=(before, 5)), ReplicationFactor(("t",), factor)).moves
        assert _idcs(move.target_brokers) == OF_EACH[factor]
