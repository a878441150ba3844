"""`guardian apply`, `import` and `export` as an operator uses them: three members as processes, simulated clusters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local import ports, processes
from deploy.local.members import Member, plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from tests.patience import CALL_S, PATIENCE_S, until, wait_for

pytestmark = pytest.mark.integration

Cli = Callable[..., subprocess.CompletedProcess[str]]

FILE = """\
version: 1
idcs: {{east: {{racks: [{racks}]}}}}
labels: {{gold: {{sim-1: [1, 2]}}}}
clusters:
  sim-1: {{bootstrap: "{bootstrap}", brokers: {{3: {{state: draining}}}}}}
tenants:
  payments: {{owner: ann, labels: [gold]}}
idc_policies:
  east-only: {{replicas: {{east: 2}}}}
machines:
{machines}
topics:
  sim-1:
{topics}
"""


@pytest.fixture
def members(tmp_path: Path) -> Iterator[list[Member]]:
    group = list(plan_members(3, tmp_path))
    try:
        for number, member in enumerate(group):
            group[number] = start_member(member, group, tmp_path / "lake", tmp_path / f"{member.name}.log")
        wait_ready(group)
        yield group
    finally:
        processes.stop_all([member.process for member in group if member.process])


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[int]:
    """The port at which a fleet of four brokers speaks Kafka, which nobody has registered."""
    base_port = ports.pick_pair()
    command = [sys.executable, "-m", "guardian.cli.main", "local", "fleet", "--no-register", "--clusters=1"]
    fleet = processes.spawn([*command, "--brokers=4", "--partitions=8", f"--base-port={base_port}"], tmp_path / "fleet")
    try:
        wait_for(
            "the fleet serves", lambda: "serving" in processes.output(fleet), story=lambda: processes.last_lines(fleet)
        )
        yield base_port + 1
    finally:
        processes.stop_all([fleet])


@pytest.fixture
def cli(members: list[Member]) -> Cli:
    endpoints = ",".join(member.grpc for member in members)

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "guardian.cli.main", *words, "--endpoints", endpoints]
        patient = {"GUARDIAN_TIMEOUT": "100s", **os.environ}
        done = subprocess.run(line, env=patient, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def declared(port: int, topics: int) -> str:
    listed = "\n".join(f"    t-{n}: {{tenant: payments, label: gold, in: 1MB}}" for n in range(topics))
    machines = "\n".join(f"  node-{n}: {{idc: east, disk: 48TB, cores: 32}}" for n in range(3))
    return FILE.format(racks="nowhere", bootstrap=f"127.1.0.1:{port}", machines=machines, topics=listed)


def test_a_federation_is_declared_changed_pruned_and_taken_out_again(
    members: list[Member], kafka: int, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "federation.yaml"
    file.write_text(declared(kafka, topics=1200))  # more than the server changes at once
    dry = cli("apply", "-f", str(file), "--dry-run")
    assert "+ cluster sim-1" in dry.stdout
    assert "1206 changes would be made; nothing was stored" in dry.stdout
    assert json.loads(cli("cluster", "list", "-o", "json").stdout) == []

    made = cli("apply", "-f", str(file))
    assert "cluster sim-1 is registered: 4 brokers" in made.stdout
    assert "1206 changes made" in made.stdout
    assert cli("apply", "-f", str(file)).stdout == "nothing differs: nothing to do\n"
    (cluster,) = json.loads(cli("cluster", "list", "-o", "json").stdout)
    brokers = [(broker["id"], broker["label"], broker["state"]) for broker in cluster["brokers"]]
    assert brokers == [(1, "gold", "ACTIVE"), (2, "gold", "ACTIVE"), (3, "", "DRAINING"), (4, "", "ACTIVE")]

    # Whatever member died meanwhile, and whatever somebody else did: the rest is brought to what the file says.
    # It may be handed over between two answers.
    leader = until(lambda: next((member for member in members if is_leader(member)), None))
    assert leader.process is not None
    processes.kill(leader.process)
    cli("tenant", "put", "payments", "--owner", "zoe", "--label", "gold")
    shown = cli("apply", "diff", "-f", str(file), "--fail", code=1)
    assert "owner: zoe -> ann" in shown.stdout
    file.write_text(declared(kafka, topics=2))
    asked = cli("apply", "-f", str(file), "--prune", code=2)
    assert "give --yes to go on without" in asked.stderr
    pruned = cli("apply", "-f", str(file), "--prune", "--yes")
    assert "1199 changes made" in pruned.stdout  # the tenant, and the topics that are gone
    assert len(json.loads(cli("topic", "list", "-o", "json").stdout)) == 2

    exported = cli("export", "federation").stdout
    file.write_text(exported)
    assert cli("apply", "diff", "-f", str(file), "--prune", "--fail").stdout == "nothing differs: nothing to do\n"
    audit = json.loads(cli("audit", "changes", "-o", "json").stdout)
    assert {record["action"] for record in audit} >= {"put_cluster", "change_federation"}

    file.write_text("version: 1\nclusters: \ntopics: {sim-1: }\nmachines: \ntenants: \nidc_policies: \n")
    cli("apply", "-f", str(file), "--prune", "--yes")
    assert cli("export", "federation").stdout == "version: 1\n"


def test_files_of_cruise_control_go_both_ways(kafka: int, cli: Cli, tmp_path: Path) -> None:
    cli("cluster", "add", "sim-1", "--bootstrap", f"127.1.0.1:{kafka}")
    sets = tmp_path / "brokerSets.json"
    sets.write_text(json.dumps({"brokerSets": [{"brokerSetId": "a", "brokerIds": [1, 2, 3, 4]}]}))
    cli("import", "broker-sets", str(sets), "--cluster", "sim-1")
    assert json.loads(cli("export", "broker-sets", "--cluster", "sim-1").stdout) == json.loads(sets.read_text())
    capacity = tmp_path / "capacity.json"
    each = {"DISK": "1000", "CPU": {"num.cores": "8"}, "NW_IN": "10000", "NW_OUT": "10000"}
    capacity.write_text(json.dumps({"brokerCapacities": [{"brokerId": "-1", "capacity": each}]}))
    cli("import", "capacity", str(capacity), "--cluster", "sim-1", "--host-pattern", "sim-{broker}")
    written = json.loads(cli("export", "capacity", "--cluster", "sim-1").stdout)["brokerCapacities"]
    assert written == [{"brokerId": str(broker), "capacity": each} for broker in (1, 2, 3, 4)]
    refused = cli("import", "capacity", str(sets), "--cluster", "sim-1", code=2)
    assert refused.stderr == "Error: brokerCapacities is missing: use a list of objects\n"


def is_leader(member: Member) -> bool:
    with GuardianClient([member.grpc], timeout_s=CALL_S) as client:
        return client.member_at(member.grpc, timeout_s=CALL_S).leader == member.name
