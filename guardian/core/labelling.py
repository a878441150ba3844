"""Which brokers get a label, or give it back, once a ticket that isolates one has succeeded. Pure.

    grow      brokers that the plan was offered and puts replicas on        get the label
    shrink    brokers that the plan empties, and that are empty by now      lose it: anybody's again, or for the pool

Machines that join as new brokers have the label from the start: whoever registers them gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from guardian.model.plan import PartitionMove

ISOLATE_LABEL = "isolate-label"  # the kind of plan


def emptied_by(settings: Mapping[str, str], moves: Sequence[PartitionMove]) -> frozenset[int]:
    """The brokers that a plan which gives machines back takes replicas off, and puts none on. `settings` are what was
    asked for, `moves` what was done."""
    if "release" not in settings:
        return frozenset()
    before = {broker for move in moves for broker in move.original_brokers}
    return frozenset(before - {broker for move in moves for broker in move.target_brokers})


def labels_after(settings: Mapping[str, str], moves: Sequence[PartitionMove], empty: Collection[int]) -> dict[int, str]:
    """The label of each broker whose label changes, by id; empty text: none. `empty` are brokers without replicas."""
    label = settings.get("label", "")
    if not label:
        return {}
    offered = {int(name) for name in settings.get("brokers", "").split(", ") if name.isdecimal()}
    used = {broker for move in moves for broker in move.target_brokers}
    emptied = emptied_by(settings, moves) & set(empty)
    return dict.fromkeys(sorted(offered & used), label) | dict.fromkeys(sorted(emptied), "")
