"""The approval policy: model <-> protobuf."""

from __future__ import annotations

from guardian.model.approval import ApprovalPolicy, ApprovalRule, parse_window
from protos.guardian.v1 import tickets_pb2 as pb


def approvals_to_proto(policy: ApprovalPolicy) -> pb.Approvals:
    return pb.Approvals(
        file=policy.file, rules=[_rule_to_proto(rule) for rule in policy.rules], expires_ms=policy.expires_ms
    )


def approvals_from_proto(message: pb.Approvals) -> ApprovalPolicy:
    """Raises InvalidInput when a window is none."""
    return ApprovalPolicy(tuple(_rule_from_proto(rule) for rule in message.rules), message.expires_ms, message.file)


def _rule_to_proto(rule: ApprovalRule) -> pb.ApprovalRule:
    return pb.ApprovalRule(
        name=rule.name,
        kinds=rule.kinds,
        clusters=rule.clusters,
        authors=rule.authors,
        approvers=rule.approvers,
        automatic=rule.automatic,
        max_bytes=rule.max_bytes,
        max_moves=rule.max_moves,
        windows=[window.text for window in rule.windows],
        timezone=rule.timezone,
        author_may_approve=rule.author_may_approve,
    )


def _rule_from_proto(message: pb.ApprovalRule) -> ApprovalRule:
    return ApprovalRule(
        message.name,
        kinds=tuple(message.kinds),
        clusters=tuple(message.clusters),
        authors=tuple(message.authors),
        approvers=tuple(message.approvers),
        automatic=message.automatic,
        max_bytes=message.max_bytes,
        max_moves=message.max_moves,
        windows=tuple(map(parse_window, message.windows)),
        timezone=message.timezone,
        author_may_approve=message.author_may_approve,
    )
