"""What is done to a ticket over REST: it is carried through approval, slowed down, amended, taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fastapi import Request, Response

from guardian.client import GuardianClient
from guardian.errors import Conflict
from guardian.model.wire.tickets import ticket_to_proto
from guardian.rest.bodies import ActionBody, AmendBody, ApproveBody, ThrottleBody
from guardian.rest.parts import RestParts, actor_of
from guardian.rest.schemas import as_dict
from guardian.security.rules.routing import OPERATE
from guardian.web.answers import JsonAnswer

TICKET = {"$ref": "#/components/schemas/Ticket"}
Post = Callable[..., Callable[[Callable[..., Response]], Any]]


def add_actions(post: Post, parts: RestParts) -> None:
    """Add the routes, by `post`, which registers a handler under a path, a rule, a schema, words and a tag."""
    clients = GuardianClient
    actions = (
        ("submit", clients.submit, "DRAFT to PENDING: it asks for approval."),
        ("reject", clients.reject, "PENDING to REJECTED."),
        ("cancel", clients.cancel, "What runs is taken back; what never ran is REJECTED."),
        ("pause", clients.pause, "RUNNING to PAUSED: nothing new starts."),
        ("resume", clients.resume, "PAUSED to RUNNING."),
        ("roll-back", clients.roll_back, "What was moved goes back."),
        ("adopt", clients.adopt, "PAUSED to RUNNING: what other tools move becomes the ticket's own."),
        ("wait", clients.wait, "PAUSED, until other tools move nothing any more."),
    )
    for name, act, what in actions:
        _action(post, parts, name, act, what)

    @post("/tickets/{ticket_id}/approve", OPERATE, TICKET, "The ticket.", "tickets")
    def approve(request: Request, ticket_id: str, body: ApproveBody) -> Response:
        """PENDING to APPROVED, where the approval policy lets you."""
        user = parts.user_of(request)
        client, actor = parts.client_for(user), actor_of(user, body.actor)
        approved = client.approve(ticket_id, actor, body.reason, expected_ask_revision=body.revision)
        return JsonAnswer(as_dict(ticket_to_proto(approved)))

    @post("/tickets/{ticket_id}/amend", OPERATE, TICKET, "The ticket.", "tickets")
    def amend(request: Request, ticket_id: str, body: AmendBody) -> Response:
        """Gives a ticket of brokers more of them, or fewer, also while it runs."""
        user = parts.user_of(request)
        client, actor = parts.client_for(user), actor_of(user, body.actor)
        found, _ = client.ticket(ticket_id)
        if found.ask is None:
            raise Conflict(f"ticket {ticket_id}: carries a plan and asks for no brokers; make another ticket")
        ask = replace(
            found.ask,
            brokers=tuple(body.brokers),
            controllers=tuple(body.controllers),
            revision=found.ask.revision if body.revision is None else body.revision,
        )
        return JsonAnswer(as_dict(ticket_to_proto(client.amend(found, ask, actor, body.reason))))

    @post("/tickets/{ticket_id}/throttle", OPERATE, TICKET, "The ticket.", "tickets")
    def throttle(request: Request, ticket_id: str, body: ThrottleBody) -> Response:
        """Changes how fast its copies may be, while it runs too."""
        user = parts.user_of(request)
        client, actor = parts.client_for(user), actor_of(user, body.actor)
        changed = client.set_throttle(ticket_id, body.throttle, actor, body.reason, body.max_throttle)
        return JsonAnswer(as_dict(ticket_to_proto(changed)))


def _action(post: Post, parts: RestParts, name: str, act: Callable[..., Any], what: str) -> None:
    def action(request: Request, ticket_id: str, body: ActionBody) -> Response:
        user = parts.user_of(request)
        changed = act(parts.client_for(user), ticket_id, actor_of(user, body.actor), body.reason)
        return JsonAnswer(as_dict(ticket_to_proto(changed)))

    action.__name__ = name.replace("-", "_")
    action.__doc__ = what
    post(f"/tickets/{{ticket_id}}/{name}", OPERATE, TICKET, "The ticket.", "tickets")(action)
