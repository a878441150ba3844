"""Every list, and what computes as long as one, waits for a turn: with as many at it as may be, it is not begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from guardian.serving.turns import AT_ONCE, LISTS
from protos.guardian.v1 import (
    federation_pb2,
    federation_pb2_grpc,
    insight_pb2,
    insight_pb2_grpc,
    placement_pb2,
    placement_pb2_grpc,
    tickets_pb2,
    tickets_pb2_grpc,
)
from tests.patience import PATIENCE_S
from tests.unit.member.member import Member

CALLS: dict[str, Callable[[grpc.Channel], tuple[Any, Any]]] = {
    "tickets": lambda to: (tickets_pb2_grpc.TicketsStub(to).ListTickets, tickets_pb2.ListTicketsRequest()),
    "clusters": lambda to: (federation_pb2_grpc.FederationStub(to).ListClusters, federation_pb2.ListClustersRequest()),
    "federation": lambda to: (
        federation_pb2_grpc.FederationStub(to).ListFederation,
        federation_pb2.ListFederationRequest(table=federation_pb2.TOPICS),
    ),
    "audit": lambda to: (federation_pb2_grpc.FederationStub(to).ListAudit, federation_pb2.ListAuditRequest()),
    "cordons": lambda to: (placement_pb2_grpc.PlacementStub(to).ListCordons, placement_pb2.ListCordonsRequest()),
    "durability": lambda to: (
        insight_pb2_grpc.InsightStub(to).GetDurability,
        insight_pb2.GetDurabilityRequest(cluster="live"),
    ),
}


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.mark.parametrize("name", CALLS)
def test_no_list_is_made_while_all_turns_are_taken(member: Member, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with grpc.insecure_channel(member.endpoint) as channel:
        call, request = CALLS[name](channel)
        assert call(request, timeout=PATIENCE_S) is not None
        monkeypatch.setattr(LISTS, "_patience_s", 0.01)
        with ExitStack() as taken:
            for _ in range(AT_ONCE):
                taken.enter_context(LISTS.one())
            with pytest.raises(grpc.RpcError) as caught:
                call(request, timeout=PATIENCE_S)
    assert "lists: no turn within 0.01 s" in str(caught.value)
