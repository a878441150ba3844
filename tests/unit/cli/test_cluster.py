"""`guardian cluster`: what an operator types is refused with the fix before anybody is asked."""

from __future__ import annotations

import pytest

from guardian.cli.cluster import add
from guardian.errors import InvalidInput


@pytest.mark.parametrize("broker", ["x", "-1", "99999999999", "9" * 5000])
def test_a_broker_that_is_no_id_is_refused(broker: str) -> None:
    with pytest.raises(InvalidInput, match=r"--reporter names broker .*: use the broker's number"):
        add("live", "h:9092", reporter=[f"{broker}=h:1"])
