"""The page of federation.yaml tells each field as the schema does, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guardian.federation.model import KnownFederation
from guardian.federation.rules import declaring
from guardian.federation.wire import federation_fields as of
from guardian.federation.wire import federation_yaml
from guardian.federation.wire.federation_fields import Field

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "federation-yaml.md").read_text()
SECURITY_PAGE = (DOCS / "security.md").read_text()
TABLES = (of.MACHINE, of.TENANT, of.IDC_POLICY, of.TOPIC, of.EXCLUSION, of.SECURITY, of.BROKER_FIELDS)


@pytest.mark.parametrize("fields", TABLES)
def test_each_field_is_told(fields: dict[str, Field]) -> None:
    rows = "\n".join(f"| `{name}` | {field.help} |" for name, field in fields.items())
    assert rows in PAGE


def test_the_examples_are_read_and_applied_to_nothing() -> None:
    first, documents = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    of_security = re.search(r"```yaml\n(version: 1\nroles:.*?)```", SECURITY_PAGE, re.DOTALL)
    assert of_security is not None
    assert len(federation_yaml.read(first, "federation.yaml").entries) == 2
    for example in (documents, of_security[1]):
        declared = federation_yaml.read(example, "federation.yaml")
        changes = declaring.changes(declared, KnownFederation(), "ann")
        assert [change.name for change in changes] == ["roles", "approval policy"]


def test_the_error_that_is_shown_is_the_one_that_is_told() -> None:
    (shown,) = re.findall(r"`federation.yaml:12: (.*?)`", PAGE)
    with pytest.raises(Exception, match=re.escape(shown)):
        federation_yaml.read("version: 1\ntopics: {live: {orders: {in: much}}}", "federation.yaml")
