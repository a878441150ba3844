"""Who has which role: a TOML file, the same for all members, read again when it changes."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase

from guardian.errors import InvalidInput
from guardian.model.actor import Proof, reads_as_agent
from guardian.model.identity import Grant, Identity, Role, require_patterns
from guardian.model.settings import Section, at_ms, parse, read, read_all, section, setting, shown

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
    """As names are that they are compared with. Raises InvalidInput for one that nobody can have."""
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
    """Return the roles of a file's text. Raises InvalidInput that names the field, the value and the fix."""
    return read(Roles, {"grants": [], **parse(text)})


def _means(who: str, name: str, proof: Proof, groups: tuple[str, ...]) -> bool:
    kind, colon, rest = who.partition(":")
    if not colon:
        return fnmatchcase(name, who)
    if kind == _GROUP:
        return any(fnmatchcase(group, rest) for group in groups)
    return proof.value == kind and fnmatchcase(name, rest)
