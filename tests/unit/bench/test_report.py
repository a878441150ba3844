"""Whether a bar is met is decided here; the figures come from elsewhere."""

import json

import pytest

from tests.bench.metadata.bars import MEASURES, SOAK_MEASURES
from tests.bench.report import Figures, Measure, Row, number, rows, table

_BY_ID = {measure.id: measure for measure in MEASURES}
_OF_SOAK = {measure.id: measure for measure in SOAK_MEASURES}


def _row(name: str, ours: float, peer: float | None = None, fault: str = "") -> Row:
    return Row((_BY_ID | _OF_SOAK)[name], Figures(ours, peer, "", fault))


def test_every_measure_of_issue_4_has_its_bar() -> None:
    assert [(m.id, m.bar, m.bar_on.value, m.better.value) for m in MEASURES] == [
        ("events_100", 1.5, "ratio", "higher"),
        ("events_100_p99", 1.0, "ratio", "lower"),
        ("events_1000", 2.0, "ratio", "higher"),
        ("write_1_p50", 1.5, "ratio", "lower"),
        ("write_16", 1.0, "ratio", "higher"),
        ("pull_1000", 5.0, "ours", "lower"),
        ("pull_10000", 40.0, "ours", "lower"),
        ("failover_p50", 1.5, "ours", "lower"),
        ("failover_worst", 3.0, "ours", "lower"),
    ]
    assert [(m.id, m.bar, m.bar_on.value, m.better.value) for m in SOAK_MEASURES[:3]] == [
        ("restart_s", 10.0, "ours", "lower"),
        ("rss_mb", 1000.0, "ours", "lower"),
        ("snapshot_p99", 3.0, "ratio", "lower"),
    ]


@pytest.mark.parametrize(
    ("row", "is_ok"),
    [
        (_row("events_100", 150.0, 100.0), True),  # "at least 1.5 times"
        (_row("events_100", 149.9, 100.0), False),
        (_row("events_100_p99", 9.9, 10.0), True),
        (_row("events_100_p99", 10.0, 10.0), False),  # "a lower p99"
        (_row("write_1_p50", 1.5, 1.0), True),  # "at most 1.5 times"
        (_row("write_1_p50", 1.6, 1.0), False),
        (_row("write_16", 100.0, 100.0), True),  # "at least etcd's rate"
        (_row("write_16", 99.0, 100.0), False),
        (_row("pull_1000", 4.99, 1.0), True),  # etcd's figure is for information
        (_row("pull_1000", 5.0, 100.0), False),
        (_row("failover_worst", 2.99, None), True),
        (_row("failover_worst", 3.0, None), False),
        (_row("restart_s", 9.9), True),
        (_row("rss_mb", 1000.0), False),
        (_row("snapshot_p99", 29.0, 10.0), True),
        (_row("snapshot_p99", 30.0, 10.0), False),
    ],
)
def test_a_bar_is_met_on_its_own_side_only(row: Row, is_ok: bool) -> None:
    assert row.ok is is_ok


def test_a_fault_is_never_ok_however_good_the_figures() -> None:
    assert _row("failover_p50", 0.5).ok
    assert not _row("failover_p50", 0.5, fault="of 10 acknowledged writes 1 was lost").ok


def test_a_ratio_without_a_peer_meets_no_bar() -> None:
    for peer in (None, 0.0):
        row = _row("events_100", 1e9, peer)
        assert row.ratio is None
        assert not row.ok


def test_the_rows_keep_the_order_of_the_measures_and_leave_out_what_was_not_taken() -> None:
    taken = {"write_16": Figures(2.0, 1.0), "events_100": Figures(3.0, 1.0)}
    assert [row.measure.id for row in rows(MEASURES, taken)] == ["events_100", "write_16"]


def test_the_json_of_a_row_says_all_that_a_reader_of_the_file_needs() -> None:
    said = json.loads(json.dumps(_row("events_100", 120_000.0, 50_000.0).to_json()))
    assert {key: said[key] for key in ("measure", "ours", "peer", "ratio", "better", "bar", "ok")} == {
        "measure": "events_100",
        "ours": 120_000.0,
        "peer": 50_000.0,
        "ratio": 2.4,
        "better": "higher",
        "bar": 1.5,
        "ok": True,
    }
    assert _row("rss_mb", 500.0).to_json()["ratio"] is None


def test_the_table_is_aligned_and_says_what_is_missed_and_why() -> None:
    told = table(
        [
            _row("events_100", 119_650.0, 56_867.0),
            _row("pull_1000", 6.5),
            _row("failover_p50", 0.93, 1.51, fault="of 10 acknowledged writes 1 were lost"),
        ]
    ).splitlines()
    assert told[1].split("  ")[0] == "events_100"
    assert "119,650 /s" in told[1]
    assert "2.10 x" in told[1]
    assert " ok " in told[1]
    assert "MISSED" in told[2]
    assert "MISSED" in told[3]
    assert told[4] == "failover_p50: of 10 acknowledged writes 1 were lost"
    assert len({line.index(word) for line, word in zip(told[:3], ("what", "batches", "a pull"), strict=True)}) == 1


@pytest.mark.parametrize(
    ("value", "text"), [(119_650.4, "119,650 ms"), (42.04, "42.0 ms"), (4.207, "4.21 ms"), (0.0, "0.00 ms")]
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert number(value, "ms") == text


def test_a_measure_tells_its_bar_in_a_few_signs() -> None:
    def bar(measure: Measure) -> str:
        return measure.bar_text

    assert [bar(_BY_ID[name]) for name in ("events_100", "events_100_p99", "write_1_p50", "pull_10000")] == [
        "≥ 1.5 x",
        "< 1 x",
        "≤ 1.5 x",
        "< 40 ms",
    ]
