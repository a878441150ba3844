"""Members tell callers who they are, how it was proven, and what that lets them do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from typer.testing import CliRunner, Result

from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import NotSignedIn
from guardian.model.actor import Proof
from guardian.security.model.identity import BrokerId, Identity
from guardian.security.service.identities import identity_to_proto
from guardian.security.service.proving import Person
from protos.guardian.v1 import identity_pb2
from tests.command_line import app
from tests.unit.member.guarded import Guarded
from tests.unit.member.member import Member

DAY_MS = 86_400_000


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    yield guarded
    guarded.stop()


def whoami(guarded: Guarded, name: str, *arguments: str) -> Result:
    environment = {"GUARDIAN_TOKEN": guarded.token[name]}
    return CliRunner().invoke(app, ["whoami", "--endpoints", guarded.member.endpoint, *arguments], env=environment)


def test_who_has_a_role_sees_it_with_its_limits_and_end(guarded: Guarded) -> None:
    with GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token["tess"])) as tess:
        known = tess.who_am_i()
    assert (known.name, known.proof, known.until_ms) == ("tess", identity_pb2.PROOF_TOKEN, guarded.now_ms - 10 + DAY_MS)
    assert MessageToDict(known)["grants"] == [{"role": "operator", "clusters": ["*"], "tenants": ["payments"]}]


def test_who_has_no_role_and_a_broker_are_told_who_they_are_too(guarded: Guarded) -> None:
    for name, roles in (("nil", []), ("kafka-1", ["broker"])):
        with GuardianClient([guarded.member.endpoint], 10.0, bearing=bearer(guarded.token[name])) as somebody:
            known = somebody.who_am_i()
        assert (known.name, [grant.role for grant in known.grants]) == (name, roles)


def test_who_proves_nothing_is_told_nothing(guarded: Guarded) -> None:
    with GuardianClient([guarded.member.endpoint], 10.0) as nobody, pytest.raises(NotSignedIn):
        nobody.who_am_i()


def test_without_security_nobody_is_proven() -> None:
    member = Member()
    try:
        with GuardianClient([member.endpoint], 10.0) as anybody:
            known = anybody.who_am_i()
        assert (known.name, known.proof) == ("local", identity_pb2.PROOF_CLAIMED)
        assert [grant.role for grant in known.grants] == ["admin"]
        told = CliRunner().invoke(app, ["whoami", "--endpoints", member.endpoint])
        assert "[security] is off" in told.stdout
    finally:
        member.stop()


def test_the_cli_says_it_in_sentences_and_in_json(guarded: Guarded) -> None:
    told = whoami(guarded, "olga").stdout.splitlines()
    assert told[0].startswith("You are olga, proven by a token, until 1970-01-02 ")
    assert [line.split() for line in told[-2:]] == [
        ["ROLE", "CLUSTERS", "TENANTS", "FROM"],
        ["operator", "other-*", "*", "file"],
    ]
    assert "No role is granted to you: ask an admin" in whoami(guarded, "nil").stdout
    assert json.loads(whoami(guarded, "olga", "-o", "json").stdout)["name"] == "olga"


def test_each_proof_says_until_when_it_is_good(guarded: Guarded) -> None:
    prover = guarded.prover
    session = prover.session_of_person(Person("vic"), guarded.now_ms + 5)
    assert prover.of_session(session).until_ms == guarded.now_ms + 5
    assert prover.of_authorization(f"Bearer {guarded.token['vic']}").until_ms == guarded.now_ms - 10 + DAY_MS

    class Shown:
        names = ("spy",)
        uris = ("broker:live/1",)
        not_after_ms = 7

    known = identity_to_proto(prover.of_call([], Shown()))
    assert (known.proof, known.until_ms, list(known.brokers)) == (identity_pb2.PROOF_CERTIFICATE, 7, ["live/1"])


def test_an_end_makes_nobody_another_one() -> None:
    assert Identity("ann", until_ms=1) == Identity("ann", until_ms=2)
    assert identity_to_proto(Identity("ann", (), Proof.OIDC, ("sre",), (BrokerId("a", 1),))).groups == ["sre"]
