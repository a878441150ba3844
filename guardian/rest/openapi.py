"""The OpenAPI document of routes: what FastAPI tells of them, and the schemas of messages."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI
from google.protobuf.message import Message

from guardian import __version__
from guardian.rest.forwarded import FORWARDED
from guardian.rest.schemas import OWN_SCHEMAS, TAKES_S, components, components_of_requests
from protos.guardian.v1 import events_pb2, federation_pb2, insight_pb2, raft_pb2, tickets_pb2

_MESSAGES: tuple[type[Message], ...] = (
    federation_pb2.Cluster,
    federation_pb2.Broker,
    federation_pb2.BrokerMetrics,
    federation_pb2.Topic,
    federation_pb2.Member,
    federation_pb2.AuditRecord,
    raft_pb2.RaftMember,
    tickets_pb2.Ticket,
    tickets_pb2.TicketDetail,
    tickets_pb2.TicketProgress,
    tickets_pb2.Plan,
    tickets_pb2.CreateTicketReply,
    tickets_pb2.PreviewTicketReply,
    insight_pb2.FindingsReport,
    insight_pb2.HealingReport,
    insight_pb2.DurabilityReport,
    insight_pb2.PastReport,
    insight_pb2.FaultReport,
    events_pb2.Event,
    *(row.reply for row in FORWARDED),
)
_REQUESTS: tuple[type[Message], ...] = (
    insight_pb2.PredictFaultRequest,
    *(row.request for row in FORWARDED if row.takes_body),
)


def api_document(router: APIRouter) -> dict[str, Any]:
    """The OpenAPI document of the routes."""
    app = FastAPI(
        title="Guardian",
        version=__version__,
        description="One control service for a federation of Kafka clusters.",
        separate_input_output_schemas=False,
    )
    app.include_router(router)
    document = app.openapi()
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)  # what is wrong is told as a problem
    answered = components(_MESSAGES)
    answered["Plan"]["properties"]["takes_s"] = TAKES_S
    schemas |= {**components_of_requests(_REQUESTS, answered), **answered, **OWN_SCHEMAS}
    return document
