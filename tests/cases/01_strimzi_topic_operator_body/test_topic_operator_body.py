"""Strimzi's Topic Operator sends a change of `spec.replicas` of a KafkaTopic in the body of its request."""

from __future__ import annotations

from guardian.model.tasks import ReplicationFactor
from tests.unit.rest.service import Service

BODY = {"replication_factor": {"topic_by_replication_factor": {"3": "t"}}}
PATH = "/clusters/live/kafkacruisecontrol/topic_configuration?skip_rack_awareness_check=true&dryrun=false&json=true"


def test_the_body_of_topic_configuration_is_read(service: Service) -> None:
    answer = service.web.post(PATH, json=BODY)
    assert answer.status_code in (200, 202), answer.text
    assert [task for task, _ in service.planner.asked] == [ReplicationFactor(("t",), 3)]
