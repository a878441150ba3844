"""Why brokers and Guardian do not come to terms: errors that real brokers do not show on demand.

What they show is in tests/integration/kafka/test_connections_of_clusters.py.
"""

from __future__ import annotations

import ssl

import kafka.errors as kafka_errors
import pytest

from guardian.kafka import kerberos, tls
from guardian.kafka.kafka_python import ServerNotProven
from guardian.kafka.reasons import unavailable_sentence
from guardian.model.topology import Cluster, ClusterSecurity, SecurityProtocol

SSL = ClusterSecurity(SecurityProtocol.SSL, ca_secret="ca")
MUTUAL = ClusterSecurity(SecurityProtocol.SSL, certificate_secret="crt", key_secret="key")


def unverified(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_code, error.verify_message = code, message
    return error


def alert(name: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "failed")
    error.reason = name
    return error


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (9, "shows a certificate that is not valid yet (got 'told'); set the clock of this machine, or theirs"),
        (23, "shows a certificate that was revoked (got 'told'); renew it there"),
        (79, "shows a certificate that can't be verified (got 'told'); renew it there"),
        (2, "shows a certificate of an unknown authority (got 'told'); put it into the secret ca"),
    ],
)
def test_what_is_wrong_with_a_brokers_certificate_goes_by_the_number(code: int, end: str) -> None:
    error = kafka_errors.KafkaConnectionError("Handshake failed")
    error.__cause__ = unverified(code, "told")
    assert unavailable_sentence(Cluster("live", "b1:9092", security=SSL), 10.0, error) == (
        f"cluster live at b1:9092 {end}"
    )


@pytest.mark.parametrize(
    ("security", "name", "part"),
    [
        (SSL, "TLSV13_ALERT_CERTIFICATE_REQUIRED", "wants a client certificate (got the alert CERTIFICATE_REQUIRED)"),
        (SSL, "SSLV3_ALERT_HANDSHAKE_FAILURE", "wants a client certificate (got the alert HANDSHAKE_FAILURE)"),
        (
            MUTUAL,
            "TLSV1_ALERT_UNKNOWN_CA",
            "refuses the client certificate in the secret crt (got the alert UNKNOWN_CA",
        ),
        (MUTUAL, "SSLV3_ALERT_CERTIFICATE_EXPIRED", "refuses the client certificate in the secret crt (got the alert"),
    ],
)
def test_what_a_broker_refuses_goes_by_its_alert(security: ClusterSecurity, name: str, part: str) -> None:
    """kafka-python passes the error on as an argument, where it comes after the handshake."""
    error = kafka_errors.KafkaConnectionError(alert(name))
    assert part in unavailable_sentence(Cluster("live", "b1:9092", security=security), 10.0, error)


@pytest.mark.parametrize("name", ["WRONG_VERSION_NUMBER", "TLSV1_ALERT_PROTOCOL_VERSION", "TLSV1_ALERT_INTERNAL_ERROR"])
def test_what_has_nothing_to_do_with_certificates_does_not_blame_them(name: str) -> None:
    error = kafka_errors.KafkaConnectionError("Handshake failed")
    error.__cause__ = alert(name)
    sentence = unavailable_sentence(Cluster("live", "b1:9092", security=MUTUAL), 10.0, error)
    assert sentence.endswith(f"within 10 s: TLS handshake failed: {name}")


def test_a_server_that_does_not_know_the_password_is_told() -> None:
    login = ClusterSecurity(SecurityProtocol.SASL_PLAINTEXT, "SCRAM-SHA-256", "ann", "password")
    sentence = unavailable_sentence(
        Cluster("live", "b1:9092", security=login), 10.0, ServerNotProven("Server sent wrong signature!")
    )
    assert sentence == (
        "cluster live at b1:9092 does not prove that it knows the password of 'ann' (got 'Server sent wrong "
        "signature!'): check that these brokers are the cluster's"
    )


@pytest.mark.parametrize(
    ("code", "part"),
    [
        (6, "the KDC does not know the principal ann; check username"),
        (37, "the clocks differ by more than Kerberos allows; set those of this machine, the KDC and the broker"),
        (156, "no KDC of the realm answers"),
        (0, "told; look into the KDC's log"),
        (-1, "told; install Kerberos' libraries and kafka-guardian[kerberos]"),
    ],
)
def test_why_kerberos_gives_no_way_goes_by_the_number(code: int, part: str) -> None:
    assert part in kerberos.problem(code, "told", "ann", "kafka")


def test_an_alert_is_named_without_its_version() -> None:
    assert tls.alert_of(alert("TLSV13_ALERT_CERTIFICATE_REQUIRED")) == "CERTIFICATE_REQUIRED"
    assert tls.alert_of(alert("WRONG_VERSION_NUMBER")) == ""
