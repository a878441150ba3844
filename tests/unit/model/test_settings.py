"""Whatever a file of settings says, it is taken, or refused in one sentence with the setting and the fix."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardian import config
from guardian.activity.model import price_list
from guardian.errors import InvalidInput
from guardian.member.commands import config_pages
from guardian.model.links import links_from_table
from guardian.model.settings import Section, declared, load, read, setting
from guardian.model.tickets.approval import ApprovalPolicy
from guardian.security.model.roles import Roles

BARE = tomllib.loads(Path("deploy/examples/member.toml").read_text())
LEAVES = st.one_of(
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 10**400, -(10**400)]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["http://[", "clickhouse://h:x/d", "127.0.0.1:1", "a\x00b", "act", "act", "7d", "1GB", "é"]),
    st.datetimes(),
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
NAMES = sorted(config_pages.settings_of())
FILES: dict[str, Callable[[dict[str, Any]], object]] = {
    "approvals": lambda table: read(ApprovalPolicy, {"rules": [], **table}),
    "links": links_from_table,
    "prices": price_list,
    "roles": lambda table: read(Roles, {"grants": [], **table}),
}


@dataclass(frozen=True, slots=True)
class Inner(Section):
    """An inner table."""

    size_mb: int = setting(4, "The size.", least=1, most=8)


@dataclass(frozen=True, slots=True)
class Outer(Section):
    """A table."""

    name: str = setting(..., "The name.")
    share: float = setting(0.5, "A share.", above=0, most=1)
    inner: Inner = setting(Inner)


def put(table: dict[str, Any], path: list[str], value: object) -> dict[str, Any]:
    """Return the table with the value at the path, in an array of tables where one is there."""
    first, *rest = path
    if not rest:
        return {**table, first: value}
    if first in ("sinks", "rules", "grants", "lines"):
        return {**table, first: [put({}, rest, value)]}
    return {**table, first: put(table.get(first, {}), rest, value)}


def refused(make: Callable[[], object]) -> str:
    try:
        make()
    except InvalidInput as error:
        return str(error)
    return ""


def test_what_is_read_has_the_types_and_the_defaults_that_are_declared() -> None:
    assert read(Outer, {"name": "n", "inner": {"size_mb": 2.0}}) == Outer("n", 0.5, Inner(2))
    assert [each.default for each in declared(Inner).values()] == [4]
    base = Outer("base", 0.25)
    assert read(Outer, {"share": 1}, "x", base=base) == Outer("base", 1.0)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "x.name is missing: give the name"),
        ({"name": 3}, "x.name is 3: give a non-empty string"),
        ({"name": "n", "share": 0}, "x.share is 0: use more than 0, up to 1"),
        ({"name": "n", "shares": 0}, "x.shares is not a setting: did you mean share?"),
        ({"name": "n", "zzz": 0}, "x.zzz is not a setting: use one of inner, name, share"),
        ({"name": "n", "inner": 3}, "x.inner is 3: write it as a section, [x.inner]"),
        ({"name": "n", "inner": {"size_mb": 9}}, "x.inner.size_mb is 9: use 1 to 8"),
        ({"name": "n", "inner": {"size_mb": 1.5}}, "x.inner.size_mb is 1.5: give a whole number"),
        ({"name": "n", "inner": {"size_mb": 10**400}}, "x.inner.size_mb is 1"),
        ({"name": "n", "share": True}, "x.share is True: give a number"),
        (3, "x is 3: write it as a section, [x]"),
    ],
)
def test_a_mistake_is_named_with_the_setting_the_value_and_the_fix(table: object, sentence: str) -> None:
    found = refused(lambda: read(Outer, table, "x"))
    assert found.startswith(sentence), found
    assert len(found) < 400


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    for content in (b"\xff", b"a = [" + b"[" * 100_000, b"a = 1" + b"0" * 5000, b"=", b"a = 0x" + b"f" * 5000):
        file = tmp_path / "f.toml"
        file.write_bytes(content)
        found = refused(lambda file=file: load(file, "the file", lambda table: read(Outer, table)))  # type: ignore[misc]
        assert found.startswith(f"the file {file}")
    assert refused(lambda: load(tmp_path, "the file", dict)) == f"the file {tmp_path} can't be read: Is a directory"


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), VALUES, st.booleans())
def test_any_value_of_any_setting_is_taken_or_refused_by_name(name: str, value: object, misspelt: bool) -> None:
    file, _, rest = name.partition(".")
    is_other = file in FILES and bool(rest)
    path = (rest if is_other else name).split(".")
    if misspelt:
        path[-1] += "x"
    hook = {"kind": path[1].removeprefix("by-")} if path[0] == "hooks" else {}
    table = put({"hooks": {path[1]: hook}} if hook else {}, path, value)
    make = FILES[file] if is_other else lambda table: read(config.ServerConfig, {**BARE, **table})
    found = refused(lambda: make(table))
    assert not misspelt or f"{path[-1]} is not a setting: " in found, found
    assert len(found) < 1000
