"""People sign in at a real OpenID provider: to the console by its page, to the CLI by the device flow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from guardian.errors import NotSignedIn
from guardian.security.model.security_config import OidcConfig
from guardian.security.service.oidc import Provider
from tests.integration.oidc_provider import SECRET, Person, provider
from tests.patience import PATIENCE_S, until
from tests.unit.member.guarded_web import GuardedWeb, guarded_web

pytestmark = pytest.mark.integration

URL = "http://testserver"
ROLES = """
[[grants]]
who = ["group:kafka-sre"]
role = "operator"
[[grants]]
who = ["oidc:ben@example.com"]
role = "viewer"
"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider(f"{URL}/auth/callback") as issuer:
        yield issuer


@pytest.fixture
def web(issuer: str, tmp_path: Path) -> Iterator[GuardedWeb]:
    with signing_in(issuer, tmp_path) as web:
        yield web


@contextmanager
def signing_in(issuer: str, folder: Path) -> Iterator[GuardedWeb]:
    secret = folder / "oidc.secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    config = OidcConfig(issuer, "guardian", secret, "guardian-cli")
    known = Provider(config, lambda: time.time_ns() // 1_000_000)
    known.start()
    try:
        with guarded_web(folder, known, URL) as web:
            web.guarded.roles.write_text(ROLES)
            until(lambda: web.browser.get("/auth/oidc/start").status_code == 303)
            yield web
    finally:
        known.stop()


def begin(web: GuardedWeb, wanted: str = "/console/tickets") -> str:
    answer = web.browser.get("/auth/oidc/start", params={"next": wanted})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["Location"])


def test_a_person_signs_in_to_the_console(web: GuardedWeb) -> None:
    assert "Sign in" in web.browser.get("/auth/login").text
    target = begin(web)
    assert "code_challenge_method=S256" in target
    back = Person("ann").sign_in(target, f"{URL}/auth/callback")
    answer = web.browser.get(back)
    assert (answer.status_code, answer.headers.get("Location")) == (303, "/console/tickets")
    me = web.browser.get("/auth/me").json()
    assert (me["name"], me["proof"], me["groups"]) == ("ann@example.com", "oidc", ["kafka-sre", "staff"])
    assert web.browser.get("/console/tickets").status_code == 200
    # The same code again is nobody's.
    assert web.browser.get(back).status_code == 401


def test_who_has_no_role_is_not_let_in(web: GuardedWeb) -> None:
    answer = web.browser.get(Person("carl").sign_in(begin(web), f"{URL}/auth/callback"))
    assert answer.status_code == 403
    assert "you are carl@example.com, and no role is granted to you" in answer.text


def test_an_address_that_nobody_verified_proves_nothing(web: GuardedWeb) -> None:
    answer = web.browser.get(Person("unverified-ann").sign_in(begin(web), f"{URL}/auth/callback"))
    assert (answer.status_code, "not verified this e-mail address" in answer.text) == (401, True)


def test_a_sign_in_that_another_browser_began_is_refused(web: GuardedWeb) -> None:
    back = Person("ann").sign_in(begin(web), f"{URL}/auth/callback")
    web.browser.cookies.clear()
    assert web.browser.get(back).status_code == 401
    begin(web)  # another sign-in, with another state
    answer = web.browser.get(back)
    assert (answer.status_code, "begun in another window" in answer.text) == (401, True)
    assert any(who == "nobody" and what == "GET /auth/callback" for who, what, _ in web.guarded.refused())


def test_a_session_of_a_person_who_was_denied_ends_at_once(web: GuardedWeb) -> None:
    web.browser.get(Person("ben").sign_in(begin(web), f"{URL}/auth/callback"))
    assert web.browser.get("/auth/me").status_code == 200
    web.guarded.roles.write_text(f'denied = ["ben@*"]\n{ROLES}')
    assert web.browser.get("/auth/me").status_code == 403


def test_the_cli_signs_in_by_the_device_flow_and_renews_it(web: GuardedWeb, issuer: str, tmp_path: Path) -> None:
    environment = {**os.environ, "GUARDIAN_CONFIG": str(tmp_path / "config.yaml")}
    endpoint = web.guarded.member.endpoint

    def guardian(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "guardian.cli.main", *arguments, "--endpoints", endpoint]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    refused = guardian("ticket", "list")
    assert refused.returncode != 0
    assert "nobody knows who asks" in refused.stderr
    command = ["login", "--issuer", issuer, "--client-id", "guardian-cli", "--endpoints", endpoint]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "guardian.cli.main", *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as login:
        assert login.stderr is not None
        assert login.stdout is not None
        address = login.stderr.readline().removeprefix("Open ").strip()
        agreed = threading.Thread(target=lambda: Person("ann").sign_in(address, "nowhere"))
        agreed.start()
        assert login.wait(PATIENCE_S) == 0, login.stderr.read()
        agreed.join()
    kept = tmp_path / "logins.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    listed = guardian("ticket", "list", "-o", "json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, []), listed.stderr
    logins = json.loads(kept.read_text())
    # As if it were over. Not compared with the new one: two of the same second are the same.
    logins[0] |= {"id_token": "over", "expires_at": 0}
    kept.write_text(json.dumps(logins))
    assert guardian("ticket", "list").returncode == 0
    assert json.loads(kept.read_text())[0]["expires_at"] > 0
    assert guardian("logout").stdout == "signed out\n"
    assert guardian("ticket", "list").returncode != 0


def test_id_tokens_that_are_not_for_us_are_refused(web: GuardedWeb, issuer: str) -> None:
    told = httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=PATIENCE_S).json()
    begun = httpx.post(
        told["device_authorization_endpoint"],
        data={"client_id": "another", "scope": "openid email groups"},
        timeout=PATIENCE_S,
    ).json()
    Person("ann").sign_in(begun["verification_uri_complete"], "nowhere")
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": begun["device_code"],
        "client_id": "another",
    }
    id_token = httpx.post(told["token_endpoint"], data=form, timeout=PATIENCE_S).json()["id_token"]
    prover = web.guarded.prover
    with pytest.raises(NotSignedIn, match="or for another application"):
        prover.of_authorization(f"Bearer {id_token}")
    head, body, signature = id_token.split(".")
    for forged in (f"{head}.{body}.", f"{head}.{body[:-3]}AAA.{signature}", f"eyJhbGciOiJub25lIn0.{body}.", "a.b.c"):
        with pytest.raises(NotSignedIn):
            prover.of_authorization(f"Bearer {forged}")


def test_no_secret_is_in_a_page_or_an_address(web: GuardedWeb) -> None:
    target = begin(web)
    assert SECRET not in target
    assert SECRET not in web.browser.get("/auth/oidc").text
    assert not re.search(r"verifier|secret", target)
