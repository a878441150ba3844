"""Tickets and executions: protobuf <-> model."""

from __future__ import annotations

from collections.abc import Iterable

import guardian.model.wire.plans  # noqa: F401  how moves and plans are written
from guardian.model.execution import AdaptedRate, Execution
from guardian.model.owned_setting import OwnedSetting
from guardian.model.ticket import Ticket, TicketPart, TicketState, TicketTransition
from guardian.model.wire.actors import agent_of, name_of
from guardian.model.wire.fields import ByHand, alias, by_hand, codec, known
from protos.guardian.v1 import tickets_pb2 as pb

ticket_to_proto, ticket_from_proto = codec(Ticket, pb.Ticket)
transition_to_proto, transition_from_proto = codec(TicketTransition, pb.TicketTransition)
execution_to_proto, execution_from_proto = codec(Execution, pb.Execution)


def ticket_state_from_proto(number: int) -> TicketState:
    """Raises InvalidInput when the number is no state that this version knows."""
    return known(TicketState, "state of the ticket", number)


def _write_author(message: pb.Ticket, author: str) -> None:
    message.author, message.author_agent = author, agent_of(author)


def _write_actor(message: pb.TicketTransition, actor: str) -> None:
    message.actor, message.agent = actor, agent_of(actor)


def _write_line(message: pb.AdaptedRate, line: tuple[str, str]) -> None:
    message.from_idc, message.to_idc = line


def _write_values(message: pb.OwnedSetting, values: Iterable[str | None]) -> None:
    message.values.extend(pb.OwnedSetting.Value(text=value) for value in values)


def _write_leaving(message: pb.OwnedSetting, leaving: Iterable[str | None]) -> None:
    gone = frozenset(leaving)
    for value in message.values if gone else ():
        value.leaves = _text_of(value) in gone


def _text_of(value: pb.OwnedSetting.Value) -> str | None:
    return value.text if value.HasField("text") else None


by_hand(
    OwnedSetting,
    values=ByHand(_write_values, lambda message: tuple(map(_text_of, message.values))),
    leaving=ByHand(_write_leaving, lambda message: tuple(_text_of(each) for each in message.values if each.leaves)),
)
by_hand(
    Ticket,
    author=ByHand(_write_author, lambda message: name_of(message.author, message.author_agent)),
    bytes_to_copy=alias("bytes"),
)
by_hand(TicketPart, bytes_to_copy=alias("bytes"))
by_hand(TicketTransition, actor=ByHand(_write_actor, lambda message: name_of(message.actor, message.agent)))
by_hand(
    AdaptedRate,
    line=ByHand(_write_line, lambda message: (message.from_idc, message.to_idc) if message.from_idc else None),
)
