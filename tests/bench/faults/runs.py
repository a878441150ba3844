"""Keeps what brokers did: one line of JSON a run of a fault, from which any later predictor can be judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guardian.model.faults.stories import NAMED, Roles
from guardian.model.faults.times import Times
from tests.integration.predictions.happening import Happened, Readers
from tests.integration.predictions.lab import TIMES
from tests.integration.predictions.settings import OF_OTHER_CLIENTS, SETTINGS, Setting

_BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in (*SETTINGS, *OF_OTHER_CLIENTS)}
Key = tuple[str, bool, int]


@dataclass(frozen=True, slots=True)
class Run:
    """One fault on real brokers. `fault` is its name in the matrix, `boots_s` the seconds that each broker took from
    its start until it had loaded its logs, `day` when it was, as 2026-11-30."""

    fault: str
    elr: bool
    repeat: int
    day: str
    roles: Roles
    boots_s: tuple[float, ...]
    happened: Mapping[Setting, Happened]

    @property
    def key(self) -> Key:
        return self.fault, self.elr, self.repeat

    @property
    def title(self) -> str:
        return f"{self.fault}: {NAMED[self.fault](self.roles).name}"

    @property
    def times(self) -> Times:
        """Return the intervals of the lab, in which brokers start as fast as they did."""
        return replace(TIMES, boot_s=(min(self.boots_s), max(self.boots_s))) if self.boots_s else TIMES

    @staticmethod
    def of_json(document: Mapping[str, Any]) -> Run:
        """Return the run of which `to_json` made this; older ones lack readers and ELRs. Raises KeyError or ValueError
        for another document."""
        readers = {name: Readers(*each) for name, each in document.get("readers", {}).items()}
        elrs = {name: frozenset(map(tuple, each)) for name, each in document.get("elrs", {}).items()}
        (leader, *followers), controllers = document["brokers"], document["controllers"]
        return Run(
            fault=document["fault"],
            elr=document["elr"],
            repeat=document["repeat"],
            day=document["day"],
            roles=Roles(leader, tuple(followers), tuple(controllers)),
            boots_s=tuple(document["boots_s"]),
            happened={
                _BY_NAME[name]: Happened(
                    acked, frozenset(range(lost)), silent_s, readers.get(name), elrs.get(name, frozenset())
                )
                for name, (acked, lost, silent_s) in document["topics"].items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "fault": self.fault,
            "elr": self.elr,
            "repeat": self.repeat,
            "day": self.day,
            "brokers": list(self.roles.brokers),
            "controllers": list(self.roles.controllers),
            "boots_s": [round(each, 2) for each in self.boots_s],
            "topics": {
                setting.name: [each.acked, len(each.lost), round(each.silent_s, 2)]
                for setting, each in self.happened.items()
            },
            "readers": {
                setting.name: [each.readers.lost, round(each.readers.silent_s, 2)]
                for setting, each in self.happened.items()
                if each.readers
            },
            "elrs": {setting.name: sorted(each.elrs) for setting, each in self.happened.items() if each.elrs},
        }


def recorded(path: Path) -> Iterator[Run]:
    """Yield the runs of a file, none if it is missing. Raises KeyError or ValueError for another file."""
    if path.exists():
        for line in path.read_text().splitlines():
            yield Run.of_json(json.loads(line))


def keep(path: Path, run: Run) -> None:
    """Append a run to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(run.to_json()) + "\n")


def latest(runs: Iterable[Run]) -> list[Run]:
    """Return the last run of each fault, ELR and repeat."""
    return list({run.key: run for run in runs}.values())
