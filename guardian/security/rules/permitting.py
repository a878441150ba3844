"""Who may call what: the rule of each RPC, which stands at it in its .proto (protos/guardian/v1/access.proto).

A rule is a role and where one must have it. VIEWER is asked for where nothing changes; OPERATOR where work is asked
for, APPROVER where it is let go; ADMIN where the federation, or Guardian itself, is made another one. Programs of
brokers have a role of their own, and people can't write segment metadata in their place.

An answer that tells of several clusters is cut to those that the caller may see (`is_cut`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from google.protobuf.descriptor import MethodDescriptor

from guardian.errors import NotAllowed
from guardian.model.actor import MAX_NAME_CHARS
from guardian.model.tasks import PlanTask
from guardian.model.topology import Cluster, ClusterSecurity
from guardian.security.model.identity import Identity, Role
from guardian.tickets.kinds.registry import kind_of_task
from protos.guardian.v1 import (
    access_pb2,
    activity_pb2,
    events_pb2,
    federation_pb2,
    identities_pb2,
    insight_pb2,
    placement_pb2,
    planning_pb2,
    protection_pb2,
    raft_pb2,
    sessions_pb2,
    tickets_pb2,
    tiering_pb2,
)
from protos.guardian.v1.access_pb2 import Access


class Where(Enum):
    """Where the role must be held."""

    OPEN = "no role, and nobody need say who he is"
    PROVEN = "no role, but it is known who asks"
    ANYWHERE = "on any cluster"
    EVERYWHERE = "on all clusters"
    CLUSTER = "on the cluster that the request names"
    CLUSTERS = "on those that the request names, which are all where it names none"
    KAFKA_CLUSTERS = "on those whose Kafka ids the request names"
    TICKET = "on the ticket's cluster"
    PLAN = "on the plan's cluster"
    CHANGES = "as each change asks for"


@dataclass(frozen=True, slots=True)
class Rule:
    """`field` is the request's that names the cluster, `who` the one that names who asks, `broker` the one that names
    the broker that asks; empty: none does. With `logs_in` Guardian takes its secrets to where the request says."""

    where: Where
    roles: tuple[Role, ...] = ()
    field: str = "cluster"
    who: str = ""
    broker: str = ""
    logs_in: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """What a request is about: a cluster (empty: none, or all) and, as far as it is known, whose of its tenants. `said`
    is what the request itself says of the cluster where it does not name it."""

    cluster: str = ""
    tenants: frozenset[str] | None = None
    said: str = ""

    def told_to(self, identity: Identity) -> str:
        """Return how a refusal names the cluster: who does not see it is told no more than he said."""
        if self.said and not identity.sees(self.cluster):
            return self.said
        return self.cluster


# What members serve of Guardian's own; BrokerReporter is served by brokers.
_FILES = (
    activity_pb2,
    events_pb2,
    federation_pb2,
    identities_pb2,
    insight_pb2,
    placement_pb2,
    planning_pb2,
    protection_pb2,
    raft_pb2,
    sessions_pb2,
    tickets_pb2,
    tiering_pb2,
)
_ACCESS: Any = access_pb2.access  # its stub says FieldDescriptor, where extensions are asked for
_OF_OTHERS = {
    "/grpc.health.v1.Health/Check": Rule(Where.OPEN),
    "/grpc.health.v1.Health/List": Rule(Where.OPEN),
    "/grpc.health.v1.Health/Watch": Rule(Where.OPEN),
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": Rule(Where.ANYWHERE, (Role.VIEWER,)),
}


def rule_at(method: MethodDescriptor) -> Rule:
    """Return the rule that stands at an RPC. Raises TypeError where none does: nothing is served without."""
    options = method.GetOptions()
    if not options.HasExtension(_ACCESS):
        raise TypeError(f"{method.full_name}: no option (access) says who may call it; add one in its .proto")
    access: Access = options.Extensions[_ACCESS]
    where = Where[Access.Where.Name(access.where)]
    roles = tuple(Role[Access.Role.Name(role)] for role in access.roles)
    if not roles and where not in (Where.OPEN, Where.PROVEN):
        raise TypeError(f"{method.full_name}: its option (access) names no role; name at least one")
    return Rule(where, roles, access.field or "cluster", access.who, access.broker, access.logs_in, access.is_cut)


RPCS: dict[str, Rule] = _OF_OTHERS | {
    f"/{service.full_name}/{method.name}": rule_at(method)
    for file in _FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


def rule_of(method: str) -> Rule:
    """Return the rule of an RPC as gRPC names it. Raises NotAllowed for what the table does not know."""
    rule = RPCS.get(method)
    if rule is None:
        raise NotAllowed(f"permission denied: {method} has no access rule")
    return rule


def require(identity: Identity, roles: tuple[Role, ...], where: Where, places: tuple[Place, ...] = ()) -> None:
    """Raises NotAllowed unless he has one of the roles wherever it must be held. To look, no tenant matters."""
    if where is Where.PROVEN:
        return
    for role in roles:
        if where is Where.ANYWHERE:
            if identity.may_somewhere(role):
                return
        elif where is Where.EVERYWHERE:
            if identity.may(role):
                return
        elif identity.may_somewhere(role) and all(_has(identity, role, place) for place in places):
            return
    raise NotAllowed(_sentence(identity, roles, where, places))


def require_root(identity: Identity) -> None:
    """Raises NotAllowed unless he is admin of everything by the member's file. Who got a role by what is stored can
    make nobody another one, and those of the file stay whatever is stored.
    """
    if not identity.is_root:
        raise NotAllowed(
            f"{identity.name} is not admin of everything by the member's roles file: only such admins change the "
            "stored roles and the stored approval policy; ask one"
        )


def require_labels(identity: Identity, cluster: str, task: PlanTask | None) -> None:
    """Raises NotAllowed for a task that changes labels of brokers, unless he is admin of the cluster."""
    if kind_of_task(task).needs_admin(task):
        require(identity, (Role.ADMIN,), Where.CLUSTER, (Place(cluster),))


def topics_described(task: PlanTask | None) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the topics that the task changes besides their replicas (None: more than it names), and the tenants all of
    whose topics it does."""
    return kind_of_task(task).topics_changed(task)


def require_broker(identity: Identity, broker_id: int, places: tuple[Place, ...]) -> None:
    """Raises NotAllowed unless he may speak for the broker of that id in each place."""
    for place in places:
        if not identity.is_broker(place.cluster, broker_id):
            borne = ", ".join(map(str, identity.brokers)) or "none"
            is_known = identity.sees(place.cluster) or any(each.cluster == place.cluster for each in identity.brokers)
            cluster = place.cluster if is_known else ""
            raise NotAllowed(
                f"{identity.name} can't speak for broker {cluster or 'of an unknown cluster'}/{broker_id}: its "
                f"certificate bears {borne}; issue one with the URI broker:{cluster or 'CLUSTER'}/{broker_id} "
                "(guardian certs issue --broker)"
            )


def require_login(
    identity: Identity,
    asked: Cluster,
    known: Cluster | None,
    allowed_bootstraps: tuple[str, ...],
    registered: Callable[[], Collection[str]],
) -> None:
    """Raises NotAllowed unless he may send Guardian, with its secrets, to where a registration says.

    An admin of everything may. Others may leave a cluster where it is, with the login that it has. Or they may name
    brokers of the list `allowed_bootstraps` (patterns of host:port) and secrets of this cluster, and no other token
    endpoint than it has. `registered` gives the names of all clusters.
    """
    if identity.may(Role.ADMIN):
        return
    if known is not None and _where(asked) == _where(known):
        return
    for field, endpoints in (("bootstrap", asked.bootstrap), ("bootstrap_controllers", asked.bootstrap_controllers)):
        for endpoint in endpoints.split(",") if endpoints or field == "bootstrap" else ():
            if not any(fnmatchcase(endpoint.strip(), pattern) for pattern in allowed_bootstraps):
                raise NotAllowed(
                    f"{identity.name} is not admin on all clusters, and {field} has {endpoint[:MAX_NAME_CHARS]!r}, "
                    "which is not in security.allowed_bootstraps: ask an admin of all clusters to register it, or to "
                    "add it to the list"
                )
    endpoint = asked.security.token_endpoint
    if endpoint and (known is None or known.security.token_endpoint != endpoint):
        raise NotAllowed(
            f"{identity.name} is not admin on all clusters, and security.token_endpoint is "
            f"{endpoint[:MAX_NAME_CHARS]!r}, which the registration does not name already: ask an admin of all "
            "clusters to register it"
        )
    kept = {*known.security.secrets().values()} if known is not None else set()
    for field, secret in asked.security.secrets().items():
        if secret not in kept and not _is_secret_of(asked.name, secret, registered()):
            raise NotAllowed(
                f"{identity.name} is not admin on all clusters, and security.{field} is {secret[:MAX_NAME_CHARS]!r}, "
                f"which is not known as a secret of cluster {asked.name[:MAX_NAME_CHARS]}: name one that begins with "
                f"{asked.name[:MAX_NAME_CHARS] + '.'!r}, or that its registration names already, or ask an admin of "
                "all clusters to register it"
            )


def _is_secret_of(cluster: str, secret: str, registered: Collection[str]) -> bool:
    """Return whether the secret's name begins with the cluster's name and a dot, and with no longer cluster's name:
    `a.b.ca` is of `a.b`."""
    return secret.startswith(f"{cluster}.") and not any(
        len(other) > len(cluster) and secret.startswith(f"{other}.") for other in registered
    )


def _where(cluster: Cluster) -> tuple[str, str, ClusterSecurity]:
    """Return the addresses that the cluster's password is sent to, and the login that names it."""
    return cluster.bootstrap, cluster.bootstrap_controllers, cluster.security


def _has(identity: Identity, role: Role, place: Place) -> bool:
    if role is Role.VIEWER:
        return identity.sees(place.cluster) if place.cluster else identity.may(role)
    return identity.may(role, place.cluster, place.tenants)


def _sentence(identity: Identity, roles: tuple[Role, ...], where: Where, places: tuple[Place, ...]) -> str:
    wanted = " or ".join(role.value for role in roles)
    missing = next((place for place in places if not any(_has(identity, role, place) for role in roles)), None)
    if where in (Where.ANYWHERE, Where.EVERYWHERE) or missing is None:
        on = Where.EVERYWHERE.value if where is Where.EVERYWHERE else Where.ANYWHERE.value
    else:
        told = missing.told_to(identity)
        on = f"on cluster {told}" if told else "on all clusters"
        if missing.tenants and identity.sees(missing.cluster):
            named = sorted(name or "nobody" for name in missing.tenants)[:3]
            on += f" for what belongs to {', '.join(named)}"
    return f"{identity.name} is not {wanted} {on}: an admin of Guardian gives that (guardian roles)"
