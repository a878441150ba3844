"""The approval policy: model <-> protobuf."""

from __future__ import annotations

from guardian.model.tickets.approval import ApprovalPolicy, ApprovalRule, Window, parse_window
from guardian.model.tickets.explanation import ApprovalExplanation
from guardian.model.wire.fields import ByHand, by_hand, codec
from protos.guardian.v1 import tickets_pb2 as pb

explanation_to_proto, explanation_from_proto = codec(ApprovalExplanation, pb.ApprovalExplanation)
approvals_to_proto, approvals_from_proto = codec(ApprovalPolicy, pb.Approvals)


def _write_windows(message: pb.ApprovalRule, windows: tuple[Window, ...]) -> None:
    message.windows.extend(window.text for window in windows)


by_hand(ApprovalRule, windows=ByHand(_write_windows, lambda message: tuple(map(parse_window, message.windows))))
