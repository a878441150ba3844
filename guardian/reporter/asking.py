"""One broker asked once, for a person: all its numbers under their names. The collector keeps layouts instead."""

from __future__ import annotations

import grpc

from guardian.errors import ClusterUnavailable, InvalidInput, NotFound
from guardian.model.topology import Broker, Cluster
from guardian.reporter.collector import ReporterTls, open_channel
from guardian.reporter.names import NOTHING_KNOWN, values_by_name
from protos.guardian.v1 import federation_pb2, reporter_pb2, reporter_pb2_grpc


class BrokerAsker:
    """`tls` as the collector's; a broker has `timeout_s` to answer. Any thread may ask."""

    def __init__(self, tls: ReporterTls | None, timeout_s: float) -> None:
        self._tls = tls
        self._timeout_s = timeout_s

    def ask(self, cluster: Cluster, broker: Broker) -> federation_pb2.BrokerMetrics:
        """Raises NotFound when nobody has said where the reporter is, and ClusterUnavailable when it gives no answer
        that can be used."""
        title = f"broker {broker.id} of cluster {cluster.name}"
        if not broker.reporter_endpoint:
            raise NotFound(f"{title} has no reporter: its plugin registers one, or `guardian cluster add --reporter`")
        try:
            batch = self._collect(broker.reporter_endpoint)
            values = values_by_name(batch, NOTHING_KNOWN.extended_by(batch))
        except OSError as error:
            raise ClusterUnavailable(f"{title} can't be asked, reporter_tls can't be used: {error}") from None
        except grpc.RpcError as error:
            answer = f"{error.code().name}: {error.details()}" if isinstance(error, grpc.Call) else str(error)
            raise ClusterUnavailable(f"{title} at {broker.reporter_endpoint} answered {answer}") from None
        except InvalidInput as error:
            raise ClusterUnavailable(f"{title} at {broker.reporter_endpoint} contradicts itself: {error}") from None
        names = sorted(values)
        return federation_pb2.BrokerMetrics(
            collected_at_ms=batch.collected_at_ms, names=names, values=[values[name] for name in names]
        )

    def _collect(self, endpoint: str) -> reporter_pb2.MetricBatch:
        with open_channel(endpoint, self._tls) as channel:
            stub = reporter_pb2_grpc.BrokerReporterStub(channel)
            return stub.Collect(NOTHING_KNOWN.request(), timeout=self._timeout_s)
