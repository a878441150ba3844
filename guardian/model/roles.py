"""Who has which role: a TOML file, the same for all members, read again when it changes.

denied = ["mallory", "token:old-*"]    # may do nothing, whatever is granted below

[[grants]]
who      = ["ann", "sre-*"]            # names or patterns, however they were proven
role     = "admin"                     # viewer, operator, approver, admin; or planner, or broker
clusters = ["*"]                       # names or patterns; default: all
tenants  = ["*"]                       # likewise: limits changes to what belongs to them

[[grants]]
who      = ["group:kafka-sre"]         # a group that the provider of identities tells
role     = "approver"

[[grants]]
who      = ["certificate:broker-*"]    # only where a certificate (or token, or oidc) proves the name
role     = "broker"
clusters = ["live"]

[signed_out]                           # the console's sessions of whom this means, begun before then, are over
ann = 2026-11-23T08:00:00Z
"group:payments" = 2026-11-23T09:30:00Z
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from guardian.errors import InvalidInput
from guardian.model.actor import Proof, reads_as_agent
from guardian.model.identity import Grant, Identity, require_patterns, require_role

_MAX_GRANTS = 10_000
_GROUP = "group"
_KINDS = (_GROUP, *(proof.value for proof in Proof if proof is not Proof.NONE))


@dataclass(frozen=True, slots=True)
class Roles:
    """`grants` pairs those who are meant with what they get. The default lets nobody do anything."""

    grants: tuple[tuple[tuple[str, ...], Grant], ...] = ()
    denied: tuple[str, ...] = ()
    signed_out: tuple[tuple[str, int], ...] = ()

    def signed_out_at_ms(self, identity: Identity) -> int:
        """Of his sessions those that began later are good; 0: all."""
        given = (at_ms for who, at_ms in self.signed_out if _means(who, identity.name, identity.proof, identity.groups))
        return max(given, default=0)

    def identity(self, name: str, proof: Proof, groups: tuple[str, ...] = ()) -> Identity:
        """Somebody with what is granted to him."""
        if any(_means(who, name, proof, groups) for who in self.denied):
            return Identity(name, (), proof, groups)
        given = (grant for meant, grant in self.grants if any(_means(who, name, proof, groups) for who in meant))
        return Identity(name, tuple(dict.fromkeys(given)), proof, groups)


def parse_roles(text: str) -> Roles:
    """Raises InvalidInput that names the field, the value and the fix."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"it is not valid TOML: {error}") from None
    _refuse_unknown("", table, {"grants", "denied", "signed_out"})
    sections = table.get("grants", [])
    if not isinstance(sections, list) or not sections:
        raise InvalidInput("grants is empty: write each as a section, [[grants]], and at least one, of an admin")
    if len(sections) > _MAX_GRANTS:
        raise InvalidInput(f"grants has {len(sections)} entries: use up to {_MAX_GRANTS}, with patterns and groups")
    grants = tuple(_grant(f"grants[{position}]", section) for position, section in enumerate(sections))
    denied = table.get("denied", [])
    return Roles(grants, _whom("denied", denied) if denied != [] else (), _signed_out(table.get("signed_out", {})))


def _signed_out(section: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(section, dict):
        raise InvalidInput(f"signed_out is {section!r}: write it as a section, [signed_out], of names and times")
    if not section:
        return ()
    for who, at in section.items():
        if not isinstance(at, datetime) or at.tzinfo is None:
            raise InvalidInput(f"signed_out.{who} is {at!s}: use a time with its zone, such as 2026-11-23T08:00:00Z")
    return tuple((who, int(section[who].timestamp() * 1000)) for who in _whom("signed_out", [*section]))


def _grant(title: str, section: object) -> tuple[tuple[str, ...], Grant]:
    if not isinstance(section, dict):
        raise InvalidInput(f"{title} is {section!r}: write it as a section, [[grants]]")
    _refuse_unknown(f"{title}.", section, {"who", "role", "clusters", "tenants"})
    limits = {
        key: require_patterns(f"{title}.{key}", section[key]) for key in ("clusters", "tenants") if key in section
    }
    return _whom(f"{title}.who", section.get("who")), Grant(
        require_role(f"{title}.role", section.get("role")), **limits
    )


def _whom(title: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise InvalidInput(f'{title} is {value!r}: give a list, such as ["ann", "sre-*", "group:kafka-sre"]')
    for text in value:
        kind, colon, rest = text.partition(":")
        if colon and (kind not in _KINDS or not rest):
            known = ", ".join(f"{each}:" for each in _KINDS)
            raise InvalidInput(f"{title} has {text!r}: before a colon use one of {known}, and a pattern after it")
    return tuple(_folded(title, text) for text in value)


def _folded(title: str, text: str) -> str:
    """As names are that they are compared with. Raises InvalidInput for one that nobody can have."""
    kind, colon, name = text.rpartition(":")
    folded = unicodedata.normalize("NFKC", name).strip()
    if not folded or (kind != _GROUP and reads_as_agent(folded)):
        raise InvalidInput(f"{title} has {text!r}, which is the name of nobody; give one that somebody can have")
    return f"{kind}{colon}{folded}"


def _means(who: str, name: str, proof: Proof, groups: tuple[str, ...]) -> bool:
    kind, colon, rest = who.partition(":")
    if not colon:
        return fnmatchcase(name, who)
    if kind == _GROUP:
        return any(fnmatchcase(group, rest) for group in groups)
    return proof.value == kind and fnmatchcase(name, rest)


def _refuse_unknown(prefix: str, table: Mapping[str, object], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise InvalidInput(f"{prefix}{key} is not known: use {', '.join(sorted(known))}")
