"""federation.yaml, read: the federation as it shall be, for `guardian apply`. Its fields are in federation_fields.py.

    version: 1
    idcs:                                        # data centres
      shanghai: {racks: [r1, r2], networks: [10.1.0.0/16]}
      suzhou: {racks: [r3], networks: [10.2.0.0/16]}
    links:                                       # lines between them
      currency: EUR
      lines: [{between: [shanghai, suzhou], gbit_per_s: 10, price_gb: 0.02}]
    labels:
      gold: {live: [1, 2]}                       # brokers, by cluster
    clusters:
      live: {bootstrap: "k1:9092,k2:9092", brokers: {3: {state: draining}}}
    machines:
      node-7: {idc: suzhou, rack: r3, disk: 48TB, disks: 12, nic: 1.25GB, cores: 32}
    tenants:
      payments: {owner: ann, labels: [gold]}
    idc_policies:
      two-cities: {replicas: {shanghai: 2, suzhou: 1}, leaders: shanghai}
    topics:
      live:
        orders: {tenant: payments, label: gold, idc_policy: two-cities, in: 20MB, out: 60MB}
    exclusions:
      live:
        4: {why: fan broken, until: 2026-12-01T08:00:00Z}
    roles:                                       # in the words of a member's roles file, and of its approvals file
      grants: [{who: [ann, "group:sre"], role: approver}]
    approval_policy:
      rules: [{name: sre, approvers: ["*"]}]

What it does not name is left alone. Where it has idcs or labels, the rest of it may name only those: a slip of the pen
is found before anything changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from guardian.errors import InvalidInput
from guardian.federation.model import (
    CLUSTERS,
    EXCLUSIONS,
    IDC_POLICIES,
    LABELS,
    MACHINES,
    TENANTS,
    TOPICS,
    Declaration,
    DeclaredBroker,
    DeclaredCluster,
    DeclaredEntry,
    EntryKey,
)
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire.federation_fields import Field
from guardian.interop.yaml_tree import Node, parse
from guardian.model.federation import DOCUMENTS
from guardian.model.links import LinkSettings, links_from_table
from guardian.model.topology import Cluster

VERSION = 1
FLAT: Mapping[str, Mapping[str, Field]] = {
    MACHINES: of.MACHINE,
    TENANTS: of.TENANT,
    IDC_POLICIES: of.IDC_POLICY,
}
BY_CLUSTER: Mapping[str, Mapping[str, Field]] = {TOPICS: of.TOPIC, EXCLUSIONS: of.EXCLUSION}
SECTIONS = (
    "version",
    "idcs",
    "links",
    LABELS,
    CLUSTERS,
    MACHINES,
    TENANTS,
    IDC_POLICIES,
    TOPICS,
    EXCLUSIONS,
    *DOCUMENTS,
)
_CLUSTER_FIELDS = ("bootstrap", "bootstrap_controllers", "security", "racks", "brokers")
_MAX_ENTRIES = 200_000
# Where the file names data centres and labels.
_IDC_USES = (
    (MACHINES, "*", "idc"),
    (IDC_POLICIES, "*", "leaders"),
    (IDC_POLICIES, "*", "replicas", "@"),
    (IDC_POLICIES, "*", "other_factors", "*", "@"),
    (CLUSTERS, "*", "racks", "*"),
    (CLUSTERS, "*", "brokers", "*", "idc"),
    ("links", "lines", "*", "between", "*"),
)
_LABEL_USES = ((MACHINES, "*", "label"), (TOPICS, "*", "*", "label"), (TENANTS, "*", "labels", "*"))


def read(text: str, file: str) -> Declaration:
    """Read what the file declares. Raises InvalidInput that says file:line, field, value and fix."""
    root = parse(text, file)
    sections = root.only(SECTIONS)
    if "version" not in sections:
        raise InvalidInput(f"{root.where}: version is missing: use version: {VERSION}")
    if sections["version"].value != VERSION or isinstance(sections["version"].value, bool):
        sections["version"].wrong(f"use {VERSION}")
    entries = tuple(_entries(sections))
    if len(entries) > _MAX_ENTRIES:
        raise InvalidInput(f"{file} has {len(entries)} entries: split it below {_MAX_ENTRIES}")
    idc_of_rack = _idc_of_rack(sections.get("idcs"))
    clusters = _clusters(sections.get(CLUSTERS), sections.get(LABELS))
    _require_declared(sections)
    return Declaration(
        clusters=clusters,
        entries=entries,
        idc_of_rack=idc_of_rack,
        links=_links(sections.get("links"), sections.get("idcs")),
        sections=frozenset(_sections_of(sections)),
    )


def _entries(sections: Mapping[str, Node]) -> Iterator[DeclaredEntry]:
    for kind, fields in FLAT.items():
        if kind in sections:
            for name, node in sections[kind].mapping(f"use a mapping of {kind.replace('_', ' ')} by name"):
                yield DeclaredEntry(EntryKey(kind, "", name), of.read_fields(node, fields), node.where, node.path)
    for kind, fields in BY_CLUSTER.items():
        if kind not in sections:
            continue
        for cluster, inside in sections[kind].mapping(f"use a mapping of {kind} by cluster"):
            for name, node in inside.mapping(f"use a mapping of {kind} of cluster {cluster}"):
                written = str(_broker_id(name, node)) if kind == EXCLUSIONS else name
                key = EntryKey(kind, cluster, written)
                yield DeclaredEntry(key, of.read_fields(node, fields), node.where, node.path)
    yield from _documents(sections)


def _documents(sections: Mapping[str, Node]) -> Iterator[DeclaredEntry]:
    """Those that are not empty: an empty section has none, which only a prune drops."""
    for name in DOCUMENTS:
        if name in sections and not sections[name].is_null:
            node = sections[name]
            given = {setting: inside.plain() for setting, inside in node.mapping(f"use the settings of {name} by name")}
            yield DeclaredEntry(EntryKey(name, "", ""), given, node.where, node.path)


def _broker_id(name: str, node: Node) -> int:
    if not (name.isascii() and name.isdecimal()) or len(name) > 10 or int(name) > of.MAX_ID or str(int(name)) != name:
        raise InvalidInput(f"{node.where}: {node.path}: {name!r} is no broker id: use a number from 0 to {of.MAX_ID}")
    return int(name)


def _sections_of(sections: Mapping[str, Node]) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in (CLUSTERS, LABELS, *FLAT, *DOCUMENTS) if name in sections)
    for kind in BY_CLUSTER:
        if kind in sections:
            yield from ((kind, cluster) for cluster, _ in sections[kind].mapping(""))


def _idc_of_rack(idcs: Node | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for idc, node in idcs.mapping("use a mapping of data centres by name") if idcs is not None else ():
        for rack in _list_of(node.only(("racks", "networks")).get("racks"), "racks"):
            name = rack.string("use a rack's name")
            if not name:
                rack.wrong("use a rack's name")
            if found.setdefault(name, idc) != idc:
                rack.wrong(f"it is in {found[name]} too: keep one, or say it in the racks of a cluster")
    return found


def _links(links: Node | None, idcs: Node | None) -> LinkSettings | None:
    """Read lines and networks as the file of the members would be read; None where there are none."""
    networks = {
        idc: [each.string("use a prefix, such as 10.1.0.0/16") for each in _list_of(given, "networks")]
        for idc, node in (idcs.mapping("") if idcs is not None else ())
        if (given := node.only(("racks", "networks")).get("networks")) is not None
    }
    if links is None and not networks:
        return None
    table: dict[str, object] = {"networks": networks}
    if links is not None:
        said = links.only(("currency", "near", "lines"))
        table |= {"currency": said["currency"].string()} if "currency" in said else {}
        table |= {"near": said["near"].number()} if "near" in said else {}
        table["lines"] = [_line(each) for each in _list_of(said.get("lines"), "lines")]
    place = links if links is not None else idcs
    try:
        return links_from_table(table)
    except InvalidInput as error:
        raise place.refused(error) if place is not None else error from None


def _line(node: Node) -> dict[str, object]:
    given = node.only(("between", "gbit_per_s", "price_gb"))
    if "between" not in given:
        raise InvalidInput(f"{node.where}: {node.path}.between is missing: give two data centres")
    between = [each.string("use a data centre") for each in _list_of(given["between"], "between")]
    return {
        "between": between,
        **{name: given[name].number() for name in ("gbit_per_s", "price_gb") if name in given},
    }


def _list_of(node: Node | None, name: str) -> tuple[Node, ...]:
    if node is None or node.is_null:
        return ()
    return node.list(f"use a list of {name}")


def _clusters(section: Node | None, labels: Node | None) -> tuple[DeclaredCluster, ...]:
    found: dict[str, DeclaredCluster] = {}
    for name, node in section.mapping("use a mapping of clusters by name") if section is not None else ():
        found[name] = _cluster(name, node)
    label_of: dict[tuple[str, int], str] = {}
    for label, by_cluster in labels.mapping("use a mapping of labels by name") if labels is not None else ():
        of.label(Node(by_cluster.where, by_cluster.path, label, label))
        for cluster, listed in by_cluster.mapping("use a mapping of clusters to broker ids, such as {live: [1, 2]}"):
            known = found.setdefault(cluster, DeclaredCluster(cluster, listed.where, listed.path))
            brokers = dict(known.brokers)
            for node in _list_of(listed, "broker ids"):
                broker = node.whole(0, of.MAX_ID)
                if label_of.setdefault((cluster, broker), label) != label:
                    node.wrong(f"it has label {label_of[cluster, broker]} too: a broker has one")
                given = brokers.get(broker) or DeclaredBroker(node.where, node.path)
                brokers[broker] = DeclaredBroker(
                    given.where, given.path, label, given.state, given.idc, given.reporter
                )  # fmt: skip
            found[cluster] = replace(known, brokers=brokers)
    return tuple(found.values())


def _cluster(name: str, node: Node) -> DeclaredCluster:
    given = node.only(_CLUSTER_FIELDS)
    bootstrap = of.bootstrap(given["bootstrap"]) if "bootstrap" in given else ""
    told = given.get("bootstrap_controllers")
    bootstrap_controllers = of.bootstrap_controllers(told) if told is not None else None
    security = of.read_fields(given["security"], of.SECURITY) if "security" in given else {}
    racks = given["racks"].mapping("use a mapping of racks to data centres") if "racks" in given else ()
    brokers: dict[int, DeclaredBroker] = {}
    for written, each in given["brokers"].mapping("use a mapping by broker id") if "brokers" in given else ():
        fields = of.read_fields(each, of.BROKER_FIELDS)
        brokers[_broker_id(written, each)] = DeclaredBroker(each.where, each.path, **fields)
    idc_of_rack = {rack: of.text(idc) for rack, idc in racks}
    declared = DeclaredCluster(
        name, node.where, node.path, bootstrap, security, idc_of_rack, brokers, bootstrap_controllers
    )
    try:
        Cluster(name, bootstrap or "unknown:1")
    except InvalidInput as error:
        raise node.refused(error) from None
    return declared


def _require_declared(sections: Mapping[str, Node]) -> None:
    """Data centres and labels that are named are among those that are declared, where any are."""
    for section, uses, what in (("idcs", _IDC_USES, "data centre"), (LABELS, _LABEL_USES, "label")):
        if section not in sections:
            continue
        known = {name for name, _ in sections[section].mapping("")}
        named = (each for use in uses if use[0] in sections for each in _at(sections[use[0]], use[1:]))
        for name, node in named:
            if name and name not in known:
                raise InvalidInput(
                    f"{node.where}: {node.path} names {what} {name!r}, which {section} does not have: use one of "
                    f"{', '.join(sorted(known)) or 'none yet'}, or add it there"
                )


def _at(node: Node, steps: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """Yield what is written in the places under the node that was read already: `*` is any field or item, `@` any
    key.
    """
    if not steps:
        yield (str(node.value) if node.value is not None else ""), node
        return
    step, rest = steps[0], steps[1:]
    for name, inside in node.fields or ():
        if step == "@":
            yield name, inside
        elif step in ("*", name):
            yield from _at(inside, rest)
    for inside in node.items or ():
        if step == "*":
            yield from _at(inside, rest)
