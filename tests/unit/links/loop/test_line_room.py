"""The lake's lines: 6 MB a minute from sh to sz, 3 MB back by replication, nothing written after its hour; as many
megabytes as a test says are read by a consumer, in sz or in no known network, on brokers in sh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from guardian.activity.rules.database import Question
from guardian.activity.store.store import ActivityStore
from guardian.links.loop.line_room import LineRoom
from guardian.model.topology import Broker, Cluster
from tests.unit.member.lake import CLUSTER, MB, MINUTE_MS, TO_MS, write_lake

LINES = '[[lines]]\nbetween = ["sh", "sz"]\ngbit_per_s = 0.008\n\n[[lines]]\nbetween = ["sh", "bj"]\nprice_gb = 1.0\n'
SHARE = 0.8
TO_SZ, TO_SH = ("sh", "sz"), ("sz", "sh")
NONE_LEFT = {TO_SZ: 0.0, TO_SH: 0.0}


SZ, SH, NOWHERE = 1, 0, -1  # as questions name places


class Consumer:
    """Stands for the activity store: who reads `read_mb` a minute in each of the last minutes; None: nobody asks."""

    def __init__(self, read_mb: int, client_idc: int) -> None:
        self.read_mb: int | None = read_mb
        self.client_idc = client_idc

    def ask(self, question: Question) -> list[dict[str, Any]]:
        if self.read_mb is None:
            return []
        place = {"broker_idc": SH, "client_idc": self.client_idc, "operation": "READ", "blind": 0}
        columns = question.sql.partition(" FROM ")[0]
        if "principal" in columns:
            return []
        if "resource" in columns:
            return [{**place, "resource": "t", "sum_bytes": 3 * self.read_mb * MB}]
        begins = [cast("int", question.parameters["from_ms"]) + minute * MINUTE_MS for minute in range(3)]
        return [
            {
                **place,
                "from_time": datetime.fromtimestamp(begin / 1000, UTC),
                "duration_ms": MINUTE_MS,
                "sum_bytes": self.read_mb * MB,
            }
            for begin in begins
        ]


class Watched:
    """A room whose clock, links file and clients the test moves."""

    def __init__(
        self,
        lake: Path,
        links_file: Path | None,
        clusters: Sequence[Cluster] = (CLUSTER,),
        consumer: Consumer | None = None,
        *,
        without_clients: bool = False,
    ) -> None:
        self.now_ms = TO_MS
        self.room = LineRoom(
            lambda: list(clusters),
            str(lake),
            cast("ActivityStore | None", consumer),
            links_file,
            SHARE,
            0,
            lambda: self.now_ms,
            without_clients,
        )


@pytest.fixture
def links_file(tmp_path: Path) -> Path:
    path = tmp_path / "links.toml"
    path.write_text(LINES)
    return path


@pytest.fixture
def watched(tmp_path: Path, links_file: Path) -> Watched:
    write_lake(tmp_path / "lake")
    return Watched(tmp_path / "lake", links_file, consumer=Consumer(12, SZ))


def test_what_clients_and_replication_leave_is_for_moves_and_a_line_without_a_limit_is_left_out(
    watched: Watched,
) -> None:
    assert watched.room.tick() == []
    assert watched.room.room() == pytest.approx({TO_SZ: 500_000.0, TO_SH: 750_000.0}, rel=0.01)


def test_where_nobody_keeps_what_clients_do_lines_have_no_room_and_it_is_said(
    watched: Watched, tmp_path: Path, links_file: Path
) -> None:
    """Consumers may fill them, and nobody would see it."""
    blind = Watched(tmp_path / "lake", links_file)
    (said,) = blind.room.tick()
    assert said == (
        "moves take their least over sh to sz and sz to sh: audit.url is not set, so that nobody knows what clients "
        "move over lines; set it for all members, or throttle.fill_lines_without_client_activity"
    )
    assert blind.room.room() == NONE_LEFT


def test_who_says_so_fills_lines_as_if_there_were_no_clients(
    watched: Watched, tmp_path: Path, links_file: Path
) -> None:
    bold = Watched(tmp_path / "lake", links_file, without_clients=True)
    assert bold.room.tick() == []
    assert bold.room.room() == pytest.approx({TO_SZ: 700_000.0, TO_SH: 750_000.0}, rel=0.01)


def test_a_store_that_knows_no_client_of_topics_that_move_bytes_tells_nothing_either(
    watched: Watched, tmp_path: Path, links_file: Path
) -> None:
    """Its brokers do not count clients, or their slices come late."""
    consumer = Consumer(12, SZ)
    consumer.read_mb = None
    silent = Watched(tmp_path / "lake", links_file, consumer=consumer)
    (said,) = silent.room.tick()
    assert said == (
        "moves take their least over sh to sz and sz to sh: topics of cluster live moved bytes, and no client of it is "
        "known; give its brokers Guardian's authorizer, or set throttle.fill_lines_without_client_activity"
    )
    assert silent.room.room() == NONE_LEFT


def test_clients_of_no_known_place_count_on_each_line_that_they_may_cross(
    watched: Watched, tmp_path: Path, links_file: Path
) -> None:
    """They read in sh, so that no line towards sh carries it."""
    lost = Watched(tmp_path / "lake", links_file, consumer=Consumer(12, NOWHERE))
    (said,) = lost.room.tick()
    assert said.startswith(
        "clients from addresses in no network count on each line that they may cross: give [networks]"
    )
    assert lost.room.room() == pytest.approx({TO_SZ: 500_000.0, TO_SH: 750_000.0}, rel=0.01)


def test_a_cluster_at_both_ends_that_the_lake_does_not_know_leaves_no_room(
    watched: Watched, tmp_path: Path, links_file: Path
) -> None:
    links_file.write_text(LINES + "gbit_per_s = 0.008\n")
    new = Cluster("new", "h:1", "new", brokers=(Broker(1, idc="sh"), Broker(2, idc="sz")))
    near = Cluster("near", "h:2", "near", brokers=(Broker(1, idc="bj"),))
    both = Watched(tmp_path / "lake", links_file, (CLUSTER, new, near), Consumer(12, SZ))
    (said,) = both.room.tick()
    assert said == (
        "moves take their least over sh to sz and sz to sh: the lake tells nothing of cluster new in the last minutes"
    )
    assert both.room.room() == NONE_LEFT | {("sh", "bj"): 800_000.0, ("bj", "sh"): 800_000.0}


def test_a_member_that_begins_to_lead_leaves_no_room_until_it_has_looked(watched: Watched) -> None:
    assert watched.room.room() == NONE_LEFT
    watched.room.tick()
    assert min(watched.room.room().values()) > 0
    watched.now_ms += 3 * MINUTE_MS  # somebody else led meanwhile
    assert watched.room.room() == NONE_LEFT


def test_lines_that_were_taken_out_of_the_file_limit_nothing_any_more(watched: Watched, links_file: Path) -> None:
    watched.room.tick()
    links_file.write_text('currency = "EUR"\n')
    assert watched.room.tick() == []
    assert watched.room.room() == {}


def test_a_lake_that_has_stopped_leaves_no_room(watched: Watched) -> None:
    watched.room.tick()
    watched.now_ms = TO_MS + 60 * MINUTE_MS
    (said,) = watched.room.tick()
    assert said == (
        "moves take their least over sh to sz and sz to sh: the lake tells nothing of cluster live in the last minutes"
    )
    assert watched.room.room() == NONE_LEFT


def test_a_links_file_that_became_wrong_leaves_no_room_until_it_is_right_again(
    watched: Watched, links_file: Path
) -> None:
    watched.room.tick()
    links_file.write_text(LINES.replace("0.008", "-1"))
    (said,) = watched.room.tick()
    assert "gbit_per_s" in said
    assert watched.room.room() == NONE_LEFT
    links_file.write_text(LINES)
    assert watched.room.tick() == []
    assert min(watched.room.room().values()) > 0


def test_a_line_that_is_used_beyond_its_share_has_no_room_rather_than_less(watched: Watched, links_file: Path) -> None:
    links_file.write_text(LINES.replace("0.008", "0.0005"))
    watched.room.tick()
    assert watched.room.room()[TO_SZ] == 0.0


def test_without_a_links_file_nothing_is_limited(tmp_path: Path) -> None:
    watched = Watched(tmp_path, None)
    assert watched.room.tick() == []
    assert watched.room.room() == {}
