"""Confluent's placement constraints, version 1 and 2, as an IDC policy.

    {"version": 2, "replicas":  [{"count": 2, "constraints": {"rack": "east"}}],
                   "observers": [{"count": 1, "constraints": {"rack": "west"}}],
                   "observerPromotionPolicy": "under-min-isr"}

There a rack usually is a region, so a rack that is a data centre here counts as that. One that is a rack here counts as
the data centre that it stands in. What Apache Kafka does not have is not taken over, and the remarks say so. Observers
(replicas outside of the ISR) become replicas like any other, and their promotion is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from guardian.errors import InvalidInput
from guardian.interop.json_file import JsonObject, objects, part, read_json, text, whole
from guardian.model.federation import IdcPolicy
from guardian.model.topology import Cluster

_VERSIONS = (1, 2)
_FIELDS = frozenset({"version", "replicas", "observers", "observerPromotionPolicy"})


@dataclass(frozen=True, slots=True)
class Imported:
    """`remarks` are sentences: what of the file could not be taken over."""

    policy: IdcPolicy
    remarks: tuple[str, ...]


def read(path: Path, name: str, cluster: Cluster | None = None) -> Imported:
    """The policy `name` from a file. Raises InvalidInput: field, value, fix."""
    return policy_of(read_json(path, "placement constraints"), name, cluster)


def policy_of(document: JsonObject, name: str, cluster: Cluster | None = None) -> Imported:
    """The same of a parsed file. Without a cluster each rack counts as a data centre."""
    if document.get("version") not in _VERSIONS or isinstance(document["version"], bool):
        raise InvalidInput(f"version is {document.get('version')!r}: use 1 or 2")
    for field in sorted(document.keys() - _FIELDS):
        raise InvalidInput(f"{field} is not known: use {', '.join(sorted(_FIELDS))}")
    replicas, observers = _counts(document, "replicas", cluster), _counts(document, "observers", cluster)
    if not replicas:
        raise InvalidInput("replicas is empty: give at least one count with a rack")
    together = dict(replicas)
    for idc, count in observers.items():
        together[idc] = together.get(idc, 0) + count
    leads = next(iter(replicas)) if len(replicas) == 1 and set(observers) - set(replicas) else ""
    return Imported(IdcPolicy(name, tuple(together.items()), leads), tuple(_remarks(document, observers, leads)))


def write(policy: IdcPolicy) -> str:
    """The policy as constraints of version 2, in which data centres are racks. Leaders have no place in the format."""
    replicas = [{"count": count, "constraints": {"rack": idc}} for idc, count in policy.replicas]
    return json.dumps({"version": 2, "replicas": replicas, "observers": []}, indent=2) + "\n"


def _counts(document: JsonObject, field: str, cluster: Cluster | None) -> dict[str, int]:
    found: dict[str, int] = {}
    if document.get(field) is None and field == "observers":
        return found
    for where, item in objects(document, field):
        constraints = part(where, item, "constraints")
        for other in sorted(constraints.keys() - {"rack"}):
            raise InvalidInput(f"{where}.constraints.{other} is not supported: constrain by rack only")
        idc = _idc_of(f"{where}.constraints", text(f"{where}.constraints", constraints, "rack"), cluster)
        found[idc] = found.get(idc, 0) + whole(where, item, "count", least=1)
    return found


def _idc_of(where: str, rack: str, cluster: Cluster | None) -> str:
    if cluster is None:
        return rack
    idcs = sorted({broker.idc for broker in cluster.brokers if broker.idc})
    racks = sorted({broker.rack for broker in cluster.brokers if broker.rack})
    if rack in idcs:
        return rack
    if rack not in racks:
        known = ", ".join([*idcs, *racks][:10]) or "none yet: give its brokers their IDC (guardian cluster add --idc)"
        raise InvalidInput(f"{where}.rack is {rack!r}: use an IDC or a rack of cluster {cluster.name}, such as {known}")
    of_rack = {broker.idc for broker in cluster.brokers if broker.rack == rack}
    if len(of_rack) != 1 or "" in of_rack:
        raise InvalidInput(f"{where}.rack is {rack!r}, whose brokers are not all in one IDC: give them their IDC first")
    return of_rack.pop()


def _remarks(document: JsonObject, observers: dict[str, int], leads: str) -> Iterator[str]:
    if observers:
        where = ", ".join(f"{count} in {idc}" for idc, count in sorted(observers.items()))
        yield (
            f"observers ({where}) become replicas like any other: Apache Kafka has none, so they join the ISR, "
            "and acks=all waits for them"
        )
    if leads:
        yield f"leaders are preferred in {leads}, since only observers are elsewhere"
    if document.get("observerPromotionPolicy"):
        yield f"observerPromotionPolicy {document['observerPromotionPolicy']} is left out: it is about observers"
