"""The fields of federation.yaml: of each the text of its help, how it is read, and its JSON schema. Said once.

A field that is empty (null) is put back to nothing; one that is not there is left as it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from guardian.errors import InvalidInput
from guardian.interop.yaml_tree import Node
from guardian.model.federation import TOPIC_ID_BYTES, IdcPlacement
from guardian.model.topology import (
    KERBEROS_SERVICE,
    SASL_MECHANISMS,
    BrokerState,
    SecurityProtocol,
    require_endpoint,
    require_label,
)
from guardian.model.units import MAX_BYTES, read_bytes

Schema = dict[str, Any]

MAX_ID = 2**31 - 1
STATES = {state.name.lower(): state for state in BrokerState}


@dataclass(frozen=True, slots=True)
class Field:
    """`stands_for` is the name in the model; `read` raises InvalidInput with the place in the file."""

    stands_for: str
    read: Callable[[Node], Any]
    schema: Schema
    help: str

    def as_schema(self) -> Schema:
        return {**self.schema, "description": self.help}


def read_fields(node: Node, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Read those fields that are there, by the model's names."""
    return {fields[name].stands_for: fields[name].read(given) for name, given in node.only(tuple(fields)).items()}


def text(node: Node) -> str:
    found = node.string()
    if not found.isprintable():
        node.wrong("use printable characters")
    return found


def label(node: Node) -> str:
    found = node.string("use a label")
    try:
        require_label(found)
    except InvalidInput as error:
        raise node.refused(error) from None
    return found


def labels(node: Node) -> tuple[str, ...]:
    return () if node.is_null else tuple(label(item) for item in node.list("use a list of labels, such as [gold]"))


def texts(node: Node) -> tuple[str, ...]:
    return () if node.is_null else tuple(text(item) for item in node.list("use a list of texts"))


def endpoint(node: Node) -> str:
    found = node.string("use host:port")
    try:
        if found:
            require_endpoint("it", found)
    except InvalidInput as error:
        raise node.refused(error) from None
    return found


def bootstrap(node: Node) -> str:
    """A text with commas, or a list."""
    items = node.items if node.items is not None else None
    found = ",".join(text(item) for item in items) if items is not None else node.string("use host:port,host:port")
    try:
        for each in found.split(","):
            require_endpoint("it", each)
    except InvalidInput as error:
        raise node.refused(error) from None
    return found


def bootstrap_controllers(node: Node) -> str:
    """Read host:port of controllers, a text with commas or a list; null: none."""
    return "" if node.is_null else bootstrap(node)


def size(node: Node) -> int:
    """Bytes, or bytes/s: a number, or a text such as 48TB."""
    if node.is_null:
        return 0
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.whole(0, MAX_BYTES)
    found = read_bytes(node.value) if isinstance(node.value, str) else None
    if found is None:
        node.wrong("use bytes, such as 48TB, 1.25GB or a whole number")
    return found


def count(most: int) -> Callable[[Node], int]:
    return lambda node: 0 if node.is_null else node.whole(0, most)


def broker_id(node: Node) -> int | None:
    """Read the id of a broker; null: none, which is not broker 0."""
    return None if node.is_null else node.whole(0, MAX_ID)


def state(node: Node) -> BrokerState:
    name = node.string(f"use one of {', '.join(STATES)}")
    if name not in STATES:
        node.wrong(f"use one of {', '.join(STATES)}")
    return STATES[name]


def protocol(node: Node) -> SecurityProtocol:
    try:
        return SecurityProtocol(node.string() or SecurityProtocol.PLAINTEXT.value)
    except ValueError:
        node.wrong(f"use one of {', '.join(each.value for each in SecurityProtocol)}")


def replicas(node: Node) -> tuple[tuple[str, int], ...]:
    fix = "use a mapping of data centres to how many, such as {shanghai: 2, suzhou: 1}"
    return tuple((idc, given.whole(1, 100)) for idc, given in node.mapping(fix))


def other_factors(node: Node) -> tuple[IdcPlacement, ...]:
    if node.is_null:
        return ()
    fix = "use a list of mappings of data centres to how many, such as [{shanghai: 1, suzhou: 1}, {suzhou: 1}]"
    return tuple(IdcPlacement(tuple(sorted(replicas(each)))) for each in node.list(fix))


def topic_id(node: Node) -> bytes:
    """Read a topic id as Kafka prints it."""
    found = node.string("use Kafka's topic id, 22 characters")
    try:
        raw = base64.b64decode(found + "=" * (-len(found) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b"?"
    if raw and len(raw) != TOPIC_ID_BYTES:
        node.wrong("use Kafka's topic id, 22 characters")
    return raw


def topic_id_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def until(node: Node) -> int:
    """ms since the epoch of a time with its zone; 0: until it is lifted."""
    given = node.string("use a time, such as 2026-12-01T08:00:00Z")
    if not given:
        return 0
    try:
        at = datetime.fromisoformat(given)
        if at.tzinfo is None:
            node.wrong("use a time with its zone, such as 2026-12-01T08:00:00Z")
        found = round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        found = 0
    if found <= 0:
        node.wrong("use a time, such as 2026-12-01T08:00:00Z")
    return found


def until_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


TEXT: Schema = {"type": ["string", "null"]}
LABEL: Schema = {"type": ["string", "null"], "pattern": r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$"}
SIZE: Schema = {"type": ["string", "integer", "null"], "minimum": 0, "pattern": r"^\d+(\.\d+)? ?[kMGTP]?B?(/s)?$"}
BROKER: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_ID}
ENDPOINT: Schema = {"type": ["string", "null"], "pattern": r"^(\S+:\d{1,5})?$"}


def whole_schema(most: int) -> Schema:
    return {"type": ["integer", "null"], "minimum": 0, "maximum": most}


MACHINE = {
    "idc": Field("idc", text, TEXT, "The data centre: that of the broker on it, where the broker has none."),
    "rack": Field("rack", text, TEXT, "The rack."),
    "disk": Field("disk_bytes", size, SIZE, "Bytes of all disks together, such as 48TB."),
    "disks": Field("disks", count(10_000), whole_schema(10_000), "How many disks."),
    "nic": Field("nic_bytes_per_s", size, SIZE, "Bytes/s of its network, such as 1.25GB."),
    "cores": Field("cores", count(100_000), whole_schema(100_000), "How many CPU cores."),
    "cluster": Field("cluster", text, TEXT, "The cluster that it is in; empty: it is free."),
    "broker": Field("broker_id", broker_id, whole_schema(MAX_ID), "Its broker id: needed where it is in a cluster."),
    "label": Field("label", label, LABEL, "The label of the broker on it, where the broker has none."),
}
TENANT = {
    "owner": Field("owner", text, TEXT, "The person or team that answers for it."),
    "labels": Field(
        "labels",
        labels,
        {"type": ["array", "null"], "items": {**LABEL, "type": "string"}, "uniqueItems": True},
        "Of the brokers that its topics may use; none: any.",
    ),
    "description": Field("description", text, TEXT, "What it is for."),
}
_REPLICAS: Schema = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 100},
}
IDC_POLICY = {
    "replicas": Field("replicas", replicas, _REPLICAS, "How many replicas live in which data centre."),
    "leaders": Field("preferred_leader_idc", text, TEXT, "The data centre where leaders should be."),
    "other_factors": Field(
        "other_factors",
        other_factors,
        {"type": ["array", "null"], "items": _REPLICAS, "uniqueItems": True},
        "The same of topics with other replication factors, a mapping for each.",
    ),
}
TOPIC = {
    "id": Field("topic_id", topic_id, TEXT, "Kafka's topic id, as kafka-topics --describe prints it."),
    "owner": Field("owner", text, TEXT, "The person or team that answers for it."),
    "tenant": Field("tenant", text, TEXT, "The tenant whose it is."),
    "label": Field("label", label, LABEL, "The label of the brokers where it lives; empty: any."),
    "idc_policy": Field("idc_policy", text, TEXT, "Where its replicas live: one of idc_policies."),
    "in": Field("expected_bytes_in_per_s", size, SIZE, "Expected bytes/s in, such as 20MB."),
    "out": Field("expected_bytes_out_per_s", size, SIZE, "Expected bytes/s out, such as 60MB."),
}
EXCLUSION = {
    "why": Field("why", text, TEXT, "The reason, for whoever wants to lift it."),
    "who": Field("who", text, TEXT, "Who answers for it; where it is new: whoever applies the file."),
    "until": Field("until_ms", until, TEXT, "A time with its zone; empty: until it is lifted."),
}
BROKER_FIELDS = {
    "idc": Field("idc", text, TEXT, "The data centre, where it is another than its rack's."),
    "state": Field("state", state, {"enum": [*STATES]}, "Whether it takes new replicas."),
    "reporter": Field("reporter", endpoint, ENDPOINT, "host:port of its plugin, where it does not say so itself."),
}
SECURITY = {
    "protocol": Field(
        "protocol", protocol, {"enum": [each.value for each in SecurityProtocol]}, "Kafka's security.protocol."
    ),
    "mechanism": Field("sasl_mechanism", text, TEXT, f"One of {', '.join(SASL_MECHANISMS)}."),
    "username": Field(
        "username", text, TEXT, "The SASL user, the client's id at `token_endpoint`, or Kerberos' principal."
    ),
    "password_secret": Field(
        "password_secret",
        text,
        TEXT,
        "The password's file in the members' folder `secrets`.",
    ),
    "ca_secret": Field("ca_secret", text, TEXT, "Likewise, in PEM: the CA of the brokers."),
    "certificate_secret": Field(
        "certificate_secret", text, TEXT, "Likewise, in PEM: the certificate that Guardian shows to brokers."
    ),
    "key_secret": Field("key_secret", text, TEXT, "Likewise, in PEM: its key."),
    "tls_server_name": Field(
        "tls_server_name", text, TEXT, "A name in every broker's certificate, where they are reached by others."
    ),
    "token_secret": Field("token_secret", text, TEXT, "Likewise: the token of OAUTHBEARER, renewed by others."),
    "token_endpoint": Field(
        "token_endpoint", text, TEXT, "https://... which gives a token for `username` and `password_secret`."
    ),
    "token_scope": Field("token_scope", text, TEXT, "Scopes to ask it for, separated by spaces."),
    "token_ca_secret": Field("token_ca_secret", text, TEXT, "Likewise, in PEM: the CA of `token_endpoint`."),
    "keytab_secret": Field("keytab_secret", text, TEXT, "Likewise: the keytab of GSSAPI."),
    "kerberos_service": Field("kerberos_service", text, TEXT, f"The brokers' service; empty: {KERBEROS_SERVICE}."),
}
