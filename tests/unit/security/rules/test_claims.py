"""What the claims of an ID token prove: a verified name, and all groups or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from guardian.errors import NotSignedIn
from guardian.security.rules.claims import MAX_GROUP_BYTES, MAX_GROUPS, groups_in, name_in

ANN = {"email": "Ann@Example.com", "preferred_username": "Ann"}


@pytest.mark.parametrize("verified", [True, "true"])
def test_a_verified_address_is_a_name(verified: object) -> None:
    assert name_in({**ANN, "email_verified": verified}, "email") == "ann@example.com"


@pytest.mark.parametrize(
    "claims", [{}, *({"email_verified": each} for each in (False, None, "false", 1, "", ["true"]))]
)
def test_an_address_that_nobody_verified_proves_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(NotSignedIn, match=r"not verified this e-mail address \(got .*\); let it verify and say so"):
        name_in({**ANN, **claims}, "email")


def test_another_claim_needs_no_verified_address() -> None:
    assert name_in(ANN, "preferred_username") == "ann"
    with pytest.raises(NotSignedIn, match="names nobody: the claim oid"):
        name_in(ANN, "oid")


def test_all_groups_are_told() -> None:
    groups = [f"g{number}" for number in range(MAX_GROUPS)]
    assert groups_in({"groups": groups}, "groups") == tuple(groups)
    assert groups_in({"roles": ["a"], "_claim_names": {"other": "src1"}, "hasgroups": False}, "roles") == ("a",)
    assert groups_in({}, "groups") == ()


@pytest.mark.parametrize(
    ("claims", "got"),
    [
        ({"groups": [f"g{number}" for number in range(MAX_GROUPS + 1)]}, "got 501 groups"),
        ({"groups": ["g" * MAX_GROUP_BYTES]}, "got 1 groups, 5004 bytes"),
        ({"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {}}}, "got a reference to a list"),
        ({"groups": ["a"], "_claim_names": {"groups": "src1"}}, "got a reference to a list"),
        ({"hasgroups": True}, "got a reference to a list"),
        ({"groups": "kafka-sre"}, "no list of names"),
        ({"groups": {"kafka-sre": 1}}, "no list of names"),
        ({"groups": ["kafka-sre", 7]}, "no list of names"),
    ],
)
def test_groups_that_can_not_all_be_told_let_nobody_in(claims: dict[str, Any], got: str) -> None:
    with pytest.raises(NotSignedIn, match=got):
        groups_in(claims, "groups")
