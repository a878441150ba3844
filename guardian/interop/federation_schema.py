"""The JSON schema of federation.yaml, made of the fields that it is read by: for editors, and checked in beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardian.interop import federation_fields as of
from guardian.interop.federation_fields import Field, Schema
from guardian.interop.federation_yaml import FLAT, VERSION
from guardian.model.declaration import CLUSTERS, EXCLUSIONS, LABELS, TOPICS


def schema() -> Schema:
    """JSON schema of the file, for editors and for tests."""
    names = {"type": "array", "items": {"type": "string"}}
    broker_ids = {"type": ["array", "null"], "items": of.BROKER, "uniqueItems": True}
    cluster = _object(
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
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "federation.yaml of Guardian",
        "description": "The federation as it shall be, for `guardian apply`. What it does not name is left alone.",
        **_object(
            {
                "version": {"const": VERSION},
                "idcs": {
                    **_by_name(
                        _object(
                            {
                                "racks": {**names, "description": "Racks that stand there, of any cluster named here."},
                                "networks": {**names, "description": "Prefixes of clients there, such as 10.1.0.0/16."},
                            }
                        )
                    ),
                    "description": "Data centres.",
                },
                "links": {
                    **_object(
                        {
                            "currency": {"type": "string", "maxLength": 10},
                            "near": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                            "lines": {
                                "type": "array",
                                "items": {
                                    **_object(
                                        {
                                            "between": {**names, "minItems": 2, "maxItems": 2, "uniqueItems": True},
                                            "gbit_per_s": {"type": "number", "exclusiveMinimum": 0},
                                            "price_gb": {"type": "number", "minimum": 0},
                                        },
                                        nullable=False,
                                    ),
                                    "required": ["between"],
                                },
                            },
                        }
                    ),
                    "description": "Lines between data centres. Members read them from a file (`links` in their "
                    "configuration): `guardian apply links` writes it.",
                },
                LABELS: {**_by_name(_by_name(broker_ids)), "description": "Of each label its brokers, by cluster."},
                CLUSTERS: {**_by_name(cluster), "description": "Kafka clusters, by name."},
                **{
                    name: {**_by_name(_object_of(fields)), "description": f"{name.replace('_', ' ')}, by name."}
                    for name, fields in FLAT.items()
                },
                TOPICS: {**_by_name(_by_name(_object_of(of.TOPIC))), "description": "The topic directory, by cluster."},
                EXCLUSIONS: {
                    **_by_name(_by_number(_object_of(of.EXCLUSION))),
                    "description": "Brokers that get no new replicas, by cluster.",
                },
            },
            nullable=False,
        ),
        "required": ["version"],
    }


def _object(properties: Schema, *, nullable: bool = True) -> Schema:
    kind: Any = ["object", "null"] if nullable else "object"
    return {"type": kind, "additionalProperties": False, "properties": properties}


def _object_of(fields: Mapping[str, Field]) -> Schema:
    return _object({name: field.as_schema() for name, field in fields.items()})


def _by_name(inside: Schema) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": inside}


def _by_number(inside: Schema) -> Schema:
    return {"type": ["object", "null"], "patternProperties": {r"^\d{1,10}$": inside}, "additionalProperties": False}
