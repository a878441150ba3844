"""Who has which role: a TOML file of each member, and what is stored for all of them in the same words.

    grants                 the stored ones, where any are; else those of the member's file
    denied, signed_out     both count
    admins of everything   of the member's file: they stay, whatever is stored, unless that file denies them

So members whose files differ agree once roles are stored, and whoever may write a member's file has a way back.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from guardian.errors import InvalidInput
from guardian.model.actor import Proof, reads_as_agent
from guardian.model.settings import Section, at_ms, parse, read, read_all, section, setting, shown
from guardian.security.model.identity import Grant, Identity, Role, require_patterns

_MAX_GRANTS = 10_000
_GROUP = "group"
_KINDS = (_GROUP, *(proof.value for proof in Proof if proof is not Proof.NONE))


def _whom(title: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise InvalidInput(f'{title} is {shown(value)}: give a list, such as ["ann", "sre-*", "group:kafka-sre"]')
    for text in value:
        kind, colon, rest = text.partition(":")
        if colon and (kind not in _KINDS or not rest):
            known = ", ".join(f"{each}:" for each in _KINDS)
            raise InvalidInput(f"{title} has {text!r}: before a colon use one of {known}, and a pattern after it")
    return tuple(_folded(title, text) for text in value)


def _folded(title: str, text: str) -> str:
    """Fold a name as those are that it is compared with. Raises InvalidInput for one that nobody can have."""
    kind, colon, name = text.rpartition(":")
    folded = unicodedata.normalize("NFKC", name).strip()
    if not folded or (kind != _GROUP and reads_as_agent(folded)):
        raise InvalidInput(f"{title} has {text!r}, which is the name of nobody; give one that somebody can have")
    return f"{kind}{colon}{folded}"


@dataclass(frozen=True, slots=True)
class GrantSection(Section):
    """Grant a role; a role that is limited to tenants changes only what belongs to them."""

    who: tuple[str, ...] = setting(
        ...,
        "Names or patterns, however they were proven; group:NAME, certificate:NAME, token:NAME or oidc:NAME only of "
        "that proof.",
        example=["ann", "sre-*", "group:kafka-sre"],
        read=_whom,
    )
    role: Role = setting(..., "The role, with all that it includes.", example="operator")
    clusters: tuple[str, ...] = setting(("*",), "Names or patterns of clusters.", read=require_patterns)
    tenants: tuple[str, ...] = setting(("*",), "Names or patterns of tenants.", read=require_patterns)


def _grants(path: str, value: object) -> tuple[tuple[tuple[str, ...], Grant], ...]:
    if isinstance(value, list) and not 0 < len(value) <= _MAX_GRANTS:
        raise InvalidInput(f"{path} has {len(value)} entries: write 1 to {_MAX_GRANTS} sections, [[{path}]]")
    sections = read_all(GrantSection, value, path)
    return tuple((each.who, Grant(each.role, each.clusters, each.tenants)) for each in sections)


def _denied(path: str, value: object) -> tuple[str, ...]:
    return _whom(path, value) if value != [] else ()


def _signed_out(path: str, value: object) -> tuple[tuple[str, int], ...]:
    times = {who: at_ms(f"{path}.{who}", at) for who, at in section(path, value).items()}
    return tuple(zip(_whom(path, [*times]), times.values(), strict=True)) if times else ()


@dataclass(frozen=True, slots=True)
class Roles:
    """Say who has which role. `grants` pairs those who are meant with what they get; the default grants nothing."""

    grants: tuple[tuple[tuple[str, ...], Grant], ...] = setting((), read=_grants, sections=(GrantSection,))
    denied: tuple[str, ...] = setting(
        (), "They may do nothing, whatever is granted.", example=["mallory", "token:old-*"], read=_denied
    )
    signed_out: tuple[tuple[str, int], ...] = setting(
        (),
        "Names and times: the console's sessions of these people that began before are over.",
        example={"group:payments": "2026-11-23T09:30:00Z"},
        read=_signed_out,
    )

    def signed_out_at_ms(self, identity: Identity) -> int:
        """Return when he was signed out: of his sessions those that began later are good; 0: all."""
        given = (at_ms for who, at_ms in self.signed_out if _means(who, identity.name, identity.proof, identity.groups))
        return max(given, default=0)

    def denies(self, name: str, proof: Proof, groups: tuple[str, ...] = ()) -> bool:
        """Return whether he is among those who may do nothing."""
        return any(_means(who, name, proof, groups) for who in self.denied)

    def identity(self, name: str, proof: Proof, groups: tuple[str, ...] = ()) -> Identity:
        """Somebody with what is granted to him."""
        if self.denies(name, proof, groups):
            return Identity(name, (), proof, groups)
        given = (grant for meant, grant in self.grants if any(_means(who, name, proof, groups) for who in meant))
        return Identity(name, tuple(dict.fromkeys(given)), proof, groups)


def parse_roles(text: str) -> Roles:
    """Return the roles of a file's text. Raises InvalidInput that names the field, the value and the fix."""
    return read(Roles, {"grants": [], **parse(text)})


def stored_roles(table: Mapping[str, object]) -> Roles:
    """Return the roles of what is stored, by the rules of the file. Raises InvalidInput as `parse_roles`."""
    roles = read(Roles, table)
    return replace(roles, grants=tuple((who, replace(grant, is_stored=True)) for who, grant in roles.grants))


@dataclass(frozen=True, slots=True)
class RolesInForce:
    """Say who has which role by the member's file and by what is stored, of which `revision` is the last change (0:
    nothing is stored). `damage` is why the stored roles can't be used: then only the file's admins get in."""

    file: Roles
    stored: Roles | None = None
    revision: int = 0
    damage: str = ""

    @property
    def grants(self) -> tuple[tuple[tuple[str, ...], Grant], ...]:
        """Return whom which grant is meant for, as far as it counts."""
        roots = tuple(each for each in self.file.grants if each[1].is_root)
        if self.damage:
            return roots
        stored = self.stored.grants if self.stored is not None else ()
        return (*roots, *stored) if stored else self.file.grants

    def signed_out_at_ms(self, identity: Identity) -> int:
        """Return when his sessions must have begun later than; 0: all are good."""
        return max(each.signed_out_at_ms(identity) for each in (self.file, self.stored or _NONE))

    def identity(self, name: str, proof: Proof, groups: tuple[str, ...] = ()) -> Identity:
        """Return somebody with what is granted to him."""
        known = replace(self.file, grants=self.grants).identity(name, proof, groups)
        if self.stored is not None and self.stored.denies(name, proof, groups):
            return replace(known, grants=tuple(grant for grant in known.grants if grant.is_root))
        return known


_NONE = Roles()


def _means(who: str, name: str, proof: Proof, groups: tuple[str, ...]) -> bool:
    kind, colon, rest = who.partition(":")
    if not colon:
        return fnmatchcase(name, who)
    if kind == _GROUP:
        return any(fnmatchcase(group, rest) for group in groups)
    return proof.value == kind and fnmatchcase(name, rest)
