"""Documents of the federation, such as the roles: checked by the very parser that reads the file of a member.

So what one of them takes the other one takes, and nothing is stored that members could not use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from guardian.errors import InvalidInput
from guardian.model.federation import APPROVAL_POLICY, ROLES, SharedDocument
from guardian.model.text import require_printable
from guardian.model.tickets.approval import ApprovalPolicy, approvals_of
from guardian.security.model.roles import stored_roles
from guardian.tickets.kinds.registry import HAVE_SIZE


def policy_of(table: Mapping[str, Any]) -> ApprovalPolicy:
    """Return the approval policy with these settings. Raises InvalidInput."""
    return approvals_of(table, HAVE_SIZE)


_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {ROLES: stored_roles, APPROVAL_POLICY: policy_of}


def _texts(value: object) -> Iterator[str]:
    """Yield every name and text: JSON writes out what a request may not hold raw."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from (str(name), *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def require_usable(document: SharedDocument) -> None:
    """Raises InvalidInput, with the setting, its value and the fix, where a member could not use the document."""
    for text in _texts(document.table):
        require_printable(document.name, text)
    try:
        _PARSERS[document.name](document.table)
    except InvalidInput as error:
        raise InvalidInput(f"{document.name}: {error}") from None
