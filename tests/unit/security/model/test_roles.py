"""The roles file: what is wrong in it is said, and whom a line means."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.actor import Proof
from guardian.model.settings import parse
from guardian.security.model.identity import Grant, Identity, Role
from guardian.security.model.roles import Roles, RolesInForce, parse_roles, stored_roles

GRANT = '[[grants]]\nwho = ["ann"]\nrole = "admin"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"grants has 0 entries: write 1 to 10000 sections, \[\[grants\]\]"),
        ("grants = 1", "grants is 1: write each as a section"),
        (f"deny = []\n{GRANT}", "deny is not a setting: did you mean denied"),
        (GRANT.replace("admin", "boss"), "role is 'boss'"),
        (GRANT.replace('["ann"]', '"ann"'), r"grants\[0\].who is 'ann': give a list"),
        (GRANT.replace('"ann"', '"team:x"'), "before a colon use one of group:"),
        (f"signed_out = 1\n{GRANT}", r"signed_out is 1: write it as a section, \[signed_out\]"),
        (f"{GRANT}[signed_out]\nann = 2026-11-23\n", "signed_out.ann is 2026-11-23: use a time with its zone"),
        (f"{GRANT}[signed_out]\nann = 2026-11-23T08:00:00\n", "use a time with its zone"),
        (f'{GRANT}[signed_out]\n"team:x" = 2026-11-23T08:00:00Z\n', "before a colon use one of group:"),
    ],
)
def test_what_is_wrong_is_said(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_roles(text)


def test_the_latest_line_that_means_somebody_signs_him_out() -> None:
    roles = parse_roles(
        f"{GRANT}[signed_out]\n"
        '"a*" = 1970-01-01T00:00:01Z\nann = 1970-01-01T00:00:03Z\n"group:sre" = 1970-01-01T02:00:09+02:00\n'
    )
    out = {
        name: roles.signed_out_at_ms(Identity(name, (), Proof.OIDC, groups))
        for name, groups in (("ann", ()), ("abe", ()), ("bob", ("sre",)), ("cat", ("x",)))
    }
    assert out == {"ann": 3000, "abe": 1000, "bob": 9000, "cat": 0}


FILE = parse_roles(
    'denied = ["mallory"]\n[[grants]]\nwho = ["root", "mallory"]\nrole = "admin"\n'
    '[[grants]]\nwho = ["lena"]\nrole = "admin"\nclusters = ["live"]\n[[grants]]\nwho = ["ann"]\nrole = "operator"\n'
    "[signed_out]\nann = 1970-01-01T00:00:05Z\n"
)


def stored(text: str) -> Roles:
    return stored_roles(parse(text))


BEN = stored('[[grants]]\nwho = ["ben"]\nrole = "viewer"\n')
DENYING = stored('denied = ["*"]\n')


@pytest.mark.parametrize(
    ("roles", "who"),
    [
        (RolesInForce(FILE), {"root": "admin", "lena": "admin", "ann": "operator"}),
        # Grants are the stored ones, where any are; admins of everything by the file stay.
        (RolesInForce(FILE, BEN, 7), {"root": "admin", "ben": "viewer"}),
        (RolesInForce(FILE, stored("denied = []"), 7), {"root": "admin", "lena": "admin", "ann": "operator"}),
        # What denies is united, and the stored part shuts out nobody who may write the file.
        (RolesInForce(FILE, DENYING, 7), {"root": "admin"}),
        (RolesInForce(FILE, stored('[[grants]]\nwho = ["mallory"]\nrole = "admin"\n'), 7), {"root": "admin"}),
        (RolesInForce(FILE, None, 7, "it is damaged"), {"root": "admin"}),
    ],
)
def test_who_has_which_role_by_the_file_and_the_store(roles: RolesInForce, who: dict[str, str]) -> None:
    found = {
        name: [grant.role.value for grant in roles.identity(name, Proof.TOKEN).grants]
        for name in ("root", "lena", "ann", "ben", "mallory")
    }
    assert {name: held for name, held in found.items() if held} == {name: [role] for name, role in who.items()}


def test_whose_role_is_stored_is_admin_of_everything_but_no_root() -> None:
    roles = RolesInForce(FILE, stored('[[grants]]\nwho = ["sam", "root"]\nrole = "admin"\n'), 7)
    sam, root = (roles.identity(name, Proof.TOKEN) for name in ("sam", "root"))
    assert (sam.may(Role.ADMIN), sam.is_root, root.is_root) == (True, False, True)
    assert root.grants == (Grant(Role.ADMIN), Grant(Role.ADMIN, is_stored=True))
    assert not roles.identity("lena", Proof.TOKEN).is_root


def test_the_later_sign_out_of_both_counts() -> None:
    ann = Identity("ann")
    later = stored('[signed_out]\nann = "1970-01-01T00:00:09Z"\n')
    assert RolesInForce(FILE, later, 7).signed_out_at_ms(ann) == 9000
    assert RolesInForce(FILE, BEN, 7).signed_out_at_ms(ann) == 5000
    assert RolesInForce(FILE).signed_out_at_ms(Identity("ben")) == 0


@pytest.mark.parametrize("at", ["soon", "2026-11-23", "2026-11-23T08:00:00"])
def test_a_time_that_is_written_as_a_text_needs_its_zone_too(at: str) -> None:
    with pytest.raises(InvalidInput, match=f"signed_out.ann is {at}: use a time with its zone"):
        stored_roles({"signed_out": {"ann": at}})
