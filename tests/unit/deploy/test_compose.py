"""The compose file against the published schema, and each member's configuration against Guardian's own.

compose-spec.json is schema/compose-spec.json of the Go module github.com/compose-spec/compose-go/v2 v2.16.2, by which
`docker compose` checks files (Apache License 2.0); its hash is below.
"""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from guardian import __version__, config

FILE = Path("deploy/compose/compose.yaml")
SCHEMA = Path(__file__).parent / "compose-spec.json"
SCHEMA_SHA256 = "f266dcbb043229405d7cedd5aec918f9102c2b3d5e3850808fdd8edd564a43ff"
MEMBERS = ("g1", "g2", "g3")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


@pytest.fixture(scope="module")
def validator() -> Any:
    text = SCHEMA.read_bytes()
    assert hashlib.sha256(text).hexdigest() == SCHEMA_SHA256
    return jsonschema.Draft202012Validator(json.loads(text))


def test_the_file_is_one_that_compose_takes(compose: dict[str, Any], validator: Any) -> None:
    assert [error.message for error in validator.iter_errors(compose)] == []


@pytest.mark.parametrize(("key", "value"), [("restrt", "always"), ("stop_grace_period", 60), ("tmpfs", {"a": 1})])
def test_the_schema_sees_a_wrong_field(compose: dict[str, Any], validator: Any, key: str, value: object) -> None:
    wrong = copy.deepcopy(compose)
    wrong["services"]["g1"][key] = value
    assert list(validator.iter_errors(wrong))


def test_what_services_name_is_declared(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {*MEMBERS, "folders"}
    for name in MEMBERS:
        member = services[name]
        assert [each["source"] for each in member["configs"]] == [name]
        assert [each["target"] for each in member["configs"]] == ["/etc/guardian/member.toml"]
        assert {each.partition(":")[0] for each in member["volumes"]} == {name, "lake"} <= set(compose["volumes"])
        assert set(member["networks"]) <= set(compose["networks"])
        assert set(member["depends_on"]) <= set(services)
        assert all(port.startswith("127.0.0.1:") for port in member.get("ports", ()))  # plain text leaves no machine


def test_the_image_is_of_this_version(compose: dict[str, Any]) -> None:
    images = {service["image"] for service in compose["services"].values()}
    assert images == {"${GUARDIAN_IMAGE:-kafka-guardian:" + __version__ + "}"}


def test_each_member_has_a_configuration_that_guardian_takes(compose: dict[str, Any], tmp_path: Path) -> None:
    loaded = []
    for name in MEMBERS:
        file = tmp_path / f"{name}.toml"
        file.write_text(compose["configs"][name]["content"])
        loaded.append(config.load(file))
    for member, name in zip(loaded, MEMBERS, strict=True):
        assert member.name == name == compose["services"][name]["hostname"]
        assert dict(member.peers) == {other.name: other.raft for other in loaded if other is not member}
        assert member.client_address == f"{name}:9750"
        folders = {each.partition(":")[2] for each in compose["services"][name]["volumes"]}
        assert {str(member.data.parent), member.lake.removeprefix("file://")} == folders
