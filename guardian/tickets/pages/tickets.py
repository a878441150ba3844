"""The pages of tickets: a list, and each ticket with what may be done about it, live while one looks on.

    GET  /console/tickets                    the list: searched, narrowed down, by pages
    GET  /console/tickets/live               server-sent events: something in the list has changed
    GET  /console/tickets/ID                 one ticket
    GET  /console/tickets/ID/live            server-sent events: how far it is
    GET  /console/tickets/ID/series          its throttle over disk use and p99, as JSON for the charts
    POST /console/tickets/ID/ACTION          submit, approve, reject, pause, resume, cancel, roll-back, throttle,
                                             adopt, wait

Whoever acts is who has signed in; while security is off, whom the form names. Pages work without JavaScript.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from guardian.client import GuardianClient, TicketPage
from guardian.console.live import LiveFeeds, Look
from guardian.console.paging import Asked, Page, page_of
from guardian.console.rendering import Renderer
from guardian.console.sections import Pages, get, post, router_of
from guardian.console.urls import url
from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput, NotFound
from guardian.execution.operations.asking import describe_ask
from guardian.model.event import EventKind
from guardian.model.execution import Execution, ExecutionTask, TaskState
from guardian.model.plan import Plan
from guardian.model.ticket import Ticket, TicketState
from guardian.model.tickets.progress import Progress
from guardian.model.units import human_bytes, parse_rate
from guardian.security.rules.routing import OPERATE, VIEW
from guardian.tickets.pages.tickets_kept import PlanShelf, Recent
from guardian.tickets.pages.tickets_series import brokers_of, charts, rate_steps, window_of
from guardian.tickets.pages.tickets_view import (
    OPEN,
    STATES,
    TASK_COLUMNS,
    TICKET_COLUMNS,
    TONES,
    Figures,
    TaskRow,
    actions_of,
    burn_chart,
    figures,
    lowest_stage,
    part_rows,
    short_names,
    states_of,
    task_row,
    task_text,
    tasks_of,
    ticket_rows,
    ticket_text,
)
from guardian.tickets.rules.approving import expires_at_ms
from guardian.tickets.rules.burning_down import burn_down
from guardian.tickets.rules.describing_tasks import asks_of
from guardian.tickets.rules.progressing import progress
from guardian.web.answers import JsonAnswer
from guardian.web.keeping import Kept
from guardian.web.parts import Person, WebParts
from guardian.web.pressure import PressureSeen

LOCAL = "local"  # everybody's name while security is off
NAME_COOKIE = "guardian-name"
_LONGEST_NAME = 100
_YEAR_S = 31_536_000
_FRESH_S = 1.5
_SERIES_FRESH_S = 10.0
_LIVE_STALENESS_S = 1.0
_RATES_SHOWN = 20
_TASK_STATES = tuple(state.name for state in TaskState)

_WINDOW = 500  # tickets that a page of the list is of: searched and sorted; older ones are one link away
_Act = Callable[[GuardianClient, str, str, str], Ticket]
_ACTS: dict[str, _Act] = {
    "submit": lambda client, id, actor, reason: client.submit(id, actor, reason),
    "reject": lambda client, id, actor, reason: client.reject(id, actor, reason),
    "pause": lambda client, id, actor, reason: client.pause(id, actor, reason),
    "resume": lambda client, id, actor, reason: client.resume(id, actor, reason),
    "cancel": lambda client, id, actor, reason: client.cancel(id, actor, reason),
    "roll-back": lambda client, id, actor, reason: client.roll_back(id, actor, reason),
    "adopt": lambda client, id, actor, reason: client.adopt(id, actor, reason),
    "wait": lambda client, id, actor, reason: client.wait(id, actor, reason),
}
# What a person can put right, or look at again: the page says so itself.
_SAID_ON_THE_PAGE = {InvalidInput: 400, Conflict: 409, ClusterUnavailable: 502}


@dataclass(frozen=True, slots=True)
class _Detail:
    """A ticket as it was at `now_ms`, and what takes a walk over all of its partitions: those who look share it."""

    ticket: Ticket
    execution: Execution | None
    now_ms: int
    figures: Figures
    burn: Mapping[str, Sequence[float | int | None]]
    names: Mapping[str, str]
    stage: int


def _detail_of(ticket: Ticket, execution: Execution | None, told: Progress | None, now_ms: int) -> _Detail:
    """`told` is what the member that answers says of a ticket that is driven: it knows slots and throttle."""
    far = told or progress(ticket, execution, now_ms)
    burning = burn_down(ticket, execution, now_ms, far)
    tasks = execution.tasks if execution is not None else ()
    return _Detail(
        ticket,
        execution,
        now_ms,
        figures(ticket, execution, burning, far),
        burn_chart(burning, now_ms),
        short_names(execution),
        lowest_stage(tasks),
    )


@dataclass(frozen=True, slots=True)
class _ListKey:
    """Which part of the list: the newest, or what is behind a token."""

    person: Person
    cluster: str
    state: str
    after: str


@dataclass(frozen=True, slots=True)
class _SeriesKey:
    person: Person
    ticket_id: str
    broker: int | None


def pages(web: WebParts, render: Renderer, feeds: LiveFeeds) -> Pages:
    """The section of tickets."""
    made = TicketPages(web, render, feeds)
    return Pages(router_of(made, web.form_guard), made.close)


class TicketPages:
    """Handlers run in a pool of threads, but for live ones, which hold none."""

    def __init__(self, web: WebParts, render: Renderer, feeds: LiveFeeds) -> None:
        self._web = web
        self._render = render
        self._feeds = feeds
        self._plans = PlanShelf()
        self._lists: Recent[_ListKey, TicketPage] = Recent(_FRESH_S)
        self._tickets: Recent[tuple[Person, str], _Detail] = Recent(_FRESH_S)
        self._series: Kept[_SeriesKey, dict[str, object]] = Kept(self._read_series, fresh_s=_SERIES_FRESH_S)

    def close(self) -> None:
        self._series.close()

    @get("/tickets", VIEW)
    def tickets(
        self,
        request: Request,
        q: str = "",
        page: int = 1,
        sort: str = "",
        size: int = 50,
        cluster: str = "",
        state: str = "",
        after: str = "",
    ) -> Response:
        key = _list_key(self._web.user_of(request), cluster, state, after)
        listed = self._lists.of(key, lambda: self._read_list(key))
        rows = page_of(ticket_rows(listed.tickets), Asked(q, page, sort, size), ticket_text, TICKET_COLUMNS, "-created")
        return self._render(
            request,
            "tickets.html",
            section="tickets",
            title="Tickets",
            crumbs=(),
            page=rows,
            keep={"cluster": cluster, "state": state, "after": after},
            cluster=cluster,
            state=state,
            after=after,
            older=listed.next_token,
            clusters=sorted({name for name, _ in listed.counts}),
            counts=_counts(listed),
            known=_of_list(listed),
        )

    @get("/tickets/{ticket_id}", VIEW)
    def ticket(
        self, request: Request, ticket_id: str, q: str = "", page: int = 1, sort: str = "", size: int = 50, at: str = ""
    ) -> Response:
        return self._page(request, ticket_id, Asked(q, page, sort, size), at)

    @get("/tickets/live", VIEW)
    async def tickets_live(self, request: Request, cluster: str = "", state: str = "", after: str = "") -> Response:
        person = self._web.user_of(request)
        key = _list_key(person, cluster, state, after)
        return self._feeds.answer(f"tickets of {key!r}", lambda: self._look_at_list(key), person.name)

    @get("/tickets/{ticket_id}/live", VIEW)
    def ticket_live(self, request: Request, ticket_id: str) -> Response:
        """Stream the ticket's changes. Runs in a thread, since it asks first whether the person may see the ticket; the
        stream holds none.
        """
        person = self._web.user_of(request)
        self._detail(person, ticket_id)
        name = f"ticket {ticket_id} of {person!r}"
        return self._feeds.answer(name, lambda: self._look_at(person, ticket_id), person.name)

    @get("/tickets/{ticket_id}/series", VIEW)
    def series(self, request: Request, ticket_id: str, broker: int | None = None) -> Response:
        person = self._web.user_of(request)
        return JsonAnswer(self._series.of(_SeriesKey(person, ticket_id, broker)))

    @post("/tickets/{ticket_id}/{action}", OPERATE)
    def act(
        self,
        request: Request,
        ticket_id: str,
        action: str,
        reason: Annotated[str, Form()] = "",
        actor: Annotated[str, Form()] = "",
    ) -> Response:
        if action not in _ACTS:
            raise NotFound(f"action is {action!r}: use one of approve, throttle, {', '.join(_ACTS)}")
        return self._done(request, ticket_id, actor, lambda client, who: _ACTS[action](client, ticket_id, who, reason))

    @post("/tickets/{ticket_id}/approve", OPERATE)
    def approve(
        self,
        request: Request,
        ticket_id: str,
        reason: Annotated[str, Form()] = "",
        actor: Annotated[str, Form()] = "",
        revision: Annotated[int | None, Form()] = None,
    ) -> Response:
        """`revision` is that of the ask that the person has read: one that was amended since is not approved."""
        return self._done(
            request,
            ticket_id,
            actor,
            lambda client, who: client.approve(ticket_id, who, reason, expected_ask_revision=revision),
        )

    @post("/tickets/{ticket_id}/throttle", OPERATE)
    def throttle(
        self,
        request: Request,
        ticket_id: str,
        rate: Annotated[str, Form()] = "",
        most: Annotated[str, Form()] = "",
        reason: Annotated[str, Form()] = "",
        actor: Annotated[str, Form()] = "",
    ) -> Response:
        def change(client: GuardianClient, who: str) -> Ticket:
            highest = parse_rate("the most", most) if most.strip() else 0
            return client.set_throttle(ticket_id, parse_rate("the throttle", rate), who, reason, highest)

        return self._done(request, ticket_id, actor, change)

    def _done(
        self, request: Request, ticket_id: str, actor: str, do: Callable[[GuardianClient, str], Ticket]
    ) -> Response:
        """Back to the ticket; or the ticket, and why it was not done."""
        try:
            do(self._web.client(request), actor_of(self._web.user_of(request), actor))
        except (InvalidInput, Conflict, ClusterUnavailable) as error:
            self._forget()
            return self._page(request, ticket_id, Asked(), "", error)
        self._forget()
        answer = RedirectResponse(url("tickets", ticket_id), 303)
        remember_name(request, answer, actor)
        return answer

    def _read_list(self, key: _ListKey) -> TicketPage:
        """Read the tickets of clusters that the person may see. The counts are of all clusters, whichever is chosen."""
        client = self._web.client_for(key.person)
        page = client.ticket_page(key.cluster, states_of(key.state), "", key.after, _WINDOW, with_counts=True)
        counts = client.ticket_page(size=1, with_counts=True).counts if key.cluster else page.counts
        return TicketPage(
            tuple(each for each in page.tickets if key.person.sees(each[0].cluster)),
            page.next_token,
            {where: count for where, count in counts.items() if key.person.sees(where[0])},
        )

    def _detail(self, person: Person, ticket_id: str) -> _Detail:
        return self._tickets.of((person, ticket_id), lambda: self._read_detail(person, ticket_id))

    def _read_detail(self, person: Person, ticket_id: str) -> _Detail:
        client = self._web.client_for(person)
        ticket, execution = client.ticket(ticket_id)
        return _detail_of(ticket, execution, client.progress_of(ticket), self._web.now_ms())

    def _forget(self) -> None:
        """Whoever has done something sees it."""
        self._lists.forget()
        self._tickets.forget()

    def _page(
        self, request: Request, ticket_id: str, asked: Asked, at: str, error: GuardianError | None = None
    ) -> Response:
        if at and at not in _TASK_STATES:
            raise InvalidInput(f"at is {at!r}: use one of {', '.join(_TASK_STATES)}")
        person = self._web.user_of(request)
        detail = self._detail(person, ticket_id)
        ticket, execution = detail.ticket, detail.execution
        stored = self._plan_of(ticket, person)
        plan = stored if execution is None else None
        status = next((code for kind, code in _SAID_ON_THE_PAGE.items() if isinstance(error, kind)), 200)
        return self._render(
            request,
            "ticket.html",
            status=status,
            section="tickets",
            title=f"{ticket.kind} of {ticket.cluster}",
            crumbs=(("Tickets", url("tickets")), (ticket.id, "")),
            ticket=ticket,
            execution=execution,
            tone=TONES[ticket.state],
            error=str(error) if error else "",
            figures=detail.figures,
            burn=detail.burn,
            asks_for=describe_ask(ticket.ask) if ticket.ask is not None else "",
            asks=asks_of(stored) if stored is not None else (),
            actions=actions_of(ticket, execution),
            asks_name=person.name == LOCAL,
            name=request.cookies.get(NAME_COOKIE, LOCAL),
            expires_at_ms=expires_at_ms(ticket),
            tasks=_task_page(detail, plan, asked, at),
            task_states=_TASK_STATES,
            at=at,
            may_throttle=not ticket.state.is_over and ticket.throttle > 0,
            rates=sorted(execution.rates, key=lambda rate: rate.rate)[:_RATES_SHOWN] if execution else (),
            throttle_text=_throttle_text(ticket),
            keep={"at": at},
            parts=part_rows(self._web.client_for(person).parts_of(ticket)),
            known=_of_parts(ticket, execution),
        )

    def _plan_of(self, ticket: Ticket, person: Person) -> Plan | None:
        return self._plans.plan(self._web.client_for(person), ticket.plan_hash) if ticket.plan_hash else None

    def _look_at(self, person: Person, ticket_id: str) -> Look:
        """Look at the ticket for its live page. What the pages ask for when they hear of it has been read already."""
        client = self._web.client_for(person)
        with client.allow_stale(_LIVE_STALENESS_S):
            detail = self._tickets.read((person, ticket_id), lambda: self._read_detail(person, ticket_id))
        shown = asdict(detail.figures)
        shown["percent"] = None if shown["share"] is None else f"{shown['share']:.0%}".replace("%", " %")
        message = {
            "figures": shown,
            "burn": detail.burn,
            # What else of the page has to be asked for anew.
            **_of_parts(detail.ticket, detail.execution),
        }
        return Look(message, detail.ticket.state.is_over)

    def _look_at_list(self, key: _ListKey) -> Look:
        with self._web.client_for(key.person).allow_stale(_LIVE_STALENESS_S):
            listed = self._lists.read(key, lambda: self._read_list(key))
        return Look({"list": _of_list(listed)})

    def _read_series(self, key: _SeriesKey) -> dict[str, object]:
        client = self._web.client_for(key.person)
        ticket = self._detail(key.person, key.ticket_id).ticket
        steps = rate_steps(client.events(ticket_id=ticket.id, kinds=(EventKind.THROTTLE_CHANGED,)))
        brokers = [key.broker] if key.broker is not None else brokers_of(steps)
        window, remark = window_of(ticket, self._web.now_ms()), ""
        seen = PressureSeen()
        if brokers:
            try:
                seen = self._web.observed.pressure(ticket.cluster, tuple(brokers), *window)
            except GuardianError as error:
                remark = str(error)
        return charts(steps, seen, brokers, window) | {"brokers": brokers_of(steps), "remark": remark}


def actor_of(person: Person, named: str) -> str:
    """Return who acts: the one who has signed in, or, while nobody can, whom the form names. Raises InvalidInput."""
    if person.name != LOCAL:
        return person.name
    name = named.strip()
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"your name is {name[:_LONGEST_NAME]!r}: use up to {_LONGEST_NAME} printable characters")
    return name or LOCAL


def remember_name(request: Request, answer: Response, named: str) -> None:
    """Remember the name for the next form."""
    name = named.strip()
    if name and name.isascii() and name.isprintable() and len(name) <= _LONGEST_NAME and not set(name) & set(' ",;\\'):
        answer.set_cookie(
            NAME_COOKIE,
            name,
            max_age=_YEAR_S,
            path="/console",
            samesite="lax",
            httponly=True,
            secure=request.url.scheme == "https",
        )


def _task_page(detail: _Detail, plan: Plan | None, asked: Asked, at: str) -> Page[TaskRow]:
    """Rows are made for what is shown only: a ticket may have thousands of partitions."""
    tasks: tuple[ExecutionTask, ...] = ()
    names, stage = detail.names, detail.stage
    if detail.execution is not None:
        tasks = detail.execution.tasks
    elif plan is not None:
        tasks, names = tasks_of(plan), short_names(None, plan)
        stage = lowest_stage(tasks)
    wanted = [task for task in tasks if task.state.name == at] if at else tasks
    found = page_of(wanted, asked, task_text, TASK_COLUMNS, "state")
    rows = found.shown_as(lambda task: task_row(detail.ticket, task, names, stage, detail.now_ms))
    return replace(rows, in_all=len(tasks))


def _throttle_text(ticket: Ticket) -> str:
    if not ticket.throttle:
        return "none"
    most = f", up to {human_bytes(ticket.max_throttle)}/s" if ticket.max_throttle > ticket.throttle else ""
    return f"{human_bytes(ticket.throttle)}/s per broker{most}"


def _list_key(person: Person, cluster: str, state: str, after: str) -> _ListKey:
    if state and state not in STATES:
        raise InvalidInput(f"state is {state!r}: use one of {', '.join(STATES)}")
    return _ListKey(person, cluster, state, after)


def _counts(listed: TicketPage) -> dict[str, int]:
    """Count the tickets by what a person looks for first."""
    states: Counter[TicketState] = Counter()
    for (_, state), count in listed.counts.items():
        states[state] += count
    shown = (TicketState.PENDING, TicketState.RUNNING, TicketState.PAUSED, TicketState.FAILED)
    return {
        "all": states.total(),
        OPEN: sum(count for state, count in states.items() if not state.is_over),
        **{state.name: states[state] for state in shown},
    }


def _of_list(listed: TicketPage) -> str:
    """Another one when a row of the list is another, or how many there are; times that only pass change nothing."""
    rows = [(each.id, each.updated_at_ms, each.state, far and far.copied_bytes) for each, far in listed.tickets]
    return _digest(rows, sorted(_counts(listed).items()))


def _of_parts(ticket: Ticket, execution: Execution | None) -> dict[str, str]:
    """Digest the parts of a ticket's page that are asked for anew when they have changed."""
    head = _digest(ticket, len(execution.foreign) if execution is not None else 0)
    return {"head": head, "tasks": _digest(execution.revision if execution is not None else 0, ticket.state)}


def _digest(*values: object) -> str:
    """Another one when something of it has changed."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:12]
