"""What a cluster's connection may consist of."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.topology import SASL_MECHANISMS, ClusterSecurity, SecurityProtocol

SSL, SASL_SSL, SASL_PLAINTEXT = SecurityProtocol.SSL, SecurityProtocol.SASL_SSL, SecurityProtocol.SASL_PLAINTEXT
ENDPOINT = "https://login.example.net/token"
BY_ENDPOINT = {"username": "id", "password_secret": "client", "token_endpoint": ENDPOINT}


@pytest.mark.parametrize(
    ("protocol", "mechanism", "fields"),
    [
        (SSL, "", {"certificate_secret": "c", "key_secret": "k", "tls_server_name": "kafka.example.net"}),
        (SASL_PLAINTEXT, "SCRAM-SHA-512", {"username": "a=b,c", "password_secret": "p"}),
        (SASL_SSL, "SCRAM-SHA-256", {"username": "a", "password_secret": "p", "tls_server_name": "_srv.a"}),
        (SASL_SSL, "OAUTHBEARER", {"token_secret": "t"}),
        (SASL_SSL, "OAUTHBEARER", BY_ENDPOINT),
        (SASL_SSL, "OAUTHBEARER", {**BY_ENDPOINT, "token_scope": "a b", "token_ca_secret": "ca"}),
        (SASL_SSL, "GSSAPI", {"username": "a@B", "keytab_secret": "k", "certificate_secret": "c", "key_secret": "k"}),
        (SASL_PLAINTEXT, "GSSAPI", {"username": "a@B", "keytab_secret": "k", "kerberos_service": "broker"}),
    ],
)
def test_each_way_is_taken(protocol: SecurityProtocol, mechanism: str, fields: dict[str, str]) -> None:
    security = ClusterSecurity(protocol, mechanism, **fields)
    assert security.secrets() == {name: value for name, value in fields.items() if name.endswith("_secret")}


@pytest.mark.parametrize(
    ("protocol", "mechanism", "fields", "sentence"),
    [
        (SSL, "", {"certificate_secret": "c"}, "certificate_secret is 'c' and key_secret is '': name both or neither"),
        (SSL, "", {"key_secret": "k"}, "certificate_secret is '' and key_secret is 'k'"),
        (SASL_PLAINTEXT, "GSSAPI", {"username": "a", "keytab_secret": "k", "tls_server_name": "b"}, "tls_server_name"),
        (SSL, "", {"tls_server_name": "a b"}, "security.tls_server_name is 'a b': use a host's name"),
        (SSL, "", {"tls_server_name": "a:9092"}, "security.tls_server_name is 'a:9092'"),
        (SSL, "", {"token_secret": "t"}, "token_secret is 't', which sasl_mechanism '' does not use: leave it out"),
        (SASL_SSL, "MAGIC", {"username": "a"}, f"use one of {', '.join(SASL_MECHANISMS)}"),
        (SASL_SSL, "OAUTHBEARER", {}, "needs token_secret, or token_endpoint with username"),
        (SASL_SSL, "OAUTHBEARER", {"token_endpoint": ENDPOINT, "username": "a"}, "needs token_secret, or"),
        (SASL_SSL, "OAUTHBEARER", {"token_secret": "t", **BY_ENDPOINT}, "either token_secret or token_endpoint, not"),
        (SASL_SSL, "OAUTHBEARER", {"token_secret": "t", "token_scope": "a"}, "either token_secret or token_scope"),
        (SASL_PLAINTEXT, "OAUTHBEARER", {"token_secret": "t"}, "would send the token in plain text; use SASL_SSL"),
        (SASL_SSL, "OAUTHBEARER", {**BY_ENDPOINT, "token_endpoint": "http://a/t"}, "token_endpoint is 'http://a/t'"),
        (SASL_SSL, "OAUTHBEARER", {**BY_ENDPOINT, "token_endpoint": "https://u:p@a/"}, "use https://host/path"),
        (SASL_SSL, "GSSAPI", {"username": "a"}, "needs username and keytab_secret"),
        (SASL_SSL, "GSSAPI", {"username": "a", "keytab_secret": "../k"}, "security.keytab_secret is '../k'"),
        (SASL_SSL, "GSSAPI", {"username": "a", "keytab_secret": "k", "password_secret": "p"}, "password_secret is 'p'"),
        (SASL_SSL, "GSSAPI", {"username": "a", "keytab_secret": "k", "kerberos_service": "a/b"}, "kerberos_service"),
        (SASL_SSL, "PLAIN", {"username": "a", "password_secret": "p", "keytab_secret": "k"}, "keytab_secret is 'k'"),
    ],
)
def test_what_does_not_fit_is_named(
    protocol: SecurityProtocol, mechanism: str, fields: dict[str, str], sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ClusterSecurity(protocol, mechanism, **fields)
    assert sentence in str(refused.value)
