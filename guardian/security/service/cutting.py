"""An answer, cut to what its reader may be shown (guardian.serving.sight): the one place for each kind of message.

A message with a field `cluster` is of that cluster, at any depth. What else names a cluster, an IDC or somebody on
another cluster has a line of its own in `_SHOWN` (is it shown at all?) or `_CHANGED` (which of its texts are?).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from guardian.serving.sight import Sight, no_plan
from protos.guardian.v1 import federation_pb2, insight_pb2, tickets_pb2


def cut(reply: Any, request: Any, sight: Sight) -> Any:
    """Return the answer without what is not shown; None: nothing is left. Raises NotFound for a plan that is not shown,
    as where there is none."""
    if isinstance(reply, tickets_pb2.GetPlanReply):
        if not sight.sees(reply.plan.cluster):
            raise no_plan(request.plan_hash)
        return reply
    if not _is_shown(reply, sight):
        return None
    _cut_within(reply, sight)
    return reply


def _cut_within(message: Message, sight: Sight) -> None:
    change = _CHANGED.get(type(message))
    if change is not None:
        change(message, sight)
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if isinstance(value, Message):
            _cut_within(value, sight)
            continue
        kept = [each for each in value if _is_shown(each, sight)]
        if len(kept) < len(value):
            kept = [type(each).FromString(each.SerializeToString()) for each in kept]
            del value[:]
            value.extend(kept)
        for each in value:
            _cut_within(each, sight)


def _is_shown(message: Message, sight: Sight) -> bool:
    shown = _SHOWN.get(type(message))
    if shown is not None:
        return shown(message, sight)
    cluster = getattr(message, "cluster", None)
    return not isinstance(cluster, str) or not cluster or sight.sees(cluster)


def _member(member: federation_pb2.Member, sight: Sight) -> None:
    collects = [each for each in member.collects if sight.sees(each.rpartition("/")[0])]
    del member.collects[:]
    member.collects.extend(collects)


def _rule(rule: tickets_pb2.ApprovalRule, sight: Sight) -> None:
    clusters = sight.patterns(rule.clusters)
    del rule.clusters[:]
    rule.clusters.extend(clusters)


def _lines(report: insight_pb2.LinesReport, sight: Sight) -> None:
    for network in [network for network, idc in report.networks.items() if idc not in sight.idcs]:
        del report.networks[network]


def _line(line: insight_pb2.Line, sight: Sight) -> None:
    line.one, line.other = sight.idc(line.one), sight.idc(line.other)


def _use(use: insight_pb2.LinkUse, sight: Sight) -> None:
    use.from_idc, use.to_idc = sight.idc(use.from_idc), sight.idc(use.to_idc)


def _place(place: insight_pb2.ClientPlace, sight: Sight) -> None:
    place.idc = sight.idc(place.idc)


_SHOWN: Mapping[type[Message], Callable[[Any, Sight], bool]] = {
    federation_pb2.Cluster: lambda cluster, sight: sight.sees(cluster.name),
    federation_pb2.FederationEntry: lambda entry, sight: sight.shows(entry),
    insight_pb2.Line: lambda line, sight: sight.has_end(line.one, line.other),
    tickets_pb2.ApprovalRule: lambda rule, sight: bool(sight.patterns(rule.clusters)),
}
_CHANGED: Mapping[type[Message], Callable[[Any, Sight], None]] = {
    federation_pb2.Member: _member,
    insight_pb2.LinesReport: _lines,
    insight_pb2.Line: _line,
    insight_pb2.LinkUse: _use,
    insight_pb2.ClientPlace: _place,
    tickets_pb2.ApprovalRule: _rule,
}
