"""The client: one call at a time, over members that die, hang and have no leader."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from guardian.client import GuardianClient, stubs
from guardian.client.calls import SLOW
from guardian.errors import InvalidInput, NotFound, OutcomeUnknown, Overloaded, Unavailable
from guardian.health.service import InsightServicer
from guardian.model.ticket import TicketState, TicketTransition
from guardian.model.topology import Broker, Cluster
from guardian.replication.store.store import LOW_DISK_RETRY_MS, OVERLOADED_RETRY_MS
from protos.guardian.v1 import federation_pb2, records_pb2, tiering_pb2
from raft import errors as raft_errors
from tests.patience import CALL_S
from tests.unit.member.member import Member, plan

pytestmark = pytest.mark.slow

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


def lose_answers(member: Member, monkeypatch: pytest.MonkeyPatch, count: int) -> list[records_pb2.Command]:
    """The next `count` commands but sessions are applied, and nobody is told; returns all that were proposed."""
    propose = member.replica.propose
    seen: list[records_pb2.Command] = []

    def propose_and_lose(command: bytes, timeout_s: float) -> bytes:
        result = propose(command, timeout_s)
        message = records_pb2.Command.FromString(command)
        if message.WhichOneof("command") == "open_session":
            return result
        seen.append(message)
        if len(seen) <= count:
            raise raft_errors.OutcomeUnknown("lost")
        return result

    monkeypatch.setattr(member.replica, "propose", propose_and_lose)
    return seen


def put(host: str, expected_revision: int | None = None) -> federation_pb2.FederationChange:
    machine = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=host))
    return federation_pb2.FederationChange(put=machine, expected_revision=expected_revision)


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
    with GuardianClient([dead, member.endpoint], timeout_s=CALL_S) as client:
        client.create_ticket(plan(3, 2), author="ann")
        assert len(client.tickets()) == 1


@pytest.mark.slow
def test_a_member_that_hangs_costs_a_part_of_the_time_and_only_once(member: Member, hanging: str) -> None:
    with GuardianClient([hanging, member.endpoint], timeout_s=4 * TIMEOUT_S) as client:
        began = time.monotonic()
        for _ in range(2):
            assert client.tickets() == ()
        it_cost = time.monotonic() - began
        for _ in range(5):
            assert client.tickets() == ()
        assert time.monotonic() - began < 2 * it_cost, "the member that hangs is asked last"


def test_a_member_without_a_leader_is_passed_over(member: Member) -> None:
    alone = Member()
    alone.replica.has_leader = False
    try:
        with GuardianClient([alone.endpoint, member.endpoint], timeout_s=CALL_S) as client:
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


def test_a_member_that_says_why_it_can_not_is_not_said_to_be_silent(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable("the lake can't be read: it is elsewhere")

    monkeypatch.setattr(InsightServicer, "GetDiskReaders", fails)
    member = Member()
    try:
        with GuardianClient([member.endpoint], timeout_s=CALL_S) as client:
            assert client.tickets() == ()
        with GuardianClient([member.endpoint], timeout_s=1.0) as client, pytest.raises(Unavailable) as caught:
            client.disk_readers("live")
        assert "could not answer within 1 s: the lake can't be read: it is elsewhere" in str(caught.value)
        assert "no Guardian member" not in str(caught.value)
    finally:
        member.stop()


def test_a_member_that_takes_too_long_is_not_said_to_be_silent(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(InsightServicer, "GetDiskReaders", lambda *_: is_over.wait(CALL_S))
    member = Member()
    try:
        with GuardianClient([member.endpoint], timeout_s=3.0) as client, pytest.raises(Unavailable) as caught:
            client.disk_readers("live")
        assert "did not finish within 3 s" in str(caught.value)
        assert "--timeout" in str(caught.value)
    finally:
        is_over.set()
        member.stop()


def test_what_is_wrong_is_wrong_at_every_member(member: Member) -> None:
    """Asking another one would only take longer."""
    with GuardianClient([member.endpoint, "127.0.0.1:1"], timeout_s=CALL_S) as client:
        with pytest.raises(NotFound, match="ticket 't-1' does not exist"):
            client.ticket("t-1")
        with pytest.raises(NotFound, match="cluster 'nowhere' is not registered"):
            client.remove_cluster("nowhere")


def test_a_removal_whose_first_answer_was_lost_is_done(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_answers(member, monkeypatch, 1)
    with GuardianClient([member.endpoint]) as client:
        client.remove_cluster("live")
        assert client.list_clusters() == ()


def test_a_change_whose_answers_are_lost_is_made_once(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made twice, the second would find the machine there."""
    seen = lose_answers(member, monkeypatch, 3)
    with GuardianClient([member.endpoint]) as client:
        revision = client.change_federation([put("m1", expected_revision=0)])[0]
        (entry,) = client.federation(federation_pb2.MACHINES)
    assert (entry.machine.host, entry.revision) == ("m1", revision)
    assert len(seen) == 4
    assert len({command.session.SerializeToString() for command in seen}) == 1


def test_changes_of_many_threads_have_numbers_of_their_own(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = lose_answers(member, monkeypatch, 5)
    with GuardianClient([member.endpoint]) as client, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: client.change_federation([put(f"m{number}", 0)]), range(40)))
        assert len(list(client.federation(federation_pb2.MACHINES))) == 40
        client.change_federation([put("last", 0)])
    assert {command.session.sequence for command in seen} == set(range(1, 42))
    assert len({command.session.id for command in seen}) == 1
    assert seen[-1].session.answered_below == 41, "all answers but its own are there"


def forget_sessions(member: Member) -> None:
    for _ in range(2):
        member.now_ms += 1
        member.store.propose(records_pb2.Command(expire_sessions=records_pb2.ExpireSessions()))
    assert member.machine.read().sessions() == 0


def test_a_change_in_a_session_that_is_forgotten_is_made_in_a_new_one(member: Member) -> None:
    with GuardianClient([member.endpoint]) as client:
        client.change_federation([put("m1", 0)])
        forget_sessions(member)
        client.change_federation([put("m2", 0)])
        assert [entry.machine.host for entry in client.federation(federation_pb2.MACHINES)] == ["m1", "m2"]


def test_a_change_that_may_have_been_made_in_a_forgotten_session_is_said_so(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose = member.replica.propose

    def lose_the_answer_and_the_session(command: bytes, timeout_s: float) -> bytes:
        message = records_pb2.Command.FromString(command)
        result = propose(command, timeout_s)
        if message.WhichOneof("command") != "change_federation":
            return result
        monkeypatch.setattr(member.replica, "propose", propose)
        forget_sessions(member)
        raise raft_errors.OutcomeUnknown("lost")

    with GuardianClient([member.endpoint]) as client:
        monkeypatch.setattr(member.replica, "propose", lose_the_answer_and_the_session)
        with pytest.raises(
            OutcomeUnknown, match="may or may not have been made, and Guardian has forgotten its session"
        ):
            client.change_federation([put("m1", 0)])
        client.change_federation([put("m2", 0)])


def test_a_change_that_nobody_could_have_made_is_unavailable_and_no_mystery(
    member: Member, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second of rounds, none of which its deadline cuts off: that one would be a mystery."""
    monkeypatch.setattr("guardian.client.calls._LAST_ROUND_S", 20.0)
    member.replica.has_leader = False
    for endpoint in (dead, member.endpoint):
        with GuardianClient([endpoint], timeout_s=20.5) as client, pytest.raises(Unavailable) as caught:
            client.create_ticket(plan(3, 2), author="ann")
        assert type(caught.value) is Unavailable


def test_who_belongs_to_no_group_yet_is_not_believed_about_it(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Member()
    status = replace(waiting.replica.status(), group_id="", leader=None, members=())
    monkeypatch.setattr(waiting.replica, "status", lambda: status)
    leaderless = replace(member.replica.status(), leader=None)
    monkeypatch.setattr(member.replica, "status", lambda: leaderless)  # else clients begin with the leader
    try:
        for _ in range(8):
            with GuardianClient([waiting.endpoint, member.endpoint]) as client:
                assert client.raft_status().group_id
        with GuardianClient([waiting.endpoint], timeout_s=1.0) as client:
            with pytest.raises(Unavailable, match="belongs to no group yet"):
                client.raft_status()
            assert not client.raft_status(waiting.endpoint).members
    finally:
        waiting.stop()


@pytest.mark.slow
def test_a_change_whose_answer_never_comes_is_a_mystery(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_answers(member, monkeypatch, 1000)
    with (
        GuardianClient([member.endpoint], timeout_s=1.0) as client,
        pytest.raises(OutcomeUnknown, match="a change may or may not have been made"),
    ):
        client.change_federation([put("m1")])


def test_an_overloaded_member_is_asked_again_after_the_time_that_it_names(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose = member.replica.propose
    asked: list[float] = []

    def be_overloaded_twice(command: bytes, timeout_s: float) -> bytes:
        asked.append(time.monotonic())
        if len(asked) < 3:
            raise raft_errors.Overloaded("many wait")
        return propose(command, timeout_s)

    monkeypatch.setattr(member.replica, "propose", be_overloaded_twice)
    with GuardianClient([member.endpoint]) as client:
        client.remove_cluster("live")
    assert asked[2] - asked[0] >= 2 * OVERLOADED_RETRY_MS / 1000


def test_an_overload_that_lasts_is_said_so_with_its_hint(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise raft_errors.LowDisk("1 MB is free")

    monkeypatch.setattr(member.replica, "propose", refuse)
    with (
        GuardianClient([member.endpoint], timeout_s=1.0) as client,
        pytest.raises(Overloaded, match="1 MB is free") as caught,
    ):
        client.remove_cluster("live")
    assert caught.value.retry_after_ms == LOW_DISK_RETRY_MS


class _TooMuchWaits(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.RESOURCE_EXHAUSTED

    def details(self) -> str:
        return "five plans of ann wait"

    def trailing_metadata(self) -> Any:
        return ()


def test_what_a_change_would_do_is_waited_for_as_long_as_asked_and_not_for_a_turn() -> None:
    given_s: list[float] = []

    def refuse(_request: object, timeout: float, metadata: object) -> object:
        given_s.append(timeout)
        raise _TooMuchWaits

    with GuardianClient(["127.0.0.1:1"], timeout_s=5.0) as client:
        for at_least_s in (0.0, 480.0):
            with pytest.raises(Overloaded, match="five plans of ann wait"):
                client._calls.rehearse(
                    lambda _: cast("Any", SimpleNamespace(future=refuse)), federation_pb2.GetMemberRequest(), at_least_s
                )
    assert given_s == [pytest.approx(5.0 * SLOW), pytest.approx(480.0, rel=0.01)]


def test_what_a_change_would_do_is_hung_up_on_once_nobody_wants_it() -> None:
    hung_up = threading.Event()

    def never_done(_: object, context: grpc.ServicerContext) -> federation_pb2.Member:
        context.add_callback(hung_up.set)
        hung_up.wait(CALL_S)
        return federation_pb2.Member()

    handler = grpc.unary_unary_rpc_method_handler(
        never_done, federation_pb2.GetMemberRequest.FromString, federation_pb2.Member.SerializeToString
    )
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("guardian.v1.Federation", {"GetMember": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def give_up() -> None:
        raise Unavailable("it was given up")

    try:
        with GuardianClient([f"127.0.0.1:{port}"], timeout_s=CALL_S) as client:
            with pytest.raises(Unavailable, match="given up"):
                client._calls.rehearse(
                    lambda stubs: stubs.federation.GetMember, federation_pb2.GetMemberRequest(), 0.0, give_up
                )
            assert hung_up.wait(CALL_S)
    finally:
        server.stop(None)


@pytest.mark.slow
def test_a_stale_read_needs_no_leader_and_says_how_old_it_is(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    member.replica.has_leader = False
    monkeypatch.setattr(member.replica, "staleness_s", lambda: 1.5)
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client, client.allow_stale(2.0) as staleness:
        assert client.list_clusters()[0].name == "live"
    assert staleness.worst_s == 1.5
    with GuardianClient([member.endpoint], timeout_s=2.0) as client:
        with client.allow_stale(1.0), pytest.raises(Unavailable):
            client.list_clusters()
        with pytest.raises(Unavailable):
            client.list_clusters()


@pytest.mark.slow
def test_a_stale_read_of_many_pages_needs_no_leader_either(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_leader(*_: object) -> None:
        raise Unavailable("nobody leads")

    monkeypatch.setattr("guardian.replication.store.async_store.AsyncStore._read_index", no_leader)
    monkeypatch.setattr(member.replica, "staleness_s", lambda: 1.5)
    partition = tiering_pb2.TopicIdPartition(cluster_id="c", topic_id=b"T" * 16)
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client, client.allow_stale(2.0) as staleness:
        assert client.list_live_segments(partition) == ([], 0, {})
    assert staleness.worst_s == 1.5
    with GuardianClient([member.endpoint], timeout_s=2.0) as client, pytest.raises(Unavailable):
        client.list_live_segments(partition)


def test_a_message_that_is_too_large_is_not_sent_again_and_again(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stubs, "_CHANNEL_OPTIONS", [("grpc.max_send_message_length", 1000)])
    with (
        GuardianClient([member.endpoint]) as client,
        pytest.raises(InvalidInput, match=r"the message is too large \(.*\): send less at a time"),
    ):
        client.change_federation([put("m" * 2000)])


def test_the_actor_is_named_in_the_audit(member: Member) -> None:
    with GuardianClient([member.endpoint], actor="ann") as client:
        client.change_federation([put("m1")])
        (newest, *_) = client.audit()
        assert (newest.actor, newest.action) == ("ann", "change_federation")


def test_a_proxy_for_the_web_is_not_asked(member: Member, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://{dead}")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with GuardianClient([member.endpoint], timeout_s=CALL_S) as client:
        assert client.tickets() == ()


def test_a_watch_goes_on_at_another_member_when_its_own_dies() -> None:
    first = Member()
    second = Member(first.machine)
    try:
        with GuardianClient([first.endpoint, second.endpoint], timeout_s=CALL_S) as client:
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


@pytest.mark.slow
def test_a_watch_goes_on_at_another_member_when_its_own_hangs(member: Member) -> None:
    """A process that is stopped keeps its connections, so nothing but time tells."""
    tunnel = Tunnel(member.endpoint)
    try:
        with GuardianClient([tunnel.endpoint, member.endpoint], timeout_s=2 * TIMEOUT_S) as client:
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
