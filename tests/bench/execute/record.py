"""What a run of some parts makes of the file that holds the rows of all. Pure.

A row stays until its part is measured again, so each says when it was measured (`at`, ISO 8601) and at which commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.bench.execute.bars import IDS_OF_PART, MEASURES
from tests.bench.report import Row

Record = Mapping[str, Any]


def missing(parts: Collection[str], measured: Collection[str]) -> list[str]:
    """The ids that these parts are there for and that nobody measured."""
    return [name for part in parts for name in IDS_OF_PART[part] if name not in measured]


def merged(
    stored: Record, parts: Mapping[str, Any], rows: Sequence[Row], *, at: str, commit: str, cpus: int | None
) -> dict[str, Any]:
    """`parts` are those measured, with what they tell besides; `stored` may be empty. What is stored of other parts
    stays; of a file whose rows do not say it themselves, they are as old as the file."""
    known = {"at": stored.get("at", ""), "commit": ""}
    measured = {name for part in parts for name in IDS_OF_PART[part]}
    found = {row["measure"]: {**known, **row} for row in stored.get("rows", ()) if row["measure"] not in measured}
    found |= {row.measure.id: {**row.to_json(), "at": at, "commit": commit} for row in rows}
    told = {part: stored[part] for part in IDS_OF_PART if part in stored}
    return {
        "rows": [found[measure.id] for measure in MEASURES if measure.id in found],
        "at": at,
        "cpus": cpus,
        **told,
        **parts,
    }


def kept(record: Record, parts: Collection[str]) -> list[str]:
    """A line for each row that is of another run."""
    measured = {name for part in parts for name in IDS_OF_PART[part]}
    return [
        f"{row['measure']}: {'ok' if row['ok'] else 'MISSED'} on {row['at'] or 'an unknown day'} at "
        f"{row['commit'] or 'an unknown commit'}"
        for row in record["rows"]
        if row["measure"] not in measured
    ]
