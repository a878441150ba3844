"""Certificates and lists come from elsewhere: whatever is in them, what can't be read is said so, and nothing else."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardian.errors import InvalidInput
from guardian.security.certificates.authority import Wanted, issue, make_authority, revoke
from guardian.security.certificates.facts import all_facts_of, revoked_facts_of

pytestmark = pytest.mark.slow

NOW_MS = 1_800_000_000_000
AUTHORITY = make_authority("tests", 10, NOW_MS)
CERTIFICATE = issue(AUTHORITY, Wanted("g1", ("10.0.0.1", "h")), NOW_MS).certificate
REVOKED = revoke(AUTHORITY, [1, 2, 3], NOW_MS)


def der_of(pem: bytes) -> bytes:
    return base64.b64decode(b"".join(pem.splitlines()[1:-1]))


def pem_of(der: bytes, like: bytes) -> bytes:
    first, *_, last = like.splitlines()
    return b"\n".join((first, base64.encodebytes(der), last))


def changed(der: bytes) -> st.SearchStrategy[bytes]:
    """With a few bytes of it replaced."""
    places = st.lists(st.tuples(st.integers(0, len(der) - 1), st.integers(0, 255)), min_size=1, max_size=4)

    def replaced(changes: list[tuple[int, int]]) -> bytes:
        made = bytearray(der)
        for place, value in changes:
            made[place] = value
        return bytes(made)

    return places.map(replaced)


@given(changed(der_of(CERTIFICATE)))
def test_a_damaged_certificate_is_read_or_refused(der: bytes) -> None:
    with suppress(InvalidInput):
        all_facts_of(pem_of(der, CERTIFICATE))


@given(changed(der_of(REVOKED)))
def test_a_damaged_list_is_refused_for_its_signature_at_the_latest(der: bytes) -> None:
    pem = pem_of(der, REVOKED)
    with suppress(InvalidInput):
        assert revoked_facts_of(pem, AUTHORITY.certificate).serials == {1, 2, 3}


@given(st.binary(max_size=400))
def test_garbage_is_refused(data: bytes) -> None:
    for pem in (data, pem_of(data, CERTIFICATE), pem_of(data, REVOKED)):
        with suppress(InvalidInput):
            all_facts_of(pem)
        with suppress(InvalidInput):
            revoked_facts_of(pem, AUTHORITY.certificate)
