"""Real sockets on loopback: each pair ends with one connection, and what is no member's message changes nothing."""

from __future__ import annotations

import errno
import itertools
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

import raft.network.connection
import raft.network.transport
from deploy.local import ports
from guardian.security.certificates.authority import Wanted
from guardian.security.certificates.folder import CertificateFolder
from raft.errors import CannotStart
from raft.network import frames
from raft.network.duplicates import DUPLICATE_S
from raft.network.tls import TlsFiles
from raft.network.transport import Network
from raft.rules.admission import Introduction, Lapse
from tests import patience
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

MESSAGE = {"type": "stale_term", "term": 7}
_LONGEST_STEP_S = 0.05


class Poll:
    """The library's poller, as far as the transport uses it."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.callbacks: dict[int, Callable[[int, int], None]] = {}

    def subscribe(self, descr: int, callback: Callable[[int, int], None], eventMask: int) -> None:  # noqa: N803
        wanted = (select.POLLIN if eventMask & 1 else 0) | (select.POLLOUT if eventMask & 2 else 0)
        self._poll.register(descr, wanted)
        self.callbacks[descr] = callback

    def unsubscribe(self, descr: int) -> None:
        self._poll.unregister(descr)
        del self.callbacks[descr]

    def poll(self) -> None:
        for descriptor, events in self._poll.poll(2):
            callback = self.callbacks.get(descriptor)
            if callback is not None:
                callback(descriptor, (1 if events & select.POLLIN else 0) | (2 if events & select.POLLOUT else 0) | 4)


class Member:
    def __init__(
        self, world: World, name: str, group: str, tls: TlsFiles | None, address: str | None, process: str
    ) -> None:
        self.poller = Poll()
        self.address = address or f"127.0.0.1:{ports.pick(1)[0]}"
        self.group = group
        self.strangers = {"stranger", "outsider"}
        self.got: list[tuple[str, dict[str, Any]]] = []
        self.events: list[str] = []
        self.duplicates: list[str] = []
        self.introduction = Introduction(name, f"folder of {name}", 1, 0)
        self.lapses: dict[str, Lapse] = {}
        self.told_lapses: list[str] = []
        self.network = Network(
            self.poller,
            name,
            self.address,
            client_address=f"{name}.example:1",
            group_id=lambda: self.group,
            on_message=lambda sender, message: self.got.append((sender, message)),
            on_connected=lambda other: self.events.append(f"+{other}"),
            on_disconnected=lambda other: self.events.append(f"-{other}"),
            introduce=lambda: self.introduction,
            find_lapse=lambda peer, _is_new: self.lapses.get(peer.name),
            on_lapse=lambda other, lapse: self.told_lapses.append(f"{other}: {lapse.sentence}"),
            on_duplicate=self.duplicates.append,
            admits=lambda other: other not in self.strangers,
            process=process or f"the {name}",
            tls=tls,
        )
        self.counters = self.network.counters
        self._world = world
        self.network.tick(world.now())

    def knows(self, **members: Member | str) -> None:
        self.network.set_members({name: at if isinstance(at, str) else at.address for name, at in members.items()})

    def dial(self) -> socket.socket:
        """A plain socket that is connected to the member."""
        host, _, port = self.address.rpartition(":")
        endpoint = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        endpoint.setblocking(False)
        self._world.sockets.append(endpoint)
        return endpoint


class World:
    def __init__(self) -> None:
        self.members: list[Member] = []
        self.sockets: list[socket.socket] = []
        self.skipped_s = 0.0  # added to the clock that members are told
        self._seen_s = self._told_s = time.monotonic()

    def now(self) -> float:
        """The members' clock. Where this machine stands still for a while it does so, too: but for a moment."""
        seen_s = time.monotonic()
        self._told_s += min(seen_s - self._seen_s, _LONGEST_STEP_S)
        self._seen_s = seen_s
        return self._told_s + self.skipped_s

    def member(
        self,
        name: str,
        group: str = "g",
        tls: TlsFiles | None = None,
        address: str | None = None,
        process: str = "",
    ) -> Member:
        self.members.append(Member(self, name, group, tls, address, process))
        return self.members[-1]

    def step(self, *members: Member) -> None:
        for member in members or self.members:
            member.network.tick(self.now())
            member.poller.poll()

    def until(self, condition: Callable[[], object], *members: Member) -> None:
        def counted() -> dict[str, dict[str, int]]:
            return {member.address: dict(member.counters) for member in self.members}

        patience.until(condition, every_s=0, meanwhile=lambda: self.step(*members), story=counted)

    def settle(self) -> None:
        """Lets pass what is under way: some hundred rounds, and some seconds of the members' clock."""
        for _ in range(150):
            self.skipped_s += 0.03
            self.step()

    def close(self) -> None:
        for member in self.members:
            member.network.close()
            assert member.poller.callbacks == {}
        for endpoint in self.sockets:
            endpoint.close()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


_numbers = itertools.count()


@pytest.fixture
def issue(authority: trustme.CA, tmp_path: Path) -> Callable[..., TlsFiles]:
    def make(name: str, signer: trustme.CA = authority) -> TlsFiles:
        number = next(_numbers)
        certificate = signer.issue_cert(name)
        files = TlsFiles(tmp_path / f"{number}.crt", tmp_path / f"{number}.key", tmp_path / f"{number}.ca")
        certificate.private_key_pem.write_to_path(str(files.key))
        files.certificate.write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
        signer.cert_pem.write_to_path(str(files.authority))
        return files

    return make


def hello(name: str, group: str = "g", **changes: object) -> bytes:
    message = {
        "type": "hello",
        "version": frames.VERSION,
        "name": name,
        "process": f"the {name}",
        "incarnation": f"folder of {name}",
        "last_index": 1,
        "configuration_index": 0,
        "group": group,
        "client_address": "",
    }
    return frames.encode(message | changes)


def connected(world: World, one: Member, other: Member, one_name: str = "a", other_name: str = "b") -> None:
    world.until(lambda: one.network.is_connected(other_name) and other.network.is_connected(one_name))


def received(endpoint: socket.socket) -> bytes | None:
    """What came; b"" when the member closed the connection; None when nothing came yet."""
    try:
        return endpoint.recv(1 << 20)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def open_connections(member: Member) -> int:
    return len(member.poller.callbacks) - 1  # but for the listener


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("who_knows", ["a", "b", "ab"])
def test_a_pair_ends_with_one_connection_whoever_knows_whom(
    world: World, issue: Callable[..., TlsFiles], who_knows: str, is_secure: bool
) -> None:
    a = world.member("a", tls=issue("a") if is_secure else None)
    b = world.member("b", tls=issue("b") if is_secure else None)
    if "a" in who_knows:
        a.knows(b=b)
    if "b" in who_knows:
        b.knows(a=a)
    connected(world, a, b)
    world.settle()
    assert open_connections(a) == open_connections(b) == 1
    assert (a.events, b.events) == (["+b"], ["+a"])
    assert a.network.send("b", MESSAGE)
    assert b.network.send("a", frames.encode(MESSAGE))
    world.until(lambda: a.got and b.got)
    assert (a.got, b.got) == ([("b", MESSAGE)], [("a", MESSAGE)])
    assert (a.network.client_address("b"), b.network.client_address("a")) == ("b.example:1", "a.example:1")
    assert a.network.group("b") == "g"
    assert a.network.connected() == {"b"}


def test_the_greater_name_dials_at_once_and_the_lesser_after_a_second(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    start = world.now()
    a.network.tick(start)
    a.knows(b=b)  # the second counts from this tick, not from when a was made
    a.network.tick(start + 0.9)
    assert open_connections(a) == 0
    a.network.tick(start + 1.1)
    assert open_connections(a) == 1
    b.knows(a=a)
    b.network.tick(start)
    assert open_connections(b) == 1


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_when_both_have_dialled_both_keep_what_the_greater_name_dialled(
    world: World, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raft.network.transport, "_LESSER_WAITS_S", 0.0)
    a, b = world.member("a"), world.member("b")
    a.knows(b=b)
    b.knows(a=a)
    for member in (a, b):
        member.network.tick(world.now())
        assert open_connections(member) == 1  # both are on their way
    world.until(lambda: a.network.is_connected("b"), *([a, b] if order == "ab" else [b, a]))
    world.settle()
    connected(world, a, b)
    assert open_connections(a) == open_connections(b) == 1
    assert b.network._ready["a"].is_dialled
    assert not a.network._ready["b"].is_dialled
    assert a.events[-1] == "+b"
    assert len(a.events) % 2 == len(b.events) % 2 == 1


def test_what_the_lesser_dialled_gives_way_to_a_later_one_of_the_greater(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    a.knows(b=b)
    connected(world, a, b)
    assert a.network._ready["b"].is_dialled
    impostor = a.dial()  # as if b had dialled at the same time
    impostor.send(hello("b"))
    world.until(lambda: not a.network._ready["b"].is_dialled)
    assert a.counters["replaced"] == 1
    assert a.events == ["+b", "-b", "+b"]


def test_what_the_greater_dialled_does_not_give_way_to_the_lesser(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a)
    connected(world, a, b)
    late = b.dial()
    late.send(hello("a"))
    world.until(lambda: received(late) == b"")
    assert b.counters["duplicate"] == 1
    assert b.events == ["+a"]


def test_of_two_that_the_same_member_dialled_the_newer_stays(world: World) -> None:
    a = world.member("a")
    older, newer = a.dial(), a.dial()
    older.send(hello("b"))
    world.until(lambda: a.network.is_connected("b"))
    newer.send(hello("b"))
    world.until(lambda: a.counters["replaced"])
    newer.send(frames.encode(MESSAGE))
    world.until(lambda: a.got)
    older.setblocking(True)
    assert older.recv(1 << 20)  # the hello
    assert older.recv(1) == b""
    assert a.events == ["+b", "-b", "+b"]


def test_a_member_that_comes_back_is_connected_again(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    a.knows(b=b)
    b.knows(a=a)
    connected(world, a, b)
    b.network.close()
    world.members.remove(b)
    world.until(lambda: not a.network.is_connected("b"))
    assert not a.network.send("b", MESSAGE)
    assert a.network.client_address("b") == "b.example:1"  # as it was last told
    again = world.member("b", address=b.address)
    connected(world, a, again)
    assert a.events == ["+b", "-b", "+b"]


def test_large_frames_arrive_whole_and_in_order(world: World, issue: Callable[..., TlsFiles]) -> None:
    for names, secure in (("ab", False), ("cd", True)):
        one, other = (world.member(name, tls=issue(name) if secure else None) for name in names)
        other.network.set_members({names[0]: one.address})
        connected(world, one, other, *names)
        chunk = {"type": "snapshot_chunk", "snapshot_id": "s", "file": "f"}
        sent = [{**chunk, "offset": size, "data": bytes([size % 251]) * size} for size in (0, 1, 70_000, 1 << 20) * 6]
        entries = [(b"\x00\x00" + bytes(3 << 20), number, 1) for number in range(1, 6)]
        largest = {"term": 1, "commit_index": 0, "prevLogIdx": 0, "prevLogTerm": 0, "entries": entries}
        sent.append({"type": "append_entries", **largest})
        for message in sent:
            assert one.network.send(names[1], message)
        assert one.network.unsent_bytes(names[1]) > 0
        world.until(lambda member=other, wanted=sent: len(member.got) == len(wanted))  # type: ignore[misc]
        assert [message for _, message in other.got] == sent
        assert one.network.unsent_bytes(names[1]) == 0


def test_a_frame_that_comes_byte_by_byte_arrives(world: World) -> None:
    a = world.member("a")
    endpoint = a.dial()
    for byte in hello("b") + frames.encode(MESSAGE):
        endpoint.send(bytes([byte]))
        world.step()
    world.until(lambda: a.got)
    assert a.got == [("b", MESSAGE)]


def test_who_is_admitted_though_nobody_dials_him_can_be_sent_to_until_he_is_not_any_more(world: World) -> None:
    a = world.member("a")
    endpoint = a.dial()
    endpoint.send(hello("peer", client_address="far:1"))
    world.until(lambda: a.network.is_connected("peer"))
    assert a.network.client_address("peer") == "far:1"
    assert a.network.send("peer", MESSAGE)
    world.until(lambda: (received(endpoint) or b"").endswith(frames.encode(MESSAGE)))
    a.strangers.add("peer")
    world.until(lambda: received(endpoint) == b"")
    assert (a.counters["removed"], a.network.client_address("peer")) == (1, "")


def test_a_member_with_a_lapse_is_refused_and_told(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    a.lapses["b"] = Lapse("member b: it has forgotten its votes")
    a.knows(b=b)
    b.knows(a=a)
    world.until(lambda: b.told_lapses)
    assert b.told_lapses[0] == "a: member b: it has forgotten its votes"
    assert a.counters["refused_lapse"] > 0
    assert not a.network.is_connected("b")
    a.lapses.clear()
    connected(world, a, b)
    assert (a.network.incarnation("b"), b.network.incarnation("a")) == ("folder of b", "folder of a")


def test_a_hello_that_waited_while_the_log_grew_is_no_lapse(world: World) -> None:
    """A busy peer reads it late, and has been told meanwhile of what the member confirmed since."""
    a, b = world.member("a"), world.member("b")
    b.introduction = Introduction("b", "folder of b", 8, 0)
    a.lapses["b"] = Lapse("member b: its log ends at 7, and it had confirmed index 8", 8)
    b.knows(a=a)
    world.until(lambda: a.counters["refused_lapse"])
    world.settle()
    assert b.told_lapses == []
    a.lapses.clear()
    connected(world, a, b)
    b.introduction = Introduction("b", "folder of b", 7, 0)
    a.lapses["b"] = Lapse("member b: its log ends at 7, and it had confirmed index 8", 8)
    world.until(lambda: b.told_lapses)


def test_a_member_whose_lapse_is_found_later_is_disconnected(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    a.knows(b=b)
    b.knows(a=a)
    connected(world, a, b)
    a.lapses["b"] = Lapse("member b: its data folder is a new one")
    world.until(lambda: b.told_lapses and not a.network.is_connected("b"))


def said_to(world: World, endpoint: socket.socket) -> bytes:
    """All that a member says before it closes the connection."""
    heard = bytearray()
    while (more := received(endpoint)) != b"":
        heard += more or b""
        world.step()
    return bytes(heard)


@pytest.mark.parametrize("group", ["secret-group", "another", ""])
def test_a_stranger_learns_neither_the_group_nor_its_members(world: World, group: str) -> None:
    a, b = world.member("a", group="secret-group"), world.member("b", group="secret-group")
    b.knows(a=a)
    connected(world, a, b)
    endpoint = a.dial()
    endpoint.send(hello("stranger", group=group))
    (told,) = frames_in(said_to(world, endpoint))
    assert told == {
        "type": "hello_refused",
        "reason": "'stranger' is not known to this member: add it to the group, or to [peers] of this member's file",
        "cause": frames.REFUSED,
        "confirmed_index": 0,
    }
    assert (a.counters["refused_strangers"], a.events) == (1, ["+b"])


def test_a_member_of_another_group_is_not_told_which_one_this_is(world: World) -> None:
    a = world.member("a", group="secret-group")
    endpoint = a.dial()
    endpoint.send(hello("b", group="another"))
    (told,) = frames_in(said_to(world, endpoint))
    assert told["type"] == "hello_refused"
    assert "secret-group" not in str(told)


def frames_in(data: bytes) -> list[dict[str, Any]]:
    found = []
    while data:
        (length,) = frames.LENGTH.unpack_from(data)
        body, data = data[frames.LENGTH.size :][:length], data[frames.LENGTH.size + length :]
        found.append(frames.decode(body))
    return found


def test_a_refusal_is_logged_once_a_second_and_counted_each_time(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    a = world.member("a")
    for count in range(1, 6):
        a.dial().send(hello("stranger"))
        world.until(lambda count=count: a.counters["refused_strangers"] == count)  # type: ignore[misc]
    world.skipped_s += 1.0
    world.step()
    a.dial().send(hello("stranger"))
    world.until(lambda: a.counters["refused_strangers"] == 6)
    lines = [record.getMessage() for record in caplog.records if "refused_strangers" in record.getMessage()]
    assert len(lines) in (2, 3)  # a slow machine takes longer than a second for the first five
    assert "no member, and no peer of this member's file" in lines[0]
    assert "more since the last such line" in lines[-1]


def test_another_process_of_a_name_is_refused_and_told_after_a_while(world: World) -> None:
    a, older, younger = world.member("a"), world.member("b"), world.member("b", process="the copy")
    older.knows(a=a)
    connected(world, a, older)
    younger.knows(a=a)
    world.until(lambda: a.counters["refused_duplicate"])
    assert not younger.duplicates
    while world.skipped_s < DUPLICATE_S + 5.0:  # it knocks each second
        world.settle()
    world.until(lambda: younger.duplicates)
    assert "another process of the name 'b' is connected to a: stop that one" in younger.duplicates[0]
    assert (a.events, younger.events, older.duplicates) == (["+b"], [], [])
    assert a.network.send("b", MESSAGE)
    world.until(lambda: older.got)


def test_another_process_of_a_name_is_let_in_when_the_older_is_gone(world: World) -> None:
    a, older, younger = world.member("a"), world.member("b"), world.member("b", process="the next one")
    older.knows(a=a)
    connected(world, a, older)
    younger.knows(a=a)
    world.until(lambda: a.counters["refused_duplicate"])
    older.network.close()
    world.members.remove(older)
    world.until(lambda: younger.network.is_connected("a"))
    while world.skipped_s < 2 * DUPLICATE_S:
        world.settle()
    assert a.events == ["+b", "-b", "+b"]
    assert not younger.duplicates


def test_two_refusals_far_apart_are_no_proof(world: World) -> None:
    a, older, younger = world.member("a"), world.member("b"), world.member("b", process="the copy")
    older.knows(a=a)
    connected(world, a, older)
    younger.knows(a=a)
    world.until(lambda: younger.counters["hello_refused"])
    younger.knows()
    world.skipped_s += 2 * DUPLICATE_S
    younger.knows(a=a)
    before = younger.counters["hello_refused"]
    world.until(lambda: younger.counters["hello_refused"] > before)
    assert not younger.duplicates


def test_whoever_is_refused_is_told_why(world: World, caplog: pytest.LogCaptureFixture) -> None:
    a, stranger = world.member("a"), world.member("b", group="other")
    stranger.knows(a=a)
    world.until(lambda: stranger.counters["hello_refused"] >= 2)
    told = [record.getMessage() for record in caplog.records if "refuses this member" in record.getMessage()]
    assert told == ["a refuses this member, b: 'b' belongs to another group than this member"]


REFUSED: dict[str, tuple[bytes, str]] = {
    "garbage": (b"\x00\x00\x00\x05hello", "refused_garbage"),
    "an empty frame": (b"\x00\x00\x00\x00", "refused_garbage"),
    "a huge frame": (b"\xff\xff\xff\xff", "refused_too_large"),
    "a frame too large for a hello": (
        frames.LENGTH.pack(raft.network.connection.GREETING_BYTES + 1),
        "refused_too_large",
    ),
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", "refused_too_large"),
    "a message before the hello": (frames.encode(MESSAGE), "refused_garbage"),
    "an old version": (hello("b", version=0), "refused_version"),
    "a hello that lacks a field": (
        frames.encode({"type": "hello", "version": frames.VERSION, "name": "b"}),
        "refused_garbage",
    ),
    "the receiver's own name": (hello("a"), "refused_name"),
    "another group": (hello("b", group="other"), "refused_group"),
    "a stranger": (hello("stranger"), "refused_strangers"),
    "a peer without a group": (hello("peer", group=""), "refused_group"),
}


@pytest.mark.parametrize("sent", list(REFUSED))
def test_what_is_refused_is_counted_closed_and_delivered_to_nobody(world: World, sent: str) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a)
    connected(world, a, b)
    data, reason = REFUSED[sent]
    endpoint = a.dial()
    endpoint.send(data + frames.encode(MESSAGE))
    world.until(lambda: received(endpoint) == b"")
    world.settle()
    assert a.counters == {"connected": 1, reason: 1}
    assert (a.got, a.events) == ([], ["+b"])
    assert a.network.send("b", MESSAGE)
    world.until(lambda: b.got)


AFTER_HELLO = {
    "garbage": (b"\x00\x00\x00\x05hello", "refused_garbage"),
    "a huge frame": (frames.LENGTH.pack(frames.MAX_FRAME_BYTES + 1), "refused_too_large"),
    "a second hello": (hello("c"), "refused_garbage"),
    "a wrong field": (frames.encode({"type": "stale_term", "term": -1}), "refused_garbage"),
}


@pytest.mark.parametrize("sent", list(AFTER_HELLO))
def test_a_member_that_sends_what_members_do_not_is_disconnected(world: World, sent: str) -> None:
    a = world.member("a")
    data, reason = AFTER_HELLO[sent]
    endpoint = a.dial()
    endpoint.send(hello("c") + frames.encode(MESSAGE) + data + frames.encode(MESSAGE))
    world.until(lambda: a.counters[reason])
    world.settle()
    assert (a.got, a.events) == ([("c", MESSAGE)], ["+c", "-c"])
    assert a.counters == {"connected": 1, reason: 1}


def test_who_says_nothing_is_disconnected_after_a_time(world: World) -> None:
    a = world.member("a")
    silent, slow = a.dial(), a.dial()
    slow.send(hello("b")[:10])
    world.until(lambda: open_connections(a) == 2)
    world.skipped_s += 4.0
    world.step()
    assert (received(silent), received(slow)) == (None, None)
    slow.send(hello("b")[10:12])
    world.step()
    world.skipped_s += 1.5
    world.until(lambda: received(silent) == b"")
    world.until(lambda: received(slow) == b"")
    assert a.counters == {"refused_no_hello": 2}
    assert (a.got, a.events) == ([], [])


def test_only_so_many_may_keep_silent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raft.network.transport, "_MAX_GREETING", 3)
    a = world.member("a")
    silent = [a.dial() for _ in range(5)]
    world.until(lambda: a.counters["refused_too_many"] == 2)
    assert [received(endpoint) == b"" for endpoint in silent] == [True, True, False, False, False]
    late = a.dial()
    late.send(hello("b"))
    world.until(lambda: a.network.is_connected("b"))  # who blocks the port with silence keeps nobody out


def test_a_dialled_member_that_answers_by_another_name_is_refused(world: World) -> None:
    b, c = world.member("b"), world.member("c")
    c.knows(a=b)  # it expects a where b is
    world.until(lambda: c.counters["refused_name"])
    assert (c.got, c.events, c.network.connected()) == ([], [], frozenset())


def test_a_member_that_reads_nothing_is_disconnected_when_the_buffer_is_full(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raft.network.connection, "MAX_UNSENT_BYTES", 1 << 20)
    a = world.member("a")
    endpoint = a.dial()
    endpoint.send(hello("b"))
    world.until(lambda: a.network.is_connected("b"))
    message = {"type": "snapshot_chunk", "snapshot_id": "s", "file": "f", "offset": 0, "data": bytes(200_000)}
    sent = 0
    while a.network.send("b", message):
        assert a.network.unsent_bytes("b") <= 1 << 20
        sent += 1
        assert sent < 1000
    assert a.counters["send_buffer_full"] == 1
    assert (a.events, a.network.unsent_bytes("b")) == (["+b", "-b"], 0)
    assert not a.network.send("b", message)


def test_a_member_that_is_none_any_more_is_disconnected_and_dialled_no_more(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a)
    connected(world, a, b)
    b.knows()
    assert b.counters["removed"] == 1
    assert b.events == ["+a", "-a"]
    world.settle()
    assert (a.events, open_connections(a), open_connections(b)) == (["+b", "-b"], 0, 0)


def test_a_member_on_its_way_is_forgotten_too(world: World) -> None:
    b = world.member("b")
    b.knows(a="127.0.0.1:1")
    b.network.tick(world.now())
    b.knows()
    world.settle()
    assert open_connections(b) == 0


def test_another_address_is_dialled_next_time(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=f"127.0.0.1:{ports.pick(1)[0]}")
    world.until(lambda: b.counters["dial_failed"])
    b.knows(a=a)
    connected(world, a, b)


def test_a_name_is_resolved_and_one_that_cant_be_is_tried_again(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a.address.replace("127.0.0.1", "localhost"), c="no-port")
    connected(world, a, b)
    world.until(lambda: b.counters["dial_failed"] >= 2)


def test_a_joining_member_lets_any_group_in_and_then_only_its_own(world: World) -> None:
    joining, a, z = world.member("j", group=""), world.member("a"), world.member("z", group="other")
    a.knows(j=joining)
    z.knows(j=joining)
    world.until(lambda: {"a", "z"} == joining.network.connected())
    assert (joining.network.group("a"), joining.network.group("z")) == ("g", "other")
    world.until(lambda: a.network.is_connected("j"))  # since a knows it: it has no group yet
    joining.group = "g"
    world.until(lambda: not joining.network.is_connected("z"))
    assert joining.network.is_connected("a")
    world.until(lambda: joining.counters["refused_group"] >= 2)  # when it dials again
    assert not joining.network.is_connected("z")


def test_an_address_that_cant_be_had_is_a_reason_not_to_start(world: World) -> None:
    a = world.member("a")
    for address, why in (
        (a.address, "can't listen on"),
        ("nowhere.invalid:1", "can't resolve"),
        ("x", "can't resolve"),
    ):
        with pytest.raises(CannotStart, match=why):
            Network(
                Poll(),
                "b",
                address,
                client_address="",
                group_id=lambda: "g",
                on_message=lambda _name, _message: None,
                on_connected=lambda _name: None,
                on_disconnected=lambda _name: None,
                introduce=lambda: Introduction("b", "folder", 1, 0),
                find_lapse=lambda _peer, _is_new: None,
                admits=lambda _name: True,
            )


def test_without_descriptors_it_accepts_again_a_second_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    a = world.member("a")
    endpoint = a.dial()

    def fail(_listener: object) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "accept", fail)
        world.until(lambda: a.counters["accept_failed"])
        for _ in range(5):
            world.step()
        assert a.counters["accept_failed"] == 1
    world.skipped_s += 1.1
    endpoint.send(hello("b"))
    world.until(lambda: a.network.is_connected("b"))


def test_a_silent_cut_is_noticed_by_the_kernel(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a)
    connected(world, a, b)
    for connection in (a.network._ready["b"], b.network._ready["a"]):
        endpoint = connection._socket
        assert endpoint.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000
        assert endpoint.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert endpoint.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 2
        assert endpoint.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_with_tls_the_certificate_must_be_for_the_name(world: World, issue: Callable[..., TlsFiles]) -> None:
    a, b = world.member("a", tls=issue("a")), world.member("b", tls=issue("somebody"))
    b.knows(a=a)
    world.until(lambda: a.counters["refused_certificate"])
    assert (a.got, a.events, b.events) == ([], [], [])
    c = world.member("c", tls=issue("c"))
    c.knows(b=b)  # and for the one that is dialled
    world.until(lambda: c.counters["refused_certificate"])
    assert (c.events, c.got) == ([], [])


def bearing(files: TlsFiles) -> TlsFiles:
    """The same where the authority signs for others too."""
    return replace(files, must_bear_name=lambda: True)


def test_where_the_authority_signs_for_others_too_a_certificate_must_bear_the_raft_name(
    world: World, issue: Callable[..., TlsFiles], tmp_path: Path
) -> None:
    folder = CertificateFolder(tmp_path / "certs")
    now_ms = int(time.time() * 1000)
    folder.init("tests", 1, now_ms)
    for wanted in (Wanted("a", is_member=True), Wanted("b", is_member=True), Wanted("c", ("c.example",))):
        folder.issue(wanted, now_ms)
    a, b, c = (
        world.member(name, tls=bearing(TlsFiles(folder.certificate(name), folder.key(name), folder.authority)))
        for name in "abc"
    )
    b.knows(a=a)
    connected(world, a, b)
    c.knows(a=a)  # and so it refuses itself, as its own rule says: a says nothing before c has proven to be c
    world.until(lambda: a.counters["refused_certificate"])
    b.knows(a=a, c=c)
    world.until(lambda: b.counters["refused_certificate"])
    assert (a.events, b.events, c.events) == (["+b"], ["+a"], [])


def test_who_dials_says_nothing_to_a_certificate_of_another_name(world: World, issue: Callable[..., TlsFiles]) -> None:
    """An impostor at a member's address learns neither the dialling member's group nor its process."""
    impostor, files = socket.create_server(("127.0.0.1", 0)), issue("impostor")
    world.sockets.append(impostor)
    impostor.setblocking(False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    context.num_tickets = 0
    a = world.member("a", tls=issue("a"))
    a.knows(b=f"127.0.0.1:{impostor.getsockname()[1]}")
    accepted: list[ssl.SSLSocket] = []
    heard = bytearray()

    def serve() -> bool:
        try:
            endpoint = context.wrap_socket(impostor.accept()[0], server_side=True, do_handshake_on_connect=False)
            endpoint.setblocking(False)
            accepted.append(endpoint)
            world.sockets.append(endpoint)
        except OSError:
            pass
        for endpoint in accepted:
            try:
                endpoint.do_handshake()
                heard.extend(endpoint.recv(1 << 16))
            except OSError:
                pass
        return a.counters["refused_certificate"] >= 3

    world.until(serve)
    assert (bytes(heard), a.events) == (b"", [])


def test_with_tls_another_authority_no_certificate_and_plain_text_are_refused(
    world: World, issue: Callable[..., TlsFiles]
) -> None:
    a = world.member("a", tls=issue("a"))
    foreign = world.member("b", tls=issue("b", signer=trustme.CA()))
    foreign.knows(a=a)
    world.until(lambda: a.counters["refused_tls"] and foreign.counters["refused_tls"])
    foreign.knows()
    world.settle()  # it may have dialled once more

    before = a.counters["refused_tls"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    nameless = context.wrap_socket(a.dial(), do_handshake_on_connect=False)
    world.sockets.append(nameless)

    def shake_hands() -> bool:
        try:
            nameless.do_handshake()
            nameless.send(hello("b"))
        except ssl.SSLWantReadError:
            pass
        except OSError:
            return True
        return a.counters["refused_tls"] > before

    world.until(shake_hands)
    world.until(lambda: a.counters["refused_tls"] == before + 1)

    plain = a.dial()
    plain.send(hello("b"))
    world.until(lambda: a.counters["refused_tls"] == before + 2)
    assert (a.got, a.events, foreign.events) == ([], [], [])


def test_a_plain_member_refuses_one_with_tls(world: World, issue: Callable[..., TlsFiles]) -> None:
    a, b = world.member("a"), world.member("b", tls=issue("b"))
    b.knows(a=a)
    world.until(lambda: a.counters["refused_too_large"])
    assert (a.events, b.events) == ([], [])


def test_certificates_that_change_are_used_by_new_connections_without_a_restart(
    world: World, issue: Callable[..., TlsFiles]
) -> None:
    files = issue("old-name")
    a, b = world.member("a", tls=issue("a")), world.member("b", tls=files)
    b.knows(a=a)
    world.until(lambda: a.counters["refused_certificate"])
    renewed = issue("b")
    renewed.key.replace(files.key)
    renewed.certificate.replace(files.certificate)
    connected(world, a, b)
    assert b.counters["tls_reloaded"] >= 1
    files.key.write_bytes(b"garbage")
    world.until(lambda: b.counters["tls_reload_failed"])
    assert b.network.send("a", MESSAGE)
    world.until(lambda: a.got)


def test_a_certificate_that_is_taken_back_ends_the_connection_that_stands(world: World, tmp_path: Path) -> None:
    folder = CertificateFolder(tmp_path / "certs")
    now_ms = int(time.time() * 1000)
    folder.init("tests", 1, now_ms)
    files = {}
    for name in ("a", "b"):
        folder.issue(Wanted(name), now_ms)
        files[name] = TlsFiles(folder.certificate(name), folder.key(name), folder.authority, folder.revoked)
    a, b = world.member("a", tls=files["a"]), world.member("b", tls=files["b"])
    b.knows(a=a)
    connected(world, a, b)
    folder.revoke("b", now_ms)
    world.until(lambda: a.counters["refused_tls"])
    assert a.events[-1] == "-b"
    before = a.counters["refused_tls"]
    world.until(lambda: a.counters["refused_tls"] > before + 1)  # it tries again and again
    assert a.events.count("+b") == 1
    folder.renew("b", 1, now_ms)
    world.until(lambda: a.events.count("+b") == 2)


def test_closing_closes_everything_and_tells_nobody(world: World) -> None:
    a, b = world.member("a"), world.member("b")
    b.knows(a=a)
    connected(world, a, b)
    b.network.close()
    b.network.close()
    assert b.events == ["+a"]
    assert not b.network.send("a", MESSAGE)
    world.until(lambda: a.events == ["+b", "-b"])
