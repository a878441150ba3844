"""The connections of one member to the others: who dials whom, who is let in, and what is refused.

Each pair of members keeps **one connection**. The one with the greater name dials at once, the other after a second
without, because it may be the only one that knows the other. If both have dialled, the connection that the greater name
dialled stays, on both sides. Of two that the same member dialled, the newer stays: it would not have dialled with the
older one alive.

    dialler ── hello ─▶ acceptor      first the dialler says who it is, then the acceptor, then either may send
    dialler ◀─ hello ── acceptor      or: ◀─ hello_refused ──, with the reason

Who says hello must speak this version, show a certificate of its name (with TLS), be somebody whom `admits` knows, and
be of the same group, in this order. Roles are checked per message, above. Whatever is refused closes the connection,
reaches nobody above and is counted by reason.

**A stranger learns nothing**: who dials says hello only to a certificate of the name that it dialled. Who accepts says
it only when it has accepted, and a refusal names neither the group nor the members.

**A name is one process.** While a process is connected, another one of its name (a machine that was cloned, with its
data) is refused. It is the younger that is refused. What it would confirm, its copy of the log may have lost. A process
that is dead holds a name for as long as TCP takes to notice, five seconds. Whoever is refused for longer than
`duplicates.DUPLICATE_S` is told of by `on_duplicate`, and is to stop.
"""

from __future__ import annotations

import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from raft.errors import CannotStart
from raft.network import frames
from raft.network.addresses import Lookup, resolve
from raft.network.connection import ERROR, READ, Callbacks, Closing, Connection, Poller
from raft.network.duplicates import Refusals, refused
from raft.network.frames import RefusedMessage, RefusedVersion
from raft.network.refusal_log import RefusalLog
from raft.network.tls import TlsContexts, TlsFiles, proven_names, proves_name
from raft.rules.admission import Introduction, Lapse

_LOOK_S = 0.05  # between looks at deadlines and at whom to dial
_FILES_S = 1.0  # between looks at the certificate's files
_DIAL_S = 2.0  # until TCP and TLS are there: with a packet lost on the way a new attempt is quicker
_GREETING_S = 5.0  # until the other side has said hello
_LESSER_WAITS_S = 1.0  # before it dials the greater name itself
_RETRY_MIN_S, _RETRY_MAX_S = 0.05, 1.0
_MAX_GREETING = 64  # connections that have not said who they are
_ACCEPTS_PER_EVENT = 16
_MAX_REASON = 1024
_BACKLOG = 64
_logger = logging.getLogger(__name__)
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a hello is refused: what that is counted as, what the sender is told, and what the log says."""

    reason: str
    told: str
    detail: str
    cause: int = frames.REFUSED
    confirmed_index: int = 0


@dataclass(slots=True)
class _Peer:
    """A member to dial while there is no connection to it."""

    address: str
    dial_at: float
    retry_s: float = _RETRY_MIN_S
    lookup: Lookup | None = None
    attempt: Connection | None = None
    attempts: int = 0


class Network:
    """Called by one thread, which also polls. Callbacks come from the poller, `tick`, `send` and `set_members`."""

    def __init__(
        self,
        poller: Poller,
        name: str,
        listen: str,
        *,
        client_address: str,
        group_id: Callable[[], str],
        on_message: Callable[[str, dict[str, Any]], None],
        on_connected: Callable[[str], None],
        on_disconnected: Callable[[str], None],
        introduce: Callable[[], Introduction],
        find_lapse: Callable[[Introduction, bool], Lapse | None],
        on_duplicate: Callable[[str], None] = lambda _: None,
        admits: Callable[[str], bool],
        on_lapse: Callable[[str, Lapse], None] = lambda _, __: None,
        process: str = "",
        tls: TlsFiles | None = None,
    ) -> None:
        """Listens on `listen` (host:port). `client_address` is what others are told of this member; `group_id` returns
        "" as long as this member belongs to no group, and then any group's members are let in. `admits` tells by name
        who may connect, and is asked again while a connection stands. `introduce` says what this member's folder holds;
        `find_lapse(peer, is_new)` what another's has forgotten (raft.rules.admission). `process` names this process
        among all that have this name; "": by lot. `on_duplicate` gets a sentence; `on_lapse` which member refuses this
        one, and for what lapse.

        Raises CannotStart when the address can't be had or the TLS files can't be used.
        """
        self.counters: Counter[str] = Counter()
        self._refusal_log = RefusalLog(_logger, self.counters)
        self._poller = poller
        self._callbacks = Callbacks(self._opened, self._received, self._failed)
        self._name = name
        self._client_address = client_address
        self._group_id = group_id
        self._on_message = on_message
        self._on_connected = on_connected
        self._on_disconnected = on_disconnected
        self._introduce = introduce
        self._find_lapse = find_lapse
        self._on_duplicate = on_duplicate
        self._on_lapse = on_lapse
        self._admits = admits
        self._process = process or uuid4().hex
        self._refusals: dict[str, Refusals] = {}  # by member
        self._told: dict[str, str] = {}  # by member, why it refused this one last
        self._peers: dict[str, _Peer] = {}
        self._ready: dict[str, Connection] = {}
        self._hellos: dict[str, dict[str, Any]] = {}  # the last of each member
        self._names: dict[Connection, str] = {}  # of those that are ready, and of those that are dialled
        self._greeting: dict[Connection, float] = {}  # until when it has to be ready
        self._hosts: dict[Connection, str] = {}  # of those that were accepted and have not said who they are
        self._now = time.monotonic()
        self._look_at = self._files_at = self._accept_at = 0.0
        self._is_closed = False
        self._contexts = TlsContexts(tls) if tls is not None else None
        self._listener = _listen(listen)
        self._resume_accepting()

    def set_members(self, members: Mapping[str, str]) -> None:
        """The other members, name to host:port: whom to dial. Connections of those that were members and are none any
        more are closed."""
        for name in self._peers.keys() - members.keys():
            removed = self._peers.pop(name)
            self._told.pop(name, None)
            self._refusals.pop(name, None)
            for connection in (removed.attempt, self._ready.get(name)):
                if connection is not None:
                    self._end(connection, "removed", f"{name} is no member any more")
        for name, address in members.items():
            peer = self._peers.get(name)
            if peer is None:
                self._peers[name] = _Peer(address, self._now + (0.0 if self._dials_first(name) else _LESSER_WAITS_S))
            elif peer.address != address:
                peer.address, peer.lookup = address, None
        self._look_at = 0.0

    def send(self, name: str, message: dict[str, Any] | bytes) -> bool:
        """Sends a message, or a frame that `frames.encode` made (for several members). False: it was not sent. True: it
        may arrive. A member that reads too slowly is disconnected (`raft.network.connection.MAX_UNSENT_BYTES`)."""
        connection = self._ready.get(name)
        if connection is None:
            return False
        return connection.send(message if type(message) is bytes else frames.encode(message))  # type: ignore[arg-type]

    def is_connected(self, name: str) -> bool:
        return name in self._ready

    def connected(self) -> frozenset[str]:
        """Those whom it dials, and others whom it admits."""
        return frozenset(self._ready)

    def unsent_bytes(self, name: str) -> int:
        """Return the bytes that wait for this member to read; 0 when it is not connected."""
        connection = self._ready.get(name)
        return connection.unsent_bytes if connection is not None else 0

    def client_address(self, name: str) -> str:
        """Return the client address that this member gave when it was last connected; "" before."""
        return str(self._hellos[name]["client_address"]) if name in self._hellos else ""

    def incarnation(self, name: str) -> str:
        """Return the incarnation of this member's data folder, as it said when it was last connected; "" before."""
        return str(self._hellos[name]["incarnation"]) if name in self._hellos else ""

    def group(self, name: str) -> str:
        """The group that it said it belongs to when it was last connected; "" when to none, and before."""
        return str(self._hellos[name]["group"]) if name in self._hellos else ""

    def tick(self, now_monotonic: float) -> None:
        """Dials, and closes what took too long. Call it some twenty times a second, or more often."""
        self._now = now_monotonic
        if now_monotonic < self._look_at or self._is_closed:
            return
        self._look_at = now_monotonic + _LOOK_S
        self._reload_certificate()
        self._close_late()
        self._close_others()
        self._close_lapsed()
        if 0 < self._accept_at <= now_monotonic:
            self._resume_accepting()
        for name, peer in list(self._peers.items()):
            if name not in self._ready and peer.attempt is None and now_monotonic >= peer.dial_at:
                self._dial(name, peer)

    def close(self) -> None:
        """Closes every connection and the port, without callbacks. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        for connection in {*self._greeting, *self._ready.values()}:
            connection.close()
        if self._accept_at == 0.0:
            self._poller.unsubscribe(self._listener.fileno())
        self._listener.close()
        self._greeting.clear()
        self._hosts.clear()
        self._ready.clear()
        self._peers.clear()

    # What connections call.

    def _opened(self, connection: Connection) -> None:
        if not connection.is_dialled:
            return
        refusal = self._unproven(connection, self._names[connection])
        if refusal is not None:
            self._end(connection, refusal.reason, refusal.detail)
            return
        self._greeting[connection] = self._now + _GREETING_S
        self._say_hello(connection)

    def _received(self, connection: Connection, body: memoryview) -> None:
        try:
            message = frames.decode(body)
        except RefusedVersion as refused:
            self._end(connection, "refused_version", str(refused))
            return
        except RefusedMessage as refused:
            self._end(connection, "refused_garbage", str(refused))
            return
        if message["type"] == frames.HELLO_REFUSED and connection.is_dialled and connection in self._greeting:
            self._refused_by(self._names[connection], message)
            self._end(connection, "hello_refused", message["reason"])
        elif (message["type"] == frames.HELLO) != (connection in self._greeting):
            self._end(connection, "refused_garbage", f"{message['type']} is out of place")
        elif connection in self._greeting:
            self._greet(connection, message)
        else:
            self._on_message(self._names[connection], message)

    def _failed(self, connection: Connection, why: Closing, detail: str) -> None:
        is_vain = connection.is_dialled and connection in self._greeting and why is Closing.GONE
        self._ended(connection, "dial_failed" if is_vain else why.value, detail)

    # Who gets in.

    def _greet(self, connection: Connection, hello: dict[str, Any]) -> None:
        refusal = self._refusal(connection, hello)
        if refusal is not None:
            self._refuse(connection, refusal)
            return
        name = hello["name"]
        present = self._ready.get(name)
        if present is not None and not self._is_preferred(connection, present, name):
            self._end(connection, "duplicate", f"{name} is connected already")
            return
        connection.greeted(frames.MAX_FRAME_BYTES)
        if not connection.is_dialled:
            self._say_hello(connection)
            if connection.is_closed:
                return
        if present is not None:
            self._end(present, "replaced", f"{name} has connected anew")
        self._admit(connection, name, hello)

    def _refusal(self, connection: Connection, hello: dict[str, Any]) -> _Refusal | None:
        """Return why the sender of this hello is not let in, or None. It is told as much as it has proven to be, and
        never of the group.
        """
        name, group, own_group = hello["name"], hello["group"], self._group_id()
        expected = self._names.get(connection)
        if name == self._name or (expected is not None and name != expected):
            detail = f"it calls itself {name!r}, and {expected or 'another member'!r} was expected"
            return _Refusal("refused_name", f"{name!r} is not expected here", detail)
        unproven = self._unproven(connection, name)
        if unproven is not None:
            return unproven
        if not self._admits(name):
            told = f"{name!r} is not known to this member: add it to the group, or to [peers] of this member's file"
            return _Refusal("refused_strangers", told, f"{name!r} is no member, and no peer of this member's file")
        if own_group and group != own_group and (group or name not in self._peers):
            detail = f"{name} belongs to group {group!r}, and this member to {own_group!r}"
            return _Refusal("refused_group", f"{name!r} belongs to another group than this member", detail)
        return self._unfit(name, hello)

    def _unfit(self, name: str, hello: dict[str, Any]) -> _Refusal | None:
        """Return why a member that has proven its name is refused all the same, or None."""
        if name in self._ready and hello["process"] != self._hellos[name]["process"]:
            detail = f"another process of the name {name!r} is connected to {self._name}"
            return _Refusal("refused_duplicate", detail, detail, frames.REFUSED_DUPLICATE)
        lapse = self._find_lapse(_introduction(hello), True)
        if lapse is not None:
            sentence = lapse.sentence
            return _Refusal("refused_lapse", sentence, sentence, frames.REFUSED_LAPSE, lapse.confirmed_index)
        return None

    def _unproven(self, connection: Connection, name: str) -> _Refusal | None:
        """Return what is wrong when, with TLS, the other side's certificate is not for this name; else None."""
        if self._contexts is None:
            return None
        certificate, must_bear = connection.peer_certificate(), self._contexts.must_bear_name
        if proves_name(certificate, name, must_bear=must_bear):
            return None
        told = f"the certificate is not for {name!r}" + (f": it lacks the name raft:{name}" if must_bear else "")
        detail = f"it calls itself {name!r}, and its certificate is for {sorted(proven_names(certificate))}"
        return _Refusal("refused_certificate", told, detail + (f", not for raft:{name}" if must_bear else ""))

    def _refuse(self, connection: Connection, refusal: _Refusal) -> None:
        if not connection.is_dialled:
            told = {"reason": refusal.told[:_MAX_REASON], "cause": refusal.cause}
            told["confirmed_index"] = refusal.confirmed_index
            connection.send(frames.encode({"type": frames.HELLO_REFUSED, **told}))
        self._end(connection, refusal.reason, refusal.detail)

    def _refused_by(self, member: str, message: Mapping[str, Any]) -> None:
        if self._told.get(member) != message["reason"]:
            self._told[member] = message["reason"]
            _logger.warning("%s refuses this member, %s: %s", member, self._name, message["reason"])
        # A hello that waited for a busy peer tells of a shorter log than this member has by now.
        lapse = Lapse(message["reason"], message["confirmed_index"])
        if message["cause"] == frames.REFUSED_LAPSE and not lapse.is_outdated(self._introduce().last_index):
            self._on_lapse(member, lapse)
        if message["cause"] != frames.REFUSED_DUPLICATE:
            return
        refusals = self._refusals[member] = refused(self._refusals.get(member), self._now)
        if refusals.go_on:
            self._on_duplicate(
                f"name is {self._name!r}, and {message['reason']}: stop that one, or give this member a name and data "
                "of its own"
            )

    def _is_preferred(self, fresh: Connection, present: Connection, name: str) -> bool:
        if fresh.is_dialled == present.is_dialled:
            return True
        return fresh.is_dialled == self._dials_first(name)

    def _admit(self, connection: Connection, name: str, hello: dict[str, Any]) -> None:
        del self._greeting[connection]
        self._hosts.pop(connection, None)
        self._names[connection] = name
        self._hellos[name] = hello
        self._ready[name] = connection
        self.counters["connected"] += 1
        self._told.pop(name, None)
        self._refusals.pop(name, None)
        peer = self._peers.get(name)
        if peer is not None:
            peer.retry_s = _RETRY_MIN_S
            peer.lookup = None
            if peer.attempt is connection:
                peer.attempt = None
        _logger.info("connected to %s", name)
        self._on_connected(name)

    def _say_hello(self, connection: Connection) -> None:
        own = self._introduce()
        connection.send(
            frames.encode(
                {
                    "type": frames.HELLO,
                    "version": frames.VERSION,
                    "name": self._name,
                    "process": self._process,
                    "incarnation": own.incarnation,
                    "last_index": own.last_index,
                    "configuration_index": own.configuration_index,
                    "group": self._group_id(),
                    "client_address": self._client_address,
                }
            )
        )

    # Whom to dial.

    def _dials_first(self, name: str) -> bool:
        return self._name > name

    def _dial(self, name: str, peer: _Peer) -> None:
        """One step: ask for the address, later connect to it. An address that can't be had counts as a failed dial."""
        if peer.lookup is None:
            peer.lookup = Lookup(peer.address)
        found = peer.lookup.found
        if found is None:
            return
        peer.lookup = None
        try:
            if not found:
                raise OSError(f"can't resolve {peer.address}")
            family, address = found[peer.attempts % len(found)]
            peer.attempts += 1
            connection = Connection.dial(self._callbacks, self._poller, family, address)
        except OSError as error:
            self.counters["dial_failed"] += 1
            _logger.debug("can't dial %s: %s", name, error)
            self._retry_later(peer)
            return
        peer.attempt = connection
        self._names[connection] = name
        self._greeting[connection] = self._now + _DIAL_S
        connection.start(self._contexts.client if self._contexts is not None else None)

    def _retry_later(self, peer: _Peer) -> None:
        peer.dial_at = self._now + peer.retry_s
        peer.retry_s = min(2 * peer.retry_s, _RETRY_MAX_S)

    # Who knocks.

    def _accept(self, _descriptor: int, _mask: int) -> None:
        for _ in range(_ACCEPTS_PER_EVENT):
            if self._is_closed:
                return
            try:
                endpoint, address = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as error:  # out of descriptors: the event would come again at once, for ever
                _logger.warning("can't accept connections for a second: %s", error)
                self.counters["accept_failed"] += 1
                self._poller.unsubscribe(self._listener.fileno())
                self._accept_at = self._now + 1.0
                return
            self._take(endpoint, address[0])

    def _take(self, endpoint: socket.socket, host: str) -> None:
        try:
            connection = Connection.accepted(self._callbacks, self._poller, endpoint)
        except OSError:
            return
        silent = [greeting for greeting in self._greeting if not greeting.is_dialled]
        if len(silent) >= _MAX_GREETING:
            too_many = longest_silent(silent, self._hosts)
            self._end(too_many, "refused_too_many", f"{_MAX_GREETING} others have not said who they are either")
        self._hosts[connection] = host
        self._greeting[connection] = self._now + _GREETING_S
        connection.start(self._contexts.server if self._contexts is not None else None)

    def _resume_accepting(self) -> None:
        self._accept_at = 0.0
        self._poller.subscribe(self._listener.fileno(), self._accept, READ | ERROR)

    # What ends.

    def _end(self, connection: Connection, reason: str, detail: str) -> None:
        if not connection.is_closed:
            connection.close()
            self._ended(connection, reason, detail)

    def _ended(self, connection: Connection, reason: str, detail: str) -> None:
        name = self._names.pop(connection, None)
        sentence = f"closed a connection with {name or 'an unknown sender'}: {detail}"
        if reason.startswith("refused") or reason == Closing.UNSENT.value:
            self._refusal_log.refuse(reason, sentence, self._now)
        else:
            self.counters[reason] += 1
            _logger.debug("%s: %s", reason, sentence)
        self._greeting.pop(connection, None)
        self._hosts.pop(connection, None)
        peer = self._peers.get(name) if name is not None else None
        if peer is not None and peer.attempt is connection:
            peer.attempt = None
            self._retry_later(peer)
        if name is not None and self._ready.get(name) is connection:
            del self._ready[name]
            if peer is None:
                del self._hellos[name]
            else:
                peer.dial_at = self._now + (_RETRY_MIN_S if self._dials_first(name) else _LESSER_WAITS_S)
            self._look_at = 0.0
            self._on_disconnected(name)

    def _close_late(self) -> None:
        for connection, deadline in list(self._greeting.items()):
            if self._now >= deadline:
                reason = "dial_failed" if connection.is_dialled else "refused_no_hello"
                self._end(connection, reason, "it took too long to say hello")

    def _close_others(self) -> None:
        """Close connections to those that may not be connected any more. Either this member has just joined another
        group, or it has learnt that they were removed.
        """
        own_group = self._group_id()
        for name, connection in list(self._ready.items()):
            group = self._hellos[name]["group"]
            if own_group and group and group != own_group:
                self._end(connection, "refused_group", f"{name} belongs to group {group!r}, not {own_group!r}")
            elif name not in self._peers and not self._admits(name):
                self._end(connection, "removed", f"{name} is no member any more")

    def _close_lapsed(self) -> None:
        """A member that lagged may have let in one whose lapse it knows now."""
        for name, connection in list(self._ready.items()):
            lapse = self._find_lapse(_introduction(self._hellos[name]), False)
            if lapse is not None:
                self._end(connection, "refused_lapse", lapse.sentence)

    def _reload_certificate(self) -> None:
        if self._contexts is None or self._now < self._files_at:
            return
        self._files_at = self._now + _FILES_S
        revoked = self._contexts.revoked_stamp
        is_reloaded = self._contexts.reload()
        if is_reloaded is not None:
            self.counters["tls_reloaded" if is_reloaded else "tls_reload_failed"] += 1
        if self._contexts.revoked_stamp != revoked:
            for connection in {*self._greeting, *self._ready.values()}:
                self._end(
                    connection, "revoked_anew", "the list of revoked certificates has changed: it shows its own again"
                )


def longest_silent(silent: Sequence[_Key], hosts: Mapping[_Key, str]) -> _Key:
    """Return which of the connections, the oldest first, makes room: the oldest of the host that has most of them. A
    member says hello within moments, who blocks the port does not; and he can't push out others' by coming often."""
    (heaviest, _), *_ = Counter(hosts[connection] for connection in silent).most_common(1)
    return next(connection for connection in silent if hosts[connection] == heaviest)


def _introduction(hello: Mapping[str, Any]) -> Introduction:
    return Introduction(hello["name"], hello["incarnation"], hello["last_index"], hello["configuration_index"])


def _listen(address: str) -> socket.socket:
    """Raises CannotStart."""
    found = resolve(address)
    if not found:
        raise CannotStart(f"raft can't resolve {address}: use a host:port of this host")
    family, where = found[0]
    listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotStart(f"raft can't listen on {address} ({error}): use a free port of this host") from error
    return listener
