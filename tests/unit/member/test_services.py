"""All services of a member together."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from guardian.client import GuardianClient
from guardian.member.services import NAMES
from tests.patience import PATIENCE_S
from tests.unit.member.member import Member


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


def test_who_watches_the_health_holds_no_thread(member: Member) -> None:
    with (
        grpc.insecure_channel(member.endpoint, options=[("grpc.enable_http_proxy", 0)]) as channel,
        GuardianClient([member.endpoint]) as client,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service=NAMES[0])
        watches = [stub.Watch(request, timeout=PATIENCE_S) for _ in range(10)]  # more than the member has threads
        assert {next(watch).status for watch in watches} == {health_pb2.HealthCheckResponse.SERVING}
        assert client.member().name == "g1"
        for watch in watches:
            watch.cancel()


def test_each_service_is_said_to_serve(member: Member) -> None:
    with grpc.insecure_channel(member.endpoint, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", *NAMES):
            reply = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE_S)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
