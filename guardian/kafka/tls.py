"""TLS towards brokers and token endpoints: what Guardian shows and trusts, and in words why a handshake failed."""

from __future__ import annotations

import ssl

from guardian.errors import InvalidInput
from guardian.model.topology import ClusterSecurity

# OpenSSL's X509_V_ERR_*, which ssl names for none of them.
_NOT_YET_VALID, _EXPIRED, _REVOKED = 9, 10, 23
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})
_OTHER_NAME = frozenset({62, 64})

# What brokers answer to a client that shows no certificate: TLS 1.3's own alert, Java's, and that of TLS 1.2.
_MISSING_CERTIFICATE = frozenset({"CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE"})
_REFUSED_CERTIFICATE = frozenset(
    {
        "ACCESS_DENIED",
        "BAD_CERTIFICATE",
        "CERTIFICATE_EXPIRED",
        "CERTIFICATE_REVOKED",
        "CERTIFICATE_UNKNOWN",
        "DECRYPT_ERROR",
        "UNKNOWN_CA",
        "UNSUPPORTED_CERTIFICATE",
    }
)


def brokers_context(security: ClusterSecurity, authorities: str, shown: tuple[str, str] | None) -> ssl.SSLContext:
    """Return what connections to brokers are made with. `authorities` are as of `trusting`, `shown` are the paths of
    Guardian's certificate and its key; None: it shows none.

    Raises InvalidInput when they are not what they should be.
    """
    context = trusting(authorities)
    if shown is not None:
        try:
            # Without somebody to ask OpenSSL would ask the terminal.
            context.load_cert_chain(*shown, password=_refuse_encrypted)
        except (ssl.SSLError, ValueError) as error:
            raise InvalidInput(
                f"security.certificate_secret is {security.certificate_secret!r} and key_secret is "
                f"{security.key_secret!r}: {_why_no_pair(error)}"
            ) from error
    return context


def trusting(authorities: str) -> ssl.SSLContext:
    """Return a client's context that trusts these certificates, in PEM; empty: those of the system."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities:
        context.load_verify_locations(cadata=authorities)
    else:
        context.load_default_certs()
    return context


def is_refusal(error: ssl.SSLError) -> bool:
    """Return whether one side does not accept the other's certificate, which stays so until somebody changes it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return True
    return alert_of(error) in _MISSING_CERTIFICATE | _REFUSED_CERTIFICATE


def alert_of(error: ssl.SSLError) -> str:
    """Return the name of the alert that the other side has sent, such as UNKNOWN_CA; empty: it sent none."""
    _, found, alert = (error.reason or "").partition("ALERT_")
    return alert if found else ""


def untrusted(error: ssl.SSLCertVerificationError, ca_field: str, ca_secret: str) -> str:
    """Return what is wrong with the certificate that the other side shows, and what to do; a predicate."""
    got = f"(got {error.verify_message!r})"
    code = error.verify_code
    if code in _UNKNOWN_AUTHORITY:
        named = f"put it into the secret {ca_secret}" if ca_secret else f"name a secret with it in {ca_field}"
        return f"shows a certificate of an unknown authority {got}; {named}"
    if code in _OTHER_NAME:
        return f"shows a certificate of another name {got}; use a name that it has"
    if code == _EXPIRED:
        return f"shows a certificate that has expired {got}; renew it there, or set the clock of this machine"
    if code == _NOT_YET_VALID:
        return f"shows a certificate that is not valid yet {got}; set the clock of this machine, or theirs"
    if code == _REVOKED:
        return f"shows a certificate that was revoked {got}; renew it there"
    return f"shows a certificate that can't be verified {got}; renew it there"


def brokers_refusal(security: ClusterSecurity, error: ssl.SSLError) -> str:
    """Return why brokers and Guardian do not come to terms about their certificates, and what to do; a predicate."""
    if isinstance(error, ssl.SSLCertVerificationError):
        sentence = untrusted(error, "security.ca_secret", security.ca_secret)
        if error.verify_code in _OTHER_NAME:
            return sentence + ", in bootstrap or as security.tls_server_name"
        return sentence
    got = f"(got the alert {alert_of(error)})"
    if security.certificate_secret:
        return (
            f"refuses the client certificate in the secret {security.certificate_secret} {got}; "
            "have it signed by an authority that the brokers trust, and renewed before its end"
        )
    return (
        f"wants a client certificate {got}; name secrets with one that the brokers trust in "
        "security.certificate_secret and key_secret"
    )


class _EncryptedError(ValueError):
    """The key can be read with a password only."""


def _refuse_encrypted() -> str:
    raise _EncryptedError


def _why_no_pair(error: Exception) -> str:
    if isinstance(error, _EncryptedError):
        return "the key is encrypted; store it without a password, readable by Guardian only"
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the key is of another certificate; use the one that it was made with"
    return "they hold no certificate and key; use PEM format"
