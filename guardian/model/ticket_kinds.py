"""The kinds of tickets, by the names that approval rules have for them."""

from __future__ import annotations

from guardian.model.operation import AskKind

# They move nothing, or find out how much only while they run.
WITHOUT_SIZE = frozenset(
    {"acl-repair", "throttle-override", *(kind.value for kind in AskKind if kind is not AskKind.REMOVE)}
)
# A removal says how much it moves where `guardian plan remove` made it.
KINDS = WITHOUT_SIZE | {
    "add-brokers",
    "balance",
    "change-replication-factor",
    "create-topic",
    "empty-disk",
    "expand-topic",
    "heal",
    "isolate-label",
    "leaders",
    "migrate-idc",
    "relieve",
    "remove-brokers",
    "run-plan",
    "stray-replicas",
}
