"""The page of federation.yaml tells each field as the schema does, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guardian.interop import federation_fields as of
from guardian.interop import federation_yaml
from guardian.interop.federation_fields import Field

PAGE = (Path(__file__).parents[2] / "docs/federation-yaml.md").read_text()
TABLES = (of.MACHINE, of.TENANT, of.IDC_POLICY, of.TOPIC, of.EXCLUSION, of.SECURITY, of.BROKER_FIELDS)


@pytest.mark.parametrize("fields", TABLES)
def test_each_field_is_told(fields: dict[str, Field]) -> None:
    rows = "\n".join(f"| `{name}` | {field.help} |" for name, field in fields.items())
    assert rows in PAGE


def test_the_example_is_read() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(federation_yaml.read(example, "federation.yaml").entries) == 2


def test_the_error_that_is_shown_is_the_one_that_is_told() -> None:
    (shown,) = re.findall(r"`federation.yaml:12: (.*?)`", PAGE)
    with pytest.raises(Exception, match=re.escape(shown)):
        federation_yaml.read("version: 1\ntopics: {live: {orders: {in: much}}}", "federation.yaml")
