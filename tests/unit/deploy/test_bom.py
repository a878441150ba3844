"""The bill of materials says what is pinned, and is up to date."""

from __future__ import annotations

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy import bom

STORED = bom.ROOT / bom.BOM


def test_it_is_up_to_date() -> None:
    assert json.loads(STORED.read_text()) == bom.bill(), f"python -m deploy.bom > {bom.BOM}"


def test_it_is_cyclonedx() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(STORED.read_text()) is None


def test_every_locked_package_is_there_with_the_checksums_of_its_files() -> None:
    lock = "a-b==1.0 ; sys_platform == 'x' \\\n    --hash=sha256:" + "b" * 64 + " \\\n    --hash=sha256:" + "a" * 64
    lock += "\n    # via c\nC==2\\\n    --hash=sha256:" + "c" * 64 + "\n# a comment==1\n"
    first, second = bom.python_components(lock)
    assert (first["purl"], [each["content"][0] for each in first["hashes"]]) == ("pkg:pypi/a-b@1.0", ["a", "b"])
    assert (second["name"], second["purl"]) == ("C", "pkg:pypi/c@2")


def test_the_console_and_the_jar_are_part_of_it() -> None:
    urls = {component["purl"].rpartition("@")[0] for component in bom.bill()["components"]}
    assert {"pkg:npm/echarts", "pkg:pypi/grpcio", "pkg:pypi/pyspark", "pkg:maven/io.grpc/grpc-stub"} <= urls
    assert not any("kafka-clients" in url or "junit" in url for url in urls), "the broker's own, or tests' only"


@pytest.mark.parametrize("name", ["cli", "server", "analyze", "build"])
def test_each_lock_has_the_versions_that_are_tested_with_checksums(name: str) -> None:
    def pinned(lock: str) -> dict[str, str]:
        found = bom.python_components((bom.ROOT / "requirements" / f"{lock}.lock").read_text())
        return {each["name"]: each["version"] for each in found if each["hashes"]}

    parts, tested = pinned(name), pinned("dev")
    assert len(parts) >= 5
    assert {package: tested.get(package) for package in parts} == parts
