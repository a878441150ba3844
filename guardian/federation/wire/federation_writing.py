"""federation.yaml, written: to apply what is written changes nothing. And the file of lines, which members read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from guardian.federation.model import CLUSTERS, EXCLUSIONS, LABELS, KnownFederation
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire.federation_fields import Field
from guardian.federation.wire.federation_yaml import BY_CLUSTER, FLAT, SECTIONS, VERSION
from guardian.model.federation import IdcPolicy, SharedDocument
from guardian.model.links import LinkSettings
from guardian.model.topology import BrokerState, Cluster, ClusterSecurity
from guardian.model.units import bytes_text


def write(known: KnownFederation, links: LinkSettings | None = None) -> str:
    """The file that declares what is there: to apply it changes nothing."""
    racks = {
        rack: idc for cluster in known.clusters for rack, idc in _one_idc_racks(cluster) if _agree(known, rack, idc)
    }
    idcs: dict[str, dict[str, Any]] = {}
    for rack, idc in sorted(racks.items()):
        idcs.setdefault(idc, {"racks": []})["racks"].append(rack)
    document: dict[str, Any] = {"version": VERSION}
    for network, idc in links.networks if links is not None else ():
        idcs.setdefault(idc, {}).setdefault("networks", []).append(str(network))
    for idc in _named_idcs(known, links):
        idcs.setdefault(idc, {})
    if idcs:
        document["idcs"] = dict(sorted(idcs.items()))
    if links is not None and (links.lines or links.currency):
        document["links"] = _written_links(links)
    labels: dict[str, dict[str, list[int]]] = {name: {} for name in _named_labels(known)}
    for cluster in known.clusters:
        for broker in cluster.brokers:
            if broker.label:
                labels[broker.label].setdefault(cluster.name, []).append(broker.id)
    if labels:
        document[LABELS] = dict(sorted(labels.items()))
    if known.clusters:
        document[CLUSTERS] = {each.name: _written_cluster(each, racks) for each in known.clusters}
    _write_entries(document, known)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def _write_entries(document: dict[str, Any], known: KnownFederation) -> None:
    for key in sorted(known.entries, key=lambda key: (SECTIONS.index(key.kind), key.cluster, _numeric(key.name))):
        entry = known.entries[key].entry
        if isinstance(entry, SharedDocument):
            document[key.kind] = entry.table
            continue
        fields = {**FLAT, **BY_CLUSTER}[key.kind]
        section = document.setdefault(key.kind, {})
        if key.kind in BY_CLUSTER:
            section = section.setdefault(key.cluster, {})
        name: str | int = int(key.name) if key.kind == EXCLUSIONS else key.name
        section[name] = _written(entry, fields)


def links_toml(links: LinkSettings) -> str:
    """The file that the members' setting `links` names, which lies on each of them."""
    lines = [f"currency = {_quoted(links.currency)}"] if links.currency else []
    lines += [f"near = {links.near!r}", "", "[networks]"]
    by_idc: dict[str, list[str]] = {}
    for network, idc in links.networks:
        by_idc.setdefault(idc, []).append(_quoted(str(network)))
    lines += [f"{_quoted(idc)} = [{', '.join(sorted(networks))}]" for idc, networks in sorted(by_idc.items())]
    for (first, second), line in sorted(links.lines.items()):
        lines += ["", "[[lines]]", f"between = [{_quoted(first)}, {_quoted(second)}]"]
        lines += [f"gbit_per_s = {line.bits_per_s / 10**9!r}"] if line.bits_per_s else []
        lines += [f"price_gb = {line.price_gb!r}"] if line.price_gb is not None else []
    return "\n".join(lines) + "\n"


def _one_idc_racks(cluster: Cluster) -> Iterator[tuple[str, str]]:
    racks: dict[str, set[str]] = {}
    for broker in cluster.brokers:
        if broker.rack:
            racks.setdefault(broker.rack, set()).add(broker.idc)
    yield from ((rack, idc) for rack, idcs in racks.items() if len(idcs) == 1 and (idc := next(iter(idcs))))


def _agree(known: KnownFederation, rack: str, idc: str) -> bool:
    """Return whether the rack is in this data centre in all clusters, so that it can be said once."""
    return all(broker.idc == idc for each in known.clusters for broker in each.brokers if broker.rack == rack)


def _named_idcs(known: KnownFederation, links: LinkSettings | None) -> Iterator[str]:
    yield from (broker.idc for cluster in known.clusters for broker in cluster.brokers if broker.idc)
    for stored in known.entries.values():
        yield from filter(None, [getattr(stored.entry, "idc", "")])
        if isinstance(stored.entry, IdcPolicy):
            yield from sorted(stored.entry.idcs)
    yield from (idc for between in (links.lines if links is not None else ()) for idc in between)


def _named_labels(known: KnownFederation) -> Iterator[str]:
    yield from (broker.label for cluster in known.clusters for broker in cluster.brokers if broker.label)
    for stored in known.entries.values():
        yield from filter(None, [getattr(stored.entry, "label", "")])
        yield from getattr(stored.entry, "labels", ())


def _written_cluster(cluster: Cluster, racks: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap": cluster.bootstrap}
    if cluster.bootstrap_controllers:
        found["bootstrap_controllers"] = cluster.bootstrap_controllers
    if cluster.security != ClusterSecurity():
        found["security"] = _written(cluster.security, of.SECURITY)
    brokers: dict[int, dict[str, Any]] = {}
    for broker in cluster.brokers:
        said: dict[str, Any] = {"idc": broker.idc} if broker.idc != racks.get(broker.rack, "") else {}
        said |= {"state": broker.state.name.lower()} if broker.state is not BrokerState.ACTIVE else {}
        said |= {"reporter": broker.reporter} if broker.reporter else {}
        if said:
            brokers[broker.id] = said
    return {**found, "brokers": brokers} if brokers else found


def _written(entry: object, fields: Mapping[str, Field]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in fields.items():
        value = getattr(entry, field.stands_for)
        if field.read is of.size:
            value = bytes_text(value) if value and value % 1000 == 0 else value
        elif field.read is of.topic_id:
            value = of.topic_id_text(value)
        elif field.read is of.until:
            value = of.until_text(value) if value else ""
        elif field.read is of.replicas:
            value = dict(value)
        elif field.read is of.other_factors:
            value = [dict(each.replicas) for each in value]
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, str):
            value = str(value)
        cluster = getattr(entry, "cluster", "")
        if value not in ("", 0, [], {}) or (name == "broker" and cluster):
            found[name] = value
    return found


def _written_links(links: LinkSettings) -> dict[str, Any]:
    lines = []
    for between, line in sorted(links.lines.items()):
        said: dict[str, Any] = {"between": list(between)}
        said |= {"gbit_per_s": line.bits_per_s / 10**9} if line.bits_per_s else {}
        said |= {"price_gb": line.price_gb} if line.price_gb is not None else {}
        lines.append(said)
    return {**({"currency": links.currency} if links.currency else {}), "near": links.near, "lines": lines}


def _numeric(name: str) -> tuple[int, str]:
    return (int(name) if name.isdecimal() and name.isascii() and len(name) <= 10 else -1, name)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
