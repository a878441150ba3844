"""What an operator has besides the commands: contexts, traces of a ticket, logs as JSON, a support bundle.

One member and a real cluster; the traces go to a collector in this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from deploy.local import processes
from deploy.local.kafka_cluster import KafkaCluster
from deploy.local.members import Member, plan_members, render_config, wait_ready
from guardian import tracing
from guardian.kafka import data
from tests.patience import PATIENCE_S
from tests.unit.member.otlp_collector import OtlpCollector, Seen

pytestmark = pytest.mark.integration

SECRET = "hunter2-Zq9"  # noqa: S105  of nobody


class Place:
    """A home folder of the test's own, with a member that traces and logs JSON."""

    def __init__(self, home: Path, member: Member, collector: OtlpCollector) -> None:
        self.home = home
        self.member = member
        self.collector = collector

    @property
    def log(self) -> Path:
        return self.home / "g1.log"

    def cli(self, *arguments: str, code: int = 0, env: Mapping[str, str] = MappingProxyType({})) -> str:
        """Standard output of `guardian ...`, as a person with a configuration file runs it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDIAN_")}
        environment |= {"GUARDIAN_CONFIG": str(self.home / "config.yaml"), "GUARDIAN_LOCAL": str(self.home / "none")}
        done = subprocess.run(
            [sys.executable, "-m", "guardian.cli.main", *arguments],
            env={**environment, **env},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("operator")
    collector = OtlpCollector()
    (member,) = plan_members(1, home)
    member.data.mkdir(parents=True)
    (home / "lake").mkdir()
    more = f'[log]\nformat = "json"\n\n[traces]\nendpoint = "{collector.endpoint}"\n'
    sinks = f'\n[[sinks]]\nname = "chat"\nkind = "webhook"\nurl = "http://robot:{SECRET}@127.0.0.1:9/x"\n'
    member.config.write_text(render_config(member, [member], home / "lake", more=more + sinks))
    command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(member.config)]
    member = replace(member, process=processes.spawn(command, home / "g1.log", cwd=member.data.parent))
    assert member.process is not None
    try:
        wait_ready([member], PATIENCE_S)
        yield Place(home, member, collector)
    finally:
        processes.stop_all([member.process])
        collector.stop()


def names(spans: list[Seen], trace: str) -> set[tuple[str, str]]:
    return {(each.service, each.name) for each in spans if each.trace == trace}


def test_a_ticket_is_followed_from_the_command_to_the_broker(
    place: Place, kafka_cluster: KafkaCluster, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    assert "no Guardian member answered" in place.cli("status", "--timeout", "2s", code=3)
    place.cli("context", "add", "here", "--endpoints", place.member.grpc)
    place.cli("cluster", "add", "shared", "--bootstrap", kafka_cluster.bootstrap, "-o", "json")
    topic = new_topic()
    data.create_topics(kafka_cluster.to_cluster(sasl=False), {topic: {0: (1, 2)}}, {}, PATIENCE_S)
    file = tmp_path / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2, 1]}]}))
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": place.collector.endpoint}
    made = json.loads(
        place.cli("ticket", "submit", "--plan", str(file), "--cluster", "shared", "-o", "json", env=traced)
    )
    said = place.cli("ticket", "approve", made["id"], "--watch", "-o", "json", env=traced).splitlines()
    assert json.loads(said[-1])["state"] == "SUCCEEDED"
    trace = tracing.trace_id_of(made["id"])
    wanted = {
        ("guardian-cli", "guardian ticket approve"),
        ("guardian", "guardian.v1.Tickets/ApproveTicket"),
        ("guardian", "executor.commit"),
        ("guardian", "executor.send"),
    }
    spans = place.collector.wait_for(lambda seen: names(seen, trace) >= wanted, PATIENCE_S)
    approved = next(each for each in spans if each.name == "guardian.v1.Tickets/ApproveTicket")
    typed = next(each for each in spans if each.name == "guardian ticket approve")
    assert approved.parent == typed.span
    submitted = next(each for each in spans if each.name == "guardian.v1.Tickets/CreateTicket")
    assert submitted.links == (trace,)


def test_a_member_logs_json(place: Place) -> None:
    lines = [json.loads(line) for line in place.log.read_text().splitlines()]
    serving = next(line for line in lines if line["event"] == "serving")
    assert (serving["member"], serving["level"], serving["grpc"]) == ("g1", "info", place.member.grpc)


def test_a_support_bundle_of_a_real_member_has_no_secret(place: Place, tmp_path: Path) -> None:
    archive = tmp_path / "bundle.tar.gz"
    http = f"http://{place.member.http}"
    config, log = str(place.member.config), str(place.log)
    said = json.loads(
        place.cli(
            "support-bundle",
            "--context",
            "here",
            "--out",
            str(archive),
            "--http",
            http,
            "--config",
            config,
            "--log",
            log,
            "-o",
            "json",
        )
    )
    assert said["missing"] == {}
    with tarfile.open(archive) as opened:
        files = {each.name.partition("/")[2]: opened.extractfile(each) for each in opened.getmembers()}
        found = {name: file.read().decode() for name, file in files.items() if file is not None}
    assert "guardian_raft" in found[f"http/{place.member.http.replace(':', '_')}/metrics.txt"]
    assert found[f"http/{place.member.http.replace(':', '_')}/readyz.txt"] == "ready\n"
    assert "http://robot:[redacted]@127.0.0.1:9/[redacted]" in found["config/guardian.toml"]
    assert json.loads(found["raft.json"])[place.member.grpc]["leader"] == "g1"
    assert not [name for name, text in found.items() if SECRET in text]
