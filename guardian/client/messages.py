"""Calls by the names of their RPCs, with messages as they are: for those who add nothing to them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any

import grpc
from google.protobuf.message import Message

from guardian.client.calls import QUICK, SLOW, Calls
from guardian.client.errors import from_rpc
from guardian.client.stubs import Stubs


class Way(Enum):
    """How a call is carried through failures of members."""

    READ = auto()  # of any member
    SLOW_READ = auto()  # likewise, which asks Kafka or the lake
    PAGES = auto()  # a stream of any member's, whose messages are parts of one
    LEADER = auto()  # what the leader knows best
    HERE = auto()  # of the first endpoint that the client was given, and no other
    CHANGE = auto()  # one that may be repeated
    SLOW_CHANGE = auto()
    ONCE = auto()  # a change that is carried out once, however often it is sent


class MessageCalls:
    """Part of GuardianClient."""

    _calls: Calls
    _given: tuple[str, ...]

    def call(self, rpc: str, request: Message, way: Way) -> Message | None:
        """Return the reply of an RPC that is named as Activity/ListIdleTopics; None: a stream without any. Raises
        GuardianError."""
        service, _, method = rpc.partition("/")

        def of(stubs: Stubs) -> Any:
            return getattr(getattr(stubs, service.lower()), method)

        if way is Way.ONCE and getattr(request, "dry_run", False):
            way = Way.READ
        calls: dict[Way, Callable[[], Any]] = {
            Way.READ: lambda: self._calls.read(of, request),
            Way.SLOW_READ: lambda: self._calls.read(of, request, SLOW),
            Way.PAGES: lambda: self._merged(of, request),
            Way.LEADER: lambda: self._calls.ask_leader(of, request),
            Way.HERE: lambda: self._here(of, request),
            Way.CHANGE: lambda: self._calls.change(of, request),
            Way.SLOW_CHANGE: lambda: self._calls.change(of, request, SLOW),
            Way.ONCE: lambda: self._calls.change_once(of, request),
        }
        reply: Message | None = calls[way]()
        return reply

    def _merged(self, of: Callable[[Stubs], Any], request: Message) -> Message | None:
        whole: Message | None = None
        for page in self._calls.read_stream(of, request):
            if whole is None:
                whole = page
            else:
                whole.MergeFrom(page)
        return whole

    def _here(self, of: Callable[[Stubs], Any], request: Message) -> Any:
        try:
            return of(self._calls.at(self._given[0]))(request, timeout=self._calls.timeout_s * QUICK)
        except grpc.RpcError as error:
            raise from_rpc(error) from None
