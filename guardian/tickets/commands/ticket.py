"""`guardian ticket`: plans carried through approval, watched and, if need be, paused, cancelled or rolled back."""

from __future__ import annotations

from collections.abc import Callable

import typer

from guardian.tickets.commands.ticket_changes import (
    adopt,
    amend,
    approve,
    cancel,
    pause,
    reject,
    resume,
    rollback,
    set_throttle,
    wait,
)
from guardian.tickets.commands.ticket_submission import preview, submit
from guardian.tickets.commands.ticket_views import approvals, list_, show, watch
from guardian.tickets.commands.why_approval import why_approval

app = typer.Typer(help="Submit, approve, watch, pause, cancel and roll back tickets.", no_args_is_help=True)

# In the order of `guardian ticket --help`.
_COMMANDS: dict[str, Callable[..., None]] = {
    "submit": submit,
    "list": list_,
    "show": show,
    "approve": approve,
    "reject": reject,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "amend": amend,
    "throttle": set_throttle,
    "adopt": adopt,
    "wait": wait,
    "rollback": rollback,
    "preview": preview,
    "approvals": approvals,
    "why-approval": why_approval,
    "watch": watch,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
