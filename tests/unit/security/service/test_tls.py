"""TLS of a member's ports: who is let in, who is refused and counted, and files that change under calls."""

from __future__ import annotations

import asyncio
import http.client
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fastapi import FastAPI

from deploy.local import ports
from guardian.client import ClientTls
from guardian.config import HttpTlsConfig, TlsConfig
from guardian.errors import InvalidInput, NotSignedIn
from guardian.security.certificates.authority import Issued, Wanted, revoke
from guardian.security.certificates.folder import CertificateFolder
from guardian.security.service.peers import CertificateInterceptor, certificate_of
from guardian.security.service.tls import GrpcTls, HttpTls, PemFiles
from guardian.serving.errors import trailers_of
from guardian.serving.grpc_server import start_grpc
from guardian.serving.http import HttpServer
from tests import patience
from tests.patience import PATIENCE_S

DAY_MS = 86_400_000
HOSTS = ("127.0.0.1", "localhost")
_OPTIONS = [("grpc.enable_http_proxy", 0)]


def now_ms() -> int:
    return int(time.time() * 1000)


class Clock:
    """Lets a look at the files be due."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 10.0
        return self.now


class World:
    """An authority, a member of it, and a folder of the files that the member has in use."""

    def __init__(self, path: Path) -> None:
        self.folder = made(path / "authority")
        self.folder.issue(Wanted("g1", HOSTS), now_ms())
        self.folder.issue(Wanted("ann", is_person=True), now_ms())
        self.other = made(path / "other")
        self.other.issue(Wanted("g1", HOSTS), now_ms())
        self.other.issue(Wanted("ann"), now_ms())
        self.used = path / "used"
        self.used.mkdir()
        self.install(self.folder)

    def install(self, folder: CertificateFolder) -> None:
        for source, name in (
            (folder.authority, "ca.pem"),
            (folder.certificate("g1"), "g1.pem"),
            (folder.key("g1"), "g1.key"),
            (folder.revoked, "crl.pem"),
        ):
            shutil.copy(source, self.used / f".{name}")
            (self.used / f".{name}").replace(self.used / name)

    @property
    def config(self) -> TlsConfig:
        return TlsConfig(self.used / "ca.pem", self.used / "g1.pem", self.used / "g1.key", self.used / "crl.pem")

    def client(
        self, name: str, folder: CertificateFolder | None = None, ca: CertificateFolder | None = None
    ) -> ClientTls:
        folder = folder or self.folder
        return ClientTls((ca or self.folder).authority, folder.certificate(name), folder.key(name))

    def expired(self, name: str) -> ClientTls:
        self.folder.issue(Wanted(name, days=1), now_ms() - 2 * DAY_MS)
        return self.client(name)


def made(path: Path) -> CertificateFolder:
    folder = CertificateFolder(path)
    folder.init("tests", 30, now_ms() - 3 * DAY_MS)
    return folder


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def unary(channel: grpc.Channel, method: str) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
    return channel.unary_unary(f"/a.B/{method}")


def stream(channel: grpc.Channel, method: str) -> grpc.UnaryStreamMultiCallable[bytes, bytes]:
    return channel.unary_stream(f"/a.B/{method}")


class GrpcSide:
    """A server with one method of each kind that our servicers are made of."""

    def __init__(self, world: World, clock_ms: Callable[[], int] = now_ms) -> None:
        self.files = PemFiles("grpc_tls", world.config, clock=Clock())
        self.seen: list[str] = []
        self.recorded: list[tuple[str, str, str]] = []
        self.server = start_grpc(
            "127.0.0.1:0",
            self._register,
            credentials=GrpcTls(self.files).credentials(),
            interceptors=[CertificateInterceptor(self.files, clock_ms, lambda *told: self.recorded.append(told), 0.05)],
        )
        self.endpoint = f"127.0.0.1:{self.server.port}"

    def _register(self, server: grpc.aio.Server) -> None:
        async def ask(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            facts = certificate_of(context.auth_context())
            self.seen.append(facts.common_name if facts else "")
            return request

        async def stream(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> Any:
            for _ in range(3):
                yield request

        async def watch(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> Any:
            yield request
            await asyncio.Event().wait()

        def wait(request: bytes, context: grpc.ServicerContext) -> bytes:
            facts = certificate_of(context.auth_context())
            self.seen.append(facts.common_name if facts else "")
            return request

        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Ask": grpc.unary_unary_rpc_method_handler(ask),
            "Wait": grpc.unary_unary_rpc_method_handler(wait),
            "Stream": grpc.unary_stream_rpc_method_handler(stream),
            "Watch": grpc.unary_stream_rpc_method_handler(watch),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", methods),))

    def call_all(self, channel: grpc.Channel) -> None:
        for method in ("Ask", "Wait"):
            assert unary(channel, method)(b"x", timeout=PATIENCE_S) == b"x"
        assert set(stream(channel, "Stream")(b"x", timeout=PATIENCE_S)) == {b"x"}


@contextmanager
def serving(world: World, clock_ms: Callable[[], int] = now_ms) -> Iterator[GrpcSide]:
    side = GrpcSide(world, clock_ms)
    try:
        yield side
    finally:
        side.server.stop()


def channel_of(side: GrpcSide, tls: ClientTls | None) -> grpc.Channel:
    if tls is None:
        return grpc.insecure_channel(side.endpoint, options=_OPTIONS)
    return grpc.secure_channel(side.endpoint, tls.credentials(), options=_OPTIONS)


def refusals(side: GrpcSide, channel: grpc.Channel) -> set[grpc.StatusCode]:
    """How each kind of call ends that must not be served."""
    codes = set()
    for method in ("Ask", "Wait"):
        with pytest.raises(grpc.RpcError) as refused:
            unary(channel, method)(b"x", timeout=PATIENCE_S)
        codes.add(refused.value.code())
    with pytest.raises(grpc.RpcError) as refused:
        list(stream(channel, "Stream")(b"x", timeout=PATIENCE_S))
    codes.add(refused.value.code())
    assert side.seen == [], "nothing was begun"
    return codes


def test_who_shows_a_certificate_of_the_authority_is_served_and_known(world: World) -> None:
    with serving(world) as side, channel_of(side, world.client("ann")) as channel:
        side.call_all(channel)
        assert side.seen == ["ann", "ann"]
        assert side.files.counters.refused() == {}
        assert side.files.counters.handshakes == 1


@pytest.mark.parametrize("who", ["nobody", "plain", "no certificate", "stranger", "expired", "distrusting"])
def test_who_has_none_or_a_wrong_one_gets_no_byte_through(
    world: World, who: str, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = {
        "nobody": None,
        "plain": None,
        "no certificate": ClientTls(world.folder.authority),
        "stranger": world.client("ann", world.other),
        "expired": world.expired("bob"),
        "distrusting": world.client("ann", ca=world.other),
    }[who]
    with serving(world) as side, channel_of(side, shown) as channel:
        assert refusals(side, channel) <= {grpc.StatusCode.UNAVAILABLE}
        assert side.files.counters.handshakes >= 1, "counted"
        assert side.files.counters.served == 0, "and seen to have come to nothing"
        assert "Handshake failed" in capfd.readouterr().err, "and told, by gRPC, on the member's standard error"


def test_an_open_stream_ends_when_its_certificate_is_taken_back(world: World) -> None:
    with serving(world) as side, channel_of(side, world.client("ann")) as channel:
        watched = stream(channel, "Watch")(b"x", timeout=PATIENCE_S)
        assert next(watched) == b"x"
        world.folder.renew("ann", 5, now_ms())
        world.folder.revoke("ann", now_ms())
        world.install(world.folder)
        with pytest.raises(grpc.RpcError, match="the certificate of ann was taken back") as ended:
            next(watched)
        assert ended.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_what_is_taken_back_or_runs_out_is_refused_on_connections_that_stand(world: World) -> None:
    offset_ms = 0
    with serving(world, lambda: now_ms() + offset_ms) as side, channel_of(side, world.client("ann")) as channel:
        side.call_all(channel)
        side.seen.clear()
        offset_ms = 400 * DAY_MS
        assert refusals(side, channel) == {grpc.StatusCode.UNAUTHENTICATED}
        assert side.files.counters.refused() == {"expired": 3}
        offset_ms = 0
        world.folder.revoke("ann", now_ms())
        world.install(world.folder)
        assert refusals(side, channel) == {grpc.StatusCode.UNAUTHENTICATED}
        assert side.files.counters.refused() == {"expired": 3, "revoked": 3}
        with pytest.raises(grpc.RpcError, match="the certificate of ann was taken back"):
            unary(channel, "Ask")(b"x", timeout=PATIENCE_S)
        assert {(method, why.split(":")[0]) for method, why, _ in side.recorded} >= {
            ("/a.B/Stream", "the certificate of ann has expired"),
            ("/a.B/Wait", "the certificate of ann was taken back by its authority"),
        }
        assert all("127.0.0.1:" in address for _, _, address in side.recorded)
        assert side.files.counters.served == 1
        world.folder.renew("ann", 30, now_ms())
        with channel_of(side, world.client("ann")) as again:
            side.call_all(again)
            assert side.files.counters.served == 2


def test_a_list_that_is_out_of_date_lets_nobody_in(world: World) -> None:
    with serving(world) as side, channel_of(side, world.client("ann")) as channel:
        side.call_all(channel)
        side.seen.clear()
        authority = Issued(world.folder.authority.read_bytes(), world.folder.key("ca").read_bytes())
        (world.used / "crl.pem").write_bytes(revoke(authority, [], now_ms(), until_ms=now_ms() - 1000))
        assert refusals(side, channel) == {grpc.StatusCode.UNAUTHENTICATED}
        assert side.files.counters.refused() == {"crl_out_of_date": 3}
        world.install(world.folder)
        side.call_all(channel)


def test_new_files_count_for_new_connections_and_no_call_is_dropped(world: World) -> None:
    """Calls without a pause while the member's certificate is renewed again and again."""
    with serving(world) as side:
        stop, failures, calls = threading.Event(), [], [0, 0]

        def call_on_and_on(number: int) -> None:
            with channel_of(side, world.client("ann")) as channel:
                ask = unary(channel, "Ask")
                while not stop.is_set():
                    try:
                        ask(b"x", timeout=PATIENCE_S)
                        calls[number] += 1
                    except grpc.RpcError as error:
                        failures.append(str(error))
                        return

        threads = [threading.Thread(target=call_on_and_on, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        served = set()
        for _ in range(5):
            world.folder.renew("g1", 30, now_ms())
            world.install(world.folder)
            with channel_of(side, world.client("ann")) as channel:  # a new connection each
                side.call_all(channel)
            served.add(served_fingerprint(side, world))
            wait_for(partial(have_grown, calls, tuple(calls)), "more calls", failures)
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert failures == []
        assert len(served) == 5, "each renewal was taken up"


def served_fingerprint(side: GrpcSide, world: World) -> bytes:
    """Of the certificate that the server shows."""
    context = ssl.create_default_context(cafile=str(world.folder.authority))
    context.load_cert_chain(world.folder.certificate("ann"), world.folder.key("ann"))
    context.set_alpn_protocols(["h2"])
    host, port = side.endpoint.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
        assert shown is not None
        return shown


def have_grown(calls: list[int], before: tuple[int, ...]) -> bool:
    return all(now > then for now, then in zip(calls, before, strict=True))


def is_refused(tls: HttpTls, times: int) -> bool:
    return sum(tls.files.counters.refused().values()) == times


def wait_for(condition: Callable[[], bool], what: str, failures: list[str]) -> None:
    def is_so() -> bool:
        assert not failures, failures
        return condition()

    patience.wait_for(what, is_so)


def test_another_authority_takes_the_place_of_the_old_one(world: World) -> None:
    with serving(world) as side:
        with channel_of(side, world.client("ann")) as channel:
            side.call_all(channel)
            world.install(world.other)
            with channel_of(side, world.client("ann", world.other, ca=world.other)) as changed:
                side.call_all(changed)
            side.call_all(channel)  # connected before, and still of use
        side.seen.clear()
        with channel_of(side, world.client("ann")) as late:
            assert refusals(side, late) == {grpc.StatusCode.UNAVAILABLE}


def test_files_that_cant_be_used_change_nothing_and_are_told_once(world: World) -> None:
    files = PemFiles("grpc_tls", world.config, clock=Clock())
    before = files.current()
    shutil.copy(world.other.certificate("g1"), world.used / "g1.pem")  # its key is not there yet
    for _ in range(3):
        assert files.current() is before
    assert files.counters.failed_reloads == 1
    (world.used / "g1.key").unlink()
    assert files.current() is before
    assert files.counters.failed_reloads == 2
    world.install(world.other)
    assert files.current() is not before


def test_files_that_cant_be_used_are_refused_at_start(world: World) -> None:
    for broken in ("ca.pem", "g1.pem", "g1.key", "crl.pem"):
        world.install(world.folder)
        (world.used / broken).write_text("garbage")
        with pytest.raises(InvalidInput, match="grpc_tls can't be used"):
            PemFiles("grpc_tls", world.config)
    world.install(world.folder)
    shutil.copy(world.other.revoked, world.used / "crl.pem")
    with pytest.raises(InvalidInput, match="signed by no authority"):
        PemFiles("grpc_tls", world.config)


def test_the_dates_of_all_files_are_known(world: World) -> None:
    lives = {life.what: life for life in PemFiles("grpc_tls", world.config).lives("g1")}
    assert set(lives) == {"certificate", "ca", "crl"}
    assert lives["certificate"].until_ms == world.folder.facts("g1").not_after_ms
    assert lives["certificate"].where == str(world.used / "g1.pem")


@contextmanager
def web(world: World, *, asks: bool) -> Iterator[tuple[int, HttpTls]]:
    """The HTTP port; `asks`: clients must show a certificate."""
    app = FastAPI()

    @app.get("/")
    def hello() -> str:
        return "hello"

    config = world.config
    only = HttpTlsConfig(config.certificate, config.key, config.ca if asks else None, config.crl if asks else None)
    tls = HttpTls(PemFiles("http_tls", only, clock=Clock()))
    (port,) = ports.pick(1)
    server = HttpServer(f"127.0.0.1:{port}", app, tls.context)
    server.start()
    try:
        yield port, tls
    finally:
        server.stop()


def get(port: int, context: ssl.SSLContext | None) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = (
            http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=context)
            if context
            else http.client.HTTPConnection("localhost", port, timeout=PATIENCE_S)
        )
        with closing(connection):
            try:
                connection.request("GET", "/")
                return connection.getresponse().status
            except ConnectionRefusedError:  # it has only just begun
                assert time.monotonic() < deadline
                time.sleep(0.05)


def trusting(ca: CertificateFolder, shown: ClientTls | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca.authority))
    if shown is not None and shown.certificate is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    return context


def test_http_takes_up_new_files_at_the_next_handshake(world: World) -> None:
    with web(world, asks=False) as (port, tls):
        assert get(port, trusting(world.folder)) == 200
        world.install(world.other)
        assert get(port, trusting(world.other)) == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            get(port, trusting(world.folder))
        with pytest.raises((http.client.BadStatusLine, ConnectionError)):
            get(port, None)
        wait_for(lambda: sum(tls.files.counters.refused().values()) >= 1, "refusal", [])


def test_http_refuses_and_counts_who_has_none_a_wrong_or_a_revoked_one(world: World) -> None:
    recorded: list[str] = []
    with web(world, asks=True) as (port, tls):
        tls.record_with(recorded.append)
        assert get(port, trusting(world.folder, world.client("ann"))) == 200
        expired = world.expired("bob")
        for number, shown in enumerate((None, world.client("ann", world.other), expired), 1):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                get(port, trusting(world.folder, shown))
            wait_for(partial(is_refused, tls, number), "refusal", [])
        assert (tls.files.counters.handshakes, tls.files.counters.served) == (4, 1)
        world.folder.revoke("ann", now_ms())
        world.install(world.folder)
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
            get(port, trusting(world.folder, world.client("ann")))
        wait_for(lambda: tls.files.counters.refused().get("certificate_revoked") == 1, "refusal", [])
        assert recorded
        assert recorded[0] == "peer_did_not_return_a_certificate"
        assert set(tls.files.counters.refused()) == {
            "peer_did_not_return_a_certificate",
            "unable_to_get_local_issuer_certificate",
            "certificate_has_expired",
            "certificate_revoked",
        }


def test_the_refusal_of_a_certificate_is_an_answer_that_clients_understand() -> None:
    assert trailers_of(NotSignedIn("x")) == (("guardian-error", "NotSignedIn"),)


def test_the_base_context_is_asked_even_without_a_server_name(world: World) -> None:
    """Callers by IP address send none: they too get the newest certificate."""

    async def shown(tls: HttpTls) -> bytes:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=tls.context)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        async with server:
            _, writer = await asyncio.open_connection(
                "127.0.0.1", server.sockets[0].getsockname()[1], ssl=context, server_hostname=""
            )
            certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            return bytes(certificate)

    tls = HttpTls(PemFiles("http_tls", HttpTlsConfig(world.config.certificate, world.config.key), clock=Clock()))
    before = asyncio.run(shown(tls))
    world.install(world.other)
    assert asyncio.run(shown(tls)) != before
