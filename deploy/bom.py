"""The bill of materials (CycloneDX 1.6): all that a member runs and that the console and the broker plugin bring along.

    python -m deploy.bom > requirements/sbom.cdx.json      part of `make lock`

Made of what pins them: hash-locked requirements, the table of vendored files, the plugin's pom. The same input gives
the same bytes, so that a change of a dependency shows in a review.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements/server.lock", "requirements/analyze.lock", "requirements/kerberos.lock")
VENDORED = "guardian/console/static/VENDORED.md"
POM = "deploy/broker-plugin/pom.xml"
BOM = "requirements/sbom.cdx.json"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NPM = re.compile(r"npm package `([^`]+)`")

Component = dict[str, Any]


def python_components(lock: str) -> Iterator[Component]:
    """Yield each package of a lock file's text, with the checksums of all its files."""
    for entry in re.split(r"\n(?=\S)", lock.replace("\\\n", " ")):
        if pinned := _PINNED.match(entry):
            name, version = pinned.groups()
            hashes = [{"alg": "SHA-256", "content": content} for content in sorted(_HASH.findall(entry))]
            yield {**_component(name, version, f"pkg:pypi/{name.lower()}@{version}"), "hashes": hashes}


def vendored_components(table: str) -> Iterator[Component]:
    """Yield each library of the console in VENDORED.md's text once."""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and (package := _NPM.search(cells[4])):
            licence = cells[3].split(",")[0]
            component = _component(package[1], cells[2], f"pkg:npm/{package[1]}@{cells[2]}")
            yield {**component, "licenses": [{"license": {"id": licence}}]}


def java_components(pom: str) -> Iterator[Component]:
    """Yield each dependency of a pom's text that ends up in the jar, with versions as its properties say."""
    root = ElementTree.fromstring(pom)  # noqa: S314  our own file
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    properties = {each.tag.partition("}")[2]: each.text or "" for each in root.iterfind("m:properties/*", space)}
    for dependency in root.iterfind("m:dependencies/m:dependency", space):
        group, name, version, scope = (
            dependency.findtext(f"m:{tag}", "", space) for tag in ("groupId", "artifactId", "version", "scope")
        )
        if scope not in ("provided", "test"):
            version = re.sub(r"\$\{([^}]+)\}", lambda found: properties[found[1]], version)
            yield {**_component(name, version, f"pkg:maven/{group}/{name}@{version}"), "group": group}


def bill(root: Path = ROOT) -> Component:
    """The whole of it."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    found = [each for lock in LOCKS for each in python_components((root / lock).read_text())]
    found += vendored_components((root / VENDORED).read_text())
    found += java_components((root / POM).read_text())
    by_reference = {component["bom-ref"]: component for component in found}
    own = _component(project["name"], project["version"], f"pkg:pypi/{project['name']}@{project['version']}")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {**own, "type": "application", "licenses": [{"license": {"id": project["license"]}}]}
        },
        "components": [by_reference[reference] for reference in sorted(by_reference)],
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": sorted(by_reference)}],
    }


def _component(name: str, version: str, purl: str) -> Component:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def main() -> None:
    json.dump(bill(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
