"""Pages of tickets by index: what a page costs is of the page, and pages go on whatever comes and goes between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from guardian.model.ticket import TicketState
from metastore import keys
from metastore.memory import MemoryStore
from metastore.records import Put, Record
from metastore.rocksdb import RocksDbStore
from metastore.store import Store
from metastore.tables import ticket_index, ticket_order
from metastore.tables.ticket_order import PageLimits, TicketFilter
from protos.guardian.v1 import identity_pb2, tickets_pb2
from tests.counting_view import CountingView

TICKETS = 3_000
EVERYTHING = PageLimits(TICKETS, 1 << 30, TICKETS)
SUCCEEDED, FAILED, REJECTED = tickets_pb2.SUCCEEDED, tickets_pb2.FAILED, tickets_pb2.REJECTED


def ticket(
    number: int,
    cluster: str = "live",
    kind: str = "balance",
    state: tickets_pb2.TicketState = SUCCEEDED,
    agent: identity_pb2.Agent = identity_pb2.AGENT_UNSPECIFIED,
) -> tickets_pb2.Ticket:
    """Return one that was made at `number`, and changed last in another order."""
    return tickets_pb2.Ticket(
        id=f"t-{number:08x}",
        cluster=cluster,
        kind=kind,
        state=state,
        created_at_ms=number,
        updated_at_ms=10_000 + (number * 7) % TICKETS,
        author_agent=agent,
    )


def records_of(made: Iterable[tickets_pb2.Ticket]) -> list[Record]:
    return [
        record
        for each in made
        for record in (Put(keys.ticket(each.id), each.SerializeToString()), *ticket_order.updates(None, each))
    ]


@pytest.fixture(scope="module", params=[MemoryStore, RocksDbStore])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """So many ended tickets: each third one of bulk, each fiftieth failed, each tenth of kind leaders."""
    memory: Store = MemoryStore()
    store: Store = memory if request.param is MemoryStore else RocksDbStore(Path(tmp_path_factory.mktemp("store")))
    made = [
        ticket(
            number,
            "live" if number % 3 else "bulk",
            "balance" if number % 10 else "leaders",
            SUCCEEDED if number % 50 else FAILED,
            identity_pb2.AGENT_HEALING if number % 5 == 0 else identity_pb2.AGENT_UNSPECIFIED,
        )
        for number in range(TICKETS)
    ]
    store.write(records_of(made), 1)
    yield store
    store.close()


def numbers(found: Sequence[tickets_pb2.Ticket]) -> list[int]:
    return [each.created_at_ms for each in found]


@pytest.mark.parametrize(
    "wanted",
    [
        TicketFilter(),
        TicketFilter(("live",)),
        TicketFilter(("bulk", "live")),
        TicketFilter(kind="leaders"),
        TicketFilter(("live",), "leaders"),
        TicketFilter(states=frozenset({FAILED})),
        TicketFilter(("bulk",), states=frozenset({FAILED})),
        TicketFilter(states=frozenset({SUCCEEDED, FAILED, REJECTED})),
    ],
)
def test_what_a_page_costs_is_of_the_page_and_not_of_the_table(many: Store, wanted: TicketFilter) -> None:
    for size in (1, 10):
        view = CountingView(many.snapshot())
        page = ticket_order.page(view, wanted, b"", PageLimits(size, 1 << 20))
        assert len(page.messages) == size
        assert page.after
        assert view.rows <= 4 * (size + 8), "of all orders together, and the tickets themselves"


def test_the_first_ticket_of_a_list_takes_nine_rows(many: Store) -> None:
    for wanted in (TicketFilter(), TicketFilter(("live",)), TicketFilter(("live",), "leaders")):
        view = CountingView(many.snapshot())
        ticket_order.page(view, wanted, b"", PageLimits(1, 1 << 20))
        assert view.rows == 8 + 1


def test_pages_together_are_the_whole_list(many: Store) -> None:
    after, seen = b"", []
    while True:
        page = ticket_order.page(many.snapshot(), TicketFilter(("live",)), after, PageLimits(700, 1 << 20))
        seen += numbers(page.messages)
        after = page.after
        if not after:
            break
    assert seen == [number for number in reversed(range(TICKETS)) if number % 3]


def test_a_filter_that_no_index_serves_reads_a_bounded_part_and_tells_how_to_go_on(many: Store) -> None:
    wanted = TicketFilter(kind="leaders", states=frozenset({SUCCEEDED}))
    view, after, seen, empty = CountingView(many.snapshot()), b"", [], 0
    limits = PageLimits(5, 1 << 20, rows=20)
    while True:
        before = view.rows
        page = ticket_order.page(view, wanted, after, limits)
        assert view.rows - before <= 20 + 3 * 8
        seen += numbers(page.messages)
        empty += not page.messages
        after = page.after
        if not after:
            break
    assert seen == [number for number in reversed(range(TICKETS)) if number % 10 == 0 and number % 50]
    assert not empty or seen


def test_a_page_is_bounded_in_bytes_but_never_empty_by_that(many: Store) -> None:
    size = ticket(1).ByteSize()
    assert len(ticket_order.page(many.snapshot(), TicketFilter(), b"", PageLimits(100, 1)).messages) == 1
    page = ticket_order.page(many.snapshot(), TicketFilter(), b"", PageLimits(100, 10 * size))
    assert 5 <= len(page.messages) <= 12
    behind = ticket_order.page(many.snapshot(), TicketFilter(), page.after, PageLimits(1, 1))
    assert numbers(behind.messages) == [page.messages[-1].created_at_ms - 1]


def test_pages_go_on_behind_a_ticket_that_has_gone_while_new_ones_come() -> None:
    store = MemoryStore()
    store.write(records_of(ticket(number) for number in range(10)), 1)
    first = ticket_order.page(store.snapshot(), TicketFilter(), b"", PageLimits(3, 1 << 20))
    assert numbers(first.messages) == [9, 8, 7]
    gone = [(key, None) for key, _ in records_of([ticket(7), ticket(5)])]
    store.write([*gone, *records_of([ticket(11)])], 2)
    second = ticket_order.page(store.snapshot(), TicketFilter(), first.after, PageLimits(3, 1 << 20))
    assert numbers(second.messages) == [6, 4, 3]
    assert ticket_order.position_of(first.messages[-1]) == first.after


def test_open_tickets_are_listed_by_state_from_the_record_of_their_cluster() -> None:
    store = MemoryStore()
    records: list[Record] = records_of(ticket(number) for number in range(0, 100, 2))
    running = [ticket(number, "live", state=tickets_pb2.RUNNING) for number in (31, 77)]
    records += records_of(running)
    for each in running:
        change = ticket_index.Change("live", each.id, None, TicketState.RUNNING, each.created_at_ms)
        store.write([*records, *ticket_index.updates(store, [change])], 1)
        records = []
    view = CountingView(store.snapshot())
    wanted = TicketFilter(states=frozenset({tickets_pb2.RUNNING}))
    assert numbers(ticket_order.page(view, wanted, b"", PageLimits(10, 1 << 20)).messages) == [77, 31]
    assert view.rows == 1 + 2
    mixed = TicketFilter(("live",), states=frozenset({tickets_pb2.RUNNING, SUCCEEDED}))
    page = ticket_order.page(store.snapshot(), mixed, b"", PageLimits(4, 1 << 20))
    assert numbers(page.messages) == [98, 96, 94, 92]
    later = ticket_order.page(store.snapshot(), mixed, ticket_order.position_of(ticket(80)), PageLimits(3, 1 << 20))
    assert numbers(later.messages) == [78, 77, 76]


def test_what_ended_lately_is_read_without_what_ended_before(many: Store) -> None:
    view = CountingView(many.snapshot())
    found = list(ticket_order.ended_since(view, 10_000 + TICKETS - 20))
    assert sorted(each.updated_at_ms for each in found) == list(range(10_000 + TICKETS - 20, 10_000 + TICKETS))
    assert view.rows <= 256 + 20
    by_healing = list(ticket_order.ended_since(many.snapshot(), 0, ("bulk", identity_pb2.AGENT_HEALING)))
    assert sorted(numbers(by_healing)) == list(range(0, TICKETS, 15))


def test_tickets_that_ended_before_a_time_come_in_rounds(many: Store) -> None:
    after, rounds = b"", []
    while True:
        found, after = ticket_order.ended_before(many.snapshot(), 10_010, after, 4)
        rounds.append(found)
        if not after:
            break
    ended = {ticket(number).id for number in range(TICKETS) if (number * 7) % TICKETS < 10}
    assert [len(each) for each in rounds] == [4, 4, 2]
    assert set().union(*map(set, rounds)) == ended
    assert ticket_order.ended_before(many.snapshot(), 0, b"", 4) == ([], b"")
