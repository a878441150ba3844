"""One service for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.rest.service import Service


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()
