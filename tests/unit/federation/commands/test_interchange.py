"""`guardian import` and `guardian export`, against a member in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.errors import ClusterUnavailable, GuardianError
from guardian.federation.commands import interchange
from guardian.health.loop import described_topics
from guardian.kafka.admin import TOPIC as TOPIC_CONFIG
from guardian.model.plan import Plan
from guardian.model.tasks import CreateTopic, ExpandTopic
from guardian.model.ticket import Ticket
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from tests.command_line import app
from tests.unit.member.member import Member

Run = Callable[..., Result]
CAPACITY = {
    "brokerCapacities": [
        {"brokerId": "-1", "capacity": {"DISK": "1000", "CPU": "100", "NW_IN": "20000", "NW_OUT": "10000"}},
        {
            "brokerId": "2",
            "capacity": {
                "DISK": {"/d1": "2000", "/d2": "3000"},
                "CPU": {"num.cores": "16"},
                "NW_IN": "10000",
                "NW_OUT": "10000",
            },
        },
    ]
}
TOPIC = """\
meta: {{name: {name}, cluster: live, environment: test, region: here, labels: {{team: ann}}}}
spec:
  partitions: {partitions}
  replicationFactor: 2
  retentionMinutes: 60
  settings: {{cleanup.policy: [compact, delete], min.insync.replicas: 1}}
  placement: {{strategy: static, staticAssignments: {assignments}}}
"""


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    brokers = (Broker(1, "a", "sh"), Broker(2, "b", "sz", reporter="h2:9404"), Broker(3, "c"))
    member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    yield member
    member.stop()


@pytest.fixture
def guardian(member: Member) -> Run:
    def run(line: str) -> Result:
        result = CliRunner().invoke(app, [*line.split(), "--endpoints", member.endpoint])
        if isinstance(result.exception, GuardianError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result

    return run


def test_capacities_become_machines_and_come_back(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "capacity.json"
    file.write_text(json.dumps(CAPACITY))
    with pytest.raises(GuardianError, match=r"host of broker 1 of cluster live is not known: say what machines"):
        guardian(f"import capacity {file} --cluster live")
    line = f"import capacity {file} --cluster live --host-pattern {{cluster}}-{{broker}}"
    assert "3 changes would be made; nothing was stored" in guardian(f"{line} --dry-run").stdout
    assert guardian("machine list -o json").stdout == "[]\n"
    made = guardian(line)
    assert "machine live-2 is stored" in made.stdout
    assert "broker 1, 3: CPU is in percent" in made.stderr
    assert "NW_IN and NW_OUT differ" in made.stderr
    machines = {
        each["machine"]["broker_id"]: each["machine"] for each in json.loads(guardian("machine list -o json").stdout)
    }
    assert machines[2] | {"broker_id": 2} == {
        "host": "live-2", "idc": "sz", "rack": "b", "disk_bytes": str(5000 * 1024**2), "disks": 2,
        "nic_bytes_per_s": str(10000 * 1024), "cores": 16, "cluster": "live", "broker_id": 2, "label": "",
    }  # fmt: skip
    assert guardian(line).stdout == "nothing differs: nothing to do\n"
    out = guardian("export capacity --cluster live")
    assert "broker 1, 3 is left out" in out.stderr
    (written,) = json.loads(out.stdout)["brokerCapacities"]
    assert written["capacity"]["DISK"] == "5000"
    file.write_text(out.stdout)
    assert guardian(line).stdout.endswith("nothing to do\n")


def test_a_broker_that_is_to_come_is_left_out_and_another_clusters_file_refused(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "capacity.json"
    file.write_text(json.dumps(CAPACITY).replace('"2"', '"9"'))
    line = f"import capacity {file} --cluster live --host-pattern h-{{broker}}"
    made = guardian(line)
    assert "Note: broker 9: not in cluster live; left out" in made.stderr
    assert made.stdout.endswith("3 changes made\n")
    file.write_text(json.dumps(CAPACITY).replace('"2"', '"9"').replace('"-1"', '"8"'))
    with pytest.raises(GuardianError, match=r"capacity file has no broker of cluster live \(got 8, 9\)"):
        guardian(line)
    with pytest.raises(GuardianError, match="cluster is 'other', which is not registered: use one of live"):
        guardian(f"import capacity {file} --cluster other")


def test_broker_sets_become_labels_and_come_back(guardian: Run, member: Member, tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text('{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [1, 2]}]}')
    assert "broker 1 label: nothing -> blue" in guardian(f"import broker-sets {file} --cluster live --dry-run").stdout
    made = guardian(f"import broker-sets {file} --cluster live")
    assert "broker 3 is in no set: it keeps the label" in made.stderr
    known = member.store.read().cluster("live")
    assert known is not None
    assert [(broker.label, broker.idc) for broker in known.brokers] == [("blue", "sh"), ("blue", "sz"), ("", "")]
    assert guardian(f"import broker-sets {file} --cluster live").stdout == "nothing differs: nothing to do\n"
    with pytest.raises(GuardianError, match="broker 3 has no label: Cruise Control needs each broker in a set"):
        guardian("export broker-sets --cluster live")
    file.write_text('{"brokerSets": [{"brokerSetId": "red", "brokerIds": [3]}]}')
    guardian(f"import broker-sets {file} --cluster live")
    sets = json.loads(guardian("export broker-sets --cluster live").stdout)["brokerSets"]
    assert sets == [{"brokerSetId": "blue", "brokerIds": [1, 2]}, {"brokerSetId": "red", "brokerIds": [3]}]
    file.write_text('{"brokerSets": [{"brokerSetId": "red", "brokerIds": [4]}]}')
    with pytest.raises(GuardianError, match=r"broker sets file has no broker of cluster live \(got 4\)"):
        guardian(f"import broker-sets {file} --cluster live")
    file.write_text('{"brokerSets": [{"brokerSetId": "red", "brokerIds": [1, 4]}]}')
    made = guardian(f"import broker-sets {file} --cluster live")
    assert "broker 4: not in cluster live; left out. Bring the file again once it has joined" in made.stderr
    known = member.store.read().cluster("live")
    assert known is not None
    assert [broker.label for broker in known.brokers] == ["red", "blue", "red"]


def test_placement_constraints_become_a_policy_and_come_back(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "placement.json"
    file.write_text(
        '{"version": 2, "replicas": [{"count": 2, "constraints": {"rack": "a"}}], '
        '"observers": [{"count": 1, "constraints": {"rack": "sz"}}]}'
    )
    made = guardian(f"import placement two {file} --cluster live --topic orders")
    assert "observers (1 in sz) become replicas like any other" in made.stderr
    assert "sh=2, sz=1" in guardian("idc-policy list").stdout
    written = guardian(f"export placement two --out {tmp_path / 'out.json'}")
    assert "leaders are preferred in sh is left out" in written.stderr
    assert json.loads((tmp_path / "out.json").read_text())["replicas"] == [
        {"count": 2, "constraints": {"rack": "sh"}},
        {"count": 1, "constraints": {"rack": "sz"}},
    ]
    with pytest.raises(GuardianError, match="policy is 'three', which does not exist"):
        guardian("export placement three")


def test_a_static_topic_becomes_a_ticket_that_creates_it(guardian: Run, member: Member, tmp_path: Path) -> None:
    file = tmp_path / "topics.yaml"
    made = TOPIC.format(name="orders", partitions=2, assignments="[[1, 2], [2, 3]]")
    more = TOPIC.format(name="t", partitions=2, assignments="[[1, 2], [3, 1]]")
    file.write_text(f"{made}---\n{more}")
    dry = guardian(f"import topic {file} --dry-run")
    assert "topic live/orders: 2 partitions on the brokers that the file names; no ticket was made" in dry.stdout
    assert "orders: environment, region of meta: left out" in dry.stderr
    assert guardian("topic list -o json").stdout == "[]\n"
    assert guardian("ticket list -o json").stdout == "[]\n"
    out = guardian(f"import topic {file}").stdout
    assert "topic live/t: 1 partitions on the brokers that the file names. Draft ticket" in out
    assert [each["topic"]["owner"] for each in json.loads(guardian("topic list -o json").stdout)] == ["ann", "ann"]
    with GuardianClient([member.endpoint]) as client:
        tickets = client.tickets()
        assert {each.kind for each in tickets} == {"run-plan"}
        plans = {type(plan.task): (each, plan) for each in tickets if (plan := client.plan(each.plan_hash))}
        ticket, plan = plans[CreateTopic]
        assert [move.target_brokers for move in plan.moves] == [(1, 2), (2, 3)]
        assert isinstance(plan.task, CreateTopic)
        assert dict(plan.task.configs) == {
            "cleanup.policy": "compact,delete",
            "min.insync.replicas": "1",
            "retention.ms": "3600000",
        }
        assert [str(move.partition) for move in plans[ExpandTopic][1].moves] == ["t-1"]
    written = guardian(f"export reassignment {ticket.id}")
    assert json.loads(written.stdout)["partitions"][1]["replicas"] == [2, 3]
    file.write_text(TOPIC.format(name="t", partitions=1, assignments="[[1, 2]]"))
    assert "topic live/t exists with 1 partitions: nothing to create" in guardian(f"import topic {file}").stdout


def five_topics(tmp_path: Path, third: str = "[[1, 2], [2, 3]]") -> Path:
    file = tmp_path / "topics.yaml"
    assignments = ["[[1, 2], [2, 3]]", "[[1, 2], [2, 3]]", third, "[[1, 2], [2, 3]]", "[[1, 2], [2, 3]]"]
    file.write_text(
        "---\n".join(
            TOPIC.format(name=f"n{number}", partitions=2, assignments=each) for number, each in enumerate(assignments)
        )
    )
    return file


def test_topics_of_which_kafka_refuses_one_leave_nothing_behind(guardian: Run, tmp_path: Path) -> None:
    file = five_topics(tmp_path, third="[[1, 9], [2, 3]]")
    with pytest.raises(GuardianError, match=rf"^{file}:\d+: .*broker 9"):
        guardian(f"import topic {file}")
    assert guardian("topic list -o json").stdout == "[]\n"
    assert guardian("ticket list -o json").stdout == "[]\n"


def test_an_import_that_stops_on_the_way_says_what_stays(
    guardian: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create_ticket = GuardianClient.create_ticket

    def refuses_the_third(self: GuardianClient, plan: Plan, *, dry_run: bool, **others: Any) -> tuple[Ticket, Plan]:
        if not dry_run and len(made) == 2:
            raise ClusterUnavailable("cluster live does not answer")
        ticket, plan = create_ticket(self, plan, dry_run=dry_run, **others)
        made.extend([] if dry_run else [ticket.id])
        return ticket, plan

    monkeypatch.setattr(GuardianClient, "create_ticket", refuses_the_third)
    with pytest.raises(ClusterUnavailable, match=r"^cluster live does not answer; the import stopped") as refused:
        guardian(f"import topic {five_topics(tmp_path)}")
    entries = [each["topic"]["name"] for each in json.loads(guardian("topic list -o json").stdout)]
    tickets = [each["id"] for each in json.loads(guardian("ticket list -o json").stdout)]
    assert (len(entries), sorted(tickets)) == (5, sorted(made))
    told = [f"topic live/{name} in the directory" for name in entries] + [f"draft ticket {each}" for each in made]
    assert [each for each in told if each not in str(refused.value)] == []


def test_a_planner_that_ends_an_import_on_the_way_is_told_of_what_stays(
    guardian: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise typer.Exit(1)

    monkeypatch.setattr(interchange, "_plan", fails)
    file = tmp_path / "topics.yaml"
    file.write_text(
        "meta: {name: orders, cluster: live, labels: {team: ann}}\nspec: {partitions: 6, replicationFactor: 2}"
    )
    with pytest.raises(AssertionError, match="this stays: topic live/orders in the directory"):
        guardian(f"import topic {file}")


def test_topics_come_back_as_a_file_of_topicctl(guardian: Run, member: Member, tmp_path: Path) -> None:
    member.kafka.create_topic("orders", {0: (1, 2), 1: (2, 3)})
    member.kafka.set_config((TOPIC_CONFIG, "orders"), "retention.ms", "3600000")
    member.kafka.create_topic("__consumer_offsets", {0: (1, 2)})
    member.kafka.create_topic("uneven", {0: (1, 2), 1: (1,)})
    guardian("topic put --cluster live orders --owner ann")
    file = tmp_path / "topics.yaml"
    said = guardian(f"export topic --cluster live --static --environment prod --out {file}")
    assert "left out: topic uneven has partitions of 1 and 2 replicas" in said.stderr
    assert "topicctl wants meta.environment and meta.region" in said.stderr
    orders, other = yaml.safe_load_all(file.read_text())
    assert orders == {
        "meta": {"name": "orders", "cluster": "live", "environment": "prod", "labels": {"owner": "ann"}},
        "spec": {
            "partitions": 2,
            "replicationFactor": 2,
            "retentionMinutes": 60,
            "placement": {"strategy": "static", "staticAssignments": [[1, 2], [2, 3]]},
        },
    }
    assert other["meta"]["name"] == "t"
    again = guardian(f"import topic {file}").stdout
    assert "topic live/orders exists with 2 partitions: nothing to create" in again
    assert guardian("ticket list -o json").stdout == "[]\n"
    only = guardian("export topic --cluster live --topic t --environment prod --region eu")
    assert (only.stderr, yaml.safe_load(only.stdout)["spec"]["placement"]) == ("", {"strategy": "any"})
    with pytest.raises(GuardianError, match=r"topics is nope\*: cluster live has none of that name"):
        guardian("export topic --cluster live --topic nope*")


def test_more_topics_than_a_file_has_are_refused(guardian: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described_topics, "MAX_TOPICS", 0)
    with pytest.raises(GuardianError, match="cluster live has 1 such topics, more than the 0 of one file: name fewer"):
        guardian("export topic --cluster live")


def test_other_placements_are_the_planners(guardian: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, int, bool]] = []

    def plan(topic: object, cluster: str, there: int, *_: object, dry_run: bool) -> None:
        asked.append((cluster, getattr(topic, "partitions", 0), there, dry_run))

    monkeypatch.setattr(interchange, "_plan", plan)
    file = tmp_path / "topics.yaml"
    file.write_text(
        "meta: {name: orders, cluster: live}\n"
        "spec: {partitions: 6, replicationFactor: 2, placement: {strategy: in-rack}}\n"
    )
    said = guardian(f"import topic {file} --dry-run")
    assert asked == [("live", 6, 0, True)]
    assert "placement in-rack is not kept" in said.stderr


def test_a_reassignment_becomes_a_draft(guardian: Run, tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    file.write_text('{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]}')
    assert (
        "1 partitions move; nothing was stored"
        in guardian(f"import reassignment {file} --cluster live --dry-run").stdout
    )
    said = guardian(f"import reassignment {file} --cluster live").stdout
    ticket = said.split()[2]
    undo = json.loads(guardian(f"export reassignment {ticket} --rollback").stdout)
    assert undo["partitions"][0]["replicas"] == [1, 2]
