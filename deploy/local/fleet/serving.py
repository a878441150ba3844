"""The reporters of simulated brokers: one gRPC server each, all in one event loop.

A request does not say whom it asks, so each broker has an address of its own on loopback (127.0.0.0/8 is all of it on
Linux). The port is the same for all. A thousand servers cost 0.2 s and 20 MB to start, and no thread each.

Numbers are packed as they lie in memory: a message in parts is the message, and a packed field is its bytes.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache, partial

import grpc

from deploy.local.fleet.model import BrokerModel
from guardian.errors import InvalidInput
from protos.guardian.v1 import reporter_pb2 as pb

_SERVICE = "guardian.v1.BrokerReporter"
_OPTIONS = (("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0))
_VALUES_TAG = bytes([9 << 3 | 2])
_GRACE_S = 0.5


@dataclass(slots=True)
class Served:
    """What was answered since the start."""

    answers: int = 0
    with_names: int = 0
    seconds: float = 0.0


def answer(broker: BrokerModel, request: pb.CollectRequest, at_ms: int) -> bytes:
    """The serialised MetricBatch of a broker at this time."""
    batch = broker.batch(at_ms, request)
    values = broker.values(at_ms)
    knows = request.known_names if request.dictionary_id == batch.dictionary_id else 0
    if knows > len(values):
        knows = 0
    batch.first_name_id = knows
    ids = _packed_ids(len(values))
    if knows < len(values) or request.name_prefixes:
        names = broker.names()
        batch.names.extend(names[knows:])
        if request.name_prefixes:
            prefixes = tuple(request.name_prefixes)
            chosen = [at for at, name in enumerate(names) if name.startswith(prefixes)]
            ids, values = pb.MetricBatch(ids=chosen).SerializeToString(), values[chosen]
    packed = values.astype("<f8").tobytes()
    return b"".join((batch.SerializeToString(), ids, _VALUES_TAG, _varint(len(packed)), packed))


async def serve(
    brokers: Sequence[BrokerModel], stack: AsyncExitStack, served: Served, clock: Callable[[], float] = time.time
) -> None:
    """Starts a server for each broker; they end with the stack.

    Raises InvalidInput when an address can't be had.
    """
    for broker in brokers:
        server = grpc.aio.server(options=_OPTIONS)
        server.add_generic_rpc_handlers((_service(partial(_collect, broker, served, clock)),))
        try:
            server.add_insecure_port(broker.broker.reporter)
        except RuntimeError:
            raise InvalidInput(
                f"base-port is {broker.shape.spec.base_port}: {broker.broker.reporter} can't be had, "
                "another fleet may run there, use another port"
            ) from None
        await server.start()
        stack.push_async_callback(server.stop, _GRACE_S)


def _service(collect: Callable[..., Awaitable[bytes]]) -> grpc.GenericRpcHandler:
    handler: grpc.RpcMethodHandler[pb.CollectRequest, bytes] = grpc.unary_unary_rpc_method_handler(
        collect, request_deserializer=pb.CollectRequest.FromString
    )
    return grpc.method_handlers_generic_handler(_SERVICE, {"Collect": handler})


async def _collect(
    broker: BrokerModel,
    served: Served,
    clock: Callable[[], float],
    request: pb.CollectRequest,
    context: grpc.aio.ServicerContext[pb.CollectRequest, bytes],
) -> bytes:
    # One process stands for all: what nobody waits for any more must not hold up the others.
    remaining_s = context.time_remaining()
    if remaining_s is not None and remaining_s <= 0:
        return b""
    began = time.perf_counter()
    message = answer(broker, request, int(clock() * 1000))
    served.answers += 1
    served.with_names += not request.known_names
    served.seconds += time.perf_counter() - began
    return message


@lru_cache(maxsize=256)
def _packed_ids(count: int) -> bytes:
    return pb.MetricBatch(ids=range(count)).SerializeToString()


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
