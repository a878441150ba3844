from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from guardian.errors import ClusterUnavailable, NotFound
from guardian.model.topology import Broker, Cluster
from guardian.reporter.asking import BrokerAsker
from guardian.reporter.collector import ReporterTls
from protos.guardian.v1 import reporter_pb2 as pb
from protos.guardian.v1 import reporter_pb2_grpc

CLUSTER = Cluster("live", "h:1")
ASKER = BrokerAsker(None, timeout_s=30.0)


class Reporter(reporter_pb2_grpc.BrokerReporterServicer):
    answer = pb.MetricBatch()

    def Collect(self, request: pb.CollectRequest, context: grpc.ServicerContext) -> pb.MetricBatch:  # noqa: N802
        assert (request.known_names, request.with_activity) == (0, False)
        if self.answer.broker_id == 9:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls run at once")
        return self.answer


@pytest.fixture
def reporter() -> Iterator[tuple[Reporter, Broker]]:
    server, reporter = grpc.server(ThreadPoolExecutor(1)), Reporter()
    reporter_pb2_grpc.add_BrokerReporterServicer_to_server(reporter, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield reporter, Broker(1, reporter=f"127.0.0.1:{port}")
    server.stop(None).wait()


def test_all_values_come_under_their_names(reporter: tuple[Reporter, Broker]) -> None:
    reporter[0].answer = pb.MetricBatch(collected_at_ms=7, names=["b:Value", "a:Value"], ids=[0, 1], values=[2.0, 1.0])
    found = ASKER.ask(CLUSTER, reporter[1])
    assert found.collected_at_ms == 7
    assert list(zip(found.names, found.values, strict=True)) == [("a:Value", 1.0), ("b:Value", 2.0)]


def test_a_broker_without_a_reporter_is_told_what_it_lacks() -> None:
    with pytest.raises(NotFound, match="broker 3 of cluster live has no reporter: its plugin registers one"):
        ASKER.ask(CLUSTER, Broker(3))


def test_what_the_reporter_refuses_or_garbles_is_told_with_the_brokers_name(reporter: tuple[Reporter, Broker]) -> None:
    reporter[0].answer = pb.MetricBatch(broker_id=9)
    with pytest.raises(ClusterUnavailable, match=r"broker 1 of cluster live at .* RESOURCE_EXHAUSTED: too many calls"):
        ASKER.ask(CLUSTER, reporter[1])
    reporter[0].answer = pb.MetricBatch(names=["a:Value"], ids=[0, 1], values=[1.0])
    with pytest.raises(ClusterUnavailable, match="contradicts itself: ids has 2 entries and values has 1"):
        ASKER.ask(CLUSTER, reporter[1])


def test_a_certificate_that_is_not_there_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ClusterUnavailable, match=r"reporter_tls can't be used: .*No such file"):
        BrokerAsker(ReporterTls(missing, missing, missing), 1.0).ask(CLUSTER, Broker(1, reporter="127.0.0.1:1"))
