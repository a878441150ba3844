"""The embedded ClickHouse as members have it: one process for all of a folder, that may die at any moment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from guardian.activity.rules import questions, schema
from guardian.activity.rules.database import Question, prepare
from guardian.activity.store.embedded import EmbeddedDatabase
from guardian.activity.store.store import ActivityStore, Position
from guardian.errors import InvalidInput
from protos.guardian.v1.reporter_pb2 import ActivitySlice, MetricBatch
from tests.freezing import await_end
from tests.integration.faults.disks import SmallDisk
from tests.patience import until

pytestmark = pytest.mark.integration

AT_MS = 2_214_475_200_000  # in 2040: no retention ends it
LIFE = 2_214_000_000_000
USES = 50
MEMORY_MB = 500


def workers(folder: Path) -> list[int]:
    """The processes that serve the folder."""
    found = []
    wanted = f"guardian.activity.store.worker\0{folder}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def batch(*numbers: int, broker: int = 1) -> MetricBatch:
    slices = [
        ActivitySlice(
            number=number,
            from_ms=AT_MS + number * 1000,
            to_ms=AT_MS + (number + 1) * 1000,
            strings=["User:alice", "TOPIC", "READ", *(f"topic-{use}" for use in range(USES))],
            principals=[0] * USES,
            client_ids=[0] * USES,
            addresses=[0] * USES,
            resource_types=[1] * USES,
            resources=range(3, 3 + USES),
            operations=[2] * USES,
            allowed=[1] * USES,
            denied=[0] * USES,
        )
        for number in numbers
    ]
    return MetricBatch(broker_id=broker, broker_started_at_ms=LIFE, collected_at_ms=AT_MS, activity=slices)


@contextmanager
def opened(folder: Path, flush_s: float = 0.05) -> Iterator[ActivityStore]:
    with closing(ActivityStore(EmbeddedDatabase(folder, MEMORY_MB), 30, flush_s)) as store:
        store.start()
        until(lambda: store.position("live", 1) is not None)
        yield store


def rows_by_slice(store: ActivityStore) -> dict[int, int]:
    found = store.ask(Question("SELECT slice, count() AS rows FROM activity GROUP BY slice"))
    return {row["slice"]: row["rows"] for row in found}


def test_members_of_a_host_share_one_process_which_ends_with_the_last_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "activity"
    with opened(folder) as second:
        with opened(folder) as first:
            assert len(workers(folder)) == 1
            first.write("live", batch(1))
            until(lambda: first.position("live", 1) == Position(LIFE, 1))
        assert len(workers(folder)) == 1
        second.write("live", batch(1, 2))
        until(lambda: second.position("live", 1) == Position(LIFE, 2))
        assert rows_by_slice(second) == {1: USES + 1, 2: USES + 1}
    until(lambda: not workers(folder))


def test_a_killed_worker_costs_no_slice_and_doubles_none(tmp_path: Path) -> None:
    folder = tmp_path / "activity"
    with opened(folder) as store:
        for round_ in range(5):
            first = round_ * 20 + 1
            # One by one, so that the kill may fall into any moment of an insert.
            for number in range(first, first + 20):
                store.write("live", batch(number))
                if number == first + 10:
                    (worker,) = workers(folder)
                    os.kill(worker, signal.SIGKILL)
            await_end(worker)
            reached = Position(LIFE, first + 19)
            until(lambda: store.position("live", 1) == reached)  # noqa: B023  it is asked for in this round only
        assert rows_by_slice(store) == dict.fromkeys(range(1, 101), USES + 1)


def test_a_killed_member_leaves_no_worker_and_what_it_stored(tmp_path: Path) -> None:
    folder = tmp_path / "activity"
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from guardian.activity.rules.database import prepare\n"
        "from guardian.activity.store.embedded import EmbeddedDatabase\n"
        f"database = EmbeddedDatabase(Path({str(folder)!r}), {MEMORY_MB})\n"
        "prepare(database, 30)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    member = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert member.stdout is not None
        assert member.stdout.readline() == b"ready\n"
        assert len(workers(folder)) == 1
    finally:
        member.kill()
        member.wait()
    until(lambda: not workers(folder))
    with closing(EmbeddedDatabase(folder, MEMORY_MB)) as database:
        assert database.query(questions.first_slice("live")) == []


def test_a_full_disk_makes_slices_wait_and_they_are_stored_when_there_is_room(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "small", mib=64) as disk, opened(tmp_path / "small" / "activity") as store:
        store.write("live", batch(1))
        until(lambda: store.position("live", 1) == Position(LIFE, 1))
        disk.fill(leave_mib=0)
        store.write("live", batch(*range(2, 40)))
        until(lambda: store.status().failed_inserts)
        assert store.position("live", 1) == Position(LIFE, 1)
        disk.free()
        until(lambda: store.position("live", 1) == Position(LIFE, 39))
        assert rows_by_slice(store) == dict.fromkeys(range(1, 40), USES + 1)


def test_a_table_of_version_1_is_brought_up_to_date_with_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "activity"
    first = re.sub(r",\n  PROJECTION by_day.*?address\)", "", schema.create_table(30), flags=re.DOTALL)
    first = re.sub(r",\n  day Date[^\n]*", ",", first).replace(schema.comment(), "guardian activity, schema 1")
    assert "day " not in first.replace("by_day", "")
    with closing(EmbeddedDatabase(folder, MEMORY_MB)) as database:
        database.execute(first)
        columns = ", ".join(schema.COLUMNS)
        database.execute(
            f"INSERT INTO activity ({columns}) SELECT 'live', 1, {LIFE}, 1, fromUnixTimestamp64Milli({AT_MS}), 1000,"
            " 'TOPIC', 'old', 'READ', 'User:bob', 'app', '10.0.0.9', 3, 0, 0, 0, false, 0, 0"
        )
    with opened(folder) as store:
        store.write("live", batch(1, broker=2))
        until(lambda: store.position("live", 2) == Position(LIFE, 1))
        found = {row["resource"]: row["principal"] for row in store.ask(questions.uses("live", AT_MS))}
        assert found["old"] == "User:bob"
        assert found["topic-7"] == "User:alice"
        assert store.ask(questions.uses("live", AT_MS + 2000)) == []
        (from_there,) = store.ask(questions.uses_from("live", ["10.0.0.9", "10.0.0.8"], AT_MS))
        assert (from_there["address"], from_there["resource"]) == ("10.0.0.9", "old")
        asked = questions.topic_last_uses("live", 0)
        assert {row["resource"] for row in store.ask(asked)} >= {"old", "topic-0"}
        plan = store.ask(Question(f"EXPLAIN {asked.sql}", asked.parameters))
        assert any("by_day" in row["explain"] for row in plan)
    with opened(folder) as again:
        assert len(rows_by_slice(again)) == 1


def test_a_folder_that_can_not_be_made_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"audit\.url"):
        EmbeddedDatabase(tmp_path / "file" / "activity", MEMORY_MB)


def test_a_path_of_any_length_can_be_served(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 200) / "activity"
    with closing(EmbeddedDatabase(folder, MEMORY_MB)) as database:
        prepare(database, 30)
