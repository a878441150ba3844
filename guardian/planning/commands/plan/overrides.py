"""How even and how dear a plan shall be, as the command line says it: on top of the members' settings, or of none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from guardian import config
from guardian.cli.options import ThrottleOption
from guardian.client import GuardianClient
from guardian.model.planner_settings import PlannerSettings
from guardian.model.units import parse_bytes, parse_duration_ms, parse_rate
from guardian.planning.commands.planner_settings import SettingsOption, planner_settings, section_of


@dataclass(frozen=True, slots=True)
class Overrides:
    """`changes` are settings by name; `exclude_topics` are left out besides those that are excluded anyway."""

    file: Path | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    exclude_topics: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        target_spread: Annotated[
            float | None,
            typer.Option(
                "--target-spread",
                help="How even brokers shall be, as max/mean - 1: the larger, the less is copied.",
                show_default="about 0.08, by resource",
            ),
        ] = None,
        max_bytes: Annotated[
            str,
            typer.Option(
                "--max-bytes",
                metavar="SIZE",
                help="The most to copy, such as 500GB: the best plan for it.",
                show_default="any",
            ),
        ] = "",
        max_time: Annotated[
            str, typer.Option("--max-time", help="The most that copying may take, such as 2h.", show_default="any")
        ] = "",
        goals: Annotated[
            list[str] | None,
            typer.Option(
                "--goal",
                "--goals",
                help="A soft goal, by Guardian's or Cruise Control's name; several with commas, or repeated.",
                show_default="all",
            ),
        ] = None,
        exclude_topics: Annotated[
            list[str] | None,
            typer.Option("--exclude-topic", help="Not moved; may end in a star and be repeated.", show_default="none"),
        ] = None,
        throttle: ThrottleOption = "",
        settings: SettingsOption = None,
    ) -> Overrides:
        changes: dict[str, Any] = {}
        if target_spread is not None:
            changes["target_spread"] = target_spread
        if max_bytes:
            changes["max_bytes"] = float(parse_bytes("--max-bytes", max_bytes))
        if max_time:
            changes["max_seconds"] = parse_duration_ms("--max-time", max_time) / 1000
        if goals:
            changes["goals"] = _split(goals)
            config.require_goals("goal", changes["goals"])
        if throttle:
            changes["throttle"] = float(parse_rate("--throttle", throttle))
        found = cls(settings, changes, tuple(exclude_topics or ()))
        found.alone()  # what is wrong is told before anything is read
        return found

    def by_name(self) -> dict[str, Any]:
        """Return the settings that the file and the options say, by name: what wins over a member's own."""
        section = section_of(self.file)
        known = PlannerSettings.of(section)
        return {**{name: getattr(known, name) for name in section}, **self.changes}

    def for_members(self, client: GuardianClient) -> PlannerSettings:
        """Return the settings on top of the members' settings. Raises InvalidInput, Unavailable."""
        return self._on(planner_settings(client, self.file))

    def alone(self) -> PlannerSettings:
        """Return the settings without a member. Raises InvalidInput."""
        return self._on(config.planner_settings(section_of(self.file)))

    def _on(self, settings: PlannerSettings) -> PlannerSettings:
        excluded = tuple(dict.fromkeys((*settings.excluded_topics, *self.exclude_topics)))
        return dataclasses.replace(settings, **self.changes, excluded_topics=excluded)


def _split(goals: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in goals for name in text.split(",") if name.strip())
