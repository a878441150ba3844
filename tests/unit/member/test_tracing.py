"""One trace for all that happens to a ticket, whoever does it; nothing where nobody asked for traces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from guardian import tracing
from guardian.client import GuardianClient
from guardian.errors import NotFound
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.member.web import create_app
from guardian.model.ticket import TicketState
from guardian.planning.store import ReplicatedUserTasks
from guardian.rest.api import Api
from guardian.rest.parts import RestParts
from guardian.security.model.identity import LOCAL
from guardian.serving.tracing import TracingInterceptor
from guardian.web.parts import WebParts
from tests.command_line import app
from tests.unit.member.member import Member, plan
from tests.unit.member.otlp_collector import OtlpCollector, Seen
from tests.unit.rest.service import RATES, Planner


@pytest.fixture
def collector() -> Iterator[OtlpCollector]:
    collector = OtlpCollector()
    yield collector
    collector.stop()


@pytest.fixture
def flush(collector: OtlpCollector) -> Iterator[Callable[[], list[Seen]]]:
    """Traces are on until it is called, which answers with all spans."""
    stop = tracing.start("test", collector.endpoint)

    def flushed() -> list[Seen]:
        stop()
        return collector.spans()

    yield flushed
    stop()


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member(guarded=lambda _: [TracingInterceptor()])
    yield member
    member.stop()


def named(spans: list[Seen], name: str) -> Seen:
    return next(each for each in spans if each.name == name)


def test_cli_member_and_executor_write_into_the_tickets_trace(flush: Callable[[], list[Seen]], member: Member) -> None:
    with GuardianClient([member.endpoint]) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)
    env = {"GUARDIAN_ENDPOINTS": member.endpoint}
    done = CliRunner().invoke(app, ["ticket", "approve", ticket.id], env=env)
    assert done.exit_code == 0, done.output
    driver = Driver(
        DriverPorts(ReplicatedExecutionStore(member.store), lambda _: member.kafka), DriverClocks(lambda: 2000)
    )
    driver.tick()
    driver.tick()
    driver.close()
    state = member.store.read_local().ticket(ticket.id)
    assert state is not None
    assert state.state is TicketState.RUNNING
    spans = flush()
    of_ticket = tracing.trace_id_of(ticket.id)
    typed, approved = named(spans, "guardian ticket approve"), named(spans, "guardian.v1.Tickets/ApproveTicket")
    assert (typed.trace, typed.parent, typed.facts[tracing.TICKET]) == (of_ticket, "", ticket.id)
    assert (approved.trace, approved.parent) == (of_ticket, typed.span)
    for name in ("executor.commit", "executor.send"):
        found = named(spans, name)
        assert (found.trace, found.facts[tracing.TICKET]) == (of_ticket, ticket.id)
    # Whoever made the ticket did not know its id: that trace is linked.
    made = named(spans, "guardian.v1.Tickets/CreateTicket")
    assert made.trace != of_ticket
    assert (made.links, made.facts[tracing.TICKET]) == ((of_ticket,), ticket.id)


def test_a_refusal_is_a_span_that_failed(flush: Callable[[], list[Seen]], member: Member) -> None:
    with GuardianClient([member.endpoint]) as client, pytest.raises(NotFound):
        client.approve("t-00000000", "ann")
    refused = named(flush(), "guardian.v1.Tickets/ApproveTicket")
    assert refused.is_error


def test_streams_are_spans_and_others_are_not_unless_their_caller_traces(
    flush: Callable[[], list[Seen]], member: Member
) -> None:
    with GuardianClient([member.endpoint]) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)
        client.list_clusters()
        watched = client.watch(ticket.id)
        next(watched)  # a look; the stream comes behind it
        client.cancel(ticket.id, "ann")
        assert [each.state for each, _ in watched] == [TicketState.REJECTED]
        with tracing.span("outer"):
            client.list_clusters()
    member.stop()  # then the stream has ended here too
    spans = flush()
    assert "guardian.v1.Tickets/WatchTicket" in [each.name for each in spans]
    (listed,) = [each for each in spans if each.name == "guardian.v1.Federation/ListClusters"]
    assert listed.parent == named(spans, "outer").span


@pytest.mark.slow
def test_without_traces_nothing_is_imported_and_nothing_is_sent() -> None:
    program = (
        "import sys\n"
        "from guardian import tracing\n"
        "with tracing.span('x', 't-1', a=1) as span:\n"
        "    span.set(b=2); span.about('t-2'); span.failed('no')\n"
        "assert tracing.headers() == () and tracing.ids() == {}\n"
        "import guardian.cli.tree; guardian.cli.tree.tree()\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_log_lines_carry_the_trace(flush: Callable[[], list[Seen]]) -> None:
    assert tracing.ids() == {}
    with tracing.span("executor.send", "t-1"):
        assert tracing.ids()["trace"] == tracing.trace_id_of("t-1")
    flush()


@pytest.mark.slow
def test_a_collector_that_is_gone_harms_nobody(member: Member) -> None:
    gone = OtlpCollector()
    gone.stop()
    stop = tracing.start("test", gone.endpoint)
    try:
        with GuardianClient([member.endpoint]) as client, tracing.span("outer"):
            assert client.list_clusters()
    finally:
        stop()


@pytest.fixture
def site(member: Member) -> Iterator[Callable[[], TestClient]]:
    """Opened by the test, when traces are on."""
    with ExitStack() as stack:

        def opened() -> TestClient:
            client = stack.enter_context(GuardianClient([member.endpoint]))
            rest = RestParts(
                lambda _: client,
                lambda _: LOCAL,
                Planner(member),
                lambda _: member.kafka,
                lambda _: RATES,
                ReplicatedUserTasks(member.store, "g1"),
                lambda: 0,
            )
            web = WebParts("g1", lambda _: client, lambda: 0)
            return TestClient(create_app(web, [Api(rest).router]), raise_server_exceptions=False)

        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/api/v1/tickets/{}", "/console/tickets/{}"])
def test_a_request_by_http_is_a_span_above_the_calls_that_it_makes(
    flush: Callable[[], list[Seen]], member: Member, site: Callable[[], TestClient], path: str
) -> None:
    with GuardianClient([member.endpoint]) as client:
        ticket, _ = client.create_ticket(plan(3, 2), author="ann", submit=True, throttle=1_000_000)
    assert site().get(path.format(ticket.id)).status_code == 200
    spans = flush()
    asked = named(spans, f"GET {path.format('{ticket_id}')}")
    assert (asked.trace, asked.parent) == (tracing.trace_id_of(ticket.id), "")
    assert asked.facts[tracing.TICKET] == ticket.id
    assert (asked.facts["http.method"], asked.facts["http.status"]) == ("GET", "200")
    found = named(spans, "guardian.v1.Tickets/GetTicket")
    assert (found.trace, found.parent) == (asked.trace, asked.span)


def test_a_browser_or_program_that_traces_goes_on_in_its_own_trace(
    flush: Callable[[], list[Seen]], site: Callable[[], TestClient]
) -> None:
    trace, above = "ab" * 16, "cd" * 8
    answer = site().get("/api/v1/tickets/t-00000000", headers={"traceparent": f"00-{trace}-{above}-01"})
    assert answer.status_code == 404
    asked = named(flush(), "GET /api/v1/tickets/{ticket_id}")
    assert (asked.trace, asked.parent) == (trace, above)
    assert asked.links == (tracing.trace_id_of("t-00000000"),)
    assert not asked.is_error


def test_probes_files_and_streams_are_no_spans(flush: Callable[[], list[Seen]], site: Callable[[], TestClient]) -> None:
    opened = site()
    for path in ("/healthz", "/livez", "/readyz", "/metrics", "/"):
        opened.get(path, follow_redirects=False)
    opened.get("/console/nothing", headers={"Accept": "text/event-stream"})
    assert [each.name for each in flush() if "HTTP" in each.name or "GET" in each.name] == []
