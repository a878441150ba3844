"""What the shell offers behind TAB: names that Guardian itself knows.

A shell that waits is worse than one that offers nothing: what does not answer within a second, or not at all, offers
nothing, and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from guardian.cli import contexts
from guardian.cli.tls_options import tls_of
from guardian.client import GuardianClient
from guardian.errors import GuardianError
from guardian.model.text import escaped

_PATIENCE_S = 1.0
_MOST = 200

Offer = tuple[str, str]  # what is offered, and what it is


def clusters(client: GuardianClient) -> Sequence[Offer]:
    return [(cluster.name, f"{len(cluster.brokers)} brokers") for cluster in client.list_clusters()]


def tickets(client: GuardianClient) -> Sequence[Offer]:
    """Newest first."""
    found = client.ticket_page(size=_MOST).tickets
    return [(each.id, f"{each.kind} of {each.cluster}, {each.state.name}") for each, _ in found]


def members(client: GuardianClient) -> Sequence[Offer]:
    return [(member.name, "voter" if member.is_voter else "learner") for member in client.raft_members()]


# By the name of a command's parameter.
OFFERS: dict[str, Callable[[GuardianClient], Sequence[Offer]]] = {
    "cluster": clusters,
    "clusters": clusters,
    "ticket": tickets,
    "ticket_id": tickets,
    "member": members,
    "to": members,
    "old": members,
}


def offering(make: Callable[[GuardianClient], Sequence[Offer]]) -> Callable[[typer.Context, str], list[Offer]]:
    """Make a function for typer's `autocompletion`, which offers what `make` returns."""

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        try:
            found = contexts.choose(ctx.params.get("endpoints") or "", ctx.params.get("context") or "")
            typed = tuple(str(ctx.params.get(name) or "") for name in ("ca", "certificate", "tls_key"))
            tls = tls_of((typed[0], typed[1], typed[2]), found.context)
            with GuardianClient(found.endpoints, timeout_s=_PATIENCE_S, tls=tls) as client:
                return [(name, escaped(help)) for name, help in make(client) if name.startswith(incomplete)]
        except GuardianError:
            return []

    return complete


def context_names(incomplete: str) -> list[Offer]:
    """Offer the contexts of the file, and the federation that `guardian local` started here."""
    try:
        known = [*contexts.load().contexts.values(), *filter(None, [contexts.local()])]
    except GuardianError:
        return []
    return [(each.name, ", ".join(each.endpoints)) for each in known if each.name.startswith(incomplete)]
