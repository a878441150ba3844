"""federation.yaml: read, refused with its place, written back, and described by its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.federation.model import EntryKey, KnownFederation, Stored, key_of
from guardian.federation.rules import declaring
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire import federation_schema, federation_writing, federation_yaml
from guardian.federation.wire.federation_yaml import read
from guardian.interop.yaml_tree import parse
from guardian.model.federation import Entry, Exclusion, IdcPlacement, IdcPolicy, Machine, Tenant, Topic
from guardian.model.links import LinkSettings, load_links
from guardian.model.topology import Broker, BrokerState, Cluster, ClusterSecurity, SecurityProtocol

HERE = Path(__file__)
REPOSITORY = HERE.parents[3]
EXAMPLE = (REPOSITORY / "deploy/examples/federation.yaml").read_text()
SCHEMA_FILE = REPOSITORY / "deploy/examples/federation.schema.json"
SCHEMA = federation_schema.schema()


def as_json(text: str) -> Any:
    """What an editor that knows the schema sees: keys are texts, times are."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)

    return plain(yaml.safe_load(text))


def test_the_example_is_read_and_fits_the_schema() -> None:
    declared = read(EXAMPLE, "federation.yaml")
    assert {cluster.name for cluster in declared.clusters} == {"live", "bulk"}
    jsonschema.validate(as_json(EXAMPLE), SCHEMA, cls=jsonschema.Draft202012Validator)


def test_the_schema_is_sound_and_the_one_that_is_checked_in() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(SCHEMA_FILE.read_text()) == SCHEMA, "run: guardian apply schema --out " + str(SCHEMA_FILE)


def test_the_schema_names_every_field_that_is_read() -> None:
    machine = SCHEMA["properties"]["machines"]["additionalProperties"]["properties"]
    assert set(machine) == set(of.MACHINE)
    topic = SCHEMA["properties"]["topics"]["additionalProperties"]["additionalProperties"]["properties"]
    assert set(topic) == set(of.TOPIC)
    assert set(SCHEMA["properties"]) == set(federation_yaml.SECTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topics: {}", "f:1: version is missing: use version: 1"),
        ("version: 2", "f:1: version is 2: use 1"),
        ("version: true", "version is true: use 1"),
        ("version: 1\ntopcs: {}", "f:2: topcs is not known: use version, idcs"),
        ("version: 1\ntopics: [a]", "f:2: topics is a list: use a mapping of topics by cluster"),
        ("version: 1\ntopics: {live: 3}", "f:2: topics.live is 3: use a mapping of topics of cluster live"),
        ("version: 1\ntopics: {live: {a: {owne: x}}}", "f:2: topics.live.a.owne is not known: use id, owner"),
        ("version: 1\ntopics: {live: {a: {in: much}}}", "topics.live.a.in is 'much': use bytes, such as 48TB"),
        ("version: 1\ntopics: {live: {a: {in: -1}}}", "topics.live.a.in is -1: use a whole number from 0"),
        ("version: 1\ntopics: {live: {a: {id: x!}}}", "topics.live.a.id is 'x!': use Kafka's topic id, 22 characters"),
        ("version: 1\ntopics: {live: {a: {label: 'x y'}}}", "f:2: topics.live.a.label: label is 'x y'"),
        ("version: 1\nmachines: {n: {cores: many}}", "machines.n.cores is 'many': use a whole number from 0 to 100000"),
        ("version: 1\nmachines: {n: {rack: 7}}", 'machines.n.rack is 7: use a text, in quotes: "7"'),
        ("version: 1\nexclusions: {live: {a: {why: x}}}", "'a' is no broker id: use a number from 0"),
        ("version: 1\nexclusions: {live: {01: {why: x}}}", "'01' is no broker id"),
        ("version: 1\nexclusions: {live: {1: {until: soon}}}", "until is 'soon': use a time, such as 2026-12-01T08"),
        ("version: 1\nexclusions: {live: {1: {until: 2026-12-01T08:00:00}}}", "use a time with its zone"),
        ("version: 1\nidc_policies: {p: {replicas: {a: 0}}}", "p.replicas.a is 0: use a whole number from 1"),
        ("version: 1\nclusters: {live: {bootstrap: h}}", "f:2: clusters.live.bootstrap: it is 'h': use host:port"),
        ("version: 1\nclusters: {LIVE: {bootstrap: h:1}}", "f:2: clusters.LIVE: cluster name is 'LIVE'"),
        ("version: 1\nclusters: {live: {brokers: {1: {state: tired}}}}", "state is 'tired': use one of active"),
        ("version: 1\nclusters: {live: {security: {protocol: TLS}}}", "protocol is 'TLS': use one of PLAINTEXT"),
        ("version: 1\nlabels:\n  a: {live: [1]}\n  b: {live: [1]}", r"f:4: labels.b.live\[0\] is 1: it has label a"),
        ("version: 1\nlabels: {'x y': {live: [1]}}", "label is 'x y'"),
        ("version: 1\nidcs: {a: {racks: [r]}, b: {racks: [r]}}", "it is in a too: keep one"),
        ("version: 1\nidcs: {a: {racks: [~]}}", "use a rack's name"),
        ("version: 1\nidcs: {a: {networks: [10.0.0.1/8]}}", "f:2: idcs: networks.a has '10.0.0.1/8'"),
        ("version: 1\nlinks: {lines: [{gbit_per_s: 1}]}", r"links.lines\[0\].between is missing"),
        ("version: 1\nlinks: {near: 2}", "f:2: links: near is 2: use more than 0"),
        ("version: 1\nidcs: {a: }\nmachines: {n: {idc: b}}", "f:3: machines.n.idc names data centre 'b', which"),
        ("version: 1\nidcs: {a: }\nidc_policies: {p: {replicas: {b: 1}}}", "p.replicas.b names data centre 'b'"),
        (
            "version: 1\nidcs: {a: }\nidc_policies: {p: {replicas: {a: 1}, other_factors: [{a: 1, b: 1}]}}",
            r"p.other_factors\[0\].b names data centre 'b'",
        ),
        ("version: 1\nidc_policies: {p: {other_factors: [{a: 0}]}}", r"p.other_factors\[0\].a is 0: use a whole"),
        ("version: 1\nidc_policies: {p: {other_factors: {a: 1}}}", r"use a list of mappings of data centres"),
        ("version: 1\nidcs: {a: }\nlinks: {lines: [{between: [a, b]}]}", r"between\[1\] names data centre 'b'"),
        ("version: 1\nlabels: {a: }\ntenants: {t: {labels: [b]}}", r"f:3: tenants.t.labels\[0\] names label 'b'"),
        ("version: 1\nlabels: {a: }\ntopics: {live: {t: {label: b}}}", "topics.live.t.label names label 'b'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_place_value_and_fix(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(text, "f")


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("48TB", 48 * 10**12), ("1.25GB", 1_250_000_000), ("20MB/s", 20_000_000), ("7", 7), ("'800k'", 800_000), ("~", 0)],
)
def test_sizes_are_read_as_people_write_them(text: str, bytes_: int) -> None:
    (_, node), *_ = parse(f"a: {text}", "f").mapping("")
    assert of.size(node) == bytes_


_names = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)
_texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp", "Zs")), max_size=8)
_labels = st.sampled_from(["", "gold", "1", "yes", "0x1", "1.5", "1e3", "null"])
_sizes = st.sampled_from([0, 1, 10**12, 48 * 10**12, 1_250_000_000, 2**62])
_idcs = st.sampled_from(["", "sh", "sz", "no", "1"])


@st.composite
def _entries(draw: st.DrawFn) -> list[Entry]:
    tenants = [Tenant(name, draw(_texts), ("gold", "yes")) for name in draw(st.sets(_names, max_size=2))]
    others = st.sampled_from([(), (IdcPlacement((("sh", 1), ("sz", 1))), IdcPlacement((("1", 1),)))])
    policies = [IdcPolicy(name, (("sh", 2), ("1", 1)), "1", draw(others)) for name in draw(st.sets(_names, max_size=2))]
    machines = [
        Machine(name, draw(_idcs), draw(_texts), draw(_sizes), 3, draw(_sizes), 8, draw(st.sampled_from(["", "live"])))
        for name in draw(st.sets(_names, max_size=3))
    ]
    topics = [
        Topic(
            "live",
            name,
            draw(st.sampled_from([b"", bytes(range(16))])),
            draw(_texts),
            "",
            draw(_labels),
            "",
            draw(_sizes),
        )
        for name in draw(st.sets(st.from_regex(r"[a-z0-9._-]{3,8}", fullmatch=True), max_size=3))
    ]
    exclusions = [
        Exclusion("live", broker, "ann", "because", draw(st.sampled_from([0, 1_796_112_000_123])))
        for broker in draw(st.sets(st.integers(0, 2**31 - 1), max_size=2))
    ]
    return [*tenants, *policies, *machines, *topics, *exclusions]


@st.composite
def _clusters(draw: st.DrawFn) -> tuple[Cluster, ...]:
    found = []
    for name in draw(st.sets(st.sampled_from(["live", "bulk"]))):
        brokers = tuple(
            Broker(
                broker,
                draw(st.sampled_from(["", "r1", "2", "no"])),
                draw(_idcs),
                draw(st.sampled_from(["", "h:9404"])),
                draw(_labels),
                draw(st.sampled_from(list(BrokerState))),
            )
            for broker in range(draw(st.integers(0, 4)))
        )
        security = draw(
            st.sampled_from(
                [
                    ClusterSecurity(),
                    ClusterSecurity(SecurityProtocol.SASL_SSL, "PLAIN", "guardian", "p", "ca"),
                    ClusterSecurity(
                        SecurityProtocol.SASL_SSL,
                        "OAUTHBEARER",
                        "guardian",
                        "live.client",
                        "live.ca",
                        certificate_secret="live.crt",
                        key_secret="live.key",
                        tls_server_name="kafka.example.net",
                        token_endpoint="https://login.example.net/token",
                        token_scope="kafka admin",
                        token_ca_secret="live.login-ca",
                    ),
                    ClusterSecurity(SecurityProtocol.SASL_SSL, "OAUTHBEARER", token_secret="live.token"),
                    ClusterSecurity(
                        SecurityProtocol.SASL_PLAINTEXT,
                        "GSSAPI",
                        "ann@A.B",
                        keytab_secret="live.keytab",
                        kerberos_service="broker",
                    ),
                ]
            )
        )
        found.append(Cluster(name, "h:9092,g:9092", f"id-{name}", security, brokers))
    return tuple(found)


@pytest.mark.slow
@given(_clusters(), _entries())
def test_what_is_written_declares_what_is_there(clusters: tuple[Cluster, ...], entries: list[Entry]) -> None:
    known = KnownFederation(clusters, {key_of(entry): Stored(entry, 7) for entry in entries})
    text = federation_writing.write(known)
    declared = read(text, "f")
    assert [*declaring.changes(declared, known, "me", prune=True)] == []
    jsonschema.validate(as_json(text), SCHEMA, cls=jsonschema.Draft202012Validator)
    if not clusters:  # entries are made of nothing as they were
        made = declaring.changes(declared, KnownFederation(), "me").entries
        assert {each.entry for each in made} == set(entries)


def test_lines_become_the_file_that_members_read(tmp_path: Path) -> None:
    links = read(EXAMPLE, "f").links
    assert links is not None
    file = tmp_path / "links.toml"
    file.write_text(federation_writing.links_toml(links))
    assert load_links(file) == links
    assert read(federation_writing.write(KnownFederation(), links), "f").links == links
    assert read("version: 1", "f").links is None
    assert load_links(_empty(tmp_path)) == LinkSettings()


def _empty(folder: Path) -> Path:
    file = folder / "empty.toml"
    file.write_text(federation_writing.links_toml(LinkSettings()))
    return file


_WORDS = st.sampled_from(
    [
        *federation_yaml.SECTIONS,
        *of.MACHINE,
        *of.TOPIC,
        *of.EXCLUSION,
        "live",
        "1",
        "gold",
        "racks",
        "between",
        "bootstrap",
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats() | st.text(max_size=5) | _WORDS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(_WORDS | st.integers(0, 9), inside, max_size=4),
    max_leaves=12,
)


DOCUMENTS = st.dictionaries(_WORDS, _VALUES, max_size=5)


@given(DOCUMENTS)
def test_any_document_is_read_or_refused_with_its_place(document: dict[str, Any]) -> None:
    read_and_compare(document)


def read_and_compare(document: dict[str, Any]) -> None:
    """Nothing but InvalidInput is raised, and that has a place."""
    text = yaml.safe_dump({**document, "version": 1}, allow_unicode=True)
    said = ""
    try:
        declared = read(text, "f")
        declaring.changes(declared, KnownFederation((Cluster("live", "h:1"),)), "me", prune=True)
    except InvalidInput as error:
        said = str(error)
    assert not said or said.startswith("f:")


def test_a_key_names_the_section_it_is_in() -> None:
    assert key_of(Exclusion("live", 3, "ann", "x")) == EntryKey("exclusions", "live", "3")
