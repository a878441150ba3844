"""What several of the cases begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.member.member import Member
from tests.unit.rest.service import Service


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


@pytest.fixture
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()
