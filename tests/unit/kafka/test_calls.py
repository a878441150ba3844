"""Calls on a cluster without one: how endpoints are tried within a deadline, and how it says that one is of no use."""

from __future__ import annotations

import errno
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import kafka.errors as kafka_errors
import pytest

from guardian.errors import ClusterUnavailable, InvalidInput
from guardian.kafka import calls as module
from guardian.kafka.control import KafkaControl
from guardian.kafka.credentials import ENVIRONMENT, SecretFolder
from guardian.kafka.kafka_python import Login
from guardian.kafka.reasons import unavailable_sentence
from guardian.kafka.tokens import TokenRefused
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

SASL = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-256", "guardian", "password")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Bound, so that nobody else takes it, but not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def sentence_of(cluster: Cluster, timeout_s: float) -> str:
    with closing(KafkaControl(cluster, timeout_s)) as control, pytest.raises(ClusterUnavailable) as failure:
        control.describe_cluster()
    return str(failure.value)


def test_a_cluster_that_is_down_is_told_in_one_sentence(closed_port: int) -> None:
    assert sentence_of(Cluster("live", f"127.0.0.1:{closed_port}"), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{closed_port} within 0.5 s: connection refused"
    )


class Attempts:
    """Instead of connections: each attempt to log in does what the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log_in: Callable[[str, float], None]) -> None:
        self.endpoints: list[str] = []
        attempts = self

        class Connections:
            def __init__(self, endpoint: str, _settings: object) -> None:
                attempts.endpoints.append(endpoint)

            def log_in(self, share_s: float) -> None:
                log_in(attempts.endpoints[-1], share_s)

            def close(self) -> None:
                """Nothing is open."""

        monkeypatch.setattr(module, "Connections", Connections)


def test_what_the_deadline_cuts_off_does_not_hide_what_an_attempt_before_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 0.0

    def passes(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def is_late_the_second_time(_endpoint: str, share_s: float) -> None:
        if len(attempts.endpoints) == 1:
            raise kafka_errors.KafkaConnectionError("connection refused")
        passes(share_s)
        raise kafka_errors.KafkaTimeoutError

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=passes))
    attempts = Attempts(monkeypatch, is_late_the_second_time)
    assert sentence_of(Cluster("live", "a:1"), 5.0).endswith("connection refused")
    assert len(attempts.endpoints) == 2


@pytest.mark.parametrize("endpoints", range(1, 5))
@pytest.mark.parametrize("takes", [0.0, 0.5, 1.0], ids=lambda share: f"each takes {share} of its share")
def test_attempts_fill_the_deadline_and_no_more(monkeypatch: pytest.MonkeyPatch, endpoints: int, takes: float) -> None:
    now_s = 0.0

    def passes(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def fails(_endpoint: str, share_s: float) -> None:
        passes(max(takes * share_s, 0.001))
        raise kafka_errors.KafkaTimeoutError

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s, sleep=passes))
    Attempts(monkeypatch, fails)
    sentence_of(Cluster("live", ",".join(f"b{number}:1" for number in range(endpoints))), 6.0)
    assert 5.0 < now_s < 6.0 + module._PAUSE_S + 0.01


WAITS_LONG = """
import sys
from guardian.kafka.control import KafkaControl
from guardian.model.topology import Cluster

KafkaControl(Cluster("live", sys.argv[1]), 3600.0).describe_cluster()
"""


def test_who_says_nothing_is_waited_for_as_long_as_the_call_may_take() -> None:
    """A call of an hour, which begins before, waits longer than one of half a second: nothing else ends either."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen([sys.executable, "-c", WAITS_LONG, endpoint]) as patient:
            try:
                listener.settimeout(PATIENCE_S)
                connection, _ = listener.accept()
                with connection:
                    assert "within 0.5 s: no answer" in sentence_of(Cluster("live", endpoint), 0.5)
                    assert patient.poll() is None
            finally:
                patient.kill()


@pytest.mark.parametrize("endpoints", range(1, 9))
def test_each_endpoint_gets_time_to_connect_and_the_first_more_than_its_share(endpoints: int) -> None:
    left_s = 6.0
    shares = []
    for number in range(endpoints):
        shares.append(module.connecting_share_s(left_s, endpoints - number))
        left_s -= shares[-1]
    assert left_s == pytest.approx(0)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 0
    assert shares[0] == pytest.approx(6.0 * 2 / (endpoints + 1))


def test_who_did_not_answer_is_asked_last_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_b_answers(endpoint: str, _share_s: float) -> None:
        if endpoint == "b:1":
            raise kafka_errors.SaslAuthenticationFailedError("it answers")
        raise kafka_errors.KafkaConnectionError("connection refused")

    attempts = Attempts(monkeypatch, only_b_answers)
    with closing(KafkaControl(Cluster("live", "a:1,b:1,c:1"), 60.0)) as control:
        for _ in range(2):
            with pytest.raises(ClusterUnavailable):
                control.describe_cluster()
    assert attempts.endpoints == ["a:1", "b:1", "b:1"]


def test_a_time_out_without_a_login_asks_for_the_port_too(silent_port: int) -> None:
    assert sentence_of(Cluster("live", f"127.0.0.1:{silent_port}"), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{silent_port} within 0.5 s: no answer; "
        "either it is down or that port does not speak PLAINTEXT"
    )


def test_a_time_out_with_a_login_names_both_possibilities(
    silent_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA.md, trap 10."""
    (tmp_path / "password").write_text("s3cret\n")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    security = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-512", "guardian", "password")
    assert sentence_of(Cluster("live", f"127.0.0.1:{silent_port}", security=security), 0.5) == (
        f"cluster live can't be reached at 127.0.0.1:{silent_port} within 0.5 s: no answer; "
        "either it is down or it does not accept the login of 'guardian': "
        "check the brokers, then the password in the secret password"
    )


def test_a_missing_password_is_invalid_input_before_any_connection(tmp_path: Path) -> None:
    security = ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "none")
    secrets = SecretFolder(tmp_path)
    with (
        closing(KafkaControl(Cluster("live", "127.0.0.1:1", security=security), secrets=secrets)) as control,
        pytest.raises(InvalidInput, match=r"security\.password_secret"),
    ):
        control.describe_cluster()


def test_failures_leave_no_thread_behind(closed_port: int, silent_port: int) -> None:
    before = set(threading.enumerate())
    for port in (closed_port, silent_port):
        sentence_of(Cluster("live", f"127.0.0.1:{port}"), 0.3)
    assert set(threading.enumerate()) <= before


def test_a_closed_control_says_so(closed_port: int) -> None:
    control = KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"))
    control.close()
    control.close()
    with pytest.raises(ClusterUnavailable, match="is closed"):
        control.describe_cluster()


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (
            kafka_errors.SaslAuthenticationFailedError("Invalid username or password"),
            "refuses the login of 'guardian': check username, sasl_mechanism and the password in the secret password",
        ),
        (
            kafka_errors.UnsupportedSaslMechanismError(),
            "does not offer security.sasl_mechanism SCRAM-SHA-256: use one that its listener enables",
        ),
        (
            kafka_errors.IllegalSaslStateError(),
            "asks for no login, but security.protocol is SASL_PLAINTEXT: "
            "use the protocol of that port, or the port of that protocol",
        ),
        (
            kafka_errors.ClusterAuthorizationFailedError("alter"),
            "refuses the request: CLUSTER_AUTHORIZATION_FAILED: alter",
        ),
    ],
)
def test_each_refusal_says_what_to_check(error: kafka_errors.KafkaError, end: str) -> None:
    assert unavailable_sentence(Cluster("live", "b1:9092", security=SASL), 10.0, error) == (
        f"cluster live at b1:9092 {end}"
    )


def test_a_refused_connection_does_not_blame_the_password() -> None:
    error = kafka_errors.KafkaConnectionError("unable to connect")
    error.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert unavailable_sentence(Cluster("live", "b1:9092", security=SASL), 10.0, error) == (
        "cluster live can't be reached at b1:9092 within 10 s: connection refused"
    )


def test_after_a_failure_the_next_call_starts_from_the_bootstrap_endpoints(closed_port: int) -> None:
    class LostConnections:
        is_closed = False

        def run(self, *_: object) -> None:
            raise kafka_errors.KafkaTimeoutError

        def close(self) -> None:
            self.is_closed = True

    lost = LostConnections()
    with closing(KafkaControl(Cluster("live", f"127.0.0.1:{closed_port}"), 0.3)) as control:
        control._calls._connections = lost  # type: ignore[assignment]
        with pytest.raises(ClusterUnavailable, match="no answer"):
            control.describe_cluster()
        assert lost.is_closed
        with pytest.raises(ClusterUnavailable, match="connection refused"):
            control.describe_cluster()


@pytest.mark.parametrize("hindrance", [TokenRefused("the endpoint is down; start it"), InvalidInput("it is empty")])
def test_a_login_that_can_not_be_renewed_ends_no_connection_that_lives(hindrance: Exception) -> None:
    class LivingConnections:
        def run(self, *_: object) -> str:
            return "answer"

        def close(self) -> None:
            """Nothing is open."""

    def renew(_left_s: float) -> None:
        raise hindrance

    with closing(KafkaControl(Cluster("live", "b1:9092"), 10.0)) as control:
        control._calls._connections = LivingConnections()  # type: ignore[assignment]
        control._calls._login = Login({}, renew=renew)
        assert control._calls.ask(lambda _session: answered()) == "answer"


async def answered() -> str:
    return "answer"


def test_where_all_brokers_refuse_by_tls_that_is_told_at_once_and_one_of_them_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = kafka_errors.KafkaConnectionError("Handshake failed")
    refused.__cause__ = ssl.SSLCertVerificationError(1, "failed")
    refused.__cause__.verify_code, refused.__cause__.verify_message = 10, "certificate has expired"

    def all_refuse(endpoint: str, _share_s: float) -> None:
        raise refused

    attempts = Attempts(monkeypatch, all_refuse)
    assert "has expired" in sentence_of(Cluster("live", "a:1,b:1"), 60.0)
    assert attempts.endpoints == ["a:1", "b:1"]

    def one_refuses(endpoint: str, _share_s: float) -> None:
        raise refused if endpoint == "a:1" else kafka_errors.ClusterAuthorizationFailedError("it answers")

    attempts = Attempts(monkeypatch, one_refuses)
    assert "it answers" in sentence_of(Cluster("live", "a:1,b:1"), 60.0)
    assert attempts.endpoints == ["a:1", "b:1"]
