"""Asking for a plan in the browser, from the form to the ticket, in front of a member; only the plan is given.

On real brokers: tests/integration/whole/test_both_stories.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable
from guardian.member.web import create_app
from guardian.model.operation import Ask, AskKind
from guardian.model.plan import Plan
from guardian.model.tasks import Relieve
from guardian.model.ticket import Ticket, TicketState
from guardian.planning.orders import PlanOrder
from guardian.planning.pages.asking import FORMS
from guardian.planning.store import ReplicatedUserTasks
from guardian.web.parts import Local, Person, WebParts
from protos.guardian.v1 import planning_pb2
from tests.patience import until
from tests.unit.member.member import Member, plan

Progress = Callable[[planning_pb2.PlanProgress], None]


class Stage:
    """`orders` and `asks` are those that reached the member; `answer` is what the planner does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.member = Member()
        self.client = GuardianClient([self.member.endpoint])
        self.person: Person = Local()
        self.orders: list[tuple[str, PlanOrder]] = []
        self.asks: list[tuple[Ask, dict[str, Any]]] = []
        self.answer: Callable[[Progress], Plan] = lambda _: plan(3, 2)
        monkeypatch.setattr(GuardianClient, "make_plan", self._made)
        monkeypatch.setattr(GuardianClient, "ask_for", self._asked_for)
        self.web = self.served_by("g1")

    def served_by(self, name: str) -> TestClient:
        """Return the console of a member of the same group."""
        parts = WebParts(
            name,
            lambda _: self.client,
            lambda: self.member.now_ms,
            user_of=lambda _: self.person,
            asked=ReplicatedUserTasks(self.member.store, name),
        )
        return TestClient(create_app(parts))

    def _made(self, cluster: str, order: PlanOrder, on_progress: Progress) -> Plan:
        self.orders.append((cluster, order))
        return self.answer(on_progress)

    def _asked_for(self, cluster: str, ask: Ask, **options: Any) -> tuple[Ticket, Plan | None]:
        self.asks.append((ask, options))
        plan = replace(self.answer(_nobody), moves=()) if options.get("dry_run") else None
        id = "" if options.get("dry_run") else "t-9"
        return Ticket(id, cluster, ask.kind, TicketState.DRAFT, options["author"], "", 0, 1000, 1000, ask=ask), plan

    def post(self, path: str, **fields: str) -> httpx.Response:
        answer: httpx.Response = self.web.post(path, data=fields, follow_redirects=False)
        return answer

    def asked(self, form: str, **fields: str) -> str:
        """Return the page of what is asked for by a form."""
        answer = self.post(f"/console/clusters/live/ask/{form}", **fields)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def over(self, where: str) -> str:
        until(lambda: "aria-busy" not in self.page(where))
        return self.page(where)

    def page(self, where: str, status: int | None = 200) -> str:
        answer = self.web.get(where)
        assert status is None or answer.status_code == status, answer.text
        return unescape(answer.text)


def _nobody(_: planning_pb2.PlanProgress) -> None:
    """Nobody is told."""


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(monkeypatch)
    with made.web:
        yield made
    made.client.close()
    made.member.stop()


def test_all_forms_are_one_link_away_and_open(stage: Stage) -> None:
    page = stage.page("/console/clusters/live/ask")
    links = set(re.findall(r'href="(/console/clusters/live/ask/[^"]*)"', page))
    assert links == {f"/console/clusters/live/ask/{name}" for name in FORMS}
    for where in links:
        form = stage.page(where)
        assert "Nothing is stored" in form
        assert len(re.findall(r"<label for=", form)) == len(re.findall(r"aria-describedby=\"field-", form))
    assert 'href="/console/clusters/live/ask"' in stage.page("/console/plans")
    stage.page("/console/clusters/nope/ask", 404)
    stage.page("/console/clusters/nope/ask/heal", 404)
    stage.page("/console/clusters/live/ask/wish", 404)


def test_a_link_fills_the_form(stage: Stage) -> None:
    page = stage.page("/console/clusters/live/ask/relieve?brokers=3&limit=0.7")
    assert 'name="brokers" value="3"' in page
    assert 'name="limit" value="0.7"' in page


def test_what_is_asked_for_becomes_a_plan_then_one_ticket(stage: Stage) -> None:
    where = stage.asked("relieve", brokers="3", limit="0.7", throttle="20MB")
    page = stage.over(where)
    assert stage.orders == [("live", PlanOrder(Relieve(0.7, (3,)), {"throttle": 20e6}))]
    assert "Moves, and why" in page
    assert "brokers=3" in page, "what was typed can be changed"
    made = [stage.post(f"{where}/ticket", actor="ann", reason="full", submit="true") for _ in range(2)]
    assert {answer.status_code for answer in made} == {303}
    tickets = stage.client.tickets()
    assert [(each.state, each.author, each.throttle) for each in tickets] == [(TicketState.PENDING, "ann", 20_000_000)]
    assert {answer.headers["location"] for answer in made} == {f"/console/tickets/{tickets[0].id}"}


def test_progress_is_shown_and_it_can_be_given_up(stage: Stage) -> None:
    told, go = threading.Event(), threading.Event()

    def slow(on_progress: Progress) -> Plan:
        on_progress(planning_pb2.PlanProgress(description="the plan is made", others_before=2))
        told.set()
        go.wait(60)
        on_progress(planning_pb2.PlanProgress(description="the plan is checked"))
        return plan(3, 2)

    stage.answer = slow
    where = stage.asked("heal")
    assert told.wait(30)
    page = stage.page(where)
    assert "the plan is made; 2 of other people's come first" in page
    assert '<meta http-equiv="refresh"' in page, "it goes on without scripts"
    assert stage.post(f"{where}/ticket", actor="ann").status_code == 409
    assert stage.post(f"{where}/give-up").headers["location"].startswith("/console/clusters/live/ask/heal")
    go.set()
    assert "it was given up" in stage.page(where, 503)
    assert stage.client.tickets() == ()


def test_who_waited_with_scripts_gets_the_whole_page_when_it_is_made(stage: Stage) -> None:
    where = stage.asked("heal")
    stage.over(where)
    answer = stage.web.get(where, headers={"hx-request": "true"})
    assert answer.headers["hx-refresh"] == "true"


def test_what_can_not_be_asked_is_said_on_the_form_with_what_was_typed(stage: Stage) -> None:
    answer = stage.post("/console/clusters/live/ask/relieve", limit="much", brokers="3", sent="1")
    assert answer.status_code == 400
    assert "Below: no number (got 'much'); use one such as 0.2" in unescape(answer.text)
    assert 'name="brokers" value="3"' in answer.text
    assert stage.orders == []


def test_a_plan_that_fails_says_why(stage: Stage) -> None:
    def fails(_: Progress) -> Plan:
        raise ClusterUnavailable("cluster live: no broker answers")

    stage.answer = fails
    where = stage.asked("heal")
    until(lambda: stage.web.get(where).status_code == 502)
    assert "no broker answers" in stage.page(where, 502)


def test_nothing_to_move_makes_no_ticket(stage: Stage) -> None:
    stage.answer = lambda _: replace(plan(3, 2), moves=())
    page = stage.over(stage.asked("balance"))
    assert "Ask for approval" not in page


def test_an_operation_shows_what_it_would_do_then_becomes_a_ticket(stage: Stage) -> None:
    where = stage.asked("offline-brokers", brokers="3", shutdown="true", sent="1")
    page = stage.over(where)
    assert "Ask for approval" in page
    assert [options["dry_run"] for _, options in stage.asks] == [True]
    for _ in range(2):
        answer = stage.post(f"{where}/ticket", actor="ann", submit="true", reason="a new disk")
        assert answer.headers["location"] == "/console/tickets/t-9"
    _, made, again = stage.asks
    assert made == again, "a form that is sent twice makes one ticket"
    assert made[0] == Ask(AskKind.OFFLINE, (3,), shutdown=True)
    assert (made[1]["author"], made[1]["submit"], made[1]["reason"]) == ("ann", True, "a new disk")
    assert made[1]["idempotency_key"]


def test_another_member_shows_it_and_makes_the_same_ticket(stage: Stage) -> None:
    where = stage.asked("relieve", brokers="3", limit="0.7", throttle="20MB")
    first = stage.web
    stage.over(where)
    with stage.served_by("g2") as other:
        stage.web = other
        page = stage.over(where)
        assert "Moves, and why" in page
        assert "brokers=3" in page
        made = stage.post(f"{where}/ticket", actor="ann", submit="true")
    stage.web = first
    again = stage.post(f"{where}/ticket", actor="ann", submit="true")
    assert len(stage.orders) == 1
    (ticket,) = stage.client.tickets()
    assert ticket.throttle == 20_000_000
    assert {answer.headers["location"] for answer in (made, again)} == {f"/console/tickets/{ticket.id}"}


def test_another_person_sees_nothing_of_it(stage: Stage) -> None:
    where = stage.asked("balance")
    stage.over(where)
    stage.person = Local("bob")
    stage.page(where, 404)
    assert stage.post(f"{where}/ticket").status_code == 404
