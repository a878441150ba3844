"""An operation as people read it: its phase, and where each broker stands."""

from __future__ import annotations

from guardian.cli.output_more import more_of
from guardian.cli.printing import echo
from guardian.cli.render import human_time, print_table
from guardian.model.operation import BrokerWork, Operation


def show_operation(operation: Operation) -> None:
    echo(f"Phase {operation.phase.name.lower().replace('_', ' ')} since {human_time(operation.since_ms)}.")
    if operation.batch:
        echo(f"Batch: {', '.join(map(str, operation.batch))}.")
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
            for line in work.hook.output.splitlines():
                echo(f"Hook for {work.node} said: {line}")
    echo()


def _hook(work: BrokerWork) -> str:
    run = work.hook
    if run is None:
        return ""
    how = "under way" if not run.ended_at_ms else "done" if run.is_ok else "failed"
    return f"{run.action}, attempt {run.attempt}: {how}"
