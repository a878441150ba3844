"""Strimzi's operator reads the reason of a failure of an answer 500 only, and a result of 200 or 202.

Any other status is told to its user as "Unexpected status code N" and nothing else. A broker that does not exist is
known by "IllegalArgumentException" and "does not exist." in errorMessage (strimzi #10631).
"""

from __future__ import annotations

import pytest

from guardian.errors import ClusterUnavailable, Conflict, GuardianError, InvalidInput
from tests.unit.rest.service import Service

PATH = "/clusters/live/kafkacruisecontrol"


@pytest.mark.parametrize(
    ("failure", "url"),
    [
        pytest.param(
            InvalidInput("broker 9 is not in the model of cluster live: name one of 1, 2, 3"),
            "/remove_broker?json=true&dryrun=true&brokerid=9",
            id="a broker that is gone",
        ),
        pytest.param(
            InvalidInput("nothing can be planned"), "/rebalance?json=true&dryrun=true", id="a plan that can't be made"
        ),
        pytest.param(
            ClusterUnavailable("cluster live can't be reached"),
            "/rebalance?json=true&dryrun=true&verbose=true",
            id="the cluster is away",
        ),
        pytest.param(
            Conflict("ticket t-1 holds it"), "/add_broker?json=true&dryrun=true&brokerid=3", id="another is at it"
        ),
    ],
)
def test_the_reason_of_a_failure_reaches_who_uses_strimzi(service: Service, failure: GuardianError, url: str) -> None:
    service.planner.failure = failure
    answer = service.web.post(PATH + url)
    assert answer.status_code == 500, answer.text
    assert str(failure) in answer.json()["errorMessage"]
