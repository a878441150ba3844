"""Failures slow down what fails, and nobody else."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from guardian.errors import NotSignedIn, Overloaded
from guardian.security.model.identity import Identity
from guardian.security.service.proving import ACTING, SESSION_COOKIE
from guardian.security.service.refusals import Why
from protos.guardian.v1 import tickets_pb2, tickets_pb2_grpc
from tests.patience import PATIENCE_S
from tests.unit.member.guarded import Guarded, headers
from tests.unit.member.guarded_web import OWN, GuardedWeb, guarded_web

PROXY = "ipv4:10.0.0.1:1234"
MADE_UP = "gdn_ffffffff_" + "A" * 43


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    yield guarded
    guarded.stop()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[GuardedWeb]:
    with guarded_web(tmp_path) as web:
        yield web


def presenting(guarded: Guarded, text: str) -> Callable[[], Identity]:
    return lambda: guarded.prover.of_authorization(f"Bearer {text}")


def exhaust(guarded: Guarded, prove: Callable[[], Identity], address: str = PROXY) -> str:
    """Fail until it is held up, and return what is said then."""
    for _ in range(20):
        with pytest.raises(NotSignedIn):
            guarded.gate.enter(prove, "x", address)
    with pytest.raises(Overloaded) as held_up:
        guarded.gate.enter(prove, "x", address)
    assert held_up.value.retry_after_ms == 1000
    return str(held_up.value)


def test_unknown_credentials_are_slowed_by_address(guarded: Guarded) -> None:
    told = exhaust(guarded, presenting(guarded, MADE_UP))
    assert told.startswith("unknown credentials from ipv4:10.0.0.1: too many failed attempts; show a good one")
    with pytest.raises(Overloaded):
        guarded.gate.enter(presenting(guarded, "gdn_eeeeeeee_" + "B" * 43), "x", "ipv4:10.0.0.1:999")
    with pytest.raises(NotSignedIn):
        guarded.gate.enter(presenting(guarded, MADE_UP), "x", "ipv4:10.0.0.2:1")
    guarded.clock += 1.0
    with pytest.raises(NotSignedIn):
        guarded.gate.enter(presenting(guarded, MADE_UP), "x", PROXY)


def test_who_shows_a_good_credential_is_answered_whatever_fails_at_his_address(guarded: Guarded) -> None:
    exhaust(guarded, presenting(guarded, MADE_UP))
    for _ in range(30):
        assert guarded.gate.enter(presenting(guarded, guarded.token["vic"]), "x", PROXY).name == "vic"


def test_failures_of_a_known_token_slow_no_other_and_not_its_owner(guarded: Guarded) -> None:
    """Its ID is no secret: it is in `guardian token list` and in log lines."""
    wrong = guarded.token["vic"][:13] + "B" * 43
    assert exhaust(guarded, presenting(guarded, wrong)).startswith("credential of token 05050505: ")
    with pytest.raises(Overloaded):
        guarded.gate.enter(presenting(guarded, wrong), "x", "ipv4:10.0.0.9:1")
    with pytest.raises(NotSignedIn):
        guarded.gate.enter(presenting(guarded, guarded.token["late"]), "x", PROXY)
    with pytest.raises(NotSignedIn):
        guarded.gate.enter(presenting(guarded, MADE_UP), "x", PROXY)
    assert guarded.gate.enter(presenting(guarded, guarded.token["vic"]), "x", PROXY).name == "vic"


@pytest.mark.parametrize("kind", ["expired token", "revoked session", "ended session", "stale word", "wrong user"])
def test_each_known_credential_that_fails_is_slowed_by_itself(guarded: Guarded, kind: str) -> None:
    prover = guarded.prover
    session = prover.session_of_text(guarded.token["vic"], guarded.now_ms + 1_000_000)
    word = prover.acting_for(prover.of_session(session))

    def prove() -> Identity:
        return prover.of_session(session)

    if kind == "expired token":
        prove, whose = presenting(guarded, guarded.token["late"]), "token 0b0b0b0b"
    elif kind == "revoked session":
        guarded.without("vic")
        whose = "token 05050505"
    elif kind == "ended session":
        guarded.now_ms += 2_000_000
        whose = "vic"
    elif kind == "stale word":
        guarded.now_ms += 2_000_000
        prove, whose = lambda: prover.of_call([(ACTING, word)], None), "vic"
    else:
        basic = "Basic " + base64.b64encode(f"root:{guarded.token['vic']}".encode()).decode()
        prove, whose = lambda: prover.of_authorization(basic, takes_basic=True), "vic"
    assert exhaust(guarded, prove).startswith(f"credential of {whose}: ")


def test_made_up_names_take_no_memory(guarded: Guarded) -> None:
    for number in range(300):
        with pytest.raises((NotSignedIn, Overloaded)):
            guarded.gate.enter(presenting(guarded, f"gdn_{number:08x}_" + "C" * 43), "x", f"ipv4:10.0.0.1:{number}")
    assert len(guarded.gate._failures) <= 14  # those of the file, and the address
    guarded.gate._failures = type(guarded.gate._failures)(1.0, 20, most_names=50)
    for number in range(300):
        with pytest.raises(NotSignedIn):
            guarded.gate.enter(presenting(guarded, MADE_UP), "x", f"ipv6:[2001:db8::{number:x}]:1")
    assert len(guarded.gate._failures) == 50


def test_what_is_held_up_is_counted_and_fills_no_log(guarded: Guarded) -> None:
    exhaust(guarded, presenting(guarded, MADE_UP))
    before = guarded.refusals.totals()
    for _ in range(50):
        with pytest.raises(Overloaded):
            guarded.gate.enter(presenting(guarded, MADE_UP), "x", PROXY)
    after = guarded.refusals.totals()
    assert after[Why.NOT_SIGNED_IN] == before[Why.NOT_SIGNED_IN] == 20
    assert after[Why.HELD_UP] == before[Why.HELD_UP] + 50


def test_grpc_answers_a_good_token_beside_bad_ones(guarded: Guarded) -> None:
    ask = tickets_pb2.ListTicketsRequest()
    with grpc.insecure_channel(guarded.member.endpoint) as channel:
        stub = tickets_pb2_grpc.TicketsStub(channel)
        codes = []
        for _ in range(25):
            with pytest.raises(grpc.RpcError) as refused:
                stub.ListTickets(ask, metadata=(*headers(MADE_UP),), timeout=PATIENCE_S)
            codes.append(refused.value.code())
        assert codes == [grpc.StatusCode.UNAUTHENTICATED] * 20 + [grpc.StatusCode.RESOURCE_EXHAUSTED] * 5
        stub.ListTickets(ask, metadata=(*headers(guarded.token["vic"]),), timeout=PATIENCE_S)


def test_http_answers_a_good_token_and_session_beside_bad_ones(web: GuardedWeb) -> None:
    web.sign_in("ann")
    session = web.browser.cookies[SESSION_COOKIE]
    web.browser.cookies.clear()
    bad = {"Authorization": f"Bearer {MADE_UP}"}
    assert [web.browser.get("/auth/me", headers=bad).status_code for _ in range(25)] == [401] * 20 + [429] * 5
    good = {"Authorization": f"Bearer {web.guarded.token['vic']}"}
    assert web.browser.get("/auth/me", headers=good).json()["name"] == "vic"
    assert web.browser.get("/auth/me", headers={"Cookie": f"{SESSION_COOKIE}={session}"}).json()["name"] == "ann"
    web.sign_in("vic")


def test_who_shows_nothing_is_sent_to_sign_in_however_often(web: GuardedWeb) -> None:
    html = {"Accept": "text/html"}
    assert {web.browser.get("/console/tickets", headers=html).status_code for _ in range(40)} == {303}
    assert {web.browser.get("/auth/me").status_code for _ in range(40)} == {401}
    assert web.guarded.refusals.totals()[Why.NOT_SIGNED_IN] == 20
    form = {"token": "nonsense"}
    assert "too many" not in web.browser.post("/auth/token", data=form, headers=OWN).text


def test_a_forged_way_back_from_the_provider_is_slowed_too(web: GuardedWeb) -> None:
    for _ in range(40):
        answer = web.browser.get("/auth/callback?code=x&state=y", headers={"Cookie": "guardian_signing_in=forged.x"})
        assert answer.status_code == 401
    assert "too many failed attempts" in answer.text
    assert web.guarded.refusals.totals()[Why.NOT_SIGNED_IN] == 20
