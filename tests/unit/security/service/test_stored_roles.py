"""Roles and the approval policy in the replicated store: in force on every member with its next request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import Conflict, InvalidInput, NotAllowed, NotSignedIn
from guardian.model.federation import APPROVAL_POLICY, ROLES, document_of
from guardian.model.ticket import TicketState, TicketTransition
from guardian.security.model.roles import parse_roles
from guardian.tickets.service.approvals import ApprovalKeeper
from metastore.memory import MemoryStore
from metastore.state_machine import MetastoreStateMachine
from protos.guardian.v1 import federation_pb2 as pb
from tests.command_line import app
from tests.unit.member.guarded import ROLES as FILE
from tests.unit.member.guarded import Guarded
from tests.unit.member.member import plan

NIL_LOOKS = {"grants": [{"who": ["nil"], "role": "viewer"}]}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    yield guarded
    guarded.stop()


def client(guarded: Guarded, name: str) -> GuardianClient:
    return GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name]))


def put(name: str, table: dict[str, Any], revision: int | None = 0) -> pb.FederationChange:
    document = pb.SharedDocument(name=name, json=document_of(name, table).json)
    return pb.FederationChange(put=pb.FederationEntry(document=document), expected_revision=revision)


def drop(name: str, revision: int) -> pb.FederationChange:
    return pb.FederationChange(drop=pb.FederationKey(document=name), expected_revision=revision)


def test_a_stored_role_lets_in_with_the_next_request_at_every_member(tmp_path: Path) -> None:
    machine = MetastoreStateMachine(MemoryStore())
    (tmp_path / "g1").mkdir()
    (tmp_path / "g2").mkdir()
    first, second = Guarded(tmp_path / "g1", machine), Guarded(tmp_path / "g2", machine)
    try:
        with client(first, "root") as root, client(second, "nil") as nil, client(second, "vic") as vic:
            vic.list_clusters()
            with pytest.raises(NotAllowed):
                nil.list_clusters()
            [revision] = root.change_federation([put(ROLES, NIL_LOOKS)])
            nil.list_clusters()
            with pytest.raises(NotAllowed):  # of the file only admins of everything stay
                vic.list_clusters()
            root.change_federation([drop(ROLES, revision)])
            vic.list_clusters()
            with pytest.raises(NotAllowed):
                nil.list_clusters()
    finally:
        first.stop()
        second.stop()


def test_only_admins_of_everything_by_the_file_change_what_is_stored(guarded: Guarded) -> None:
    change = put(ROLES, {"grants": [{"who": ["ann", "spy", "vic"], "role": "admin"}]})
    with client(guarded, "root") as root, client(guarded, "ann") as ann, client(guarded, "spy") as spy:
        for nobody in (ann, spy):
            with pytest.raises(NotAllowed):
                nobody.change_federation([change])
        [revision] = root.change_federation([change])
        ann.change_federation([pb.FederationChange(put=pb.FederationEntry(tenant=pb.Tenant(name="logs")))])
        for refused in (put(ROLES, NIL_LOOKS, revision), drop(ROLES, revision), put(APPROVAL_POLICY, POLICY)):
            with pytest.raises(NotAllowed, match="ann is not admin of everything by the member's roles file"):
                ann.change_federation([refused])
        assert root.roles().revision == revision
    assert {who for who, _, _ in guarded.refused()} == {"ann", "spy"}


def test_nothing_that_is_stored_shuts_the_files_admins_out(guarded: Guarded) -> None:
    with client(guarded, "root") as root, client(guarded, "vic") as vic:
        [revision] = root.change_federation([put(ROLES, {"denied": ["*"]})])
        with pytest.raises(NotAllowed):
            vic.list_clusters()
        assert [grant.role for grant in root.who_am_i().grants] == ["admin"]
        root.change_federation([drop(ROLES, revision)])
        vic.list_clusters()


def test_stored_roles_that_this_member_can_t_use_let_in_nobody_but_the_files_admins(guarded: Guarded) -> None:
    guarded.store_document(ROLES, {"grants": [{"who": ["vic"], "role": "king of a later version"}]})
    with client(guarded, "root") as root, client(guarded, "vic") as vic:
        with pytest.raises(NotAllowed):
            vic.list_clusters()
        told = root.roles()
        assert "role is 'king of a later version'" in told.damage
        root.change_federation([drop(ROLES, told.revision)])
        vic.list_clusters()


@pytest.mark.parametrize(
    "table",
    [
        {"grants": []},
        {"grants": [{"who": ["ann"], "role": "boss"}]},
        {"grants": [{"who": "ann", "role": "admin"}]},
        {"grants": [{"who": ["team:x"], "role": "admin"}]},
        {"grants": [{"who": ["healing"], "role": "admin"}]},
        {"deny": ["ann"]},
        {"denied": "ann"},
    ],
)
def test_what_the_file_refuses_is_refused_in_the_same_words_and_changes_nothing(
    guarded: Guarded, table: dict[str, Any]
) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items() if name != "grants"]
    for grant in table.get("grants", [{"who": ["ann"], "role": "admin"}]):  # of which a file must have some
        lines += ["[[grants]]", *(f"{name} = {json.dumps(value)}" for name, value in grant.items())]
    with pytest.raises(InvalidInput) as by_file:
        parse_roles("\n".join(lines))
    tenant = pb.FederationChange(put=pb.FederationEntry(tenant=pb.Tenant(name="logs")))
    with client(guarded, "root") as root:
        for dry_run in (True, False):
            with pytest.raises(InvalidInput) as by_store:
                root.change_federation([tenant, put(ROLES, table)], dry_run=dry_run)
            assert str(by_store.value) == f"changes[1]: roles: {by_file.value}"
        assert list(root.federation(pb.TENANTS)) == []
        assert root.roles().revision == 0


def test_a_document_is_changed_by_who_saw_the_last_one_and_by_nobody_blindly(guarded: Guarded) -> None:
    with client(guarded, "root") as root:
        with pytest.raises(InvalidInput, match="expected_revision of roles: missing"):
            root.change_federation([put(ROLES, NIL_LOOKS, None)])
        [revision] = root.change_federation([put(ROLES, NIL_LOOKS)])
        with pytest.raises(Conflict, match=f"roles is at revision {revision} and not at 0"):
            root.change_federation([put(ROLES, {"denied": ["ann"]})])


@pytest.mark.parametrize(
    "table",
    [
        {"grants": [{"who": ["a\x1b[2Jb"], "role": "viewer"}]},
        {"denied": ["x\u202ey"]},
        {"signed_out": {"x\ny": "2026-11-23T08:00:00Z"}},
    ],
)
def test_no_text_of_a_document_holds_what_a_request_may_not_hold(guarded: Guarded, table: dict[str, Any]) -> None:
    """JSON writes out control characters, so that the check of requests does not see them."""
    with client(guarded, "root") as root, pytest.raises(InvalidInput, match="is not printable"):
        root.change_federation([put(ROLES, table)])
    assert guarded.member.store.read().document(ROLES) is None


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"b":1,"a":1}', '{"a":NaN}', '{"a":1,"a":1}', "[" * 100_000])
def test_what_is_no_canonical_document_is_refused(guarded: Guarded, text: str) -> None:
    entry = pb.FederationEntry(document=pb.SharedDocument(name=ROLES, json=text))
    change = pb.FederationChange(put=entry, expected_revision=0)
    with client(guarded, "root") as root, pytest.raises(InvalidInput, match="roles: no canonical JSON object"):
        root.change_federation([change])
    with pytest.raises(InvalidInput, match="no canonical JSON object"):
        document_of(ROLES, {"denied": ["\ud800"]})
    with pytest.raises(InvalidInput, match=r"too large to be stored \(got \d+ bytes\)"):
        document_of(ROLES, {"denied": ["x" * 600_000]})


def test_the_audit_says_who_changed_what(guarded: Guarded) -> None:
    with client(guarded, "root") as root:
        [revision] = root.change_federation([put(ROLES, NIL_LOOKS)])
        root.change_federation([put(ROLES, {"denied": ["ann"], **NIL_LOOKS}, revision)])
        second, first, *_ = root.audit()
    assert (first.actor, first.subject) == ("root", "put document roles")
    assert first.detail == '1 changes; +grants {"role": "viewer", "who": ["nil"]}'
    assert second.detail == '1 changes; +denied "ann"'


def test_it_is_said_where_a_role_stands(guarded: Guarded) -> None:
    def cli(name: str, *words: str) -> str:
        result = CliRunner().invoke(
            app, [*words, "--endpoints", guarded.member.endpoint], env={"GUARDIAN_TOKEN": guarded.token[name]}
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    guarded.store_document(ROLES, {"denied": ["mallory"], "signed_out": {"*": "1970-01-01T00:00:01Z"}, **NIL_LOOKS})
    assert cli("nil", "whoami").splitlines()[-1].split() == ["viewer", "*", "*", "store"]
    assert cli("root", "whoami").splitlines()[-1].split() == ["admin", "*", "*", "file"]
    told = cli("root", "roles").splitlines()
    assert told[0].startswith(f"Roles of {guarded.roles}; stored at revision ")
    assert [line.split() for line in told[2:5]] == [
        ["root", "admin", "*", "*", "file"],
        ["certificate:spy", "admin", "*", "*", "file"],
        ["nil", "viewer", "*", "*", "store"],
    ]
    assert told[5] == "Denied: mallory (by the store)."
    assert told[6].startswith("Signed out: *, sessions begun before 1970-01-01 00:00:01")
    assert json.loads(cli("root", "roles", "-o", "json"))["grants"][2]["grant"]["is_stored"] is True


def test_who_sees_one_cluster_reads_no_roles(guarded: Guarded) -> None:
    guarded.store_document(
        ROLES,
        {"grants": [{"who": ["vic"], "role": "viewer"}, {"who": ["olga"], "role": "viewer", "clusters": ["live"]}]},
    )
    with client(guarded, "vic") as vic, client(guarded, "olga") as olga:
        assert [each.document.name for each in vic.federation(pb.DOCUMENTS)] == ["roles"]
        assert list(olga.federation(pb.DOCUMENTS)) == []
        with pytest.raises(NotAllowed, match="olga is not viewer on all clusters"):
            olga.roles()


POLICY = {"rules": [{"name": "eve alone", "approvers": ["eve"]}]}


def test_a_ticket_that_waits_is_decided_by_the_rules_in_force_at_the_decision(guarded: Guarded) -> None:
    with client(guarded, "root") as root, client(guarded, "ann") as ann, client(guarded, "eve") as eve:
        first, _ = ann.create_ticket(plan(2, 3), author="ann", submit=True)
        assert root.explain_approval(first.id, "root").revision == 0
        [revision] = root.change_federation([put(APPROVAL_POLICY, POLICY)])
        told = root.explain_approval(first.id, "root")
        assert (told.revision, "rule 'eve alone' lets eve" in told.refusal) == (revision, True)
        with pytest.raises(InvalidInput, match="rule 'eve alone' lets eve"):
            root.approve(first.id, "root")
        assert root.approvals().source == f"the replicated store, for all members (revision {revision})"
        [second] = root.change_federation(
            [put(APPROVAL_POLICY, {"rules": [{"name": "root alone", "approvers": ["root"]}]}, revision)]
        )
        with pytest.raises(InvalidInput, match="rule 'root alone' lets root"):
            eve.approve(first.id, "eve")
        assert root.approve(first.id, "root").state is TicketState.APPROVED
        assert root.approvals().revision == second


def test_no_approval_is_stored_by_rules_that_were_replaced_meanwhile(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy changes between the decision and its commit, which no lock of one member can keep apart."""
    store = guarded.member.store
    advance = store.advance

    def advance_after_a_change(ticket_id: str, state: TicketState, transition: TicketTransition, *rest: Any) -> Any:
        if not store.read().document(APPROVAL_POLICY):
            guarded.store_document(APPROVAL_POLICY, {"rules": [{"name": "root alone", "approvers": ["root"]}]})
        return advance(ticket_id, state, transition, *rest)

    with client(guarded, "ann") as ann, client(guarded, "eve") as eve:
        ticket, _ = ann.create_ticket(plan(2, 3), author="ann", submit=True)
        monkeypatch.setattr(store, "advance", advance_after_a_change)
        with pytest.raises(Conflict, match="the approval policy was changed meanwhile"):
            eve.approve(ticket.id, "eve")
        assert ann.ticket(ticket.id)[0].state is TicketState.PENDING


def test_the_leader_approves_by_the_stored_rules_and_by_no_damaged_ones(guarded: Guarded) -> None:
    store = guarded.member.store
    keeper = ApprovalKeeper(store, guarded.member.approvals, store.now_ms)
    with client(guarded, "ann") as ann:
        ticket, _ = ann.create_ticket(plan(2, 3), author="ann", submit=True)
        guarded.store_document(APPROVAL_POLICY, {"rules": [{"name": "all", "kinds": ["nonsense"], "automatic": True}]})
        [said] = keeper.tick()
        assert "no ticket is approved: the stored approval_policy" in said
        assert "which is no kind of ticket" in said
        guarded.store_document(APPROVAL_POLICY, {"rules": [{"name": "all", "automatic": True}]})
        assert keeper.tick() == [f"ticket {ticket.id} is APPROVED: approved by rule 'all' (policy)"]


def test_the_file_of_a_member_denies_whatever_is_stored(guarded: Guarded) -> None:
    guarded.store_document(ROLES, NIL_LOOKS)
    with client(guarded, "nil") as nil, client(guarded, "root") as root:
        nil.list_clusters()
        guarded.roles.write_text(f'denied = ["nil", "root"]\n{FILE}')
        for nobody in (nil, root):
            with pytest.raises(NotAllowed):
                nobody.list_clusters()
        guarded.roles.write_text("nonsense")
        with pytest.raises(NotSignedIn, match="roles file can't be used"):
            root.list_clusters()
