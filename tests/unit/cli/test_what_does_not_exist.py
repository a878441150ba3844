"""What does not exist is refused by every command that names it, also by a dry run; nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.cli.exits import WRONG, exit_code_of
from guardian.errors import InvalidInput, NotFound
from guardian.model.directory import Directory
from guardian.model.planner_settings import PlannerSettings
from guardian.model.topology import Broker, Cluster
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.service.planning import LivePlanner
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from tests.command_line import app
from tests.unit.cli.test_dry_run import OPTIONS
from tests.unit.member.member import Member

FILES = {
    "plan.json": {"version": 1, "partitions": [{"topic": "nope", "partition": 0, "replicas": [1, 2]}]},
    "capacity.json": {
        "brokerCapacities": [{"brokerId": "99", "capacity": dict.fromkeys(("DISK", "CPU", "NW_IN", "NW_OUT"), "1")}]
    },
    "sets.json": {"brokerSets": [{"brokerSetId": "one", "brokerIds": [1]}]},
    "placement.json": {"version": 2, "replicas": [{"count": 1, "constraints": {"rack": "a"}}]},
}

# What is asked for without --dry-run and --reason -> the words that say what does not exist.
REFUSED = {
    "disk release --cluster nope": "'nope', which is not registered",
    "disk release --cluster live --broker 99": "nothing is held",
    "cluster remove nope": "'nope', which is not registered",
    "broker throttle 99 20MB --cluster live --for 8h": "broker 99 is not alive in cluster live",
    "broker throttle 1 20MB --cluster nope --for 8h": "'nope' is not registered",
    "machine put m1 --cluster nope --broker 1": "'nope', which is not registered",
    "machine put m1 --cluster live --broker 99": "broker 99 is not in cluster live, whose brokers are 1, 2, 3",
    "machine drop nope": "machine nope does not exist",
    "tenant drop nope": "tenant nope does not exist",
    "topic put t --cluster nope --owner a": "'nope', which is not registered",
    "topic put t --cluster live --tenant nope": "'nope', which does not exist",
    "topic put t --cluster live --idc-policy nope": "'nope', which does not exist",
    "topic drop nope --cluster live": "topic live/nope does not exist",
    "topic delete nope --cluster live": "topic 'nope' is not in cluster live",
    "topic config nope --cluster live --set retention.ms=1": "topic 'nope' is not in cluster live",
    "idc-policy import p {placement.json} --cluster nope --topic t": "'nope', which is not registered",
    "idc-policy drop nope": "IDC policy nope does not exist",
    "exclusion add 99 --cluster live": "broker 99 is not in cluster live, whose brokers are 1, 2, 3",
    "exclusion add 1 --cluster nope": "'nope', which is not registered",
    "exclusion lift 99 --cluster live": "exclusion of broker 99 of cluster live does not exist",
    "broker remove 1 --cluster nope": "'nope' is not registered",
    "broker remove 99 --cluster live": "broker 99 is not in the model of cluster live: name one of 1, 2, 3",
    "broker offline 1 --cluster nope": "'nope' is not registered",
    "broker offline 99 --cluster live": "99, which is not in cluster live: its brokers are 1, 2, 3",
    "broker online 1 --cluster nope": "'nope' is not registered",
    "broker online 99 --cluster live": "99, which is not in cluster live: its brokers are 1, 2, 3",
    "broker restart 1 --hook nope --cluster nope": "'nope' is not registered",
    "broker restart 1 --hook nope --cluster live": "hook is 'nope'",
    "plan balance --cluster nope": "'nope', which is not registered",
    "plan balance --topic nope --cluster live": "topic nope is not in the model of cluster live",
    "plan leaders --cluster nope": "'nope', which is not registered",
    "plan leaders --topic nope --cluster live": "topic nope is not in the model of cluster live",
    "plan leaders --away-from 99 --cluster live": "broker 99 is not in the model of cluster live",
    "plan isolate --label gold --cluster nope": "'nope', which is not registered",
    "plan isolate --label gold --cluster live": "label is 'gold', which no topic of cluster live has",
    "plan isolate --label gold --topic nope --cluster live": "topic nope is not in the model of cluster live",
    "plan isolate --label gold --tenant nope --cluster live": "tenant is 'nope', which has no topic in cluster live",
    "plan migrate-idc --policy nope --cluster nope": "'nope', which is not registered",
    "plan migrate-idc --policy nope --cluster live": "policy is 'nope', which is not known",
    "plan remove --broker 1 --cluster nope": "'nope', which is not registered",
    "plan remove --broker 99 --cluster live": "broker 99 is not in the model of cluster live: name one of 1, 2, 3",
    "plan add --broker 1 --cluster nope": "'nope', which is not registered",
    "plan add --broker 99 --cluster live": "broker 99 is not in the model of cluster live",
    "plan preallocate --topic new --partitions 3 --cluster nope": "'nope', which is not registered",
    "plan replication-factor --topic t --to 3 --cluster nope": "'nope', which is not registered",
    "plan replication-factor --topic nope --to 3 --cluster live": "topic nope is not in the model of cluster live",
    "plan empty-disk --log-dir 1:/d0 --cluster nope": "'nope', which is not registered",
    "plan empty-disk --log-dir 1:/nope --cluster live": "/nope",
    "plan empty-disk --log-dir 99:/d0 --cluster live": "99",
    "plan relieve --cluster nope": "'nope', which is not registered",
    "plan relieve --broker 99 --cluster live": "broker 99 is not in the model of cluster live",
    "plan relieve --log-dir 1:/nope --cluster live": "/nope",
    "plan heal --cluster nope": "'nope', which is not registered",
    "ticket submit t-nope": "'t-nope' does not exist",
    "ticket submit --plan {plan.json} --cluster live": "topic nope does not exist",
    "ticket submit --plan {plan.json} --cluster nope": "'nope' is not registered",
    "ticket approve nope": "'nope' does not exist",
    "ticket reject nope": "'nope' does not exist",
    "ticket cancel nope": "'nope' does not exist",
    "ticket pause nope": "'nope' does not exist",
    "ticket resume nope": "'nope' does not exist",
    "ticket amend nope --add 3": "'nope' does not exist",
    "ticket throttle nope 20MB": "'nope' does not exist",
    "ticket adopt nope": "'nope' does not exist",
    "ticket wait nope": "'nope' does not exist",
    "ticket rollback nope": "'nope' does not exist",
    "import capacity {capacity.json} --cluster nope": "'nope', which is not registered",
    "import capacity {capacity.json} --cluster live": "no broker of cluster live",
    "import broker-sets {sets.json} --cluster nope": "'nope', which is not registered",
    "import placement p {placement.json} --cluster nope --topic t": "'nope', which is not registered",
    "import reassignment {plan.json} --cluster live": "topic nope does not exist",
    "import reassignment {plan.json} --cluster nope": "'nope' is not registered",
    "raft promote nope": "'nope' is no member",
    "raft remove nope": "'nope' is no member",
    "raft transfer-leader nope": "'nope' is no member",
    # Lists, which are not filtered by it.
    "audit acls --cluster nope": "'nope' is not registered",
    "audit idle-topics --cluster nope": "'nope' is not registered",
    "audit principal p --cluster nope": "'nope' is not registered",
    "audit costs --cluster nope": "'nope' is not registered",
    "broker list --cluster nope": "'nope', which is not registered",
    "disk queue --cluster nope": "'nope', which is not registered",
    "disk show --cluster nope": "'nope' is not registered",
    "durability --cluster nope": "'nope' is not registered",
    "events --cluster nope": "'nope' is not registered",
    "exclusion cordons --cluster nope": "'nope' is not registered",
    "exclusion list --cluster nope": "'nope' is not registered",
    "findings --cluster nope": "'nope' is not registered",
    "forecast --cluster nope": "'nope', which is not registered",
    "group disk-reads --cluster nope": "'nope' is not registered",
    "links --cluster nope": "'nope' is not registered",
    "ticket list --cluster nope": "'nope' is not registered",
    "ticket list --kind nope": "kind is 'nope': use one of",
    "tiering import --cluster nope": "'nope', which is not registered",
    "tiering topics --cluster nope": "cluster nope is not registered",
    "topic list --cluster nope": "'nope' is not registered",
}

# Those that can be rehearsed and are not above, with the reason.
NAMES_NOTHING = {
    "acl repair": "rules are in a file, and may name principals to come",
    "apply apply": "a whole federation in a file: tests/unit/federation",
    "certs init": "makes what it names",
    "certs issue": "makes what it names",
    "certs renew": "test_dry_run.py",
    "certs revoke": "test_dry_run.py",
    "cluster add": "makes what it names; labelled brokers must be there by then, and it says so",
    "idc-policy put": "makes what it names; an IDC may get its brokers later",
    "import topic": "the cluster is in the file",
    "raft add": "makes what it names",
    "raft finish-upgrade": "names nothing",
    "raft replace": "test_dry_run.py",
    "raft snapshot restore": "test_dry_run.py",
    "tenant put": "makes what it names; a label may get its brokers later",
    "token create": "makes what it names",
    "token revoke": "test_dry_run.py",
}


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    """One that makes plans of what its Kafka in memory shows."""
    planner = LivePlanner(lambda _: planned.kafka, Directory, "", PlannerSettings(), lambda: 1000)
    planned = Member(MetastoreStateMachine(MemoryStore()), live_planner=planner)
    brokers = tuple(Broker(each) for each in (1, 2, 3))
    planned.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
    yield planned
    planned.stop()
    planner.close()


def test_every_command_that_can_be_rehearsed_is_tried() -> None:
    tried = {" ".join(words.split()[:2]) for words in REFUSED}
    can = {name for name, options in OPTIONS.items() if "--dry-run" in options}
    assert can - tried == set(NAMES_NOTHING)


@pytest.mark.slow
@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_exist_is_refused(member: Member, tmp_path: Path, words: str) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(json.dumps(content))
        words, asked = words.replace(f"{{{name}}}", str(tmp_path / name)), words
        if words != asked:
            expected = REFUSED[asked]
            break
    else:
        expected = REFUSED[words]
    arguments = words.split()
    options = OPTIONS.get(" ".join(arguments[:2]), OPTIONS.get(arguments[0], set()))
    if "--dry-run" in options:
        arguments.append("--dry-run")
    if arguments[:2] == ["exclusion", "add"]:
        arguments += ["--reason", "it is slow"]
    before = member.replica.status().last_index
    found = CliRunner().invoke(app, arguments, env={"GUARDIAN_ENDPOINTS": member.endpoint, "USER": "ann"})
    assert isinstance(found.exception, InvalidInput | NotFound), found.output
    assert exit_code_of(found.exception) == WRONG
    assert expected in str(found.exception)
    assert member.replica.status().last_index == before
