"""What happened to tickets and throttles, and what happens."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

import grpc

from guardian.client.calls import Calls
from guardian.client.errors import from_rpc, is_worth_another_member
from guardian.client.stubs import Stubs
from guardian.errors import GuardianError
from guardian.model.event import Event, EventKind
from guardian.model.wire.events import event_from_proto
from protos.guardian.v1 import events_pb2

_PAUSE_S = 0.5
_HELD_S = 5.0  # a stream that lasted so long was a good one


class EventFilter(TypedDict, total=False):
    """Choose events, besides by their kinds: behind the event `after`, the `last` ones only, from a time on and until
    another, which is left out, and whose."""

    after: int
    last: int
    from_ms: int
    until_ms: int
    cluster: str
    ticket_id: str


class EventCalls:
    """Part of GuardianClient."""

    _calls: Calls

    def events(self, *, kinds: Sequence[EventKind] = (), **which: Unpack[EventFilter]) -> list[Event]:
        """Return what happened and is kept, oldest first: behind the event `after`, the `last` ones only, from a time
        on.
        """
        request = _request(kinds, which, follow=False)
        return [event_from_proto(event) for event in self._calls.read_stream(_watch, request)]

    def follow_events(self, *, kinds: Sequence[EventKind] = (), **which: Unpack[EventFilter]) -> Iterator[Event]:
        """Yield events as `events` returns them, and then what happens, for ever: each once and in order, whatever
        becomes of single members.

        Raises what no other member would answer otherwise, and Unavailable when for the client's timeout none answers.
        """
        request = _request(kinds, which, follow=True)
        failing_since: float | None = None
        while True:
            endpoint = self._calls.any_member()
            began = time.monotonic()
            try:
                for message in _watch(self._calls.at(endpoint))(request):
                    failing_since = None
                    request.after, request.last = message.id, 0
                    yield event_from_proto(message)
            except grpc.RpcError as error:
                failure: GuardianError = from_rpc(error)
                if not is_worth_another_member(failure):
                    raise failure from None
                self._calls.failed(endpoint)
                now = time.monotonic()
                if failing_since is None or now - began > _HELD_S:
                    failing_since = now
                if now - failing_since > self._calls.timeout_s:
                    raise failure from None
            time.sleep(_PAUSE_S)

    def sinks(self) -> tuple[events_pb2.SinkStatus, ...]:
        """Return how far each sink of the configuration has come, and why not further; as the leader, which sends,
        knows.
        """
        reply = self._calls.ask_leader(lambda stubs: stubs.events.ListSinks, events_pb2.ListSinksRequest())
        return tuple(reply.sinks)


def _watch(stubs: Stubs) -> grpc.UnaryStreamMultiCallable[events_pb2.WatchEventsRequest, events_pb2.Event]:
    return stubs.events.WatchEvents


def _request(kinds: Sequence[EventKind], which: EventFilter, *, follow: bool) -> events_pb2.WatchEventsRequest:
    return events_pb2.WatchEventsRequest(kinds=[kind.name for kind in kinds], follow=follow, **which)
