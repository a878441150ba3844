"""ID tokens are taken as the provider signed them; what they do not prove lets nobody in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from guardian.errors import NotSignedIn
from guardian.model.actor import Proof
from guardian.security.model.identity import Identity
from guardian.security.model.security_config import OidcConfig
from guardian.security.service.oidc import Provider
from guardian.security.service.proving import ACTING, Person, Prover
from tests.unit.member.guarded import Guarded

ISSUER = "https://login.example"
KEY = ECKey.generate_key("P-256", {"kid": "k"})
NOW_MS = 1_000_000
CLAIMS = {
    "iss": ISSUER,
    "aud": "guardian",
    "sub": "s-1",
    "exp": 2_000,
    "email": "vic",
    "email_verified": True,
    "groups": ["sre"],
}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    answers = {
        f"{ISSUER}/.well-known/openid-configuration": {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/a",
            "token_endpoint": f"{ISSUER}/t",
            "jwks_uri": f"{ISSUER}/k",
        },
        f"{ISSUER}/k": KeySet([KEY]).as_dict(private=False),
    }
    made = Provider(OidcConfig(ISSUER, "guardian"), lambda: NOW_MS)
    monkeypatch.setattr(made, "_get", answers.__getitem__)
    made.refresh()
    return made


def id_token(**claims: Any) -> str:
    return jwt.encode({"alg": "ES256", "kid": "k"}, {**CLAIMS, **claims}, KEY)


def test_who_the_provider_names_is_known(provider: Provider) -> None:
    assert provider.person(id_token()) == Person("vic", ("sre",), 2_000_000)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"email_verified": None}, "not verified this e-mail address"),
        ({"groups": [f"g{number}" for number in range(501)]}, "got 501 groups"),
        ({"_claim_names": {"groups": "src1"}}, "got a reference to a list"),
        ({"exp": 1_000}, "has expired"),
    ],
)
def test_what_an_id_token_does_not_prove_is_refused_under_its_subject(
    provider: Provider, claims: dict[str, Any], why: str
) -> None:
    with pytest.raises(NotSignedIn, match=why) as refused:
        provider.person(id_token(**claims))
    assert refused.value.credential == "subject s-1"


def test_a_session_that_no_browser_would_keep_is_refused(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path)
    try:
        prover: Prover = guarded.prover
        person = Person("vic", tuple(f"{number:036}" for number in range(60)))
        assert len(prover.session_of_person(person, 2_000_000)) < 4096
        with pytest.raises(NotSignedIn, match=r"session of vic: longer than .* \(got 100 groups\)"):
            prover.session_of_person(Person("vic", tuple(f"{number:036}" for number in range(100))), 2_000_000)
    finally:
        guarded.stop()


def test_the_most_groups_fit_into_what_members_tell_each_other(tmp_path: Path, provider: Provider) -> None:
    groups = [f"{number:036}" for number in range(125)]
    guarded = Guarded(tmp_path)
    try:
        person = provider.person(id_token(groups=groups))
        told = guarded.prover.acting_for(Identity(person.name, (), Proof.OIDC, person.groups))
        assert guarded.prover.of_call([(ACTING, told)], None).groups == tuple(groups)
        assert len(told) < 8192
    finally:
        guarded.stop()
