"""Streams end with the right to them, within seconds, also where nothing is said."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import NotAllowed
from guardian.model import federation
from guardian.security.service.open_streams import LOOK_AGAIN_S, replies_while, serve_while
from guardian.security.service.proving import SESSION_COOKIE
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc
from tests.patience import PATIENCE_S
from tests.unit.member.guarded import ROLES, Guarded, headers
from tests.unit.member.guarded_web import OWN, GuardedWeb, guarded_web
from tests.unit.member.member import plan

pytestmark = pytest.mark.slow

LIVE_ONLY = ROLES.replace('who = ["vic"]\nrole = "viewer"', 'who = ["vic"]\nrole = "viewer"\nclusters = ["live"]')
OTHER_ONLY = LIVE_ONLY.replace('["live"]', '["other-1"]')
_SOON_S = 0.05


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    guarded.gate.look_again_s = _SOON_S
    yield guarded
    guarded.stop()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[GuardedWeb]:
    with guarded_web(tmp_path) as web:
        web.guarded.gate.look_again_s = _SOON_S
        yield web


def test_a_look_and_what_it_takes_fit_into_five_seconds() -> None:
    assert LOOK_AGAIN_S <= 4.0


def revoke(guarded: Guarded) -> None:
    guarded.without("vic")


def deny(guarded: Guarded) -> None:
    guarded.roles.write_text(f'denied = ["vic"]\n{ROLES}')


def take_the_role(guarded: Guarded) -> None:
    guarded.roles.write_text(ROLES.replace('"vic"', '"wim"'))


def take_the_role_on_this_cluster(guarded: Guarded) -> None:
    guarded.roles.write_text(OTHER_ONLY)


def take_the_stored_role(guarded: Guarded) -> None:
    guarded.store_document(federation.ROLES, {"grants": [{"who": ["wim"], "role": "viewer"}]})


def deny_in_the_store(guarded: Guarded) -> None:
    guarded.store_document(federation.ROLES, {"denied": ["vic"]})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (take_the_stored_role, grpc.StatusCode.PERMISSION_DENIED),
        (deny_in_the_store, grpc.StatusCode.PERMISSION_DENIED),
        (revoke, grpc.StatusCode.UNAUTHENTICATED),
        (deny, grpc.StatusCode.PERMISSION_DENIED),
        (take_the_role, grpc.StatusCode.PERMISSION_DENIED),
        (take_the_role_on_this_cluster, grpc.StatusCode.NOT_FOUND),  # who does not see it is told no more
    ],
)
def test_a_quiet_grpc_stream_ends(guarded: Guarded, change: Callable[[Guarded], None], code: grpc.StatusCode) -> None:
    guarded.roles.write_text(LIVE_ONLY)
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        stub = tickets_pb2_grpc.TicketsStub(channel)
        with GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token["ann"])) as ann:
            made, _ = ann.create_ticket(plan(2, 3), author="ann", submit=True)
        asked = tickets_pb2.GetTicketRequest(ticket_id=made.id)
        stream = stub.WatchTicket(asked, metadata=(*headers(guarded.token["vic"]),), timeout=PATIENCE_S)
        assert next(stream).detail.ticket.id == made.id
        change(guarded)
        with pytest.raises(grpc.RpcError) as ended:
            for _ in stream:
                pass
        assert ended.value.code() is code


async def events_until(web: GuardedWeb, sent: dict[str, str], change: Callable[[], None]) -> list[bytes]:
    """Open the page of tickets that is alive, change something, and return what came until the answer ended."""
    came: list[dict[str, Any]] = []
    began, is_asked = asyncio.Event(), False

    async def receive() -> dict[str, Any]:
        nonlocal is_asked
        if is_asked:  # of a client that has sent all and stays
            await asyncio.Event().wait()
        is_asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        came.append(message)
        if message["type"] == "http.response.body":
            began.set()

    raw = [(name.lower().encode(), value.encode()) for name, value in ({"Host": "testserver"} | sent).items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": "/console/tickets/live", "raw_path": b"", "query_string": b"", "root_path": "",
        "headers": raw, "client": ("10.0.0.1", 1), "server": ("testserver", 80), "state": {},
    }  # fmt: skip
    answer = asyncio.create_task(web.app(scope, receive, send))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await began.wait()
        assert came[0]["status"] == 200, came
        await asyncio.sleep(_SOON_S * 4)
        assert not answer.done()
        change()
        async with asyncio.timeout(PATIENCE_S):
            await answer
    finally:
        answer.cancel()
    assert came[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    return [message["body"] for message in came[1:]]


@pytest.mark.parametrize(
    "change", [revoke, deny, take_the_role, take_the_role_on_this_cluster, take_the_stored_role, deny_in_the_store]
)
@pytest.mark.parametrize("by", ["token", "session"])
def test_a_live_page_ends(web: GuardedWeb, change: Callable[[Guarded], None], by: str) -> None:
    web.guarded.roles.write_text(LIVE_ONLY)
    if by == "token":
        sent = {"Authorization": f"Bearer {web.guarded.token['vic']}"}
    else:
        web.sign_in("vic")
        sent = {"Cookie": f"{SESSION_COOKIE}={web.browser.cookies[SESSION_COOKIE]}"}
    began = asyncio.run(events_until(web, sent, lambda: change(web.guarded)))
    assert began[0].startswith(b"retry: ")
    if change is not take_the_role_on_this_cluster:
        assert web.browser.get("/console/tickets/live", headers=sent).status_code in (401, 403)


def test_a_live_page_ends_when_its_session_was_ended_by_an_admin(web: GuardedWeb) -> None:
    web.sign_in("vic")
    sent = {"Cookie": f"{SESSION_COOKIE}={web.browser.cookies[SESSION_COOKIE]}"}
    ended = f"{ROLES}\n[signed_out]\nvic = 1970-01-01T00:16:40Z\n"

    def end() -> None:
        web.guarded.roles.write_text(ended)

    asyncio.run(events_until(web, sent, end))


def test_a_live_page_ends_when_its_session_was_ended_in_the_store(web: GuardedWeb) -> None:
    web.sign_in("vic")
    sent = {"Cookie": f"{SESSION_COOKIE}={web.browser.cookies[SESSION_COOKIE]}"}
    signed_out = {"signed_out": {"vic": "1970-01-01T00:16:40Z"}}
    asyncio.run(events_until(web, sent, lambda: web.guarded.store_document(federation.ROLES, signed_out)))
    assert "were ended by an admin" in web.browser.get("/auth/me", headers=sent).text


def test_signing_out_ends_the_session_and_what_is_open_by_it(web: GuardedWeb) -> None:
    web.sign_in("vic")
    cookie = web.browser.cookies[SESSION_COOKIE]
    sent = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
    token = re.search(r'name="csrf" value="([^"]+)"', web.browser.get("/console/tickets").text)
    assert token is not None
    form = {"csrf": token[1]}

    def sign_out() -> None:
        assert web.browser.post("/auth/logout", data=form, headers=OWN).status_code == 303

    asyncio.run(events_until(web, sent, sign_out))
    answer = web.browser.get("/auth/me", headers=sent)
    assert (answer.status_code, answer.text) == (401, "this session of vic was signed out: sign in again\n")
    web.browser.cookies.clear()
    web.guarded.now_ms += 1
    web.sign_in("vic")
    assert web.browser.get("/auth/me").status_code == 200


async def never() -> AsyncIterator[int]:
    yield 1
    await asyncio.Event().wait()


def test_what_is_cancelled_by_others_stays_cancelled() -> None:
    async def main() -> None:
        async def read() -> None:
            async for _ in replies_while(never(), lambda: None, _SOON_S):
                pass

        reading = asyncio.create_task(read())
        await asyncio.sleep(_SOON_S * 3)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(main())


def test_the_error_of_a_look_ends_the_replies_and_leaves_the_task_alive() -> None:
    async def main() -> list[int]:
        def look() -> None:
            raise NotAllowed("vic is not viewer")

        came: list[int] = []

        async def read() -> None:
            async for reply in replies_while(never(), look, _SOON_S):
                came.append(reply)

        with pytest.raises(NotAllowed, match="vic is not viewer"):
            await read()
        await asyncio.sleep(0)  # not cancelled any more
        return came

    assert asyncio.run(main()) == [1]


def test_a_stream_ends_when_nobody_can_say_whether_it_may_go_on() -> None:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def unknown() -> bool:
        raise OSError("the roles file is on a dead disk")

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await serve_while(app, {"type": "http"}, receive, send, unknown, _SOON_S)

    began_s = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began_s < PATIENCE_S
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
