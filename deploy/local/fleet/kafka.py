"""Enough of Kafka's protocol to be registered: one listener that speaks for all brokers of a simulated cluster.

Guardian registers a cluster only after it has spoken to it. A simulated cluster is no exception: it answers who it is,
which brokers and topics it has, what leads what and that its controller is there, from the same shape as its metrics.
Whoever asks for anything else learns by ApiVersions that it is not there, as from a broker too old for it.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import numpy as np

from deploy.local.fleet.shape import ClusterShape, SimulatedBroker, number_of
from guardian.kafka.kafka_python import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    MetadataRequest,
    MetadataResponse,
)

_MAX_REQUEST_BYTES = 1 << 20
_LENGTH = struct.Struct(">i")
_KEY_AND_VERSION = struct.Struct(">hh")
_UNSUPPORTED_VERSION = 35
_UNKNOWN_TOPIC = 3
_UNKNOWN_TOPIC_ID = 100
_NO_LEADER = 5
_CONTROLLER = 1
_WATERMARK = 1


class SimulatedKafka:
    """Answers for one cluster."""

    def __init__(self, shape: ClusterShape) -> None:
        self._shape = shape
        self._answers: dict[int, tuple[Any, Callable[[Any], Any]]] = {
            ApiVersionsRequest.API_KEY: (ApiVersionsRequest, self._api_versions),
            MetadataRequest.API_KEY: (MetadataRequest, self._metadata),
            DescribeClusterRequest.API_KEY: (DescribeClusterRequest, self._describe),
            DescribeQuorumRequest.API_KEY: (DescribeQuorumRequest, self._quorum),
        }

    async def serve(self) -> asyncio.Server:
        """Listens. Raises OSError when the address is taken."""
        host, _, port = self._shape.brokers[0].listener.rpartition(":")
        return await asyncio.start_server(self._connected, host, int(port))

    def answer(self, request: bytes) -> bytes | None:
        """The answer to a request, both without their length; None to what is no request that is answered here."""
        key, version = _KEY_AND_VERSION.unpack_from(request)
        if key not in self._answers:
            return None
        kind, respond = self._answers[key]
        if key == ApiVersionsRequest.API_KEY and version > ApiVersionsRequest.max_version:
            # A client that is newer than this asks again with the version that it is told.
            correlation_id = int.from_bytes(request[4:8], signed=True)
            response, version = self._api_versions(None, _UNSUPPORTED_VERSION), 0
        else:
            asked = kind.decode(request, version=version, header=True)
            correlation_id, response = asked.header.correlation_id, respond(asked)
        response.API_VERSION = version
        response.with_header(correlation_id=correlation_id)
        return bytes(response.encode(header=True))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: what is no request of these ends it."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                if not _KEY_AND_VERSION.size <= length <= _MAX_REQUEST_BYTES:
                    return
                response = self.answer(await reader.readexactly(length))
                if response is None:
                    return
                writer.write(_LENGTH.pack(len(response)) + response)
                await writer.drain()
        except (EOFError, OSError, ValueError, IndexError, struct.error):
            return  # the client has gone, or speaks something else
        except asyncio.CancelledError:
            return  # the fleet ends: asyncio's streams would tell of a connection that is still open as of a failure
        finally:
            writer.close()

    def _api_versions(self, _: Any, error: int = 0) -> Any:
        apis = [
            ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=kind.max_version)
            for key, (kind, _) in sorted(self._answers.items())
        ]
        return ApiVersionsResponse(
            error_code=error, api_keys=apis, throttle_time_ms=0, finalized_features_epoch=_WATERMARK - 1
        )

    def _quorum(self, _: Any) -> Any:
        """One controller, of whose log nothing is missing anywhere."""
        partition = DescribeQuorumResponse.TopicData.PartitionData
        voter = partition.ReplicaState(
            replica_id=_CONTROLLER,
            log_end_offset=_WATERMARK,
            last_fetch_timestamp=-1,
            last_caught_up_timestamp=-1,
            replica_directory_id=uuid.UUID(int=0),
        )
        found = partition(
            partition_index=0,
            error_code=0,
            error_message=None,
            leader_id=_CONTROLLER,
            leader_epoch=1,
            high_watermark=_WATERMARK,
            current_voters=[voter],
            observers=[],
        )
        topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[found])
        return DescribeQuorumResponse(error_code=0, error_message=None, topics=[topic], nodes=[])

    def _describe(self, _: Any) -> Any:
        brokers = [
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=broker.id, host=_host(broker), port=_port(broker), rack=broker.rack, is_fenced=False
            )
            for broker in self._shape.brokers
        ]
        return DescribeClusterResponse(
            throttle_time_ms=0, error_code=0, cluster_id=self._shape.id, controller_id=1, brokers=brokers
        )

    def _metadata(self, asked: Any) -> Any:
        brokers = [
            MetadataResponse.MetadataResponseBroker(
                node_id=broker.id, host=_host(broker), port=_port(broker), rack=broker.rack
            )
            for broker in self._shape.brokers
        ]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=brokers,
            cluster_id=self._shape.id,
            controller_id=1,
            topics=self._topics(asked),
        )

    def _topics(self, asked: Any) -> list[Any]:
        names = self._shape.topics.names
        # Before version 1, no topic meant all of them.
        if asked.topics is None or (asked.API_VERSION == 0 and not asked.topics):
            return [self._topic(topic) for topic in range(len(names))]
        found = []
        for topic in asked.topics:
            position = self._by_name.get(topic.name) if topic.name else self._by_id.get(topic.topic_id)
            if position is not None:
                found.append(self._topic(position))
                continue
            error = _UNKNOWN_TOPIC if topic.name else _UNKNOWN_TOPIC_ID
            found.append(
                MetadataResponse.MetadataResponseTopic(
                    error_code=error, name=topic.name, topic_id=topic.topic_id, is_internal=False, partitions=[]
                )
            )
        return found

    def _topic(self, topic: int) -> Any:
        partitions = self._shape.partitions
        rows = np.flatnonzero(partitions.topics == topic)
        return MetadataResponse.MetadataResponseTopic(
            error_code=0,
            name=self._shape.topics.names[topic],
            topic_id=self._topic_id(topic),
            is_internal=self._shape.topics.names[topic].startswith("__"),
            partitions=[self._partition(int(row)) for row in rows],
        )

    def _partition(self, row: int) -> Any:
        partitions = self._shape.partitions
        leader = int(partitions.leaders[row])
        ids = [int(position) + 1 for position in partitions.brokers[row]]
        dead = partitions.dead[row]
        return MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
            error_code=0 if leader >= 0 else _NO_LEADER,
            partition_index=int(partitions.numbers[row]),
            leader_id=leader + 1 if leader >= 0 else -1,
            leader_epoch=0,
            replica_nodes=ids,
            isr_nodes=_where(ids, ~dead),
            offline_replicas=_where(ids, dead),
        )

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {name: topic for topic, name in enumerate(self._shape.topics.names)}

    @cached_property
    def _by_id(self) -> dict[uuid.UUID, int]:
        return {self._topic_id(topic): topic for topic in range(len(self._shape.topics.names))}

    def _topic_id(self, topic: int) -> uuid.UUID:
        seed, index = self._shape.spec.seed, self._shape.index
        return uuid.UUID(
            int=number_of(seed, index, "topic", topic, 0) << 64 | number_of(seed, index, "topic", topic, 1)
        )


def _where(ids: Collection[int], chosen: Any) -> list[int]:
    return [broker_id for broker_id, is_chosen in zip(ids, chosen, strict=True) if is_chosen]


def _host(broker: SimulatedBroker) -> str:
    return broker.listener.rpartition(":")[0]


def _port(broker: SimulatedBroker) -> int:
    return int(broker.listener.rpartition(":")[2])
