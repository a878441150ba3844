"""A cluster without partitions and without samples had Infinity in the JSON of its state (cruise-control #1095)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn

import pytest

from guardian.lake.model.recent_rates import Rates
from tests.unit.rest.service import Service

PATH = "/clusters/live/kafkacruisecontrol"


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    service.rates = Rates({}, {}, {}, {})
    service.member.kafka.delete_topic("t")
    yield service
    service.stop()


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize(
    "path",
    [
        "/state?json=true&verbose=true",
        "/load?json=true&populate_disk_info=true",
        "/partition_load?json=true",
        "/kafka_cluster_state?json=true&verbose=true",
    ],
)
def test_what_is_told_of_nothing_is_json(service: Service, path: str) -> None:
    answer = service.web.get(PATH + path)
    assert answer.status_code == 200, answer.text
    json.loads(answer.text, parse_constant=refuse)
