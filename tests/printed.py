"""Reads what a command of Guardian printed."""

from collections.abc import Sequence

from typer.testing import Result


def printed(result: Result, words: Sequence[str]) -> str:
    """Give what a person saw of a command; of one that was asked for JSON, only what a program parses.

    A busy machine has progress lines on standard error, which ``Result.output`` has between the lines of JSON.
    """
    return result.stdout if "json" in words else result.output
