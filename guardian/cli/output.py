"""How a command's result is written: chosen once for the process, by -o, before the command runs.

    what is typed    what the command is told    how it is written
    table            TABLE                       aligned columns
    wide             TABLE                       the same, with what print_table was told is for wide (output_more.py)
    json             JSON                        render.print_json
    yaml             JSON                        the same value as YAML

So a command knows two kinds of readers, people and programs, and each new one understands all four.
"""

from __future__ import annotations

from enum import StrEnum


class Output(StrEnum):
    """What is typed behind -o."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


_chosen = Output.TABLE


def choose(output: Output | None) -> Output | None:
    """Remembers how to write, and says which kind of reader that is. None (a shell that completes) stays None."""
    global _chosen  # noqa: PLW0603  a process has one standard output
    if output is None:
        return None
    _chosen = output
    if output is Output.YAML:
        return Output.JSON
    return Output.TABLE if output is Output.WIDE else output


def is_wide() -> bool:
    return _chosen is Output.WIDE


def is_yaml() -> bool:
    return _chosen is Output.YAML
