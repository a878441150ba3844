"""Files that anyone may hand to `guardian apply` and `guardian import`: ten thousand of each kind, and no crash."""

from __future__ import annotations

import gc
import resource
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from guardian.errors import InvalidInput
from guardian.interop.yaml_tree import parse_all
from tests.unit.federation import test_federation_yaml
from tests.unit.interop import test_other_files, test_yaml_tree

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

INPUTS = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
MAX_GROWTH_KB = 300_000  # hypothesis itself remembers what it has tried


@pytest.fixture(autouse=True)
def _no_growth() -> Any:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KB


@INPUTS
@given(test_yaml_tree.TEXTS)
def test_texts(text: str) -> None:
    with suppress(InvalidInput):
        list(parse_all(text, "f"))


@INPUTS
@given(test_federation_yaml.DOCUMENTS)
def test_federation_files(document: dict[str, Any]) -> None:
    test_federation_yaml.read_and_compare(document)


@INPUTS
@given(test_other_files.DOCUMENTS)
def test_files_of_other_tools(document: dict[str, Any]) -> None:
    test_other_files.read_all_as(document)
