import socket
from pathlib import Path

import pytest

from deploy.local import members, ports, processes
from deploy.local.federation import _OURS
from deploy.local.members import APPROVALS, Member, plan_members, render_config, start_member, with_free_ports
from deploy.local.state import from_state, to_state
from guardian import config
from guardian.errors import Unavailable
from guardian.model.tickets.approval import load_approvals
from guardian.tickets.kinds.registry import HAVE_SIZE


def test_a_members_file_is_one_that_the_server_reads(tmp_path: Path) -> None:
    group = plan_members(3, tmp_path / 'a "quoted" home')
    path = tmp_path / "guardian.toml"
    path.write_text(render_config(group[1], group, tmp_path / "lake"))
    read = config.load(path)
    assert (read.name, read.data, read.grpc, read.http, read.raft) == (
        "g2",
        group[1].data,
        group[1].grpc,
        group[1].http,
        group[1].raft,
    )
    assert read.peers == {"g1": group[0].raft, "g3": group[2].raft}
    assert read.lake == str(tmp_path / "lake")
    assert (read.collect.interval_s, read.collect.flush_s) == (2.0, 4.0)
    assert read.planner == {"disk_reserve": 0.0}  # a laptop's disk may be nearly full of other things


def test_with_certificates_one_person_may_still_work_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "spawn", lambda *_, **__: None)
    plain, with_tls = (plan_members(1, tmp_path / each, certs)[0] for each, certs in (("a", None), ("b", tmp_path)))
    for member in (plain, with_tls):
        start_member(member, [member], tmp_path / "lake", tmp_path / "log")
    assert config.load(plain.config).approvals is None
    read = config.load(with_tls.config)
    assert read.approvals == tmp_path / APPROVALS
    people, healing = load_approvals(read.approvals, HAVE_SIZE).rules
    assert (people.approvers, people.author_may_approve, people.automatic) == (("*",), True, False)
    assert (healing.authors, healing.automatic) == (("healing",), True)
    assert APPROVALS in _OURS, "wiped with the rest"


def test_a_group_of_one_has_no_peers(tmp_path: Path) -> None:
    group = plan_members(1, tmp_path)
    path = tmp_path / "guardian.toml"
    path.write_text(render_config(group[0], group, tmp_path / "lake"))
    assert config.load(path).peers == {}


def test_a_member_that_joins_hears_those_of_its_group(tmp_path: Path) -> None:
    group = plan_members(4, tmp_path)
    path = tmp_path / "guardian.toml"
    path.write_text(render_config(group[3], group, tmp_path / "lake", join=True))
    read = config.load(path)
    assert (read.join, sorted(read.peers)) == (True, ["g1", "g2", "g3"])


def test_members_share_no_port_and_no_directory(tmp_path: Path) -> None:
    group = plan_members(3, tmp_path)
    assert len({endpoint for member in group for endpoint in (member.grpc, member.http, member.raft)}) == 9
    assert len({member.data for member in group}) == 3


def test_a_member_keeps_its_ports_unless_one_is_taken(tmp_path: Path) -> None:
    (member,) = plan_members(1, tmp_path)
    assert with_free_ports(member) == member
    with socket.create_server((ports.HOST, int(member.http.rsplit(":", 1)[1]))):
        moved = with_free_ports(member)
    assert moved.http != member.http
    assert (moved.grpc, moved.raft) == (member.grpc, member.raft)


def test_a_member_survives_its_state(tmp_path: Path) -> None:
    (member,) = plan_members(1, tmp_path)
    assert from_state(Member, to_state(member)) == member


def test_a_member_that_ended_is_named_with_what_it_said_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    group = plan_members(1, tmp_path)
    started = members.start_member(group[0], group, tmp_path / "lake", tmp_path / "g1.log")
    with pytest.raises(Unavailable, match="member g1 has ended"):
        members.wait_ready([started], deadline_s=20)
