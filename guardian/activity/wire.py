"""Costs and price lists: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from guardian.activity.model import CostLine, PriceList, Prices
from guardian.model.wire.fields import filled, read
from protos.guardian.v1 import activity_pb2 as pb
from protos.guardian.v1 import tiering_pb2


def price_list_to_proto(prices: PriceList) -> pb.PriceList:
    """Return every price."""
    tenants = {name: filled(pb.Prices(), each) for name, each in prices.tenants.items()}
    return pb.PriceList(default=filled(pb.Prices(), prices.default), tenants=tenants)


def price_list_from_proto(message: pb.PriceList) -> PriceList:
    """The inverse of `price_list_to_proto`."""
    return PriceList(
        read(Prices, message.default), {name: read(Prices, each) for name, each in sorted(message.tenants.items())}
    )


def tiered_bytes(partitions: Iterable[tiering_pb2.PartitionSummary]) -> dict[str, int]:
    """Return what is stored remotely, by topic; the empty topic has what is of no topic that is known by name."""
    found: dict[str, int] = {}
    for each in partitions:
        if not each.deleted:
            found[each.claim.topic] = found.get(each.claim.topic, 0) + each.live_bytes
    return found


def cost_lines(reply: pb.ListTopicUseReply, tiered: Mapping[str, int] | None) -> tuple[CostLine, ...]:
    """Return what topics moved and hold; `tiered` has those with bytes in the remote store, None: that is not known. Of
    a topic without any it is not known where there are bytes of no topic that is known by name."""
    is_told = tiered is not None and not tiered.get("")
    return tuple(
        CostLine(
            use.topic,
            use.tenant,
            _known(use, "bytes_produced"),
            _known(use, "bytes_fetched"),
            _known(use, "requests"),
            _known(use, "stored_bytes"),
            (tiered or {}).get(use.topic, 0 if is_told else None),
            use.bytes_shared,
            use.stored_partly,
        )
        for use in reply.topics
    )


_Field = Literal["bytes_produced", "bytes_fetched", "requests", "stored_bytes"]


def _known(use: pb.TopicUse, name: _Field) -> int | None:
    value: int = getattr(use, name)
    return value if use.HasField(name) else None
