"""Which brokers get a label, or lose it, when a ticket that isolates one has succeeded."""

from __future__ import annotations

from guardian.core.labelling import emptied_by, labels_after
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
