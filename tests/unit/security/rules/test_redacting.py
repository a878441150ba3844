"""Secrets do not leave, in whatever form; what helps stays."""

from __future__ import annotations

import json
import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.security.rules.redacting import REDACTED, is_secret_name, redact, redact_tree
from guardian.security.service.auth_routes import _SIGNING_IN as SIGNING_IN_COOKIE
from guardian.security.service.proving import SESSION_COOKIE

SECRET = "hunter2-Zq9"  # noqa: S105  of nobody


@pytest.mark.parametrize(
    "text",
    [
        f"password={SECRET}",
        f"password = '{SECRET} with spaces'",
        f'sasl_password: "{SECRET}"',
        f'{{"client_secret": "{SECRET}", "a": 1}}',
        f'{{"access_token":"{SECRET}"}}',
        f"Authorization: Bearer {SECRET}{SECRET}",
        f"authorization = Basic {SECRET}==",
        f"clickhouse://guardian:{SECRET}@ch1:8123/audit",
        f"https://hooks:{SECRET}@example.net/x?y=1",
        f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}\nand cut off here",
        f'sasl.jaas.config=org.apache.kafka.PlainLoginModule required username=u password="{SECRET}";',
        f"ssl.key.password={SECRET}",
        f"aws_secret_access_key = {SECRET}",
        f"ValueError: login failed: password={SECRET}",
        f"X-Api-Key: {SECRET}",
        f"Set-Cookie: {SECRET}; HttpOnly",
        f"Cookie: theme=dark; {SESSION_COOKIE}={SECRET}; a=b",
        f'{{"Cookie": "a=b; c={SECRET}"}}',
        f"{SESSION_COOKIE}={SECRET}",
        f"{SIGNING_IN_COOKIE}={SECRET}; Path=/auth",
        f'url = "https://chat.example.net/x/{SECRET}"',
        f"POST https://hooks.slack.com/services/T00/B00/{SECRET} took 3 s",
        f"https://api.telegram.org/bot12:{SECRET}/send",
        f"see https://example.net/a?b=c&sig={SECRET}, then go on",
        f"see https://example.net/a?{SECRET}",
        f"https://{SECRET}@example.net/x",
        f"https://u:{SECRET}%40@example.net",
        f"https://example.net/a#access_token={SECRET}",
        f"https://example.net/v1/{SECRET}{SECRET}x1/send",
        f"curl -u ann:{SECRET} https://example.net",
        f"curl --user 'ann:{SECRET}'",
        f'command = ["curl", "-u", "ann:{SECRET}"]',
        f'command = ["fence", "--password", "{SECRET}", "now"]',
        f"fence --password {SECRET} now",
        f"fence --api-token={SECRET}",
        f"fence --client-secret '{SECRET} with spaces' now",
        f"passwords = [\"{SECRET}\", 'b']",
        f'password = ["a]", "{SECRET}"]',
    ],
)
def test_a_secret_goes_whatever_its_form(text: str) -> None:
    shown = redact(text)
    assert SECRET not in shown
    assert REDACTED in shown


def test_a_list_that_is_a_command_goes_by_its_options() -> None:
    command = [
        "curl",
        "-u",
        f"ann:{SECRET}",
        "--password",
        f"it's \\ {SECRET}",
        "--url",
        f"https://h/?a={SECRET}",
        "now",
    ]
    shown = redact_tree({"command": command})
    expected = ["curl", "-u", f"ann:{REDACTED}", "--password", REDACTED, "--url", f"https://h/?a={REDACTED}", "now"]
    assert shown == {"command": expected}


def test_a_webhook_s_address_keeps_its_host_only() -> None:
    assert redact_tree({"url": f"https://chat.example.net:8443/x/{SECRET}"}) == {
        "url": f"https://chat.example.net:8443/{REDACTED}"
    }
    assert redact_tree({"url": "clickhouse://guardian@ch1:8123/audit"}) == {
        "url": "clickhouse://guardian@ch1:8123/audit"
    }


@pytest.mark.parametrize(
    "text",
    [
        'password_file = "/etc/guardian/clickhouse.password"',
        "token_file: ~/.config/guardian/token",
        "ticket t-1a2b3c4d: 3 of 9 moves done, 1.2 MB of 5.0 MB copied, 4 throttles set",
        'guardian_grpc_calls_total{method="ApproveTicket",service="guardian.v1.Tickets"} 3.0',
        "http://g1.example.net:9751/metrics",
        "keys=12 key=/etc/guardian/g1.key bootstrap=k1:9092,k2:9092",
        "tokens = 3, secrets: none; 2 passwords expired",
        'metrics_url = "http://k1:9404"; see https://example.net/docs/a.html',
        "guardian token create --password-file /etc/p -u 5 --user ann",
        'scopes = ["openid", "email"]',
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_trees_go_by_their_names() -> None:
    tree = {
        "name": "live",
        "security": {"username": "u", "password": SECRET, "password_file": "/p"},
        "sinks": [{"headers": {"Authorization": SECRET}, "url": f"https://u:{SECRET}@h/"}],
        "token": "",
        "tokens": 3,
        "cookies": [SECRET, ""],
        "names": ["a"],
        "passwords": {"ann": SECRET},
    }
    shown = redact_tree(tree)
    assert SECRET not in json.dumps(shown)
    assert shown == {
        "name": "live",
        "security": {"username": "u", "password": REDACTED, "password_file": "/p"},
        "sinks": [{"headers": {"Authorization": REDACTED}, "url": f"https://u:{REDACTED}@h/"}],
        "token": "",
        "tokens": 3,
        "cookies": [REDACTED, ""],
        "names": ["a"],
        "passwords": {"ann": REDACTED},
    }


def test_a_configuration_stays_one() -> None:
    text = f'name = "g1"\n[oidc]\nclient_id = "guardian"\nclient_secret = "{SECRET}"\n'
    assert tomllib.loads(redact(text)) == {
        "name": "g1",
        "oidc": {"client_id": "guardian", "client_secret": REDACTED},
    }


@given(
    st.text(), st.sampled_from(["password", "client_secret", "api-key", "auth_token"]), st.text("abcXYZ019", min_size=6)
)
def test_around_anything(noise: str, name: str, secret: str) -> None:
    assert is_secret_name(name)
    assert f'"{secret}"' not in redact(f'{noise}\n{name} = "{secret}"')


@given(st.text())
def test_twice_is_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("piece", ["x", "a:", '--password "', 'tokens = ["a", ', "http://a@", "-u ", "x-", "Cookie: "])
def test_a_long_line_takes_no_longer_than_its_length_does(piece: str) -> None:
    """Fail where a form looks at each character again and again: that takes minutes here."""
    began = time.process_time()
    redact(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 10
