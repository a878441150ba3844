"""`guardian apply`, against a member in this process: what differs is shown, changed, and then differs no longer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from guardian.errors import GuardianError
from guardian.federation.commands import declared
from guardian.federation.wire import federation_schema
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from protos.guardian.v1 import federation_pb2 as pb
from tests.command_line import app
from tests.unit.federation.test_federation_yaml import as_json
from tests.unit.member.member import Member

FILE = """\
version: 1
idcs:
  shanghai: {racks: [a, b], networks: [10.1.0.0/16]}
  suzhou: {racks: [c]}
links:
  currency: EUR
  lines: [{between: [shanghai, suzhou], gbit_per_s: 10}]
labels:
  gold: {live: [1]}
clusters:
  live:
    bootstrap: h:9092
    brokers:
      3: {state: draining, reporter: "h3:9404"}
machines:
  node-7: {idc: suzhou, rack: c, disk: 48TB, disks: 12, nic: 1.25GB, cores: 32}
tenants:
  payments: {owner: ann, labels: [gold], description: money}
idc_policies:
  two-cities: {replicas: {shanghai: 2, suzhou: 1}, leaders: shanghai}
topics:
  live:
    orders: {tenant: payments, label: gold, idc_policy: two-cities, in: 20MB, id: 5b4l2vJWR5-RQrmPPGDP2g}
exclusions:
  live:
    2: {why: fan broken, who: ann, until: 2036-12-01T08:00:00Z}
"""

Run = Callable[..., Result]


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    links = tmp_path / "links.toml"
    links.write_text("")
    member = Member(links_file=links)
    brokers = (Broker(1, "a"), Broker(2, "b"), Broker(3, "c"))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    yield member
    member.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "federation.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def guardian(member: Member, file: Path) -> Run:
    def run(line: str, typed: str = "") -> Result:
        words = [str(file) if word == "FILE" else word for word in line.split()]
        if "schema" not in words and "links" not in words:
            words += ["--endpoints", member.endpoint]
        result = CliRunner().invoke(app, words, input=typed)
        if isinstance(result.exception, GuardianError):
            raise result.exception
        return result

    return run


def test_what_differs_is_shown_checked_and_changed_once(guardian: Run, member: Member) -> None:
    shown = guardian("apply diff -f FILE")
    assert "~ cluster live" in shown.stdout
    assert "    broker 1 label: nothing -> gold" in shown.stdout
    assert "    broker 3 idc: nothing -> suzhou" in shown.stdout
    assert "+ topic live/orders" in shown.stdout
    assert "    in: 20MB" in shown.stdout
    assert "    id: 5b4l2vJWR5-RQrmPPGDP2g" in shown.stdout
    assert shown.stdout.endswith("6 changes differ\n")
    dry = guardian("apply -f FILE --dry-run")
    assert dry.exit_code == 0
    assert "6 changes would be made; nothing was stored" in dry.stdout
    assert member.store.read().cluster("live") == Cluster(
        "live", "h:9092", "fake", brokers=(Broker(1, "a"), Broker(2, "b"), Broker(3, "c"))
    )

    made = guardian("apply -f FILE")
    assert made.exit_code == 0, made.output
    assert made.stdout.splitlines()[0] == "cluster live is registered: 3 brokers"
    assert "topic live/orders is stored" in made.stdout
    assert f"links differ from what {member.endpoint} reads (currency, networks, lines)" in made.stderr
    assert "federation.yaml --out links.toml writes the file; put it where the setting `links`" in made.stderr
    known = member.store.read().cluster("live")
    assert known is not None
    assert [(each.idc, each.label, each.state.name, each.reporter) for each in known.brokers] == [
        ("shanghai", "gold", "ACTIVE", ""),
        ("shanghai", "", "ACTIVE", ""),
        ("suzhou", "", "DRAINING", "h3:9404"),
    ]
    before = guardian("topic list -o json").stdout
    assert guardian("apply -f FILE").stdout == "nothing differs: nothing to do\n"
    assert guardian("topic list -o json").stdout == before  # not even a revision
    assert guardian("apply diff -f FILE -o json").stdout == "[]\n"


def test_what_was_made_before_a_refusal_is_told_and_the_same_command_makes_the_rest(guardian: Run, file: Path) -> None:
    whole = file.read_text()
    file.write_text(whole.replace("tenant: payments", "tenant: nobody"))
    with pytest.raises(GuardianError, match=r"nobody.*; 1 of 6 changes were made before and stay: correct it") as error:
        guardian("apply -f FILE")
    assert str(error.value).startswith(f"{file}:")
    file.write_text(whole)
    assert guardian("apply -f FILE").stdout.endswith("5 changes made\n")


def test_a_file_may_come_through_a_pipe(guardian: Run) -> None:
    assert "+ tenant payments" in guardian("apply diff -f -", FILE).stdout
    with pytest.raises(GuardianError, match="standard input:1: version is missing"):
        guardian("apply diff -f -", "topics: {}")


def test_diff_can_fail_and_is_for_programs_too(guardian: Run) -> None:
    failed = guardian("apply diff -f FILE --fail -o json")
    assert failed.exit_code == 1
    found = {each["name"]: each for each in json.loads(failed.stdout)}
    assert found["tenant payments"]["change"] == "add"
    assert found["tenant payments"]["where"].endswith("federation.yaml:18")
    assert {"field": "owner", "before": None, "after": "ann"} in found["tenant payments"]["fields"]
    assert found["cluster live"]["change"] == "change"


def test_what_the_file_does_not_name_is_left_alone_unless_it_is_pruned(guardian: Run, member: Member) -> None:
    guardian("apply -f FILE")
    guardian("topic put --cluster live mine --owner bob")
    guardian("machine put n1 --idc elsewhere")
    guardian("tenant put payments --owner zoe --label gold --description money")
    assert "+" not in guardian("apply diff -f FILE").stdout
    shown = guardian("apply diff -f FILE --prune").stdout
    assert "- topic live/mine" in shown
    assert "- machine n1" in shown
    assert "    owner: zoe -> ann" in shown
    refused = guardian("apply -f FILE --prune", "n\n")
    assert refused.exit_code == 1
    assert "mine" in guardian("topic list").stdout
    assert guardian("apply -f FILE --prune", "y\n").exit_code == 0
    assert "mine" not in guardian("topic list").stdout
    assert "n1" not in guardian("machine list").stdout


def test_a_section_that_the_file_does_not_have_is_never_pruned(guardian: Run, file: Path) -> None:
    guardian("apply -f FILE")
    file.write_text("version: 1\ntopics: {live: {orders: {owner: zoe}}}\n")
    assert guardian("apply -f FILE --prune --yes").stdout.splitlines()[-1] == "1 change made"
    assert "payments" in guardian("tenant list").stdout
    (topic,) = json.loads(guardian("topic list -o json").stdout)
    assert (topic["topic"]["owner"], topic["topic"]["tenant"]) == ("zoe", "payments")  # what it had, it has
    file.write_text("version: 1\ntopics: {live: {orders: {owner: }}}\nlabels: {}\nclusters: {live: }\n")
    guardian("apply -f FILE --prune --yes")
    (topic,) = json.loads(guardian("topic list -o json").stdout)
    assert topic["topic"]["owner"] == ""
    assert "gold" not in guardian("cluster list").stdout


def test_a_refusal_of_the_server_has_its_place_and_changes_no_entry(guardian: Run, file: Path) -> None:
    file.write_text(
        FILE.replace("labels: [gold], description: money", "labels: [gold]").replace("  gold:", "  red:\n  gold:")
    )
    text = file.read_text().replace("label: gold, idc", "label: red, idc")
    file.write_text(text)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "orders" in each)
    for command in ("apply -f FILE --dry-run", "apply -f FILE"):
        with pytest.raises(GuardianError, match=rf"federation.yaml:{line}: .*'red', which topic live/orders has"):
            guardian(command)
    assert json.loads(guardian("tenant list -o json").stdout) == []


def test_an_entry_that_somebody_changed_meanwhile_stops_the_set(
    guardian: Run, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian("apply -f FILE")
    guardian("topic put --cluster live orders --owner bob")
    looked = declared.known

    def looks_then_loses(client: object) -> object:
        found = looked(client)  # type: ignore[arg-type]
        guardian("topic put --cluster live orders --owner zoe")
        return found

    monkeypatch.setattr(declared, "known", looks_then_loses)
    with pytest.raises(GuardianError, match=r"federation.yaml:23: topic live/orders is at revision \d+ and not at"):
        guardian("apply -f FILE")


def test_a_cluster_that_is_new_is_registered_first_and_one_that_is_not_named_is_forgotten(
    guardian: Run, member: Member, file: Path
) -> None:
    member.store.drop_cluster("live")
    dry = guardian("apply -f FILE --dry-run")
    assert "+ cluster live" in dry.stdout
    assert "cluster live and what names it are checked when it is registered, which asks Kafka" in dry.stderr
    assert guardian("apply -f FILE").exit_code == 0
    known = member.store.read().cluster("live")
    assert known is not None
    assert [broker.idc for broker in known.brokers] == ["shanghai", "shanghai", "suzhou"]
    assert "nothing differs" in guardian("apply diff -f FILE").stdout
    file.write_text("version: 1\nclusters:\ntopics: {live: }\nexclusions: {live: }\n")
    pruned = guardian("apply -f FILE --prune --yes")
    assert pruned.stdout.splitlines()[-2:] == ["cluster live is forgotten", "3 changes made"]
    file.write_text("version: 1\nlabels: {gold: {live: [1]}}\n")
    with pytest.raises(GuardianError, match=r"federation.yaml:2: labels.gold.live: it is not registered and bootstrap"):
        guardian("apply diff -f FILE")


def test_what_is_wrong_for_the_cluster_has_its_place(guardian: Run, file: Path) -> None:
    file.write_text(FILE.replace("live: [1]", "live: [1, 9]"))
    with pytest.raises(
        GuardianError, match=r"federation.yaml:9: labels.gold.live\[1\]: broker 9 is not in cluster live"
    ):
        guardian("apply diff -f FILE")


def test_the_file_that_is_exported_declares_what_is_there(guardian: Run, member: Member, file: Path) -> None:
    guardian("apply -f FILE")
    guardian("machine put n1 --cluster live --broker 0")
    exported = guardian("export federation")
    assert exported.exit_code == 0
    file.write_text(exported.stdout)
    assert guardian("apply diff -f FILE --prune").stdout == "nothing differs: nothing to do\n"
    assert "{" not in exported.stdout.split("clusters:")[0].split("labels:")[0]  # as people write it


def test_links_become_the_file_that_members_read(guardian: Run, tmp_path: Path) -> None:
    guardian(f"apply links -f FILE --out {tmp_path / 'links.toml'}")
    written = (tmp_path / "links.toml").read_text()
    assert guardian("apply links -f FILE").stdout == written
    assert 'shanghai" = ["10.1.0.0/16"]' in written
    again = guardian("apply -f FILE")
    assert "links differ" not in again.stderr


def test_links_of_each_member_are_compared(member: Member, file: Path, tmp_path: Path) -> None:
    right, wrong = tmp_path / "links.toml", tmp_path / "wrong.toml"
    wrong.write_text("near = 'x'")
    other = Member(member.machine, links_file=wrong)
    try:
        endpoints = ["--endpoints", f"{member.endpoint},{other.endpoint},127.0.0.1:1"]
        assert CliRunner().invoke(app, ["apply", "links", "-f", str(file), "--out", str(right)]).exit_code == 0
        said = CliRunner().invoke(app, ["apply", "diff", "-f", str(file), *endpoints]).stderr
        assert f"links differ from what {other.endpoint} reads (its file is wrong: " in said
        assert "links of 127.0.0.1:1 are not compared: it does not answer" in said
        assert f"what {member.endpoint}" not in said
    finally:
        other.stop()


def test_the_schema_is_printed_and_takes_what_apply_takes(guardian: Run) -> None:
    schema = json.loads(guardian("apply schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "topics" in schema["properties"]


def test_controllers_are_added_kept_where_they_are_not_named_and_dropped_by_null(
    guardian: Run, member: Member, file: Path
) -> None:
    for written, stored in (("[c1:9093, c2:9093]", "c1:9093,c2:9093"), ("c3:9093", "c3:9093"), ("null", "")):
        file.write_text(f"version: 1\nclusters: {{live: {{bootstrap_controllers: {written}}}}}\n")
        assert "    bootstrap_controllers: " in guardian("apply diff -f FILE").stdout
        guardian("apply -f FILE")
        file.write_text("version: 1\nclusters: {live: {bootstrap: h:9092}}\n")
        assert "nothing differs" in guardian("apply diff -f FILE").stdout
        known = member.store.read().cluster("live")
        assert known is not None
        assert known.bootstrap_controllers == stored
        written_down = guardian("export federation").stdout
        assert ("bootstrap_controllers" in written_down) is bool(stored)
    member.store.drop_cluster("live")
    file.write_text("version: 1\nclusters: {live: {bootstrap: h:9092, bootstrap_controllers: c1:9093}}\n")
    assert "    bootstrap_controllers: c1:9093" in guardian("apply diff -f FILE").stdout
    guardian("apply -f FILE")
    known = member.store.read().cluster("live")
    assert known is not None
    assert known.bootstrap_controllers == "c1:9093"
    file.write_text("version: 1\nclusters: {live: {bootstrap_controllers: c1}}\n")
    with pytest.raises(GuardianError, match=r"federation.yaml:2: clusters.live.bootstrap_controllers: it is 'c1'"):
        guardian("apply diff -f FILE")


RULES = """\
version: 1
roles:
  grants:
    - {who: [ann, "group:sre"], role: approver, clusters: ["live-*"]}
    - {who: [ben], role: viewer}
  signed_out: {ann: 2026-11-23T08:00:00Z}
approval_policy:
  expires: 2d
  rules:
    - {name: small, kinds: [balance], max_bytes: 500GB, windows: ["Mon-Fri 22:00-06:00"], approvers: ["*"]}
"""


def test_roles_and_the_approval_policy_are_applied_like_the_rest(guardian: Run, member: Member, file: Path) -> None:
    file.write_text(RULES)
    jsonschema.validate(as_json(RULES), federation_schema.schema(), cls=jsonschema.Draft202012Validator)
    shown = guardian("apply diff -f FILE").stdout
    assert shown.splitlines()[:3] == [
        "+ roles",
        '    grants: {"clusters": ["live-*"], "role": "approver", "who": ["ann", "group:sre"]}',
        '    grants: {"role": "viewer", "who": ["ben"]}',
    ]
    assert '    signed_out: "ann": "2026-11-23T08:00:00Z"' in shown
    assert "+ approval policy" in shown
    assert "2 changes would be made" in guardian("apply -f FILE --dry-run").stdout
    assert list(member.store.read().federation_page(pb.DOCUMENTS, "", "", b"", 10, 1 << 20)[0]) == []
    assert guardian("apply -f FILE").stdout.splitlines() == [
        "roles is stored",
        "approval policy is stored",
        "2 changes made",
    ]
    assert guardian("apply -f FILE").stdout == "nothing differs: nothing to do\n"
    assert "Rules of the replicated store, for all members (revision " in guardian("ticket approvals").stdout
    exported = guardian("export federation").stdout
    file.write_text(exported)
    assert guardian("apply diff -f FILE --prune").stdout == "nothing differs: nothing to do\n"
    file.write_text("version: 1\nroles: {denied: [mallory], signed_out: }\n")
    assert guardian("apply diff -f FILE").stdout.splitlines() == [
        "~ roles",
        '    denied: "mallory"',
        '    signed_out: "ann": "2026-11-23T08:00:00Z" -> nothing',
        "1 change differ",
    ]
    guardian("apply -f FILE")
    assert [*(member.store.read().document("roles") or {})] == ["denied", "grants"], "what is not named is left alone"
    file.write_text("version: 1\nroles:\n")
    assert guardian("apply -f FILE").stdout == "nothing differs: nothing to do\n"
    assert guardian("apply -f FILE --prune --yes").stdout.splitlines()[-2:] == ["roles is dropped", "1 change made"]
    assert member.store.read().document("roles") is None
    assert member.store.read().document("approval_policy") is not None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("roles: {grants: []}", "f.yaml:2: roles: roles: grants has 0 entries: write 1 to 10000 sections"),
        ("roles: {grant: []}", "f.yaml:2: roles: roles: grant is not a setting: did you mean grants"),
        ("roles: [ann]", "f.yaml:2: roles is a list: use the settings of roles by name"),
        ("approval_policy: {rules: [{name: x, approvers: [a], kinds: [x]}]}", "is no kind of ticket"),
        ("approval_policy: {expires: 2d}", "approval_policy: rules has 0 entries"),
    ],
)
def test_a_document_that_members_could_not_use_is_refused_with_its_place(
    guardian: Run, member: Member, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "f.yaml").write_text(f"version: 1\n{text}\n")
    with pytest.raises(GuardianError) as refused:
        guardian(f"apply -f {tmp_path / 'f.yaml'}")
    assert sentence in str(refused.value)
    assert member.store.read().document("roles") is None


def test_roles_that_somebody_changed_meanwhile_stop_the_set(
    guardian: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(RULES)
    looked = declared.known

    def looks_then_loses(client: object) -> object:
        found = looked(client)  # type: ignore[arg-type]
        monkeypatch.setattr(declared, "known", looked)
        other = file.with_name("other.yaml")
        other.write_text("version: 1\nroles: {denied: [zoe]}\n")
        guardian(f"apply -f {other}")
        return found

    monkeypatch.setattr(declared, "known", looks_then_loses)
    with pytest.raises(GuardianError, match=r"federation.yaml:3: roles is at revision \d+ and not at 0"):
        guardian("apply -f FILE")
