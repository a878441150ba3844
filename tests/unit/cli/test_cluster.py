"""`guardian cluster`: what an operator types is refused with the fix before anybody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from guardian.cli.cluster import add
from guardian.errors import InvalidInput
from tests.command_line import app
from tests.unit.server.member import Member


@pytest.mark.parametrize("broker", ["x", "-1", "99999999999", "9" * 5000])
def test_a_broker_that_is_no_id_is_refused(broker: str) -> None:
    with pytest.raises(InvalidInput, match=r"--reporter names broker .*: use the broker's number"):
        add("live", "h:9092", reporter=[f"{broker}=h:1"])


def test_a_state_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--state is 'asleep': use one of active, draining, maintenance"):
        add("live", "h:9092", state=["1=asleep"])


def test_cruise_controls_broker_sets_become_labels_and_what_that_means_for_topics_is_said(tmp_path: Path) -> None:
    file = tmp_path / "brokerSets.json"
    file.write_text(
        '{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [1, 2]}, {"brokerSetId": "red", "brokerIds": [3]}]}'
    )
    member = Member()
    try:
        line = ["cluster", "add", "live", "--bootstrap", "h:9092", "--broker-sets", str(file), "--label", "2=green"]
        result = CliRunner().invoke(app, [*line, "--endpoints", member.endpoint], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert "Labels of broker sets: blue, red. Plans keep topics of other labels, and of none, off" in result.output
        known = member.store.read().cluster("live")
        assert known is not None
        assert {broker.id: broker.label for broker in known.brokers} == {1: "blue", 2: "green", 3: "red"}

        file.write_text('{"brokerSets": [{"brokerSetId": "blue", "brokerIds": [9]}]}')
        with pytest.raises(InvalidInput, match="9"):
            CliRunner().invoke(app, [*line, "--endpoints", member.endpoint], catch_exceptions=False)
    finally:
        member.stop()
