"""Which brokers get a label, or lose it, when a ticket that isolates one has succeeded."""

from __future__ import annotations

import pytest

from guardian.core.labelling import emptied_by, labels_after, labels_before, require_usable, topics_after
from guardian.errors import InvalidInput
from guardian.model.federation import Tenant, Topic
from guardian.model.plan import PartitionMove, ReplicaPlacement
from guardian.model.topology import TopicPartition


def move(number: int, before: tuple[int, ...], after: tuple[int, ...]) -> PartitionMove:
    original, target = (tuple(map(ReplicaPlacement, brokers)) for brokers in (before, after))
    return PartitionMove(TopicPartition("t", number), original, target)


GROW = {"label": "gold", "brokers": "7, 8, 9"}
SHRINK = {"label": "gold", "release": "2"}


def test_offered_brokers_that_are_used_get_the_label() -> None:
    moves = [move(0, (1, 2), (7, 8)), move(1, (9, 1), (2, 1))]
    assert labels_after(GROW, moves, {9}) == {7: "gold", 8: "gold"}
    assert emptied_by(GROW, moves) == frozenset()


def test_emptied_brokers_lose_it_once_they_are_empty() -> None:
    moves = [move(0, (7, 8), (9, 6)), move(1, (8, 6), (9, 6))]
    assert emptied_by(SHRINK, moves) == {7, 8}
    assert labels_after(SHRINK, moves, {8}) == {8: ""}


def test_a_plan_without_a_label_changes_none() -> None:
    assert labels_after({"brokers": "7"}, [move(0, (1,), (7,))], {1}) == {}


def test_rolled_back_brokers_have_what_they_had_unless_somebody_said_otherwise_meanwhile() -> None:
    grown = [move(0, (1, 2), (7, 8))]
    assert labels_before(GROW, grown, {7: "gold", 8: "red", 9: "gold"}) == {7: ""}
    shrunk = [move(0, (7, 8), (9, 6))]
    assert labels_before(SHRINK, shrunk, {7: "", 8: "red", 9: "gold"}) == {7: "gold"}
    assert labels_before({"brokers": "7"}, grown, {7: ""}) == {}


def test_topics_are_named_by_themselves_by_a_beginning_or_by_their_tenant() -> None:
    existing = ["orders", "orders-dead", "pay", "logs"]
    entries = [Topic("live", "pay", tenant="ann"), Topic("live", "gone", tenant="ann", label="gold")]
    asked = {"label": "gold", "topics": "orders*, logs", "tenant": "ann"}
    assert topics_after(asked, existing, entries) == dict.fromkeys(("logs", "orders", "orders-dead", "pay"), "gold")
    assert topics_after({"label": "gold"}, existing, entries) == {}
    assert topics_after({"topics": "logs"}, existing, entries) == {}


def test_topics_that_were_taken_back_lose_it_and_what_has_another_by_now_keeps_that() -> None:
    asked = {"label": "gold", "topics": "pay, logs, new"}
    entries = [Topic("live", "pay", label="gold"), Topic("live", "logs", label="red")]
    assert topics_after(asked, ["pay", "logs", "new"], entries, back=True) == {"pay": ""}


def test_a_tenants_topics_get_only_a_label_that_it_may_use() -> None:
    entries = [Topic("live", "pay", tenant="ann"), Topic("live", "logs")]
    tenants = [Tenant("ann", labels=("red", "green")), Tenant("bob", labels=("red",))]
    require_usable("gold", ["logs", "new"], "bob", entries, tenants)
    require_usable("red", ["p*"], "ann", entries, tenants)
    for names, tenant in ((["p*"], ""), ([], "ann")):
        with pytest.raises(InvalidInput, match=r"'gold', and topic pay is of tenant ann, which may use green, red: "):
            require_usable("gold", names, tenant, entries, tenants)
