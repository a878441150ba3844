"""`guardian cluster`: what an operator types is refused with the fix before anybody is asked."""

from __future__ import annotations

import pytest

from guardian.cli.cluster import add
from guardian.errors import InvalidInput


@pytest.mark.parametrize("broker", ["x", "-1", "99999999999", "9" * 5000])
def test_a_broker_that_is_no_id_is_refused(broker: str) -> None:
    with pytest.raises(InvalidInput, match=r"--reporter names broker .*: use the broker's number"):
        add("live", "h:9092", reporter=[f"{broker}=h:1"])


def test_a_state_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--state is 'asleep': use one of active, draining, maintenance"):
        add("live", "h:9092", state=["1=asleep"])
