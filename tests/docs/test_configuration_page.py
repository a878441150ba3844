"""Settings are declared once: the page, the example and the schema that are checked in are made of the declarations."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest

from guardian import config
from guardian.member.commands import config_pages
from guardian.model.settings import declared

PAGE = Path("docs/configuration.md")
EXAMPLE, SCHEMA = Path("deploy/examples/member.toml"), Path("deploy/examples/member.schema.json")


def whole_example() -> str:
    """Return the example with every commented setting in force, but what can't stand beside another one."""
    text = re.sub(r"^#(?=[a-z\[])", "", EXAMPLE.read_text(), flags=re.MULTILINE)
    alone = ("peers", "advertise", "secrets", "password_file")
    return "\n".join(line for line in text.splitlines() if not line.startswith(alone))


def test_what_is_checked_in_is_what_the_declarations_say() -> None:
    assert PAGE.read_text() == config_pages.page(), f"make it anew: guardian docs configuration --out {PAGE}"
    assert EXAMPLE.read_text() == config_pages.example(), f"make it anew: guardian config example --out {EXAMPLE}"
    assert json.loads(SCHEMA.read_text()) == config_pages.schema(), (
        f"make it anew: guardian config schema --out {SCHEMA}"
    )


def test_the_example_says_what_holds_without_it(tmp_path: Path) -> None:
    """As it stands it has all defaults, and with its comments in force still the same values."""
    bare = config.load(EXAMPLE)
    file = tmp_path / "whole.toml"
    file.write_text(whole_example())
    whole = config.load(file)
    for name in ("collect", "execute", "throttle", "disk", "limits", "protection", "log"):
        found, default = getattr(whole, name), getattr(bare, name)
        for key, each in declared(cast(Any, type(found))).items():
            if each.setting.example is None:
                assert getattr(found, each.field) == getattr(default, each.field), f"{name}.{key}"
    assert whole.healing.default == bare.healing.default
    assert set(whole.hooks) == {"by-command", "by-systemd", "by-kubernetes"}
    assert whole.security is not None
    assert whole.security.oidc is not None


def test_the_schema_takes_the_example_and_refuses_what_a_member_refuses() -> None:
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    whole = tomllib.loads(whole_example())
    assert [each.message for each in validator.iter_errors(whole)] == []
    for section, wrong in (
        ("collect", {"intervall_s": 1}),
        ("collect", {"interval_s": 0}),
        ("log", {"level": "loud"}),
        ("execute", {"per_broker_in": 1.5}),
        ("grpc_tls", {"ca": "a", "certificate": "b", "key": "c", "allow_shared_ca": True}),
        ("hooks", {"a": {"kind": "command"}}),
        ("sinks", [{"name": "s", "kind": "mail"}]),
    ):
        assert not validator.is_valid({**whole, section: wrong}), section


def test_every_setting_has_a_sentence_and_a_row() -> None:
    found = config_pages.settings_of()
    assert len(found) > 150
    rows = PAGE.read_text()
    for name, each in found.items():
        assert re.fullmatch(r"[A-Z/].*[.]", each.help), name
        assert f"| `{each.key}` |" in rows, name


@pytest.mark.parametrize("name", sorted(config_pages.settings_of()))
def test_a_number_has_its_unit_in_its_name(name: str) -> None:
    """Or it is a count or a share, which has none."""
    each = config_pages.settings_of()[name]
    if each.hint is float:
        assert re.search(
            r"_(s|ms|h|mb|gb|gb_month|hours|days|bytes|seconds|per_s)$|(share|spread|limit|factor|utilisation|near|reserve)$"
            r"|slow_disk$|million_requests$|max_leader_moves$|throttle$",
            each.key,
        ), name
