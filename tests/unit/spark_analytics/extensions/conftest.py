"""Each test sees only what it installs itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_analytics.extensions import installed
from tests.unit.spark_analytics.extensions.acme import installed_into


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    installed.installed.cache_clear()
    yield
    installed.installed.cache_clear()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of tests/goal_package, for PYTHONPATH."""
    return installed_into(tmp_path_factory.mktemp("acme"))


@pytest.fixture
def acme(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is installed in this process."""
    monkeypatch.syspath_prepend(str(site))
