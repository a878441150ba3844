"""What a ticket of brokers asks for, in words: who approves it lets all of this happen. Pure."""

from __future__ import annotations

from guardian.execution.operations.registry import OPERATIONS
from guardian.execution.operations.turn import named
from guardian.model.operation import Ask
from guardian.model.units import human_duration


def describe_ask(ask: Ask) -> str:
    """Sentences; the revision counts how often it was amended."""
    parts = [named(ask.brokers) if ask.brokers else "", named(ask.controllers, "controller") if ask.controllers else ""]
    sentences = (
        f"It asks for {' and '.join(filter(None, parts))} (revision {ask.revision}).",
        _what_happens(ask),
        f"Each must be back within {human_duration(ask.back_within_ms)}." if ask.back_within_ms else "",
        "Partitions that can't do without them may be unavailable meanwhile." if ask.accept_unavailable else "",
        _accepted(ask),
        _end(ask),
    )
    return " ".join(filter(None, sentences))


def _accepted(ask: Ask) -> str:
    brokers = [named(ask.accepted_brokers)] if ask.accepted_brokers else []
    names = ", ".join([*ask.accepted_partitions, *brokers])
    return f"It does not wait for what is wrong with {names}." if names else ""


def _what_happens(ask: Ask) -> str:
    hook = f"hook {ask.hook} ([hooks.{ask.hook}] of the members' configuration)"
    who = hook if ask.hook else "a person, who is waited for"
    return OPERATIONS[ask.kind].describe(ask, who)


def _end(ask: Ask) -> str:
    level = ask.metadata_version or "the highest level that all nodes support"
    return f"At its end metadata.version is raised to {level}, which can't be taken back." if ask.finalize else ""
