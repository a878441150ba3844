"""`guardian cluster`: what an operator types is refused with the fix before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.errors import InvalidInput
from guardian.federation.commands.cluster import add
from guardian.model.topology import ClusterSecurity, SecurityProtocol
from tests.command_line import app
from tests.unit.member.member import Member


@pytest.mark.parametrize("broker", ["x", "-1", "99999999999", "9" * 5000])
def test_a_broker_that_is_no_id_is_refused(broker: str) -> None:
    with pytest.raises(InvalidInput, match=r"--reporter names broker .*: use the broker's number"):
        add(ClusterSecurity(), "live", "h:9092", reporter=[f"{broker}=h:1"])


def test_a_state_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--state is 'asleep': use one of active, draining, maintenance"):
        add(ClusterSecurity(), "live", "h:9092", state=["1=asleep"])


def test_cruise_controls_broker_sets_become_labels_and_what_that_means_for_topics_is_said(tmp_path: Path) -> None:
    file = tmp_path / "brokerSets.json"
    file.write_text(
        '{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [1, 2]}, {"brokerSetId": "red", "brokerIds": [3]}]}'
    )
    member = Member()
    try:
        line = ["cluster", "add", "live", "--bootstrap", "h:9092", "--broker-sets", str(file), "--label", "2=green"]
        result = CliRunner().invoke(app, [*line, "--endpoints", member.endpoint], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert "Labels of broker sets: blue, red. Plans keep topics of other labels, and of none, off" in result.output
        known = member.store.read().cluster("live")
        assert known is not None
        assert {broker.id: broker.label for broker in known.brokers} == {1: "blue", 2: "green", 3: "red"}

        file.write_text('{"brokerSets": [{"brokerSetId": "black", "brokerIds": [1, 8, 9]}]}')
        result = CliRunner().invoke(app, [*line, "--endpoints", member.endpoint], catch_exceptions=False)
        assert "Note: broker 8, 9: not in cluster live; left out. Bring the file again once it has" in result.output
        known = member.store.read().cluster("live")
        assert known is not None
        assert {broker.id: broker.label for broker in known.brokers} == {1: "black", 2: "green", 3: "red"}

        file.write_text('{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [9]}]}')
        with pytest.raises(InvalidInput, match=r"has no broker of cluster live \(got 9\): give the cluster's own file"):
            CliRunner().invoke(app, [*line, "--endpoints", member.endpoint], catch_exceptions=False)
    finally:
        member.stop()


@pytest.mark.parametrize(
    ("line", "security"),
    [
        (
            "--protocol SSL --ca-secret ca --certificate-secret crt --key-secret key --tls-server-name kafka.test",
            ClusterSecurity(
                SecurityProtocol.SSL,
                ca_secret="ca",
                certificate_secret="crt",
                key_secret="key",
                tls_server_name="kafka.test",
            ),
        ),
        (
            "--protocol SASL_SSL --mechanism OAUTHBEARER --username id --password-secret s --token-ca-secret ca"
            " --token-endpoint https://a/t --token-scope kafka",
            ClusterSecurity(
                SecurityProtocol.SASL_SSL,
                "OAUTHBEARER",
                "id",
                "s",
                token_endpoint="https://a/t",
                token_scope="kafka",
                token_ca_secret="ca",
            ),
        ),
        (
            "--protocol SASL_SSL --mechanism OAUTHBEARER --token-secret token",
            ClusterSecurity(SecurityProtocol.SASL_SSL, "OAUTHBEARER", token_secret="token"),
        ),
        (
            "--protocol SASL_PLAINTEXT --mechanism GSSAPI --username a@B --keytab-secret k --kerberos-service broker",
            ClusterSecurity(
                SecurityProtocol.SASL_PLAINTEXT, "GSSAPI", "a@B", keytab_secret="k", kerberos_service="broker"
            ),
        ),
    ],
    ids=["certificate", "endpoint", "token", "kerberos"],
)
def test_each_option_of_a_connection_is_registered(member: Member, line: str, security: ClusterSecurity) -> None:
    words = ["cluster", "add", "live", "--bootstrap", "h:9092", *line.split(), "--endpoints", member.endpoint]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    known = member.store.read().cluster("live")
    assert known is not None
    assert known.security == security


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()
