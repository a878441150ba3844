"""Why a request was refused, or a broker or cluster does not answer: each in one sentence, in Kafka's words."""

from __future__ import annotations

import ssl
from typing import TypeVar

from guardian.kafka import kerberos, tls
from guardian.kafka.kafka_python import KafkaError, KafkaTimeoutError, ServerNotProven, kafka_errors
from guardian.model.effects import Refusal
from guardian.model.topology import KERBEROS_SERVICE, Cluster, ClusterSecurity

NO_ERROR = 0

# The request itself is at fault, whatever the cluster does meanwhile. What a broker that comes back, a right that is
# granted or another request's end can change is none of these.
_FINAL = frozenset(
    error.errno
    for error in (
        kafka_errors.InvalidTopicError,
        kafka_errors.InvalidPartitionsError,
        kafka_errors.InvalidConfigurationError,
        kafka_errors.InvalidRequestError,
        kafka_errors.PolicyViolationError,
        kafka_errors.TopicDeletionDisabledError,
        kafka_errors.InvalidPrincipalTypeError,
    )
)
_INVALID_REPLICA_ASSIGNMENT = 39

E = TypeVar("E", bound=BaseException)


def reason(error_code: int, message: str | None = None) -> Refusal:
    """Return the name of the error and what the broker says of it, or what it means where the broker says nothing."""
    error = kafka_errors.for_code(error_code)
    name = f"error {error_code}" if error.message == kafka_errors.UnknownError.message else error.message
    return Refusal(
        f"{name}: {message or error.description}",
        is_final=error_code in _FINAL,
        names_brokers=error_code == _INVALID_REPLICA_ASSIGNMENT,
    )


def no_answer(broker: int, error: KafkaError) -> str:
    """Return why this broker's answer is missing."""
    return f"broker {broker} does not answer: {_cause(error)}"


def is_passing(error: KafkaError) -> bool:
    """Return whether another broker, or the same one later, may give an answer."""
    return bool(error.retriable) or isinstance(error, kafka_errors.UnknownBrokerIdError)


def is_late(error: KafkaError) -> bool:
    """Return whether it is the time that has run out."""
    return isinstance(error, KafkaTimeoutError | kafka_errors.RequestTimedOutError)


def is_mute(error: KafkaError) -> bool:
    """Return whether neither a broker nor the network has said anything."""
    return is_late(error) or not error.args


def unavailable_sentence(cluster: Cluster, timeout_s: float, error: KafkaError) -> str:
    """Return why the cluster is of no use now, and what to check."""
    if (refusal := tls_refusal(error)) is not None:
        return f"cluster {cluster.name} at {cluster.bootstrap} {tls.brokers_refusal(cluster.security, refusal)}"
    if not is_passing(error):
        return f"cluster {cluster.name} at {cluster.bootstrap} {_refusal(cluster.security, error)}"
    sentence = f"cluster {cluster.name} can't be reached at {cluster.bootstrap} within {timeout_s:g} s: {_cause(error)}"
    if not is_mute(error):
        return sentence
    # A broker may sit on a login that it does not like, and drops what it does not understand: both look like one
    # that is down.
    security = cluster.security
    if security.protocol.uses_sasl:
        return (
            f"{sentence}; either it is down or it does not accept {_login(security)}: "
            f"check the brokers, then {_credential(security)}"
        )
    return f"{sentence}; either it is down or that port does not speak {security.protocol}"


def kerberos_sentence(cluster: Cluster, refused: kerberos.KerberosRefused) -> str:
    """Return why Kerberos gives no way to the cluster, and what to do."""
    security = cluster.security
    why = kerberos.problem(refused.code, str(refused), security.username, security.kerberos_service or KERBEROS_SERVICE)
    return f"cluster {cluster.name} at {cluster.bootstrap} can't be logged in to by Kerberos: {why}"


def tls_refusal(error: KafkaError) -> ssl.SSLError | None:
    """Return OpenSSL's error where one side does not accept the other's certificate; None: it is something else."""
    cause = _below(error, ssl.SSLError)
    return cause if cause is not None and tls.is_refusal(cause) else None


def _login(security: ClusterSecurity) -> str:
    return f"the login of {security.username!r}" if security.username else "the token"


def _credential(security: ClusterSecurity) -> str:
    """Return what proves who Guardian is, for people."""
    if security.sasl_mechanism == "GSSAPI":
        return f"the keytab in the secret {security.keytab_secret}"
    if security.token_secret:
        return f"the token in the secret {security.token_secret}"
    if security.token_endpoint:
        return f"the token that {security.token_endpoint} gives"
    return f"the password in the secret {security.password_secret}"


def _refusal(security: ClusterSecurity, error: KafkaError) -> str:
    if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
        return _login_refusal(security, error)
    if isinstance(error, kafka_errors.UnsupportedSaslMechanismError):
        return f"does not offer security.sasl_mechanism {security.sasl_mechanism}: use one that its listener enables"
    if isinstance(error, kafka_errors.IllegalSaslStateError):
        return (
            f"asks for no login, but security.protocol is {security.protocol}: "
            "use the protocol of that port, or the port of that protocol"
        )
    if isinstance(error, kafka_errors.KafkaProtocolError):
        return (
            f"answers what is no message of Kafka (got {_cause(error)!r}), and security.protocol is "
            f"{security.protocol}: use the protocol of that port, or the port of that protocol"
        )
    return f"refuses the request: {_cause(error)}"


def _login_refusal(security: ClusterSecurity, error: KafkaError) -> str:
    if isinstance(error, ServerNotProven):
        return (
            f"does not prove that it knows the password of {security.username!r} (got {str(error.args[0])!r}): "
            "check that these brokers are the cluster's"
        )
    if security.sasl_mechanism == "OAUTHBEARER":
        return (
            f"refuses {_login(security)} (got {_cause(error)!r}): check issuer, audience, scope and end of "
            f"{_credential(security)} against what the listener expects"
        )
    return f"refuses {_login(security)}: check username, sasl_mechanism and {_credential(security)}"


def _cause(error: KafkaError) -> str:
    if isinstance(error, kafka_errors.UnknownBrokerIdError):
        return "it is not a live broker of this cluster"
    if (failed := _below(error, ssl.SSLError)) is not None:
        return f"TLS handshake failed: {failed.reason or type(failed).__name__}"
    if (refused := _below(error, OSError)) is not None and refused.strerror:
        return refused.strerror.lower()
    if is_mute(error):
        return "no answer"
    text = ": ".join(str(argument) for argument in error.args if argument)
    if isinstance(error, kafka_errors.BrokerResponseError):
        return f"{error.message}: {text or error.description}"
    return text


def _below(error: BaseException, kind: type[E]) -> E | None:
    """Return the error of this kind that another one was made of: kafka-python passes it as an argument, too."""
    if isinstance(error, kind):
        return error
    for each in (error.__cause__, *error.args):
        if isinstance(each, BaseException) and (found := _below(each, kind)) is not None:
            return found
    return None
