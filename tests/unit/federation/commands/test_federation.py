"""`guardian machine|tenant|topic|idc-policy|exclusion|audit`, against a member in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.errors import GuardianError
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.command_line import app
from tests.unit.member.member import Member

Run = Callable[..., str]
WEST = Cluster("west", "h:9092", "other", brokers=(Broker(1, "r1", "sh"), Broker(2, "r2", "sz")))


@pytest.fixture
def guardian() -> Iterator[Run]:
    member = Member()
    member.store.put_cluster(cluster_to_proto(WEST))

    def run(line: str, *more: str) -> str:
        result = CliRunner().invoke(app, [*line.split(), *more, "--endpoints", member.endpoint])
        if isinstance(result.exception, GuardianError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    yield run
    member.stop()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--cluster live", r"--broker: missing, .* \(got --cluster live\); give the id of the broker on it"),
        ("--broker 0", r"--broker: without --cluster \(got 0\); name its cluster"),
    ],
)
def test_a_machine_of_a_cluster_needs_its_broker(guardian: Run, line: str, message: str) -> None:
    with pytest.raises(GuardianError, match=message):
        guardian(f"machine put n1 {line}")
    assert guardian("machine list -o json").strip() == "[]"


def test_machines_are_put_listed_and_dropped(guardian: Run) -> None:
    out = guardian("machine put n1 n2 --idc sh --rack r4 --disk 48TB --disks 12 --cores 32 --dry-run")
    assert out.splitlines() == [
        "machine n1 would be stored; nothing was stored",
        "machine n2 would be stored; nothing was stored",
    ]
    assert "machine n2 is stored at revision" in guardian("machine put n1 n2 --idc sh --disk 48TB")
    assert "48.0 TB" in guardian("machine list")
    assert "stays as it is" in guardian("machine put n1 --idc sh --disk 48TB --dry-run")
    assert "would be dropped" in guardian("machine drop n1 --dry-run")
    assert guardian("machine drop n1") == "machine n1 is dropped\n"
    assert [each["machine"]["host"] for each in json.loads(guardian("machine list -o json"))] == ["n2"]
    with pytest.raises(GuardianError, match="--disk is 'much'"):
        guardian("machine put n1 --disk much")
    with pytest.raises(GuardianError, match="--cluster needs one host"):
        guardian("machine put n1 n2 --cluster live")


def test_tenants_topics_and_policies_belong_together(guardian: Run) -> None:
    assert "the directory has no topic of live; what Kafka has:" in guardian("topic list --cluster live")
    guardian("tenant put pay --owner ann --label gold --label hot")
    guardian("idc-policy put two --replicas sh=2 --replicas sz=1 --leaders sh --other-factor sh=1,sz=1")
    uuid = "5b4l2vJWR5-RQrmPPGDP2g"
    guardian(
        f"topic put --cluster live orders --id {uuid} --tenant pay --label gold --idc-policy two --in 20MB --out 60MB"
    )
    (topic,) = json.loads(guardian("topic list --cluster live -o json"))
    assert topic["topic"]["topic_id"] == uuid
    assert uuid in guardian("topic list")
    assert "no topic" not in guardian("topic list")
    assert "gold, hot" in guardian("tenant list")
    assert "sh=2, sz=1 or sh=1, sz=1" in guardian("idc-policy list")
    with pytest.raises(GuardianError, match="tenant pay is named by topic live/orders"):
        guardian("tenant drop pay")
    with pytest.raises(GuardianError, match="and not at 1"):
        guardian("topic drop --cluster live orders --expect 1")
    guardian(f"topic drop --cluster live orders --expect {topic['revision']}")
    assert json.loads(guardian("tenant drop pay -o json")) == [{"entry": "tenant pay", "revision": 0, "dry_run": False}]
    guardian("idc-policy drop two")
    for wrong, message in [
        ("--replicas sh", "--replicas is 'sh'"),
        ("--replicas sh=x", "--replicas is 'sh=x'"),
        ("--replicas sh=1 --other-factor sh=1,sz", "--other-factor is 'sz'"),
    ]:
        with pytest.raises(GuardianError, match=message):
            guardian(f"idc-policy put two {wrong}")
    with pytest.raises(GuardianError, match="--id is"):
        guardian("topic put --cluster live orders --id !")


PLACEMENT = """
{"version": 2, "replicas": [{"count": 2, "constraints": {"rack": "r1"}}],
 "observers": [{"count": 1, "constraints": {"rack": "sz"}}]}
"""


def test_confluents_placement_becomes_a_policy_of_topics(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "placement.json"
    file.write_text(PLACEMENT)
    guardian("topic put --cluster west orders --in 20MB")
    line = f"idc-policy import two {file} --cluster west --topic orders --topic new"

    dry = guardian(f"{line} --dry-run")
    assert "Note: observers (1 in sz) become replicas like any other" in dry
    assert "Note: leaders are preferred in sh, since only observers are elsewhere" in dry
    assert [each for each in dry.splitlines() if not each.startswith("Note: ")] == [
        "IDC policy two would be stored; nothing was stored",
        "topic west/orders would be stored; nothing was stored",
        "topic west/new would be stored; nothing was stored",
    ]
    assert json.loads(guardian("idc-policy list -o json")) == []

    guardian(line)
    assert "sh=2, sz=1" in guardian("idc-policy list")
    orders, new = sorted(
        (each["topic"] for each in json.loads(guardian("topic list -o json"))), key=lambda each: -len(each["name"])
    )
    assert (orders["name"], orders["idc_policy"], orders["expected_bytes_in_per_s"]) == ("orders", "two", "20000000")
    assert (new["name"], new["idc_policy"]) == ("new", "two")


def test_a_placement_that_names_what_is_not_there_changes_nothing(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "placement.json"
    file.write_text(PLACEMENT.replace('"r1"', '"r9"'))
    for line, sentence in [
        (f"two {file} --cluster west", "rack is 'r9': use an IDC or a rack of cluster west, such as sh, sz, r1, r2"),
        (f"two {file} --cluster gone", "cluster is 'gone', which is not registered: use one of live, west"),
        (f"two {file} --topic orders", "--topic is 'orders' and --cluster is missing: say whose topic it is"),
        (f"two {tmp_path}/gone.json", "placement constraints .*gone.json can't be read"),
    ]:
        with pytest.raises(GuardianError, match=sentence):
            guardian(f"idc-policy import {line}")
    assert json.loads(guardian("idc-policy list -o json")) == []
    guardian(f"idc-policy import anywhere {file}")
    assert "r9=2, sz=1" in guardian("idc-policy list")


def test_exclusions_are_lifted_all_or_none(guardian: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "cyd")
    monkeypatch.setenv("LOGNAME", "cyd")
    guardian("exclusion add --cluster live 3 4 --for 2h", "--reason", "fan broken")
    out = guardian("exclusion list --cluster live")
    assert "fan broken" in out
    assert "cyd" in out
    with pytest.raises(GuardianError, match="exclusion of broker 5 of cluster live does not exist"):
        guardian("exclusion lift --cluster live 3 5")
    assert guardian("exclusion lift --cluster live 3 4").count("is dropped") == 2
    audited = guardian("audit changes --limit 3")
    assert "drop exclusion live/3, drop exclusion live/4" in audited
    assert "does not exist" in audited
    first = guardian("audit changes --limit 2").splitlines()
    rest = guardian(f"audit changes {first[-1].removeprefix('There are more: ')}").splitlines()
    shown = guardian("audit changes").splitlines()
    assert [line.split() for line in (*first[1:3], *rest[1:])] == [line.split() for line in shown[1:]]
    assert json.loads(guardian("audit changes --since 1h -o json")) == []  # this member lives in 1970
