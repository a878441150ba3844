"""The lake's lines: 6 MB a minute from sh to sz, 3 MB back, nothing written after its hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.server.line_room import LineRoom
from tests.unit.server.lake import CLUSTER, MINUTE_MS, TO_MS, write_lake

LINES = '[[lines]]\nbetween = ["sh", "sz"]\ngbit_per_s = 0.008\n\n[[lines]]\nbetween = ["sh", "bj"]\nprice_gb = 1.0\n'
SHARE = 0.8
TO_SZ, TO_SH = ("sh", "sz"), ("sz", "sh")
NONE_LEFT = {TO_SZ: 0.0, TO_SH: 0.0}


class Watched:
    """A room whose clock and links file the test moves."""

    def __init__(self, lake: Path, links_file: Path | None) -> None:
        self.now_ms = TO_MS
        self.room = LineRoom(lambda: [CLUSTER], str(lake), None, links_file, SHARE, 0, lambda: self.now_ms)


@pytest.fixture
def links_file(tmp_path: Path) -> Path:
    path = tmp_path / "links.toml"
    path.write_text(LINES)
    return path


@pytest.fixture
def watched(tmp_path: Path, links_file: Path) -> Watched:
    write_lake(tmp_path / "lake")
    return Watched(tmp_path / "lake", links_file)


def test_what_clients_and_replication_leave_is_for_moves_and_a_line_without_a_limit_is_left_out(
    watched: Watched,
) -> None:
    assert watched.room.tick() == []
    assert watched.room.room() == pytest.approx({TO_SZ: 700_000.0, TO_SH: 750_000.0}, rel=0.01)


def test_a_lake_that_has_stopped_leaves_no_room(watched: Watched) -> None:
    watched.room.tick()
    watched.now_ms = TO_MS + 60 * MINUTE_MS
    (said,) = watched.room.tick()
    assert "the use of lines can't be told, so moves take their least over them: the lake has no samples from" in said
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
