"""Which plans can't be tickets yet, and what an operator does instead. Pure.

Tickets use brokers that are there. A plan that counts on machines which have not joined yet is carried out when they
have.
"""

from __future__ import annotations

from guardian.model.directory import Directory
from guardian.model.plan import Plan
from guardian.planning.orders import IsolateOrder, OrderedTask


def warning(task: OrderedTask, directory: Directory) -> str:
    """Say before anything is planned why it can be no ticket; empty where it can."""
    if isinstance(task, IsolateOrder) and task.from_pool and directory.free_machines():
        return "A plan that takes machines of the pool can't become a ticket before they have joined the cluster."
    return ""


def instead_of_ticket(plan: Plan, directory: Directory) -> tuple[str, ...]:
    """Say why the plan can't be a ticket and how it is carried out, a sentence each; none: it can be one."""
    joining = _joining(plan, directory)
    if joining:
        brokers = f"{'broker' if len(joining) == 1 else 'brokers'} {', '.join(map(str, joining))}"
        return (
            f"It can't become a ticket before {brokers} joined cluster {plan.cluster}: start the machines as its notes "
            "say, register the cluster again (guardian cluster add), and plan again without --from-pool.",
        )
    return ()


def _joining(plan: Plan, directory: Directory) -> list[int]:
    """Brokers that the plan uses and the cluster does not have; a cluster whose brokers are not known has all."""
    cluster = directory.cluster(plan.cluster)
    if cluster is None or not cluster.brokers:
        return []
    known = {broker.id for broker in cluster.brokers}
    before = {broker for move in plan.moves for broker in move.original_brokers}
    return sorted({broker for move in plan.moves for broker in move.target_brokers} - known - before)
