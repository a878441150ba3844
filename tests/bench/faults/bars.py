"""What the fault matrix must show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from tests.bench.faults.rows import Row
from tests.bench.report import BarOn, Better, Figures, Measure

MEASURES = (
    Measure(
        "matrix_faults",
        "faults, each with four settings and more, on real brokers",
        "faults",
        Better.HIGHER,
        15,
        BarOn.OURS,
    ),
    Measure("wrong_lost", "losses foretold for certain that did not come", "topics", Better.LOWER, 0, BarOn.OURS),
    Measure("wrong_safe", "losses where nothing was to be lost", "topics", Better.LOWER, 0, BarOn.OURS),
    Measure("silence_in_band", "silences as long as foretold", "%", Better.HIGHER, 95, BarOn.OURS),
)
_LEAST_SETTINGS = 4


def judged(rows: Iterable[Row]) -> Mapping[str, Figures]:
    """Return a figure a measure. Where there is no row, none of them counts."""
    found = sorted(rows, key=lambda row: row.story)
    settings = {story: {row.setting for row in of} for story, of in groupby(found, key=lambda row: row.story)}
    silences = [row.verdict.in_band for row in found if row.is_silence_foretold]
    waits = [row.verdict.read_in_band for row in found if row.is_silence_foretold and row.happened.readers]
    fault = "" if silences else "nothing was measured"
    read, elr = sum(row.verdict.wrong_read for row in found), sum(row.verdict.wrong_elr for row in found)
    undecided = sum(not row.predicted.is_safe and not row.predicted.is_certain for row in found)
    enough = [story for story, names in settings.items() if len(names) >= _LEAST_SETTINGS]
    return {
        "matrix_faults": Figures(len(enough), None, f"{len(found)} topics", fault),
        "wrong_lost": Figures(
            sum(row.verdict.wrong_lost for row in found), None, f"{undecided} may be lost or not", fault
        ),
        "wrong_safe": Figures(
            sum(row.verdict.wrong_safe for row in found),
            None,
            f"{read} wrong about what readers had, {elr} about who is eligible or leads",
            fault,
        ),
        "silence_in_band": Figures(
            100 * sum(silences) / max(1, len(silences)),
            None,
            f"{len(silences)} silences; {sum(waits)} of {len(waits)} readers waited as long as foretold",
            fault,
        ),
    }
