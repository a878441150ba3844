"""The client: one call at a time, over members that die, hang and have no leader."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from guardian.client import GuardianClient
from guardian.errors import InvalidInput, NotFound, Unavailable
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster
from tests.unit.server.member import Member, plan

TIMEOUT_S = 3.0


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


@pytest.fixture
def hanging() -> Iterator[str]:
    """An endpoint that takes connections and says nothing, as a stopped process does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


class Tunnel:
    """A second address of a member. Once it hangs, its connections stay open and carry nothing."""

    def __init__(self, endpoint: str) -> None:
        host, port = endpoint.split(":")
        self._member = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._hangs = threading.Event()
        self.endpoint = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def hang(self) -> None:
        self._hangs.set()

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._member)
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while (data := source.recv(65536)) and not self._hangs.is_set():
                target.sendall(data)


@pytest.fixture
def dead() -> str:
    """An endpoint where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_cluster_is_registered_completed_listed_and_removed(member: Member) -> None:
    with GuardianClient([member.endpoint]) as client:
        client.remove_cluster("live")
        asked = Cluster("bulk", "h:9092", brokers=(Broker(2, reporter="h:1"),))
        registered = client.register_cluster(asked, {"a": "shanghai"})
        assert registered.cluster_id == "fake"
        assert registered.brokers[:2] == (Broker(1, "a", "shanghai"), Broker(2, "b", "", "h:1"))
        assert client.list_clusters() == (registered,)


def test_a_member_tells_its_view(member: Member, dead: str) -> None:
    with GuardianClient([member.endpoint, dead]) as client:
        assert client.member_at(member.endpoint) == client.member()
        assert (client.member().leader, list(client.member().collects)) == ("g1", ["live/1", "live/2"])
        with pytest.raises(Unavailable):
            client.member_at(dead)


def test_without_endpoints_or_with_a_bad_one_there_is_no_client() -> None:
    with pytest.raises(InvalidInput, match="endpoints is empty"):
        GuardianClient([])
    with pytest.raises(InvalidInput, match="endpoints is 'nowhere': use host:port"):
        GuardianClient(["nowhere"])


def test_a_dead_member_is_passed_over_and_the_one_that_answers_is_asked_first(member: Member, dead: str) -> None:
    with GuardianClient([dead, member.endpoint], timeout_s=TIMEOUT_S) as client:
        client.create_ticket(plan(3, 2), author="ann")
        assert len(client.tickets()) == 1


def test_a_member_that_hangs_costs_a_part_of_the_time_and_only_once(member: Member, hanging: str) -> None:
    with GuardianClient([hanging, member.endpoint], timeout_s=TIMEOUT_S) as client:
        assert client.tickets() == ()
        assert client._in_order()[0] == member.endpoint


def test_a_member_without_a_leader_is_passed_over(member: Member) -> None:
    alone = Member()
    alone.replica.has_leader = False
    try:
        with GuardianClient([alone.endpoint, member.endpoint], timeout_s=TIMEOUT_S) as client:
            assert client.list_clusters()[0].name == "live"
    finally:
        alone.stop()


def test_a_group_that_elects_a_leader_in_time_answers(member: Member) -> None:
    member.replica.has_leader = False

    def elect() -> None:
        member.replica.has_leader = True

    threading.Timer(0.5, elect).start()
    with GuardianClient([member.endpoint]) as client:
        assert client.tickets() == ()


def test_when_nobody_answers_all_are_named(dead: str) -> None:
    with (
        GuardianClient([dead], timeout_s=0.5) as client,
        pytest.raises(
            Unavailable, match=rf"no Guardian member answered at {dead} within 0.5 s .*: check the endpoints"
        ),
    ):
        client.tickets()


def test_what_is_wrong_is_wrong_at_every_member(member: Member) -> None:
    """Asking another one would only take longer."""
    with GuardianClient([member.endpoint, "127.0.0.1:1"], timeout_s=TIMEOUT_S) as client:
        with pytest.raises(NotFound, match="ticket 't-1' does not exist"):
            client.ticket("t-1")
        with pytest.raises(NotFound, match="cluster 'nowhere' is not registered"):
            client.remove_cluster("nowhere")


def test_a_removal_whose_first_answer_was_lost_is_done(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = member.store.drop_cluster

    def drop_and_lose_the_answer(name: str) -> None:
        monkeypatch.setattr(member.store, "drop_cluster", drop)
        drop(name)
        raise Unavailable("the leader changed before it confirmed")

    monkeypatch.setattr(member.store, "drop_cluster", drop_and_lose_the_answer)
    with GuardianClient([member.endpoint]) as client:
        client.remove_cluster("live")
        assert client.list_clusters() == ()


def test_a_proxy_for_the_web_is_not_asked(member: Member, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://{dead}")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with GuardianClient([member.endpoint], timeout_s=TIMEOUT_S) as client:
        assert client.tickets() == ()


def test_a_watch_goes_on_at_another_member_when_its_own_dies() -> None:
    first = Member()
    second = Member(first.machine)
    try:
        with GuardianClient([first.endpoint, second.endpoint], timeout_s=TIMEOUT_S) as client:
            ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
            watch = client.watch(ticket.id)
            assert next(watch)[0].state is TicketState.PENDING
            first.stop()
            rejected = TicketTransition(TicketState.REJECTED, 5, "bob", "no")
            second.store.advance(ticket.id, TicketState.PENDING, rejected, None, 0)
            assert [seen.state for seen, _ in watch] == [TicketState.REJECTED]
    finally:
        first.stop()
        second.stop()


def test_a_watch_goes_on_at_another_member_when_its_own_hangs(member: Member) -> None:
    """A process that is stopped keeps its connections, so nothing but time tells."""
    tunnel = Tunnel(member.endpoint)
    try:
        with GuardianClient([tunnel.endpoint, member.endpoint], timeout_s=TIMEOUT_S) as client:
            ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True)
            watch = client.watch(ticket.id)
            assert next(watch)[0].state is TicketState.PENDING
            client.approve(ticket.id, "bob")
            assert next(watch)[0].state is TicketState.APPROVED
            tunnel.hang()
            rejected = TicketTransition(TicketState.REJECTED, 5, "bob", "no")
            member.store.advance(ticket.id, TicketState.APPROVED, rejected, None, 0)
            assert [seen.state for seen, _ in watch] == [TicketState.REJECTED]
    finally:
        tunnel.close()
