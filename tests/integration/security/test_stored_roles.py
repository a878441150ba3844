"""Roles, the approval policy and ended sessions in the replicated store: three real members, whose files differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx
import pytest

from deploy.local import processes
from deploy.local.members import plan_members, start_member, wait_ready
from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import NotAllowed
from guardian.security.rules.tokens import make_token, write_tokens
from guardian.security.service.proving import SESSION_COOKIE
from protos.guardian.v1 import (
    events_pb2,
    events_pb2_grpc,
    federation_pb2,
    federation_pb2_grpc,
    identities_pb2,
    identities_pb2_grpc,
    tickets_pb2,
    tickets_pb2_grpc,
)
from tests.integration.leading import who_leads
from tests.patience import CALL_S, PATIENCE_S, until

pytestmark = pytest.mark.integration
_PEOPLE = ("root", "ann", "nil", "vic")
_FILE = '[[grants]]\nwho = ["root"]\nrole = "admin"\n'
# Only g3's file lets vic in: what is stored makes an end of that.
_FILES = {"g1": _FILE, "g2": _FILE, "g3": f'{_FILE}[[grants]]\nwho = ["vic"]\nrole = "viewer"\n'}
_STORED = """\
version: 1
roles:
  grants: [{who: [nil], role: viewer}]
approval_policy:
  rules: [{name: ann alone, approvers: [ann]}]
"""


class Group:
    """`stop` kills a member, `start` brings it back with what it has on its disk."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.members = {member.name: member for member in plan_members(3, home)}
        made = {name: make_token(name, os.urandom(4), os.urandom(32), time.time_ns() // 1_000_000) for name in _PEOPLE}
        self.tokens = {name: text for name, (text, _) in made.items()}
        (home / "tokens.toml").write_text(write_tokens(token for _, token in made.values()))
        (home / "members.key").write_text("5" * 64)
        (home / "members.key").chmod(0o600)
        for name, text in _FILES.items():
            (home / f"roles-{name}.toml").write_text(text)

    def start(self, *names: str) -> None:
        for name in names:
            security = {"roles": f"roles-{name}.toml", "tokens": "tokens.toml", "key_file": "members.key"}
            lines = [f'{setting} = "{self.home / file}"' for setting, file in security.items()]
            self.members[name] = start_member(
                self.members[name],
                [*self.members.values()],
                self.home / "lake",
                self.home / f"{name}.log",
                more="\n".join(["[security]", *lines]),
            )
        wait_ready([self.members[name] for name in names], PATIENCE_S)

    def kill(self, name: str) -> None:
        process = self.members[name].process
        assert process is not None
        processes.kill(process)

    def close(self) -> None:
        processes.stop_all([member.process for member in self.members.values() if member.process])

    def client(self, who: str, *names: str) -> GuardianClient:
        endpoints = [self.members[name].grpc for name in names or self.members]
        return GuardianClient(endpoints, CALL_S, bearing=bearer(self.tokens[who]))

    def cli(self, who: str, at: str, *words: str) -> str:
        line = [sys.executable, "-m", "guardian.cli.main", *words, "--endpoints", self.members[at].grpc]
        environment = {**os.environ, "GUARDIAN_TOKEN": self.tokens[who], "GUARDIAN_TIMEOUT": "100s"}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def apply(self, at: str, text: str, *options: str) -> str:
        file = self.home / "federation.yaml"
        file.write_text(text)
        return self.cli("root", at, "apply", "-f", str(file), *options)

    def may_look(self, who: str, at: str) -> bool:
        """Whether this member, and no other one, answers him."""
        try:
            with grpc.insecure_channel(self.members[at].grpc) as channel:
                stub = federation_pb2_grpc.FederationStub(channel)
                stub.GetMember(federation_pb2.GetMemberRequest(), timeout=PATIENCE_S, metadata=self.bearing(who))
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.PERMISSION_DENIED:
                return False
            raise
        return True

    def roles(self, who: str, at: str) -> identities_pb2.RolesInForce:
        """As this member, and no other one, tells him."""
        with grpc.insecure_channel(self.members[at].grpc) as channel:
            stub = identities_pb2_grpc.IdentitiesStub(channel)
            return stub.GetRoles(identities_pb2.GetRolesRequest(), timeout=PATIENCE_S, metadata=self.bearing(who))

    def policy(self, who: str, at: str) -> tickets_pb2.Approvals:
        """Likewise."""
        with grpc.insecure_channel(self.members[at].grpc) as channel:
            stub = tickets_pb2_grpc.TicketsStub(channel)
            return stub.GetApprovals(tickets_pb2.GetApprovalsRequest(), timeout=PATIENCE_S, metadata=self.bearing(who))

    def bearing(self, who: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.tokens[who]}"),)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    group = Group(tmp_path_factory.mktemp("stored-roles"))
    try:
        group.start(*group.members)
        yield group
    finally:
        group.close()


def others(group: Group, name: str) -> list[str]:
    return [each for each in group.members if each != name]


def test_what_is_applied_at_one_member_is_in_force_at_all_whoever_dies(group: Group) -> None:
    assert [group.may_look("vic", name) for name in group.members] == [False, False, True]
    assert "2 changes would be made; nothing was stored" in group.apply("g1", _STORED, "--dry-run")
    assert group.apply("g1", _STORED).splitlines()[-1] == "2 changes made"
    for name in group.members:
        until(lambda at=name: group.may_look("nil", at) and not group.may_look("vic", at))  # type: ignore[misc]
        assert [
            (list(each.who), each.grant.role, each.grant.is_stored) for each in group.roles("root", name).grants
        ] == [(["root"], "admin", False), (["nil"], "viewer", True)]
        assert group.policy("nil", name).revision > 0
    told = group.cli("root", "g3", "roles")
    assert [line.split() for line in told.splitlines()[2:]] == [
        ["root", "admin", "*", "*", "file"],
        ["nil", "viewer", "*", "*", "store"],
    ]

    with group.client("root") as root:
        leader = who_leads(root)
    watcher, changer = others(group, leader)
    ended_session = signed_out(group, watcher)
    with grpc.insecure_channel(group.members[watcher].grpc) as channel:
        stream = events_pb2_grpc.EventsStub(channel).WatchEvents(
            events_pb2.WatchEventsRequest(follow=True), timeout=PATIENCE_S, metadata=group.bearing("nil")
        )
        group.kill(leader)
        assert group.may_look("nil", watcher)
        assert stream.is_active()
        assert [session_status(group, name, ended_session) for name in (watcher, changer)] == [401, 401]
        group.apply(changer, "version: 1\nroles: {denied: [nil]}\n")
        with pytest.raises(grpc.RpcError) as ended:
            for _ in stream:
                pass
        assert ended.value.code() is grpc.StatusCode.PERMISSION_DENIED
    group.start(leader)
    until(lambda: not group.may_look("nil", leader))
    until(lambda: session_status(group, leader, ended_session) == 401)
    with group.client("nil") as nil, pytest.raises(NotAllowed):
        nil.list_clusters()
    with group.client("root") as root:
        audited = [(each.actor, each.subject, each.detail) for each in root.audit() if "document" in each.subject]
    assert audited[0] == ("root", "put document roles", '1 changes; +denied "nil"')
    assert audited[1][:2] == ("root", "put document roles, put document approval_policy")
    assert "roles is dropped" in group.apply(leader, "version: 1\nroles:\n", "--prune", "--yes")
    until(lambda: [group.may_look("vic", name) for name in group.members] == [False, False, True])


def test_a_session_that_was_ended_at_one_member_is_good_at_none(group: Group) -> None:
    signed_out(group, "g2")


def signed_out(group: Group, asked: str) -> str:
    """The cookie of a session that was good at all members, until its owner signed out at this one."""

    def url(name: str) -> str:
        return f"http://{group.members[name].http}"

    with httpx.Client(timeout=PATIENCE_S) as browser:
        form = {"token": group.tokens["root"]}
        browser.post(f"{url(asked)}/auth/token", data=form, headers={"Origin": url(asked)})
        cookie = f"{SESSION_COOKIE}={browser.cookies[SESSION_COOKIE]}"
        csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get(f"{url(asked)}/console/tickets").text)
        assert csrf is not None
        assert [session_status(group, name, cookie) for name in group.members] == [200, 200, 200]
        answer = browser.post(f"{url(asked)}/auth/logout", data={"csrf": csrf[1]}, headers={"Origin": url(asked)})
        assert answer.status_code == 303, answer.text
    until(lambda: [session_status(group, name, cookie) for name in group.members] == [401, 401, 401])
    return cookie


def session_status(group: Group, name: str, cookie: str) -> int:
    url = f"http://{group.members[name].http}/auth/me"
    return httpx.get(url, headers={"Cookie": cookie}, timeout=PATIENCE_S).status_code
