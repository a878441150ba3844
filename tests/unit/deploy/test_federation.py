import json
from pathlib import Path

import psutil
import pytest

from deploy.local import federation, processes
from deploy.local.federation import Federation, LocalCluster
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from deploy.local.members import plan_members
from deploy.local.processes import LocalProcess
from guardian.cli.local_home import default_home
from guardian.errors import ClusterUnavailable, Conflict, InvalidInput


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def standing(home: Path, members: int = 2, brokers: int = 2) -> Federation:
    """What an `up` leaves that was followed by a `down`."""
    kafka = KafkaCluster.plan(ClusterSpec("live", brokers=brokers), home / "clusters" / "live")
    found = Federation(home, list(plan_members(members, home)), [LocalCluster(kafka)])
    found.save()
    return found


def test_a_federation_survives_its_state(home: Path) -> None:
    found = standing(home)
    me = psutil.Process()
    found.clusters[0].workload = LocalProcess(me.pid, me.create_time() - psutil.boot_time(), home / "log", 12)
    found.save()
    loaded = Federation.load(home)
    assert loaded.members == found.members
    assert loaded.clusters[0].kafka.to_state() == found.clusters[0].kafka.to_state()
    assert loaded.clusters[0].workload_pid == me.pid
    assert loaded.endpoints == [member.grpc for member in found.members]


def test_status_has_exactly_the_promised_shape(home: Path) -> None:
    found = standing(home, members=1, brokers=1)
    (member,), (broker,) = found.members, found.clusters[0].kafka.brokers
    assert json.loads(json.dumps(federation.status(home))) == {
        "members": [
            {
                "name": "g1",
                "grpc": member.grpc,
                "http": member.http,
                "console": f"http://{member.http}",
                "pid": None,
                "data": str(member.data),
            },
        ],
        "clusters": [
            {
                "name": "live",
                "bootstrap": broker.listener,
                "controllers": [{"id": 101, "pid": None}],
                "brokers": [
                    {
                        "id": 1,
                        "pid": None,
                        "rack": "shanghai-a",
                        "idc": "shanghai",
                        "log_dirs": list(broker.log_dirs),
                    }
                ],
            }
        ],
    }


def test_where_nothing_was_started_there_is_nothing_to_show_or_to_end(home: Path) -> None:
    assert federation.status(home) == {"members": [], "clusters": []}
    assert federation.down(home) == 0
    assert federation.wipe(home) == 0
    assert not home.exists()


def test_wipe_leaves_nothing_of_an_up_that_was_killed_while_it_wrote_its_state(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            standing(home)
    assert any(home.iterdir())
    federation.wipe(home)
    assert not home.exists()


@pytest.mark.parametrize("text", ["", "{}", '{"version": 99}', '{"version": 1, "members": 3}'])
def test_a_state_that_can_not_be_read_is_named(home: Path, text: str) -> None:
    home.mkdir()
    (home / "state.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"state\.json can't be read"):
        federation.status(home)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"members": 3, "clusters": 0}, "members is 3, but a group of 2 stands here"),
        ({"members": 0, "clusters": 1, "brokers": 3}, "cluster live stands here with --brokers 2"),
        ({"members": 0, "clusters": 1, "brokers": 2, "sasl": True}, "cluster live stands here with --brokers 2"),
    ],
)
def test_another_size_than_what_stands_is_a_conflict_that_changes_nothing(
    home: Path, asked: dict[str, int], sentence: str
) -> None:
    standing(home)
    before = (home / "state.json").read_text()
    with pytest.raises(Conflict, match=sentence):
        federation.up(home=home, **asked)  # type: ignore[arg-type]
    assert (home / "state.json").read_text() == before


@pytest.mark.parametrize("field", ["members", "clusters", "brokers"])
def test_negative_numbers_are_refused_by_name(home: Path, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field} is -1: use 0 or more"):
        federation.up(home=home, **{field: -1})  # type: ignore[arg-type]
    assert not home.exists()


def test_two_commands_do_not_work_in_one_home_at_once(home: Path) -> None:
    standing(home)
    with federation._exclusive(home), pytest.raises(Conflict, match="another `guardian local` command works"):
        federation.down(home)


def test_a_start_that_fails_ends_what_it_started_and_only_that(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = standing(home, members=0)
    kafka = found.clusters[0].kafka
    kafka.brokers[0].process = earlier = processes.spawn(["sleep", "600"], home / "earlier.log")
    found.save()
    started = []

    def launch(cluster: KafkaCluster, on_start: object) -> None:
        cluster.brokers[1].process = processes.spawn(["sleep", "600"], home / "later.log")
        started.append(cluster.brokers[1].process)
        raise ClusterUnavailable("broker 2 of cluster live has ended")

    monkeypatch.setattr(KafkaCluster, "launch", launch)
    try:
        with pytest.raises(ClusterUnavailable, match="broker 2"):
            federation.up(members=0, clusters=1, brokers=2, home=home)
        assert processes.is_alive(earlier)
        assert not processes.is_alive(started[0])
        assert [broker["pid"] is None for broker in federation.status(home)["clusters"][0]["brokers"]] == [False, True]
        assert federation.down(home) == 1
        assert not processes.is_alive(earlier)
    finally:
        processes.stop_all([earlier, *started])


def test_a_first_start_that_failed_does_not_bind_the_next_one_to_its_size(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(cluster: KafkaCluster, on_start: object) -> None:
        raise ClusterUnavailable(f"{len(cluster.brokers)} brokers do not start")

    monkeypatch.setattr(KafkaCluster, "launch", launch)
    for brokers in (2, 3):
        with pytest.raises(ClusterUnavailable, match=f"{brokers} brokers do not start"):
            federation.up(members=brokers, clusters=1, brokers=brokers, home=home)
        assert federation.status(home) == {"members": [], "clusters": []}


def test_wipe_deletes_what_up_made_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / ".guardian" / "local"
    standing(home)
    (home / "notes.txt").write_text("mine")
    federation.wipe(home)
    assert [path.name for path in home.iterdir()] == ["notes.txt"]
    (home / "notes.txt").unlink()
    standing(home)
    federation.wipe(home)
    assert not home.exists()
    assert not home.parent.exists()


def test_the_home_is_the_variables_or_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GUARDIAN_LOCAL", raising=False)
    assert default_home() == tmp_path / ".guardian" / "local"
    monkeypatch.setenv("GUARDIAN_LOCAL", "elsewhere")
    assert default_home() == tmp_path / "elsewhere"
