"""Where a cluster's clients are: known bytes as they are, the rest by requests, and what nobody has told is said."""

from __future__ import annotations

import numpy as np
import pytest

from guardian.links.rules.client_places import ClientPlaces, client_places
from guardian.links.rules.links import MINUTE_MS, ClientTopic, Minutes, Moved
from guardian.model.links import ClientPlace, Crossing

IDCS = {1: "sh", 2: "sz"}
MINUTES = Minutes(0, 4)
PRODUCE, CONSUME = Crossing.PRODUCE, Crossing.CONSUME


def moved(*rows: tuple[int, int, float, float]) -> Moved:
    """(broker, topic, bytes in, bytes out) in each of the minutes 1 and 2; topics are t and u."""
    active = np.array([0.0, 1.0, 1.0, 0.0])
    return Moved(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] * active for row in rows]).reshape(len(rows), 4),
        np.array([row[3] * active for row in rows]).reshape(len(rows), 4),
        ["t", "u"],
    )


def places(found: Moved, *rows: ClientTopic, to_ms: int = 4 * MINUTE_MS) -> ClientPlaces:
    return client_places(found, rows, IDCS, MINUTES, to_ms)


def test_known_bytes_are_told_by_topic_and_the_clients_idc_in_their_own_idc_too() -> None:
    found = places(
        moved((1, 0, 600, 1200)),
        ClientTopic(PRODUCE, "sh", "sh", "t", 1200, 0),
        ClientTopic(CONSUME, "sh", "sz", "t", 2400, 0),
    )
    assert found.places == (ClientPlace("t", "sz", 0.0, 20.0), ClientPlace("t", "sh", 10.0, 0.0))
    assert (found.total, found.unplaced, found.untold) == (30.0, 0.0, 0.0)
    assert [*found.remarks("live", has_networks=True)] == []


def test_what_nobody_counted_is_divided_by_requests() -> None:
    found = places(
        moved((1, 0, 600, 0), (2, 0, 300, 0)),
        ClientTopic(PRODUCE, "sh", "sh", "t", 0, 1),
        ClientTopic(PRODUCE, "sh", "sz", "t", 0, 3),
        ClientTopic(PRODUCE, "sz", "sz", "t", 600, 5),
    )
    assert {each.idc: each.produced for each in found.places} == pytest.approx({"sh": 2.5, "sz": 7.5 + 5.0})


def test_clients_in_no_network_and_topics_that_nobody_tells_of_are_said() -> None:
    found = places(moved((1, 0, 600, 0), (1, 1, 0, 600)), ClientTopic(PRODUCE, "sh", "", "t", 1200, 0))
    assert found.places == ()
    assert (found.unplaced, found.untold) == (10.0, 10.0)
    without, untold = found.remarks("live", has_networks=False)
    assert without == (
        "clients of live move 10 B/s from addresses in no network: give [networks] in the file that `links` names"
    )
    assert untold == "nobody has told who moves 10 B/s of live's topics: these are not in it"


def test_a_topic_that_did_not_move_has_no_clients() -> None:
    assert places(moved()) == ClientPlaces()
    assert places(moved((1, 0, 0, 0)), ClientTopic(PRODUCE, "sh", "sh", "t", 5, 0)) == ClientPlaces()


def test_rates_are_of_the_time_in_which_anything_moved() -> None:
    found = places(moved((1, 0, 600, 0)), ClientTopic(PRODUCE, "sh", "sh", "t", 1200, 0), to_ms=2 * MINUTE_MS)
    assert found.places[0].produced == 20.0
