"""An operation as people read it: its phase, and where each broker stands."""

from __future__ import annotations

from guardian.cli.output_more import more_of
from guardian.cli.render import human_time, print_table
from guardian.core.operations.turn import named
from guardian.model.operation import Ask, BrokerWork, Operation


def describe_ask(ask: Ask) -> str:
    """What somebody who approves the ticket lets happen; the revision counts how often it was amended."""
    parts = [named(ask.brokers) if ask.brokers else "", named(ask.controllers, "controller") if ask.controllers else ""]
    hook = f", by hook {ask.hook}" if ask.hook else ""
    level = ask.metadata_version or "the highest level that all nodes support"
    end = f" At its end metadata.version is raised to {level}, which can't be taken back." if ask.finalize else ""
    return f"It asks for {' and '.join(filter(None, parts))}{hook} (revision {ask.revision}).{end}"


def show_operation(operation: Operation) -> None:
    print(f"Phase {operation.phase.name.lower().replace('_', ' ')} since {human_time(operation.since_ms)}.")
    if operation.batch:
        print(f"Batch: {', '.join(map(str, operation.batch))}.")
    print_table(
        ("NODE", "STANDS", "EXCLUDED", "HOOK", "DETAIL"),
        [
            (
                f"{work.node} (controller)" if work.is_controller else str(work.node),
                work.standing.name.lower().replace("_", " "),
                "by this ticket" if work.is_excluded else "",
                _hook(work),
                work.detail,
            )
            for work in operation.brokers
        ],
        more=more_of(operation.brokers, "state_before", "down_since_ms", "was_down"),
    )
    for work in operation.brokers:
        if work.hook is not None and work.hook.output:
            print(f"Hook for {work.node} said: {work.hook.output}")
    print()


def _hook(work: BrokerWork) -> str:
    run = work.hook
    if run is None:
        return ""
    how = "under way" if not run.ended_at_ms else "done" if run.is_ok else "failed"
    return f"{run.action}, attempt {run.attempt}: {how}"
