"""The JSON schema of federation.yaml, made of the fields that it is read by: for editors, and checked in beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardian.federation.model import CLUSTERS, EXCLUSIONS, LABELS, TOPICS
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire.federation_fields import Field, Schema
from guardian.federation.wire.federation_yaml import FLAT, VERSION
from guardian.model.federation import APPROVAL_POLICY, ROLES
from guardian.model.settings import Declared, declared
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.security.model.roles import Roles

_NAMES: Schema = {"type": "array", "items": {"type": "string"}}
_KINDS = {bool: "boolean", list: "array", tuple: "array", dict: "object", int: "integer"}
_BROKER_IDS: Schema = {"type": ["array", "null"], "items": of.BROKER, "uniqueItems": True}


def schema() -> Schema:
    """Return the JSON schema of the file, for editors and for tests."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "federation.yaml of Guardian",
        "description": "The federation as it shall be, for `guardian apply`. What it does not name is left alone.",
        **_object(_sections(), nullable=False),
        "required": ["version"],
    }


def _sections() -> Schema:
    return {
        "version": {"const": VERSION},
        "idcs": {**_by_name(_idc()), "description": "Data centres."},
        "links": {
            **_links(),
            "description": "Lines between data centres. Members read them from a file (`links` in their "
            "configuration): `guardian apply links` writes it.",
        },
        LABELS: {**_by_name(_by_name(_BROKER_IDS)), "description": "Of each label its brokers, by cluster."},
        CLUSTERS: {**_by_name(_cluster()), "description": "Kafka clusters, by name."},
        **{
            name: {**_by_name(_object_of(fields)), "description": f"{name.replace('_', ' ')}, by name."}
            for name, fields in FLAT.items()
        },
        TOPICS: {**_by_name(_by_name(_object_of(of.TOPIC))), "description": "The topic directory, by cluster."},
        EXCLUSIONS: {
            **_by_name(_by_number(_object_of(of.EXCLUSION))),
            "description": "Brokers that get no new replicas, by cluster.",
        },
        ROLES: {**_settings(Roles), "description": "Who has which role, in the words of a member's roles file."},
        APPROVAL_POLICY: {
            **_settings(ApprovalPolicy),
            "description": "Who may approve which tickets, in the words of a member's approvals file.",
        },
    }


def _idc() -> Schema:
    return _object(
        {
            "racks": {**_NAMES, "description": "Racks that stand there, of any cluster named here."},
            "networks": {**_NAMES, "description": "Prefixes of clients there, such as 10.1.0.0/16."},
        }
    )


def _links() -> Schema:
    line = _object(
        {
            "between": {**_NAMES, "minItems": 2, "maxItems": 2, "uniqueItems": True},
            "gbit_per_s": {"type": "number", "exclusiveMinimum": 0},
            "price_gb": {"type": "number", "minimum": 0},
        },
        nullable=False,
    )
    return _object(
        {
            "currency": {"type": "string", "maxLength": 10},
            "near": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "lines": {"type": "array", "items": {**line, "required": ["between"]}},
        }
    )


def _cluster() -> Schema:
    return _object(
        {
            "bootstrap": {
                "type": ["string", "array"],
                "items": {"type": "string"},
                "description": "host:port of one or more brokers, with commas or as a list.",
            },
            "bootstrap_controllers": {
                "type": ["string", "array", "null"],
                "items": {"type": "string"},
                "description": "host:port of its controllers, asked where no broker reaches them; null: none.",
            },
            "security": {**_object_of(of.SECURITY), "description": "How Guardian logs in; no password is in the file."},
            "racks": {
                "type": ["object", "null"],
                "additionalProperties": {"type": "string"},
                "description": "The data centre of a rack of this cluster; wins over idcs.",
            },
            "brokers": {
                **_by_number(_object_of(of.BROKER_FIELDS)),
                "description": "By broker id; what is not named is left as it is.",
            },
        }
    )


def _object(properties: Schema, *, nullable: bool = True) -> Schema:
    kind: Any = ["object", "null"] if nullable else "object"
    return {"type": kind, "additionalProperties": False, "properties": properties}


def _object_of(fields: Mapping[str, Field]) -> Schema:
    return _object({name: field.as_schema() for name, field in fields.items()})


def _settings(kind: type, *, nullable: bool = True) -> Schema:
    """Return the schema of a document, of the settings that its file has."""
    return _object({key: _setting(each, nullable=nullable) for key, each in declared(kind).items()}, nullable=nullable)


def _setting(each: Declared, *, nullable: bool) -> Schema:
    known = each.setting.example if each.setting.example is not None else each.default
    kind = "array" if each.sections else _KINDS.get(type(known), "string")
    found: Schema = {"type": [kind, "null"] if nullable else kind, "description": each.help}
    return {**found, "items": _settings(each.sections[0], nullable=False)} if each.sections else found


def _by_name(inside: Schema) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": inside}


def _by_number(inside: Schema) -> Schema:
    return {"type": ["object", "null"], "patternProperties": {r"^\d{1,10}$": inside}, "additionalProperties": False}
