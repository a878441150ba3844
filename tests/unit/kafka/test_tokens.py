"""Access tokens: when they are asked for, how long they are good, and why there is none."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.kafka.tokens import Token, TokenCache, TokenRefused, TokenRequest, life_s, require_token

REQUEST = TokenRequest("https://login.example.net/token", "guardian", "one", secret_name="live.client")


class Endpoint:
    """Gives a new token each time; its clock is the cache's."""

    def __init__(self, life: float = 100.0) -> None:
        self.now_s = 0.0
        self.life = life
        self.asked: list[TokenRequest] = []
        self.is_down = False

    def fetch(self, request: TokenRequest, _timeout_s: float) -> Token:
        if self.is_down:
            raise TokenRefused("it is down; start it")
        self.asked.append(request)
        return Token(f"t{len(self.asked)}", self.life)

    def cache(self) -> TokenCache:
        return TokenCache(self.fetch, lambda: self.now_s)


def test_a_token_is_asked_for_once_until_most_of_its_life_is_over() -> None:
    endpoint = Endpoint()
    cache = endpoint.cache()
    for now_s, token in ((0.0, "t1"), (79.9, "t1"), (80.0, "t2"), (159.0, "t2"), (161.0, "t3")):
        endpoint.now_s = now_s
        assert cache.renewed(REQUEST, 1.0) == token
        assert cache.current(REQUEST) == token


def test_a_token_is_used_to_its_end_where_no_new_one_is_to_be_had() -> None:
    endpoint = Endpoint()
    cache = endpoint.cache()
    cache.renewed(REQUEST, 1.0)
    endpoint.is_down = True
    endpoint.now_s = 99.0
    assert cache.renewed(REQUEST, 1.0) == "t1"
    endpoint.now_s = 100.0
    with pytest.raises(TokenRefused, match="it is down"):
        cache.renewed(REQUEST, 1.0)
    with pytest.raises(TokenRefused, match="has ended"):
        cache.current(REQUEST)
    endpoint.is_down = False
    assert cache.renewed(REQUEST, 1.0) == "t2"


def test_an_endpoint_that_is_down_is_not_asked_by_each_call_while_the_token_is_good() -> None:
    endpoint = Endpoint()
    attempts = 0

    def counted(request: TokenRequest, timeout_s: float) -> Token:
        nonlocal attempts
        attempts += 1
        return endpoint.fetch(request, timeout_s)

    cache = TokenCache(counted, lambda: endpoint.now_s)
    cache.renewed(REQUEST, 1.0)
    endpoint.is_down = True
    for tenth in range(800, 990):
        endpoint.now_s = tenth / 10
        cache.renewed(REQUEST, 1.0)
    assert attempts == 3


def test_another_secret_is_another_request_and_what_has_ended_is_forgotten() -> None:
    endpoint = Endpoint()
    cache = endpoint.cache()
    cache.renewed(REQUEST, 1.0)
    exchanged = TokenRequest(REQUEST.endpoint, REQUEST.client_id, "two")
    assert cache.renewed(exchanged, 1.0) == "t2"
    endpoint.now_s = 1000.0
    cache.renewed(exchanged, 1.0)
    assert list(cache._kept) == [exchanged]


def test_what_is_forgotten_while_it_is_asked_for_is_there_afterwards() -> None:
    """Another cluster's token is asked for meanwhile, and what has no token yet counts as ended."""
    endpoint = Endpoint()

    def beside_another(request: TokenRequest, timeout_s: float) -> Token:
        if request == REQUEST:
            cache.renewed(TokenRequest("https://other.example.net/", "guardian", "one"), timeout_s)
        return endpoint.fetch(request, timeout_s)

    cache = TokenCache(beside_another, lambda: endpoint.now_s)
    assert cache.renewed(REQUEST, 1.0) == cache.current(REQUEST)


def test_a_secret_is_not_shown() -> None:
    assert "one" not in repr(REQUEST)


def test_who_waits_for_the_same_token_waits_no_longer_than_it_may() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(_request: TokenRequest, _timeout_s: float) -> Token:
        asked.set()
        assert go_on.wait(60.0)
        return Token("t1", 100.0)

    cache = TokenCache(slow)
    thread = threading.Thread(target=cache.renewed, args=(REQUEST, 60.0))
    thread.start()
    assert asked.wait(60.0)
    with pytest.raises(TokenRefused, match="did not answer in time"):
        cache.renewed(REQUEST, 0.01)
    go_on.set()
    thread.join()
    assert cache.renewed(REQUEST, 0.01) == "t1"


def jwt(**claims: object) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2ln"


@pytest.mark.parametrize(
    ("told", "text", "expected"),
    [
        ({"expires_in": 60}, "t", 60.0),
        ({"expires_in": "60"}, "t", 60.0),
        ({}, jwt(exp=1060), 60.0),
        ({"expires_in": 0}, jwt(exp=1060), 60.0),
        ({"expires_in": True}, "t", 300.0),
        ({}, jwt(exp=900), 0.0),
        ({}, jwt(exp="soon"), 300.0),
        ({}, "a.b.c", 300.0),
        ({}, "opaque", 300.0),
    ],
)
def test_the_life_of_a_token_is_what_the_answer_or_the_token_says(
    told: dict[str, object], text: str, expected: float
) -> None:
    assert life_s(told, text, 1000.0) == expected


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_no_answer_makes_a_life_that_is_below_nothing(text: str, told: dict[str, object]) -> None:
    assert life_s(told, text, 1000.0) >= 0


@pytest.mark.parametrize("text", ["", "a b", "a\x01auth=Bearer b", "a\n", "ä", "=a"])
def test_what_would_end_the_message_of_a_login_is_no_token(text: str) -> None:
    with pytest.raises(TokenRefused, match="is no bearer token"):
        require_token("it", text)


@pytest.mark.parametrize("take", [lambda cache: cache.current(REQUEST)])
def test_there_is_no_token_before_one_is_asked_for(take: Callable[[TokenCache], str]) -> None:
    with pytest.raises(TokenRefused):
        take(Endpoint().cache())
