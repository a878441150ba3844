"""The roles file: what is wrong in it is said, and whom a line means."""

from __future__ import annotations

import pytest

from guardian.errors import InvalidInput
from guardian.model.actor import Proof
from guardian.model.identity import Identity
from guardian.model.roles import parse_roles

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
