"""One POST: its address, its token, what its answer says, and that it ends in its time."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from guardian.events.loop.posting import NotTaken, Refused, ToBeMended, post
from guardian.events.model import Sink, sinks_of
from guardian.events.rules.notifying import Post
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow


class Hook(http.server.BaseHTTPRequestHandler):
    status = 200
    seen: list[tuple[str, str | None, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append((self.path, self.headers["Authorization"], body))
        self.send_response(type(self).status)
        self.end_headers()
        self.wfile.write(b"no such template\nmore")

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    handler = type("Handler", (Hook,), {"seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(PATIENCE_S)
    server.server_close()


def sink_at(url: str, **settings: object) -> Sink:
    [made] = sinks_of("sinks", [{"name": "s", "kind": "webhook", "url": url, **settings}])
    return made


def test_a_post_goes_to_the_address_with_its_token(hook: tuple[type[Hook], str], tmp_path: Path) -> None:
    handler, url = hook
    (tmp_path / "token").write_text("s3cret\n")
    wanted = Post("/api/v2/alerts", "application/json", b"[]")
    post(sink_at(f"{url}/alerts/?team=a", token_file=str(tmp_path / "token")), wanted)
    post(sink_at(url), Post("", "text/plain", b"hi"))
    assert handler.seen == [("/alerts/api/v2/alerts?team=a", "Bearer s3cret", b"[]"), ("/", None, b"hi")]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Refused),
        (422, Refused),
        (404, ToBeMended),
        (410, ToBeMended),
        (401, ToBeMended),
        (403, ToBeMended),
        (407, ToBeMended),
        (429, NotTaken),
        (500, NotTaken),
        (302, NotTaken),
    ],
)
def test_what_the_answer_says_decides_whether_it_comes_again(
    hook: tuple[type[Hook], str], status: int, error: type[Exception]
) -> None:
    handler, url = hook
    handler.status = status
    with pytest.raises(error, match=rf"127.0.0.1 answers {status} .*: no such template$") as refused:
        post(sink_at(url), Post("", "text/plain", b"hi"))
    assert type(refused.value) is error


def test_who_is_not_there_or_whose_address_is_missing_is_asked_later(tmp_path: Path) -> None:
    with pytest.raises(NotTaken, match="does not take it"):
        post(sink_at("http://127.0.0.1:1"), Post("", "text/plain", b""))
    [secret] = sinks_of("sinks", [{"name": "s", "kind": "slack", "url_file": str(tmp_path / "url")}])
    with pytest.raises(NotTaken, match=r"url_file .* can't be read: No such file"):
        post(secret, Post("", "text/plain", b""))
    (tmp_path / "url").write_text("ftp://s3cret")
    with pytest.raises(NotTaken, match="is no address") as refused:
        post(secret, Post("", "text/plain", b""))
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("content", ["s3cret\nsecond", "s3cr\u00e9t", "\n"])
def test_a_token_that_is_no_line_is_not_told(hook: tuple[type[Hook], str], tmp_path: Path, content: str) -> None:
    handler, url = hook
    (tmp_path / "token").write_text(content)
    with pytest.raises(NotTaken) as refused:
        post(sink_at(url, token_file=str(tmp_path / "token")), Post("", "text/plain", b"hi"))
    assert str(refused.value) == f"token_file {tmp_path}/token holds no token: give one line"
    assert handler.seen == []


class Dripping:
    """A server that answers every connection with a byte now and then, for ever: `begin` at once, then `more`."""

    def __init__(self, begin: bytes, more: bytes) -> None:
        self._begin, self._more = begin, more
        self._is_over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.dripped = threading.Event()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(OSError):
                    connection.sendall(self._begin)
                    while not self._is_over.wait(0.02):
                        connection.sendall(self._more)
                        self.dripped.set()

    def close(self) -> None:
        self._is_over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)


@pytest.fixture
def drip() -> Iterator[Callable[[bytes, bytes], Dripping]]:
    made: list[Dripping] = []

    def make(begin: bytes, more: bytes) -> Dripping:
        made.append(Dripping(begin, more))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"", b"H"), (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), (b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n")],
    ids=["the status", "a header", "headers"],
)
def test_who_drips_bytes_does_not_hold_a_post_beyond_its_time(
    drip: Callable[[bytes, bytes], Dripping], begin: bytes, more: bytes
) -> None:
    with pytest.raises(NotTaken, match="does not take it"):
        post(sink_at(drip(begin, more).url, timeout_s=0.3), Post("", "text/plain", b"hi"))


def test_an_answer_counts_by_its_status_however_long_its_body_takes(drip: Callable[[bytes, bytes], Dripping]) -> None:
    post(sink_at(drip(b"HTTP/1.1 200 OK\r\n\r\n", b"a").url, timeout_s=30.0), Post("", "text/plain", b"hi"))
    refusing = sink_at(drip(b"HTTP/1.1 400 No\r\n\r\n", b"a").url, timeout_s=0.3)
    deadline = time.monotonic() + PATIENCE_S

    def sent() -> None:
        while time.monotonic() < deadline:
            with suppress(NotTaken):  # not even its status came in time
                post(refusing, Post("", "text/plain", b"hi"))

    with pytest.raises(Refused, match="answers 400 No"):
        sent()
