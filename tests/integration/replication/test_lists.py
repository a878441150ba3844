"""Lists on a group of members as processes, beside thousands of ended tickets: pages lead through them all, and many
callers at once cost the group no leader. No JVM.

Pages alone are cheap enough for that beside so few tickets. That no more than two pages are made at once, which larger
groups need, is shown where it can be counted:
tests/unit/serving/test_turns.py, tests/unit/member/test_turns_of_lists.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local import processes
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.model.ticket import Ticket, TicketState
from guardian.replication.store.store import now_ms
from metastore.rocksdb import RocksDbStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2, operations_pb2, tickets_pb2
from protos.guardian.v1 import records_pb2 as pb
from raft.configuration import Configuration
from raft.storage.identity import create_identity
from raft.storage.journal import Journal

pytestmark = pytest.mark.integration

TICKETS = 3_000
CALLERS = 40
PAGE = 500


def commands(tickets: int) -> Iterator[pb.Command]:
    """Yield what makes so many tickets and rejects them, too lately to be trimmed; texts are as long as real ones."""
    ended_ms = now_ms()
    for name in ("bulk", "live"):
        entry = federation_pb2.Cluster(name=name, cluster_id=f"id-of-{name}", bootstrap="127.0.0.1:1")
        yield pb.Command(put_cluster=pb.PutCluster(cluster=entry))
    for number in range(tickets):
        ticket = tickets_pb2.Ticket(
            id=f"t-{number:08x}",
            cluster="live" if number % 10 else "bulk",
            kind="rolling-restart",
            state=tickets_pb2.PENDING,
            author="ann",
            created_at_ms=1_700_000_000_000 + number,
            ask=operations_pb2.Ask(kind="rolling-restart", brokers=[1, 2, 3], hook="restart-hook"),
            evidence="three brokers run with another configuration than their files have",
            history=[tickets_pb2.TicketTransition(state=tickets_pb2.PENDING, at_ms=1, actor="ann", reason="patches")],
        )
        yield pb.Command(add_ticket=pb.AddTicket(ticket=ticket))
        refused = tickets_pb2.TicketTransition(state=tickets_pb2.REJECTED, at_ms=ended_ms, actor="bob", reason="no")
        advance = pb.AdvanceTicket(ticket_id=ticket.id, expected_state=tickets_pb2.PENDING, transition=refused)
        yield pb.Command(advance_ticket=advance)


def seed(members: list[Member], tickets: int) -> None:
    """Write the data of a group that has carried out all of it, by the store's own commands."""
    first = members[0].data
    first.mkdir(parents=True)
    machine = MetastoreStateMachine(RocksDbStore(first / "store"))
    index = 0
    for index, command in enumerate(commands(tickets), start=1):
        reply = pb.CommandReply.FromString(machine.apply(index, command.SerializeToString()))
        assert not reply.error, reply.error
    machine.close()
    for member in members[1:]:
        shutil.copytree(first / "store", member.data / "store")
    configuration = Configuration.of_voters("seeded", {member.name: member.raft for member in members})
    journals = {member.name: Journal(member.data / "raft", configuration) for member in members}
    made = {member.name: create_identity(member.data / "raft", member.name).incarnation for member in members}
    for journal in journals.values():
        journal.reset(index, 1, configuration.founded(made))
        journal.close()


@dataclass
class Group:
    """Three members; a client of each."""

    members: list[Member]
    clients: list[GuardianClient]

    def terms(self) -> set[int]:
        return {client.member_at(member.grpc).term for client, member in zip(self.clients, self.members, strict=True)}


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    home = tmp_path_factory.mktemp("lists")
    yield from started(home, TICKETS)


def started(home: Path, tickets: int) -> Iterator[Group]:
    members = list(plan_members(3, home))
    seed(members, tickets)
    try:
        for number, member in enumerate(members):
            log = home / f"{member.name}.log"
            members[number] = start_member(member, members, home / "lake", log)
        wait_ready(members)
        clients = [GuardianClient([member.grpc], timeout_s=60) for member in members]
        yield Group(members, clients)
        for client in clients:
            client.close()
    finally:
        for member in members:
            if member.process is not None:
                processes.kill(member.process)


def leader_of(group: Group) -> GuardianClient:
    """Return a client of the member that leads: the one whose reads and elections meet in one process."""
    name = group.clients[0].member().leader
    return group.clients[next(number for number, member in enumerate(group.members) if member.name == name)]


def test_pages_lead_through_all_tickets_on_any_member(group: Group) -> None:
    token, seen = "", list[Ticket]()
    for number in range(TICKETS // PAGE + 1):
        page = group.clients[number % 3].ticket_page(token=token, size=PAGE, with_counts=not token)
        if not token:
            assert sum(page.counts.values()) == TICKETS
        seen += [ticket for ticket, _ in page.tickets]
        token = page.next_token
        if not token:
            break
    assert [ticket.id for ticket in seen] == [f"t-{number:08x}" for number in reversed(range(TICKETS))]


def test_many_lists_at_once_cost_no_election(group: Group) -> None:
    """Half of them take all that a filter lets pass, half a first page; changes are acknowledged meanwhile."""
    before = group.terms()
    assert len(before) == 1
    client = leader_of(group)

    def ask(number: int) -> int:
        if number % 2:
            return len(client.ticket_page(size=1).tickets)
        return len(client.tickets("bulk", (TicketState.REJECTED,), "rolling-restart"))

    with ThreadPoolExecutor(CALLERS) as callers:
        answers = callers.map(ask, range(2 * CALLERS))
        for number in range(20):
            entry = federation_pb2.FederationEntry(machine=federation_pb2.Machine(host=f"m{number}"))
            client.change_federation([federation_pb2.FederationChange(put=entry, expected_revision=0)])
        assert set(answers) == {1, TICKETS // 10}
    assert group.terms() == before
