"""What a proposer may conclude, whatever becomes of its command."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from raft.errors import LowDisk, NoLeader, OutcomeUnknown, Overloaded
from raft.node.proposals import Proposal, Proposals, Refusal
from raft.protocol import Outcome


class Client:
    """Submits commands named by numbers, and keeps what came of each."""

    def __init__(self, **bounds: int) -> None:
        self.proposals = Proposals("a", **bounds)
        self.outcomes: dict[bytes, Outcome] = {}

    def submit(self, *commands: bytes, deadline: float = 10.0) -> None:
        for command in commands:
            self.proposals.submit(command, deadline, self._keep(command))

    def take(self) -> list[Proposal]:
        return self.proposals.take()

    def place(self, first_index: int, term: int) -> None:
        for index, proposal in enumerate(self.take(), start=first_index):
            self.proposals.placed(index, term, proposal)

    def _keep(self, command: bytes) -> Callable[[Outcome], None]:
        def keep(outcome: Outcome) -> None:
            assert command not in self.outcomes
            self.outcomes[command] = outcome

        return keep

    def kinds(self) -> dict[bytes, type]:
        return {command: type(outcome) for command, outcome in self.outcomes.items()}


@pytest.fixture
def client() -> Client:
    return Client()


def test_each_gets_the_result_of_its_own_command(client: Client) -> None:
    client.submit(b"1", b"2")
    client.place(5, term=1)
    client.proposals.applied(5, 1, b"one")
    client.proposals.applied(6, 1, b"two")
    assert client.outcomes == {b"1": b"one", b"2": b"two"}


def test_another_entry_in_its_place_means_that_it_will_never_be_applied(client: Client) -> None:
    client.submit(b"1", b"2", b"3")
    client.place(5, term=1)
    client.proposals.applied(5, 2, b"other")  # another leader's command
    client.proposals.passed(6)  # another leader's first entry, no command
    assert client.kinds() == {b"1": NoLeader, b"2": NoLeader}
    client.proposals.applied(7, 1, b"three")
    assert client.outcomes[b"3"] == b"three"


def test_a_snapshot_leaves_the_outcome_open(client: Client) -> None:
    client.submit(b"1", b"2")
    client.place(5, term=1)
    client.proposals.skipped(5)
    assert client.kinds() == {b"1": OutcomeUnknown}


def test_a_log_that_goes_another_way_leaves_the_outcome_open(client: Client) -> None:
    client.submit(b"1", b"2")
    client.place(5, term=1)
    client.submit(b"3")
    client.place(6, term=3)
    assert client.kinds() == {b"2": OutcomeUnknown}


def test_time_is_up_for_those_that_wait_and_those_that_are_under_way(client: Client) -> None:
    client.submit(b"1", b"2", deadline=10.0)
    client.place(5, term=1)
    client.submit(b"3", deadline=10.0)
    client.submit(b"4", deadline=11.0)
    client.proposals.expire(now=10.0)
    assert client.kinds() == {b"1": OutcomeUnknown, b"2": OutcomeUnknown, b"3": NoLeader}
    client.proposals.applied(5, 1, b"late")  # nobody is told twice
    assert [proposal.command for proposal in client.take()] == [b"4"]


def test_what_a_leader_refused_waits_again_in_its_order(client: Client) -> None:
    client.submit(b"1", b"2", b"3")
    requests = [client.proposals.forwarded(proposal) for proposal in client.take()]
    client.submit(b"4")
    for request in (requests[1], requests[0], requests[2]):
        assert client.proposals.refused(request, Refusal.NOT_LEADER)
    assert [proposal.command for proposal in client.take()] == [b"1", b"2", b"3", b"4"]


def test_a_leader_s_reasons_are_told(client: Client) -> None:
    client.submit(b"1", b"2")
    first, second = (client.proposals.forwarded(proposal) for proposal in client.take())
    assert not client.proposals.refused(first, Refusal.LOW_DISK)
    assert not client.proposals.refused(second, Refusal.OVERLOADED)
    assert client.kinds() == {b"1": LowDisk, b"2": Overloaded}


def test_a_forwarded_command_ends_where_the_leader_put_it(client: Client) -> None:
    client.submit(b"1", b"2")
    first, second = (client.proposals.forwarded(proposal) for proposal in client.take())
    client.proposals.accepted(first, 8, 2, applied_index=7)
    client.proposals.accepted(second, 7, 2, applied_index=7)  # its result went by
    client.proposals.applied(8, 2, b"one")
    assert client.outcomes[b"1"] == b"one"
    assert client.kinds()[b"2"] is OutcomeUnknown


def test_who_was_handed_to_a_leader_that_is_gone_can_not_know(client: Client) -> None:
    client.submit(b"1")
    request = client.proposals.forwarded(client.take()[0])
    client.proposals.leader_lost()
    client.proposals.accepted(request, 8, 2, applied_index=7)
    assert client.kinds() == {b"1": OutcomeUnknown}


def test_too_many_or_too_large_are_refused_until_some_have_ended() -> None:
    few = Client(max_waiting=2)
    few.submit(b"1", b"2")
    few.place(5, term=1)
    with pytest.raises(Overloaded, match="2 commands of 2 bytes wait on member a"):
        few.submit(b"3")
    few.proposals.applied(5, 1, b"")
    few.submit(b"3")
    small = Client(max_waiting_bytes=5)
    small.submit(b"12345")
    with pytest.raises(Overloaded):
        small.submit(b"6")


def test_time_is_up_for_some_while_others_are_submitted() -> None:
    crowd = Proposals("a", max_waiting=1 << 60)
    for _ in range(2000):
        crowd.submit(b"", 10.0, lambda _: None)
    is_over = threading.Event()

    def submit() -> None:
        while not is_over.is_set():
            crowd.submit(b"", 0.0, lambda _: None)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=submit)
    thread.start()
    try:
        for _ in range(300):
            crowd.expire(now=1.0)
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_without_disk_nothing_is_taken(client: Client) -> None:
    client.proposals.disk_fault = "make space"
    with pytest.raises(LowDisk, match="make space"):
        client.submit(b"1")


def test_a_caller_that_fails_over_an_outcome_stops_nobody(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Outcome) -> None:
        raise RuntimeError("Event loop is closed")

    client.proposals.submit(b"1", 10.0, fail)
    client.submit(b"2")
    client.place(5, term=1)
    client.proposals.applied(5, 1, b"one")
    client.proposals.applied(6, 1, b"two")
    assert client.outcomes == {b"2": b"two"}
    assert "Event loop is closed" in caplog.text


def test_what_has_ended_is_not_kept_by_a_member_that_applies_nothing(client: Client) -> None:
    for number in range(5):
        client.submit(b"%d" % number)
        client.place(5 + number, term=1)
    client.proposals.expire(1e9)
    assert not client.proposals.is_any_placed
    assert set(client.kinds().values()) == {OutcomeUnknown}


def test_closing_ends_all_and_takes_no_more(client: Client) -> None:
    client.submit(b"1")
    client.place(5, term=1)
    client.submit(b"2")
    client.proposals.close()
    assert client.kinds() == {b"1": OutcomeUnknown, b"2": NoLeader}
    with pytest.raises(NoLeader, match="stopping"):
        client.submit(b"3")
