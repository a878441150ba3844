"""Decide which name and groups the verified claims of an ID token prove. Pure.

Whoever is told a part of the groups only would be let in past a rule that denies one of the others. So an identity with
more groups than can be carried is refused, and none is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from guardian.errors import InvalidInput, NotSignedIn
from guardian.model.actor import require_name

MAX_GROUPS = 500
# Members tell each other of a person in a header, of which gRPC takes 8 KiB.
MAX_GROUP_BYTES = 5_000
_FIX = "let the provider send those that the roles file names, such as the groups assigned to the application"


def name_in(claims: Mapping[str, Any], claim: str) -> str:
    """Return the name that the claim proves. Raises NotSignedIn for a mail address that the provider has not
    verified."""
    if claim == "email":
        verified = claims.get("email_verified")
        if verified is not True and verified != "true":  # some providers send the word
            raise NotSignedIn(
                f"claim email_verified: the provider has not verified this e-mail address (got {_shown(verified)}); "
                "let it verify and say so, or set security.oidc.name_claim to a claim that people can't choose"
            )
    try:
        # Providers do not care for case in addresses: nobody becomes another one by it.
        return require_name(f"the claim {claim}", claims.get(claim)).casefold()
    except InvalidInput as error:
        raise NotSignedIn(f"the ID token names nobody: {error}") from None


def groups_in(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    """Return all groups that the claim names. Raises NotSignedIn where they are too many, elsewhere, or no names."""
    elsewhere = claims.get("_claim_names")
    if (isinstance(elsewhere, Mapping) and claim in elsewhere) or claims.get("hasgroups") in (True, "true"):
        raise NotSignedIn(f"claim {claim}: too many groups for the ID token (got a reference to a list); {_FIX}")
    groups = claims.get(claim)
    if groups is None:
        return ()
    if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
        raise NotSignedIn(
            f"claim {claim}: no list of names (got {_shown(groups)}); let the provider send a list of texts"
        )
    size = len(json.dumps(groups))
    if len(groups) > MAX_GROUPS or size > MAX_GROUP_BYTES:
        raise NotSignedIn(
            f"claim {claim}: more than {MAX_GROUPS} groups or {MAX_GROUP_BYTES} bytes (got {len(groups)} groups, "
            f"{size} bytes); {_FIX}"
        )
    return tuple(groups)


def _shown(value: object) -> str:
    return "none" if value is None else repr(value)[:80]
