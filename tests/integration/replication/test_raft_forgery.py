"""Forged peers at the Raft port of three members that speak TLS: nothing changes, no process ends, nothing is told.

The members' authority signs for clients too, so that TLS alone lets their certificates in.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.local import ports
from guardian.security.certificates.authority import Issued, Wanted, issue, make_authority
from guardian.security.certificates.folder import CertificateFolder
from raft.entries import command_entry
from raft.network import frames
from raft.replica import first_configuration
from tests.forging import Forger
from tests.integration.faults.progress import tell
from tests.integration.replication.test_raft_group import Group
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.integration

_DAY_MS = 86_400_000
_PER_CONNECTION = 40
TIMING = {"election_min": 4.0, "election_max": 6.0}  # that a busy machine stands still is no reason for an election


@dataclass(frozen=True, slots=True)
class Impostor:
    """Who knocks: with which certificate (None: plain text), under which name, and what the member counts it as."""

    context: ssl.SSLContext | None
    name: str
    counted: str


class Forgery:
    """A secured group, and all kinds of peers that are none."""

    def __init__(self, home: Path) -> None:
        self._home = home
        now_ms = int(time.time() * 1000)
        self._certs = CertificateFolder(home / "certs")
        self._certs.init("tests", 3650, now_ms - 100 * _DAY_MS)
        for name in "abc":
            self._certs.issue(Wanted(name, is_member=True), now_ms)
        options = {"timing": TIMING, "certificates": str(self._certs.path)}
        self.group = Group(home, 3, options)
        endpoints = {name: member.listen for name, member in self.group.members.items()}
        self.group_id = first_configuration("a", endpoints["a"], endpoints).group_id
        self.impostors = self._impostors(now_ms)

    def _impostors(self, now_ms: int) -> dict[str, Impostor]:
        own = Issued(self._certs.authority.read_bytes(), self._certs.key("ca").read_bytes())
        foreign = make_authority("tests", 10, now_ms)
        for name in ("revoked", "d"):
            self._certs.issue(Wanted(name, is_member=True), now_ms)
        self._certs.revoke("revoked", now_ms)
        revoked = Issued(self._certs.certificate("revoked").read_bytes(), self._certs.key("revoked").read_bytes())
        removed = Issued(self._certs.certificate("d").read_bytes(), self._certs.key("d").read_bytes())
        expired = issue(own, Wanted("b", is_member=True, days=1), now_ms - 10 * _DAY_MS)
        wrong = issue(foreign, Wanted("b", is_member=True), now_ms)
        client, person = issue(own, Wanted("b", ("a", "c")), now_ms), issue(own, Wanted("ann", is_person=True), now_ms)
        return {
            "plain text": Impostor(None, "b", "tls"),
            "no certificate": Impostor(self._context(None), "b", "tls"),
            "another authority's": Impostor(self._context(wrong), "b", "tls"),
            "expired": Impostor(self._context(expired), "b", "tls"),
            "taken back": Impostor(self._context(revoked), "revoked", "tls"),
            "a client's, for a host that is called like a member": Impostor(self._context(client), "b", "certificate"),
            "a person's": Impostor(self._context(person), "ann", "certificate"),
            "a person's, under a member's name": Impostor(self._context(person), "a", "certificate"),
            "a member's that was never added or is removed": Impostor(self._context(removed), "d", "strangers"),
            "a removed member's, under a member's name": Impostor(self._context(removed), "c", "certificate"),
        }

    def _context(self, shown: Issued | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if shown is not None:
            path = self._home / f"impostor-{len(list(self._home.glob('impostor-*')))}.pem"
            path.write_bytes(shown.certificate + shown.key)
            context.load_cert_chain(path)
        return context

    def refused(self) -> dict[str, int]:
        """By reason, on all members."""
        found: dict[str, int] = {}
        for member in self.group.members.values():
            for name, count in member.status()["counters"].items():
                if name.startswith("refused_"):
                    reason = name.removeprefix("refused_")
                    found[reason] = found.get(reason, 0) + count
        return found

    def hello(self, name: str) -> bytes:
        said = {"process": "forged", "incarnation": "forged", "last_index": 1 << 40, "configuration_index": 1 << 40}
        hello = {"type": "hello", "version": frames.VERSION, "name": name, "client_address": "", **said}
        return frames.encode({**hello, "group": self.group_id})


def knock(endpoint: str, impostor: Impostor, said: bytes) -> bytes:
    """All that the member answers until it hangs up."""
    host, port = endpoint.split(":")
    heard = bytearray()
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain:
        connection = plain
        try:
            if impostor.context is not None:
                connection = impostor.context.wrap_socket(plain)
            connection.sendall(said)
            while more := connection.recv(1 << 16):
                heard += more
        except OSError:  # refused: where it hangs up is TLS's matter
            pass
        finally:
            connection.close()
    return bytes(heard)


@pytest.fixture
def forgery(tmp_path: Path) -> Iterator[Forgery]:
    made = Forgery(tmp_path)
    yield made
    made.group.end()


def told_nothing(forgery: Forgery, answer: bytes) -> bool:
    """No hello, neither group nor members, no term and no place in the log: at most a refusal."""
    while answer:
        (length,) = frames.LENGTH.unpack_from(answer)
        if length > 1 << 16:  # an alert of TLS, to who speaks plain text
            return len(answer) < 16
        message = frames.decode(answer[frames.LENGTH.size :][:length])
        answer = answer[frames.LENGTH.size + length :]
        secrets = (forgery.group_id, *(member.listen for member in forgery.group.members.values()))
        if message["type"] != frames.HELLO_REFUSED or any(secret in message["reason"] for secret in secrets):
            return False
    return True


@pytest.mark.parametrize(
    ("messages", "seed"), [(4_000, 1), pytest.param(100_000, None, marks=pytest.mark.soak)], ids=["some", "100,000"]
)
def test_forged_peers_change_nothing_and_end_no_process(forgery: Forgery, messages: int, seed: int | None) -> None:
    group, drawn = forgery.group, random.randrange(1 << 32) if seed is None else seed  # noqa: S311  no secret
    numbers = itertools.count()
    for member in group.members.values():
        group.write(member, next(numbers))
    processes = [member.process.pid for member in group.members.values()]
    before = group.leader().status()
    refused = forgery.refused()
    forger = Forger(drawn, before["term"], before["last"], "abcd")
    expected: dict[str, int] = {}
    knocks = 0
    for impostor in itertools.islice(itertools.cycle(forgery.impostors.values()), messages // _PER_CONNECTION):
        member = list(group.members.values())[knocks % 3]
        said = b"".join(frames.encode(forger.message()) for _ in range(_PER_CONNECTION))
        has_greeted = impostor.counted == "tls" or forger.random.random() < 0.9
        answer = knock(member.listen, impostor, forgery.hello(impostor.name) + said if has_greeted else said)
        assert told_nothing(forgery, answer), (drawn, impostor, answer)
        counted = impostor.counted if has_greeted else "garbage"
        if counted == "certificate" and impostor.name == member.name:
            counted = "name"  # nobody else is called as it is itself
        expected[counted] = expected.get(counted, 0) + 1
        knocks += 1
        if knocks % 20 == 0:
            group.write(member, next(numbers))  # the group serves all the while

    def counted_all() -> dict[str, int] | None:
        seen = {reason: count - refused.get(reason, 0) for reason, count in forgery.refused().items()}
        return seen if sum(seen.values()) >= knocks else None

    assert until(counted_all) == expected, drawn
    assert [member.process.pid for member in group.living()] == processes
    for member in group.members.values():
        group.write(member, next(numbers))
    assert sorted(group.same_content()) == list(range(next(numbers))), "what was written, and nothing else"
    statuses = [member.status() for member in group.members.values()]
    elections = sum(status["counters"].get("elections", 0) for status in statuses)
    assert {status["term"] for status in statuses} == {before["term"]} or statuses[0]["term"] <= elections
    assert all(status["members"] == dict.fromkeys("abc", "voter") for status in statuses)
    lines = [len(re.findall(r"^refused_", member.log.read_text(), re.M)) for member in group.members.values()]
    assert sum(lines) < knocks, "a line a second and reason, not one for each"
    tell(f"[forged] 0 changes, 0 processes ended: {messages} messages of seed {drawn}, refused {expected}")


@pytest.mark.parametrize(
    ("messages", "seed"), [(6_000, 2), pytest.param(100_000, None, marks=pytest.mark.soak)], ids=["some", "100,000"]
)
def test_who_may_connect_and_is_no_member_is_not_listened_to(forgery: Forgery, messages: int, seed: int | None) -> None:
    """d is in the members' files, as one that was removed is. Its certificate is good, so each message arrives."""
    group, drawn = forgery.group, random.randrange(1 << 32) if seed is None else seed  # noqa: S311  no secret
    group.write(group.leader(), 0)
    for member in group.members.values():
        member.stop()
        member.name_peer("d", "127.0.0.1:1", {"election_min": 8.0, "election_max": 12.0})
        member.start()
    group.write(group.members["a"], 1)
    processes = [member.process.pid for member in group.members.values()]
    before, refused = group.leader().status(), forgery.refused().get("strangers", 0)
    forger = Forger(drawn, before["term"], before["last"], "abcd")
    removed = forgery.impostors["a member's that was never added or is removed"]
    assert removed.context is not None
    with contextlib.ExitStack() as stack:
        connections = []
        for member in group.members.values():
            host, port = member.listen.split(":")
            plain = stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE_S))
            connections.append(stack.enter_context(removed.context.wrap_socket(plain)))
            connections[-1].sendall(forgery.hello("d"))
            assert said_by(connections[-1])["type"] == frames.HELLO
        for count in range(messages):
            connections[count % 3].sendall(frames.encode(forger.message()))
        until(lambda: forgery.refused().get("strangers", 0) >= refused + messages or None)
        for connection in connections:
            connection.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):
                connection.recv(1)  # it stands, and nothing was answered
    assert forgery.refused()["strangers"] == refused + messages, drawn
    for number, member in enumerate(group.members.values(), start=2):
        group.write(member, number)
    assert group.same_content() == list(range(5))
    assert {member.status()["term"] for member in group.living()} == {before["term"]}, drawn
    assert [member.process.pid for member in group.living()] == processes
    tell(f"[forged] 0 changes, 0 processes ended: {messages} messages of seed {drawn}, of a removed member")


def said_by(connection: ssl.SSLSocket) -> dict[str, Any]:
    """The next message of the other side."""

    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += connection.recv(count - len(data))
        return data

    (length,) = frames.LENGTH.unpack(exactly(frames.LENGTH.size))
    return frames.decode(exactly(length))


def test_the_takeover_of_the_review_gets_no_further_than_its_hello(forgery: Forgery) -> None:
    """A client's certificate, a term far ahead, an entry of one's own after a wrong previous term: raft_takeover.py."""
    group = forgery.group
    group.write(group.members["a"], 0)
    before = group.leader().status()
    term, last = 1_000_000, before["last"]
    fields: dict[str, Any] = {"term": term, "prevLogIdx": last, "prevLogTerm": 999, "commit_index": last + 1}
    entry = (command_entry(b"666 forged"), last + 1, term)
    takeover = frames.encode({"type": "append_entries", **fields, "entries": [entry]})
    for impostor in forgery.impostors.values():
        for member in group.members.values():
            assert told_nothing(forgery, knock(member.listen, impostor, forgery.hello(impostor.name) + takeover))
    group.write(group.members["b"], 1)
    assert group.same_content() == [0, 1]
    assert all(member.status()["term"] < term for member in group.living())
    assert len(group.living()) == 3


CONFIG = """
name = "g1"
data = "{home}/data"
grpc = "127.0.0.1:{grpc}"
http = "127.0.0.1:{http}"
raft = "127.0.0.1:{raft}"
lake = "{home}/lake"
[tls]
ca = "{certs}/ca.pem"
certificate = "{certs}/g1.pem"
key = "{certs}/g1.key"
[grpc_tls]
ca = "{home}/copy.pem"
certificate = "{certs}/g1.pem"
key = "{certs}/g1.key"
"""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts `guardian server` with the clients' authority at its Raft port, from another file."""
    started: list[subprocess.Popen[str]] = []
    grpc, http, raft = ports.pick(3)
    config = tmp_path / "g1.toml"
    config.write_text(CONFIG.format(home=tmp_path, certs=tmp_path / "certs", grpc=grpc, http=http, raft=raft))

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(config)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_server_whose_raft_port_would_be_open_to_clients_does_not_start(
    tmp_path: Path, serve: Callable[[], subprocess.Popen[str]]
) -> None:
    certs, now_ms = CertificateFolder(tmp_path / "certs"), int(time.time() * 1000)
    certs.init("clients", 10, now_ms)
    (tmp_path / "copy.pem").write_bytes(certs.authority.read_bytes())
    certs.issue(Wanted("g1", ("127.0.0.1",)), now_ms)
    refused = serve()
    _, said = refused.communicate(timeout=PATIENCE_S)
    assert refused.returncode == 2
    assert "tls.ca: clients have certificates of this authority too" in said
    assert "use an authority for Raft alone, or certificates that bear raft:g1" in said
    certs.certificate("g1").unlink()
    certs.issue(Wanted("g1", ("127.0.0.1",), is_member=True), now_ms)
    bound = serve()
    raft = re.search(r'^raft = "(.*)"$', (tmp_path / "g1.toml").read_text(), re.M)
    assert raft is not None
    host, port = raft[1].split(":")

    def listens() -> bool | None:
        assert bound.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0 or None

    assert until(listens)
