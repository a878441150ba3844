"""Faults and what they are predicted to do: protobuf -> model -> protobuf."""

from __future__ import annotations

from collections.abc import Sequence

from guardian.errors import InvalidInput
from guardian.model.faults.advice import advice
from guardian.model.faults.cluster import Cluster, TopicPrediction
from guardian.model.faults.fault import Blow, Fault
from guardian.model.faults.times import CLIENT_SETTINGS, MOST_MS
from guardian.model.wire.fields import filled
from protos.guardian.v1 import insight_pb2 as pb

_ACKS = {pb.PRODUCER_ACKS_UNSPECIFIED: (True, False), pb.ACKS_ALL: (True,), pb.ACKS_LEADER: (False,)}
_EVERY_S = 30.0


def fault_of(request: pb.PredictFaultRequest) -> Fault:
    """Return the fault that is asked about. Raises InvalidInput."""
    kind = request.WhichOneof("fault")
    if kind is None:
        *others, last = (blow.name.lower() for blow in Blow)
        raise InvalidInput(f"fault: missing (got none); give {', '.join(others)} or {last}")
    asked, blow = getattr(request, kind), Blow[kind.upper()]
    if isinstance(asked, pb.FailedLogDirs):
        return Fault(blow, 0, tuple(asked.brokers), seconds=asked.seconds, log_dirs=tuple(asked.log_dirs))
    of_all = (tuple(asked.brokers), tuple(asked.racks), tuple(asked.idcs), asked.seconds)
    if isinstance(asked, pb.NetworkCut):
        return Fault(blow, asked.number, *of_all)
    if isinstance(asked, pb.WrongClocks):
        return Fault(blow, 0, *of_all, ahead_s=asked.ahead_s)
    if isinstance(asked, pb.SlowFollowers):
        return Fault(blow, 0, *of_all, share=asked.share)
    if isinstance(asked, pb.SlowDisks):
        return Fault(blow, 0, *of_all, each_s=asked.each_s, log_dirs=tuple(asked.log_dirs))
    return Fault(blow, 0, *of_all, tuple(asked.order), asked.every_s or _EVERY_S)


def acks_of(request: pb.PredictFaultRequest) -> tuple[bool, ...]:
    """Return for which producers to answer: acks=all, acks=1. Raises InvalidInput."""
    if request.acks not in _ACKS:
        raise InvalidInput(f"acks: unknown to this version (got {request.acks}); use 1 or 2, or leave it out for both")
    return _ACKS[request.acks]


def clients_of(request: pb.PredictFaultRequest) -> dict[str, str]:
    """Return the producers' settings, by Kafka's names. Raises InvalidInput."""
    for key, value in request.client.items():
        if key not in CLIENT_SETTINGS:
            raise InvalidInput(f"client: unknown setting (got {key!r}); use {', '.join(sorted(CLIENT_SETTINGS))}")
        if not (value.isascii() and value.isdigit() and 0 < int(value) <= MOST_MS):
            raise InvalidInput(f"client: {key} is no time (got {value!r}); use milliseconds, 1 to {MOST_MS}")
    return dict(request.client)


def prediction_to_proto(
    cluster: str, now: Cluster, fault: Fault, found: Sequence[TopicPrediction], max_topics: int
) -> pb.FaultReport:
    """Return `max_topics` of the worst topics; the counts are of all."""
    topics = list(dict.fromkeys(each.topic for each in found))
    shown = set(topics[:max_topics])
    return pb.FaultReport(
        cluster=cluster,
        fault=str(fault),
        topics=[filled(pb.FaultPrediction(), each) for each in found if each.topic in shown],
        topics_in_all=len(topics),
        topics_that_may_lose=len({each.topic for each in found if each.may_lose}),
        keeps_elr=now.elr,
        advice=advice(now, fault, found),
    )
