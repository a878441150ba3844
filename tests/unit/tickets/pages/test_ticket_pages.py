"""The pages of tickets and plans in front of a member: its real services over gRPC, Kafka in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape

import httpx
import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient

from guardian.client import GuardianClient
from guardian.execution.loop.driver import Driver
from guardian.execution.loop.ports import DriverClocks, DriverPorts, DriverSettings
from guardian.execution.operations.asking import describe_ask
from guardian.execution.store.execution import ReplicatedExecutionStore
from guardian.member.web import create_app
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.ticket import Ticket, TicketState, TicketTransition
from guardian.model.topology import TopicPartition
from guardian.tickets.pages import tickets
from guardian.web.observed import NothingObserved
from guardian.web.parts import WebParts
from guardian.web.pressure import BrokerPressure, PressureSeen
from tests.unit.member.member import Member, plan

pytestmark = pytest.mark.slow

FILE = '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}]}'
S = TicketState


class Seen(NothingObserved):
    """A lake that knows of broker 3."""

    def pressure(self, cluster: str, brokers: tuple[int, ...], from_ms: int, to_ms: int) -> PressureSeen:
        assert (cluster, from_ms < to_ms) == ("live", True)
        known = {3: BrokerPressure(((1000, 0.5),), ((1000, 12.0),))}
        return PressureSeen({broker: each for broker, each in known.items() if broker in brokers})


@dataclass
class Stage:
    member: Member
    client: GuardianClient
    driver: Driver
    web: TestClient

    def ticket(self, state: TicketState = S.PENDING, author: str = "ann") -> Ticket:
        ticket, _ = self.client.create_ticket(plan(3, 2), author=author, submit=True, reason="<script>evil</script>")
        if state is not S.PENDING:
            self.client.approve(ticket.id, "bob")
        for _ in range(50):
            found, _ = self.client.ticket(ticket.id)
            if found.state is state:
                return found
            self.driver.tick()
        raise AssertionError(found)

    def post(self, path: str, **fields: str) -> httpx.Response:
        answer: httpx.Response = self.web.post(f"/console/{path}", data=fields, follow_redirects=False)
        return answer

    def state(self, ticket: Ticket) -> TicketState:
        return self.client.ticket(ticket.id)[0].state


@pytest.fixture
def stage() -> Iterator[Stage]:
    member = Member()
    driver = Driver(
        DriverPorts(ReplicatedExecutionStore(member.store), lambda _: member.kafka),
        DriverClocks(lambda: member.now_ms),
        DriverSettings(tiered_warm_up_s=0),
    )
    with GuardianClient([member.endpoint]) as client:
        parts = WebParts("g1", lambda _: client, lambda: member.now_ms, observed=Seen())
        with TestClient(create_app(parts)) as web:
            yield Stage(member, client, driver, web)
    driver.close()
    member.stop()


def text_of(answer: httpx.Response, status: int = 200) -> str:
    assert answer.status_code == status, answer.text
    return answer.text


def test_the_list_shows_what_waits_and_what_runs(stage: Stage) -> None:
    pending = stage.ticket()
    page = text_of(stage.web.get("/console/tickets"))
    assert f'href="/console/tickets/{pending.id}"' in page
    assert "PENDING" in page
    assert "<script>evil" not in page, "whatever people type is text"
    assert "&lt;script&gt;evil" in page
    assert "No ticket" in text_of(stage.web.get("/console/tickets?state=RUNNING"))
    assert "No ticket" in text_of(stage.web.get("/console/tickets?q=nobody"))
    assert pending.id in text_of(stage.web.get(f"/console/tickets?q={pending.id}&state=open&cluster=live&sort=author"))


def test_older_tickets_are_one_link_away_and_the_figures_are_of_all(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tickets, "_WINDOW", 2)
    made = [stage.ticket().id for _ in range(3)]
    waiting = len(stage.client.tickets(states=(TicketState.PENDING,)))
    page = text_of(stage.web.get("/console/tickets?state=PENDING"))
    assert f"of {len(stage.client.tickets())}</span>" in page
    assert sum(ticket_id in page for ticket_id in made) == 2
    seen, where = 0, "/console/tickets?state=PENDING"
    while where:
        page = text_of(stage.web.get(where))
        seen += page.count('<th scope="row"')
        older = re.search(r'rel="next" href="([^"]*after=[^"]*)"', page)
        where = unescape(older[1]) if older else ""
    assert seen == waiting
    assert 'rel="prev" href="/console/tickets?state=PENDING"' in page


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("state=BROKEN", "state is 'BROKEN': use one of open, over"),
        ("sort=colour", "sort is 'colour': use one of"),
        ("page=0", "page is 0: use 1"),
        ("page=many", "page: "),
        ("size=9999", "size is 9999: use 1 to 500"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(stage: Stage, query: str, sentence: str) -> None:
    assert sentence in unescape(text_of(stage.web.get(f"/console/tickets?{query}"), 400))


def test_a_ticket_is_approved_watched_and_rolled_back(stage: Stage) -> None:
    ticket = stage.ticket()
    page = text_of(stage.web.get(f"/console/tickets/{ticket.id}"))
    assert f'formaction="/console/tickets/{ticket.id}/approve"' in page
    assert f'data-live="/console/tickets/{ticket.id}/live"' in page
    assert "1:/d0, 2:/d0" in page or "t-0" in page
    answer = stage.post(f"tickets/{ticket.id}/approve", actor="bob", reason="quiet hour")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/console/tickets/{ticket.id}")
    assert answer.cookies["guardian-name"] == "bob"
    found, _ = stage.client.ticket(ticket.id)
    assert (found.state, found.history[-1].actor, found.history[-1].reason) == (S.APPROVED, "bob", "quiet hour")
    for _ in range(50):
        if stage.state(ticket) is S.SUCCEEDED:
            break
        stage.driver.tick()
    page = text_of(stage.web.get(f"/console/tickets/{ticket.id}"))
    assert "SUCCEEDED" in page
    assert 'data-chart="burn-down"' in page
    assert "data-live=" not in page, "nothing changes any more"
    assert stage.post(f"tickets/{ticket.id}/roll-back", actor="bob").status_code == 303
    assert stage.state(ticket) is S.ROLLING_BACK


def test_who_approves_a_ticket_of_brokers_reads_all_that_it_lets_happen(stage: Stage) -> None:
    ask = Ask(AskKind.RESTART, (1, 2), hook="by-systemd", batch_limit=2, accept_unavailable=True)
    created = (TicketTransition(S.PENDING, 5, "ann", "created"),)
    made = Ticket("t-1", "live", ask.kind.value, S.PENDING, "ann", "", 10**6, 5, 5, created, "k", ask=ask)
    stage.member.store.add_ticket(made)
    assert describe_ask(ask) in unescape(text_of(stage.web.get("/console/tickets/t-1")))


def test_who_approves_reads_what_the_plan_was_asked_for(stage: Stage) -> None:
    page = text_of(stage.web.get(f"/console/tickets/{stage.ticket(S.RUNNING).id}"))
    assert '<h2 id="asks">What is asked for</h2><ul><li>task balance</li><li>moves partitions of t</li></ul>' in page


def test_pause_resume_throttle_and_cancel(stage: Stage) -> None:
    ticket = stage.ticket(S.RUNNING)
    for action, state in (("pause", S.PAUSED), ("resume", S.RUNNING)):
        assert stage.post(f"tickets/{ticket.id}/{action}", actor="bob").status_code == 303
        assert stage.state(ticket) is state
    assert stage.post(f"tickets/{ticket.id}/throttle", actor="bob", rate="20MB", most="80MB").status_code == 303
    found, _ = stage.client.ticket(ticket.id)
    assert (found.throttle, found.max_throttle) == (20_000_000, 80_000_000)
    assert "20.0 MB/s per broker, up to 80.0 MB/s" in text_of(stage.web.get(f"/console/tickets/{ticket.id}"))
    refused = stage.post(f"tickets/{ticket.id}/throttle", actor="bob", rate="fast")
    assert "the throttle is 'fast': use bytes per second" in unescape(text_of(refused, 400))
    assert stage.post(f"tickets/{ticket.id}/cancel", actor="bob").status_code == 303
    assert stage.state(ticket) is S.CANCELLING


def test_what_is_refused_is_said_beside_the_ticket(stage: Stage) -> None:
    ticket = stage.ticket(S.RUNNING)
    refused = stage.post(f"tickets/{ticket.id}/reject", actor="bob")
    page = unescape(text_of(refused, 409))
    assert 'id="refused" role="alert"' in page
    assert "is RUNNING: only a PENDING ticket can be rejected" in page
    assert f"/console/tickets/{ticket.id}/pause" in page, "and what may be done instead"
    assert "use one of approve, throttle, submit" in unescape(text_of(stage.post(f"tickets/{ticket.id}/explode"), 404))
    long = stage.post(f"tickets/{ticket.id}/pause", actor="x" * 101)
    assert "your name is" in unescape(text_of(long, 400))
    assert stage.state(ticket) is S.RUNNING


def test_a_ticket_that_is_not_there_is_not_found(stage: Stage) -> None:
    assert "t-none" in unescape(text_of(stage.web.get("/console/tickets/t-none"), 404))
    assert stage.web.get("/console/tickets/t-none/live").status_code == 404
    assert stage.web.get("/console/tickets/t-none/plan").status_code == 404
    assert stage.web.get("/console/tickets/t-none/series").status_code == 404
    assert stage.post("tickets/t-none/approve", actor="bob").status_code == 404


def test_who_has_signed_in_acts_whatever_the_form_says(stage: Stage) -> None:
    @dataclass(frozen=True)
    class Carol:
        name: str = "carol"

        def sees(self, cluster: str) -> bool:
            return cluster == "live"

    ticket = stage.ticket()
    parts = WebParts("g1", lambda _: stage.client, lambda: stage.member.now_ms, user_of=lambda _: Carol())
    with TestClient(create_app(parts)) as web:
        page = web.get(f"/console/tickets/{ticket.id}").text
        assert "Your name" not in page
        web.post(f"/console/tickets/{ticket.id}/approve", data={"actor": "bob"}, follow_redirects=False)
    assert stage.client.ticket(ticket.id)[0].history[-1].actor == "carol"


def test_no_form_is_taken_without_its_token(stage: Stage) -> None:
    def guard() -> None:
        raise HTTPException(403, "the form's token is missing")

    ticket = stage.ticket()
    parts = WebParts("g1", lambda _: stage.client, lambda: 0, csrf_token=lambda _: "the-token", form_guard=guard)
    with TestClient(create_app(parts)) as web:
        for page in (f"/console/tickets/{ticket.id}", "/console/plans"):
            assert 'name="csrf" value="the-token"' in web.get(page).text
        ours = [f"/console/tickets/{ticket.id}/{name}" for name in ("approve", "throttle", "cancel", "pause")]
        for path in (*ours, "/console/plans/check", "/console/plans/ticket"):
            assert web.post(path, data={"actor": "bob"}).status_code == 403, path
    assert stage.state(ticket) is S.PENDING


def test_a_stream_tells_how_far_the_ticket_is_and_ends_with_it(stage: Stage) -> None:
    ticket = stage.ticket(S.SUCCEEDED)
    with stage.web.stream("GET", f"/console/tickets/{ticket.id}/live") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        events = [line for line in answer.iter_lines() if line]
    assert events[0].startswith("retry: ")
    assert events[-2:] == ["event: over", "data: {}"]
    message = json.loads(events[events.index("event: change") + 1].removeprefix("data: "))
    assert (message["figures"]["state"], message["figures"]["percent"]) == ("SUCCEEDED", "100 %")
    assert message["burn"]["left"][-1] == 0
    page = stage.web.get(f"/console/tickets/{ticket.id}").text
    assert f'data-head="{message["head"]}" data-tasks="{message["tasks"]}"' in page, "so that it need not ask again"


def test_charts_get_the_throttle_over_disks_and_producers(stage: Stage) -> None:
    ticket = stage.ticket(S.RUNNING)
    found = stage.web.get(f"/console/tickets/{ticket.id}/series?broker=3").json()
    assert found["busy"] == {"at": [1.0], "labels": ["broker 3"], "values": [[0.5]]}
    assert found["p99"]["values"] == [[12.0]]
    known = stage.web.get(f"/console/tickets/{ticket.id}/series").json()
    assert set(known) == {"from", "to", "rate", "busy", "p99", "brokers", "remark"}


def test_partitions_come_by_pages_and_are_searched_on_the_server(stage: Stage) -> None:
    stage.member.kafka.create_topic("many", {number: [1, 2] for number in range(300)}, 10)
    moves = tuple(
        PartitionMove(TopicPartition("many", number), (), (ReplicaPlacement(3), ReplicaPlacement(2)))
        for number in range(300)
    )
    ticket, _ = stage.client.create_ticket(Plan("live", "balance", moves), author="ann", submit=True)
    page = text_of(stage.web.get(f"/console/tickets/{ticket.id}"))
    assert len(re.findall(r'<th scope="row" class="nowrap">many-\d+</th>', page)) == 50
    assert "1 to 50 of 300" in page.replace("\u202f", "")
    second = text_of(stage.web.get(f"/console/tickets/{ticket.id}?page=6&sort=partition"))
    assert ">many-299</th>" in second
    one = text_of(stage.web.get(f"/console/tickets/{ticket.id}?q=many-77"))
    assert re.findall(r'class="nowrap">(many-\d+)</th>', one) == ["many-77"]
    assert "No partition matches" in text_of(stage.web.get(f"/console/tickets/{ticket.id}?at=DONE"))
    assert stage.web.get(f"/console/tickets/{ticket.id}?at=NOWHERE").status_code == 400
    plan_page = text_of(stage.web.get(f"/console/tickets/{ticket.id}/plan?page=2"))
    assert len(re.findall(r'<th scope="row" class="nowrap">many-\d+</th>', plan_page)) == 50


def test_a_plan_is_handed_in_shown_and_made_a_ticket_once(stage: Stage) -> None:
    assert "<option>live</option>" in text_of(stage.web.get("/console/plans"))
    shown = text_of(stage.post("plans/check", cluster="live", text=FILE, throttle="20MB", actor="ann"))
    assert "Nothing is stored yet" in shown
    assert stage.client.tickets() == ()
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown))
    assert unescape(hidden["text"]) == FILE
    fields = {name: unescape(value) for name, value in hidden.items() if name != "csrf"}
    for _ in range(2):
        answer = stage.post("plans/ticket", **fields, submit="true", reason="moved by hand")
        assert answer.status_code == 303
    (ticket,) = stage.client.tickets()
    assert answer.headers["location"] == f"/console/tickets/{ticket.id}"
    assert (ticket.state, ticket.author, ticket.throttle) == (S.PENDING, "ann", 20_000_000)
    page = text_of(stage.web.get(f"/console/tickets/{ticket.id}/plan"))
    assert 'data-chart="bars"' in page
    assert 'data-chart="flows"' in page
    assert "Bytes of what moves" in page
    assert ticket.id in text_of(stage.web.get("/console/plans"))


def test_a_plan_may_be_a_file(stage: Stage) -> None:
    file = {"file": ("moves.json", FILE.encode(), "application/json")}
    answer = stage.web.post("/console/plans/check", data={"cluster": "live", "actor": "ann"}, files=file)
    assert "Nothing is stored yet" in text_of(answer)
    broken = {"file": ("moves.json", b"\xff\xfe", "application/json")}
    answer = stage.web.post("/console/plans/check", data={"cluster": "live", "actor": "ann"}, files=broken)
    assert "the file is not text" in unescape(text_of(answer, 400))


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"cluster": "", "text": FILE}, 400, "cluster is empty: choose one"),
        ({"cluster": "live", "text": " "}, 400, "the plan is empty: paste"),
        ({"cluster": "live", "text": "{"}, 400, "the reassignment file is not JSON at line 1"),
        ({"cluster": "live", "text": FILE, "throttle": "x"}, 400, "the throttle is 'x'"),
        ({"cluster": "none", "text": FILE}, 404, "none"),
        ({"cluster": "live", "text": FILE.replace("3, 2", "9, 2")}, 400, "9"),
        ({"cluster": "live", "text": FILE.replace("3, 2", "1, 2")}, 400, "already true"),
    ],
)
def test_a_wrong_plan_stays_in_the_form_with_the_reason(
    stage: Stage, fields: dict[str, str], status: int, sentence: str
) -> None:
    page = unescape(text_of(stage.post("plans/check", **fields), status))
    assert sentence in page
    assert f">{fields['text']}</textarea>" in page
    assert stage.client.tickets() == ()


def test_racks_are_those_of_the_cluster_where_the_plan_has_none(stage: Stage) -> None:
    shown = text_of(stage.post("plans/check", cluster="live", text=FILE, actor="ann"))
    assert "Copied between brokers" in shown


def test_a_plan_of_the_planner_shows_goals_and_what_is_not_met(stage: Stage) -> None:
    made = replace(
        plan(3, 2), unmet=("broker cpu spread is 0.110",), notes=("a note & more",), input="30 s of the lake"
    )
    ticket, _ = stage.client.create_ticket(made, author="ann")
    page = unescape(text_of(stage.web.get(f"/console/tickets/{ticket.id}/plan")))
    for words in ("broker cpu spread is 0.110", "a note & more", "30 s of the lake"):
        assert words in page
