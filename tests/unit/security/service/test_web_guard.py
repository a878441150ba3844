"""Nobody is answered over HTTP unless it is known who he is and that he may; nor is a page of another site."""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from httpx import Response
from starlette.middleware import Middleware

from guardian.member.web_routes import route_table, routes_of
from guardian.security.model.identity import Role
from guardian.security.rules.permitting import Where
from guardian.security.rules.routing import OPEN, VIEW_CLUSTER, RouteTable, access, template_pattern
from guardian.security.service import web_guard
from guardian.security.service.proving import SESSION_COOKIE
from guardian.security.service.web_guard import GuardSettings, WebGuard
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from tests.unit.member.guarded import ROLES
from tests.unit.member.guarded_web import OWN, GuardedWeb, guarded_web

pytestmark = pytest.mark.slow

ROUTES = route_table()
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedWeb]:
    with guarded_web(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.fixture
def browser(web: GuardedWeb) -> TestClient:
    web.browser.cookies.clear()
    return web.browser


def asked(template: str) -> str:
    """A path that the template is about."""
    return re.sub(r"\{[a-z_]+(:path)?\}", "xyz", template)


def bearer(web: GuardedWeb, name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {web.guarded.token[name]}"}


def protected() -> list[tuple[str, str]]:
    return [key for key, rule in ROUTES.rules.items() if rule.where not in (Where.OPEN, Where.PROVEN)]


def test_the_described_routes_are_those_that_a_member_serves(web: GuardedWeb) -> None:
    assert RouteTable(routes_of(web.app)).rules == ROUTES.rules


def test_no_member_starts_with_a_route_without_a_rule(web: GuardedWeb) -> None:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    router = APIRouter(prefix="/more")
    app.include_router(router)

    @router.get("/{name}")
    def forgotten(name: str) -> str:
        return name

    with pytest.raises(TypeError, match=r"GET /more/\{name\}: no rule says who may use it"):
        web.security.protect(app)
    access(VIEW_CLUSTER)(forgotten)
    with pytest.raises(TypeError, match="its rule is about a cluster"):
        web.security.protect(app)
    access(OPEN)(forgotten)
    assert web.security.protect(app) is app


def test_the_rule_of_a_path_is_that_of_the_route_which_answers_it() -> None:
    for (method, template), rule in ROUTES.rules.items():
        found = ROUTES.find(method, asked(template))
        assert found is not None
        assert found[0] == rule, (method, template)


def test_what_is_open_to_all() -> None:
    assert {template for (_, template), rule in ROUTES.rules.items() if rule.where is Where.OPEN} == {
        "/healthz",
        "/livez",
        "/readyz",
        "/auth/login",
        "/auth/token",
        "/auth/oidc",
        "/auth/oidc/start",
        "/auth/callback",
        "/auth/logout",
        "/console/static/{name}",
        "/console/theme",
    }


def test_probes_wait_for_no_thread_and_for_nobody_s_proof(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise RuntimeError("every thread of the pool is taken")

    monkeypatch.setattr(web_guard, "run_in_threadpool", full)
    for path in ("/healthz", "/livez", "/readyz"):
        assert browser.get(path, headers={"Authorization": "Bearer nonsense"}).status_code == 200
    assert browser.get("/metrics").status_code == 500, "what needs a proof would have waited"


@pytest.mark.parametrize(("method", "template"), protected())
def test_no_route_answers_without_good_credentials(
    web: GuardedWeb, browser: TestClient, method: str, template: str
) -> None:
    web.guarded.clock += 3600
    path = asked(template)
    for headers in (
        {},
        {"Authorization": "Bearer gdn_00000000_" + "A" * 43},
        {"Authorization": "Basic x"},
        bearer(web, "late"),
        bearer(web, "gone"),
        {"Cookie": f"{SESSION_COOKIE}=forged.cookie", **OWN},
        {"Cookie": "=;=;", **OWN},
    ):
        answer = browser.request(method, path, headers=headers)
        assert answer.status_code == 401, (headers, answer.text)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "Content-Security-Policy" in answer.headers
    recorded = {(who, what) for who, what, _ in web.guarded.refused()}
    assert ("nobody", f"{method} {path}") in recorded


@pytest.mark.parametrize(("method", "template"), protected())
def test_no_route_answers_who_has_no_role(web: GuardedWeb, browser: TestClient, method: str, template: str) -> None:
    for name in ("nil", "kafka-1"):
        assert browser.request(method, asked(template), headers=bearer(web, name)).status_code == 403
        assert (name, f"{method} {asked(template)}") in {(who, what) for who, what, _ in web.guarded.refused()}


@pytest.mark.parametrize(
    ("method", "template"), [key for key, rule in ROUTES.rules.items() if rule.where is Where.CLUSTER]
)
def test_a_cluster_is_shown_to_who_may_see_it(web: GuardedWeb, browser: TestClient, method: str, template: str) -> None:
    path = asked(template.replace("{cluster}", "live"))
    assert browser.request(method, path, headers=bearer(web, "olga")).status_code == 403


def test_a_viewer_changes_nothing(web: GuardedWeb, browser: TestClient) -> None:
    for (method, template), rule in ROUTES.rules.items():
        if method != "GET" and rule.roles and rule.roles[0] in (Role.OPERATOR, Role.ADMIN):
            answer = browser.request(method, asked(template), headers={**bearer(web, "vic"), **OWN})
            assert answer.status_code == 403, template


def test_a_path_that_no_rule_knows_is_nobodys(web: GuardedWeb, browser: TestClient) -> None:
    @web.app.get("/forgotten")
    def forgotten() -> str:
        return "secret"

    for name in ("root", "vic"):
        answer = browser.get("/forgotten", headers=bearer(web, name))
        assert answer.status_code == 404
        assert "secret" not in answer.text
    assert browser.get("/forgotten").status_code == 401
    web.app.router.routes[:] = [route for route in web.app.router.routes if getattr(route, "path", "") != "/forgotten"]


def test_who_he_is_is_told_to_everybody_who_proves_it(web: GuardedWeb, browser: TestClient) -> None:
    assert browser.get("/api/v1/whoami").status_code == 401
    for name in ("nil", "vic"):
        answer = browser.get("/api/v1/whoami", headers=bearer(web, name))
        assert (answer.status_code, answer.json()["name"]) == (200, name)
    assert browser.get("/api/v1/sinks", headers=bearer(web, "nil")).status_code == 403


def test_a_person_is_sent_to_sign_in_and_comes_back(web: GuardedWeb, browser: TestClient) -> None:
    answer = browser.get("/console/members?x=1", headers=HTML)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/auth/login?next=/console/members%3Fx%3D1")
    assert "Sign in" in browser.get(answer.headers["Location"]).text
    signed_in = browser.post(
        "/auth/token", data={"token": web.guarded.token["vic"], "next": "/console/members?x=1"}, headers=OWN
    )
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, "/console/members?x=1")
    cookie = signed_in.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert browser.get("/auth/me").json()["name"] == "vic"
    assert browser.get("/console/tickets").status_code == 200


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    with guarded_web(tmp_path) as web:
        web.sign_in("vic")
        assert web.browser.get("/auth/me").status_code == 200
        web.guarded.without("vic")
        answer = web.browser.get("/auth/me")
        assert (answer.status_code, answer.text) == (401, "the token of this session was revoked: sign in again\n")


def test_a_session_ends_by_its_time(tmp_path: Path) -> None:
    with guarded_web(tmp_path) as web:
        web.sign_in("vic")
        web.guarded.now_ms += 3_600_000
        assert web.browser.get("/auth/me").status_code == 401


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        (lambda text: text.replace('"vic"', '"wim"'), 403, ""),
        (lambda text: f'denied = ["vic"]\n{text}', 403, ""),
        (lambda text: f"{text}\n[signed_out]\nvic = 1970-01-01T00:16:40Z\n", 401, "were ended by an admin"),
        (lambda text: f'{text}\n[signed_out]\n"token:v*" = 1970-01-01T00:16:40Z\n', 401, "were ended by an admin"),
        (lambda text: f"{text}\n[signed_out]\nvic = 1970-01-01T00:16:39Z\n", 200, "vic"),
        (lambda text: f'{text}\n[signed_out]\n"oidc:vic" = 1970-01-02T00:00:00Z\n', 200, "vic"),
        (lambda text: text.replace("viewer", "nobody"), 401, ""),
    ],
)
def test_a_session_goes_by_the_roles_file_as_it_is(
    tmp_path: Path, change: Callable[[str], str], status: int, told: str
) -> None:
    with guarded_web(tmp_path) as web:
        web.sign_in("vic")
        assert web.browser.get("/auth/me").status_code == 200
        web.guarded.roles.write_text(change(ROLES))
        answer = web.browser.get("/api/v1/clusters" if status == 403 else "/auth/me")
        assert answer.status_code == status, answer.text
        assert told in answer.text
        if status != 200:
            assert web.guarded.refused()[0][1].startswith("GET /")


def test_who_was_signed_out_signs_in_again(tmp_path: Path) -> None:
    with guarded_web(tmp_path) as web:
        web.sign_in("vic")
        web.guarded.roles.write_text(f"{ROLES}\n[signed_out]\nvic = 1970-01-01T00:16:40Z\n")
        assert web.browser.get("/auth/me").status_code == 401
        web.guarded.now_ms += 1
        web.sign_in("vic")
        assert web.browser.get("/auth/me").status_code == 200


def test_signing_out_needs_our_own_form_and_ends_the_session(web: GuardedWeb, browser: TestClient) -> None:
    web.sign_in("vic")
    assert browser.post("/auth/logout", headers=OWN).status_code == 403
    page = browser.get("/console/tickets").text
    token = re.search(r'name="csrf" value="([^"]+)"', page)
    assert token is not None
    answer = browser.post("/auth/logout", data={"csrf": token[1]}, headers=OWN)
    assert answer.status_code == 303
    assert browser.get("/auth/me").status_code == 401


@pytest.fixture
def two_members(tmp_path: Path) -> Iterator[tuple[GuardedWeb, GuardedWeb]]:
    """Two members of one group, with one key."""
    machine = MetastoreStateMachine(MemoryStore())
    for name in ("g1", "g2"):
        (tmp_path / name).mkdir()
    with (
        guarded_web(tmp_path / "g1", machine=machine) as first,
        guarded_web(tmp_path / "g2", machine=machine) as second,
    ):
        yield first, second


def sign_out(web: GuardedWeb) -> Response:
    page = web.browser.get("/console/tickets").text
    token = re.search(r'name="csrf" value="([^"]+)"', page)
    assert token is not None
    answer: Response = web.browser.post("/auth/logout", data={"csrf": token[1]}, headers=OWN)
    return answer


def test_who_signs_out_at_one_member_is_signed_out_at_all(two_members: tuple[GuardedWeb, GuardedWeb]) -> None:
    first, second = two_members
    first.sign_in("vic")
    cookie = first.browser.cookies[SESSION_COOKIE]
    copied = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
    assert second.browser.get("/auth/me", headers=copied).status_code == 200
    assert sign_out(first).status_code == 303
    answer = second.browser.get("/auth/me", headers=copied)
    assert (answer.status_code, answer.text) == (401, "this session of vic was signed out: sign in again\n")
    first.guarded.now_ms = second.guarded.now_ms = first.guarded.now_ms + 1
    second.sign_in("vic")
    assert second.browser.get("/auth/me").status_code == 200, "another session of his is good"


def test_no_other_spelling_of_an_ended_cookie_is_good(two_members: tuple[GuardedWeb, GuardedWeb]) -> None:
    """The last letter of base64 has bits that say nothing: four texts are the same bytes."""
    first, second = two_members
    first.sign_in("vic")
    cookie = first.browser.cookies[SESSION_COOKIE]
    sign_out(first)
    for letter in f"{string.ascii_letters}{string.digits}-_":
        second.guarded.clock += 1.0  # of failures one a second is answered
        answer = second.browser.get("/auth/me", headers={"Cookie": f"{SESSION_COOKIE}={cookie[:-1]}{letter}"})
        assert answer.status_code == 401, letter


def test_who_signs_out_where_the_group_has_no_leader_is_told_that_only_this_member_knows(
    two_members: tuple[GuardedWeb, GuardedWeb],
) -> None:
    first, _ = two_members
    first.sign_in("vic")
    cookie = first.browser.cookies[SESSION_COOKIE]
    page = first.browser.get("/console/tickets").text
    token = re.search(r'name="csrf" value="([^"]+)"', page)
    assert token is not None
    first.guarded.member.replica.has_leader = False
    answer = first.browser.post("/auth/logout", data={"csrf": token[1]}, headers=OWN)
    assert (answer.status_code, "signed out at this member, but the others could not be told" in answer.text) == (
        503,
        True,
    )
    copied = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
    assert first.browser.get("/auth/me", headers=copied).status_code == 401


def test_a_form_of_another_session_is_refused(web: GuardedWeb, browser: TestClient) -> None:
    web.sign_in("ann")
    page = browser.get("/console/tickets").text
    token = re.search(r'name="csrf" value="([^"]+)"', page)
    assert token is not None
    browser.cookies.clear()
    web.sign_in("vic")
    answer = browser.post("/auth/logout", data={"csrf": token[1]}, headers=OWN)
    assert (answer.status_code, "of another session" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
        {"Origin": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_another_sites_page_changes_nothing(web: GuardedWeb, browser: TestClient, headers: dict[str, str]) -> None:
    web.sign_in("root")
    for (method, template), rule in ROUTES.rules.items():
        if method == "POST" and rule.where is not Where.OPEN:
            answer = browser.post(asked(template), headers=headers)
            assert (answer.status_code, "another site" in answer.text or "page of this console" in answer.text) == (
                403,
                True,
            ), template


def test_nobody_is_sent_to_another_site_after_signing_in(web: GuardedWeb, browser: TestClient) -> None:
    for wanted in ("https://evil.example", "//evil.example", "/\\evil.example", "/a\nb", "evil", "/\t/evil.example"):
        form = {"token": web.guarded.token["vic"], "next": wanted}
        assert browser.post("/auth/token", data=form, headers=OWN).headers["Location"] == "/"


def test_who_has_no_role_is_told_so_and_gets_no_session(web: GuardedWeb, browser: TestClient) -> None:
    answer = browser.post("/auth/token", data={"token": web.guarded.token["nil"]}, headers=OWN)
    assert answer.status_code == 403
    assert "no role is granted to you" in answer.text
    assert "Set-Cookie" not in answer.headers


def test_what_was_typed_is_not_shown_again(web: GuardedWeb, browser: TestClient) -> None:
    answer = browser.post("/auth/token", data={"token": "<script>x", "next": '/"><script>'}, headers=OWN)
    assert answer.status_code == 401
    assert "<script>" not in answer.text


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


@pytest.mark.parametrize("user", ["vic", ""])
def test_a_token_as_a_password_does_where_programs_ask(web: GuardedWeb, browser: TestClient, user: str) -> None:
    shown = basic(user, web.guarded.token["vic"])
    assert "live" in browser.get("/api/v1/clusters", headers=shown).text
    for path in ("/metrics", "/kafkacruisecontrol/user_tasks", "/clusters/live/kafkacruisecontrol/review_board"):
        assert browser.get(path, headers=shown).status_code == 200, path


def test_a_token_as_a_password_of_somebody_else_is_refused_and_recorded(web: GuardedWeb, browser: TestClient) -> None:
    web.guarded.clock += 3600
    web.guarded.refused()  # what other tests left is told together with it otherwise
    answer = browser.get("/api/v1/clusters", headers=basic("root", web.guarded.token["vic"]))
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.text == "the user of Basic is 'root', and the token is of vic: give that name, or none\n"
    why = {why for who, what, why in web.guarded.refused() if (who, what) == ("nobody", "GET /api/v1/clusters")}
    assert any("the user of Basic is 'root'" in each for each in why)


def test_no_page_takes_a_password(web: GuardedWeb, browser: TestClient) -> None:
    web.guarded.clock += 3600
    shown = basic("root", web.guarded.token["root"])
    for method, path in (
        ("GET", "/console/tickets"),
        ("GET", "/auth/me"),
        ("POST", "/console/tickets/t-00000001/approve"),
    ):
        answer = browser.request(method, path, headers=shown)
        assert (answer.status_code, "for programs" in answer.text) == (401, True), path


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"},
    ],
)
def test_another_sites_form_changes_nothing_with_a_password(
    web: GuardedWeb, browser: TestClient, headers: dict[str, str]
) -> None:
    shown = basic("root", web.guarded.token["root"]) | headers
    for (method, template), rule in ROUTES.rules.items():
        if method == "POST" and rule.where is not Where.OPEN:
            answer = browser.post(asked(template), headers=shown)
            assert (answer.status_code, "page of this console" in answer.text) == (403, True), template
    recorded = [what for who, what, why in web.guarded.refused() if "another site" in why]
    assert recorded


def test_a_password_is_no_form_of_our_own(web: GuardedWeb, browser: TestClient) -> None:
    shown = basic("vic", web.guarded.token["vic"])
    answer = browser.post("/auth/logout", headers={**shown, **OWN})
    assert (answer.status_code, "its page again" in answer.text) == (403, True)


def test_who_asks_too_often_waits(tmp_path: Path) -> None:
    with guarded_web(tmp_path) as web:
        web.guarded.gate._limits = type(web.guarded.limits)(1.0, 2)
        headers = bearer(web, "vic")
        assert [web.browser.get("/auth/me", headers=headers).status_code for _ in range(3)] == [200, 200, 429]
        assert int(web.browser.get("/auth/me", headers=headers).headers["Retry-After"]) >= 1


def test_pages_show_what_the_person_may_see(web: GuardedWeb, browser: TestClient) -> None:
    assert "live" in browser.get("/api/v1/clusters", headers=bearer(web, "vic")).text
    assert "live" not in browser.get("/api/v1/clusters", headers=bearer(web, "olga")).text


def test_templates_match_what_the_router_would() -> None:
    assert template_pattern("/a/{x}/b").fullmatch("/a/1/b")
    assert not template_pattern("/a/{x}/b").fullmatch("/a/1/2/b")
    assert template_pattern("/a/{x:path}").fullmatch("/a/1/2")
    assert not template_pattern("/a.b").fullmatch("/axb")


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1:9", 200), ("localhost", 200), ("evil.example", 421), ("", 421)]
)
def test_a_name_that_points_to_loopback_is_told_nothing(host: str, status: int) -> None:
    app = FastAPI()
    app.get("/x")(lambda: "told")
    app.user_middleware.append(Middleware(WebGuard, routes=RouteTable(()), settings=GuardSettings(is_loopback=True)))
    with TestClient(app) as browser:
        assert browser.get("/x", headers={"Host": host}).status_code == status
