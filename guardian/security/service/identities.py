"""The Identities service: who the caller is, as this member has proven it, and who has which role."""

from __future__ import annotations

import grpc

from guardian.model.wire.actors import proof_of
from guardian.security.model.identity import LOCAL, Grant, Identity
from guardian.security.model.roles import Roles, RolesInForce
from guardian.security.service.roles import MemberRoles
from guardian.serving.who_asks import who_asks
from protos.guardian.v1 import identities_pb2 as pb
from protos.guardian.v1 import identities_pb2_grpc


class IdentitiesServicer(identities_pb2_grpc.IdentitiesServicer):
    """Asks nobody: who calls was proven before. `roles` is None where security is off."""

    def __init__(self, roles: MemberRoles | None = None) -> None:
        self._roles = roles

    def WhoAmI(self, request: pb.WhoAmIRequest, context: grpc.ServicerContext) -> pb.WhoAmIReply:
        return identity_to_proto(who_asks() or LOCAL)

    def GetRoles(self, request: pb.GetRolesRequest, context: grpc.ServicerContext) -> pb.RolesInForce:
        if self._roles is None:
            return pb.RolesInForce()
        return roles_to_proto(self._roles.current(), str(self._roles.path))


def identity_to_proto(identity: Identity) -> pb.WhoAmIReply:
    """Return what is told of an identity."""
    return pb.WhoAmIReply(
        name=identity.name,
        proof=proof_of(identity.proof),
        groups=identity.groups,
        grants=map(_grant_to_proto, identity.grants),
        brokers=map(str, identity.brokers),
        until_ms=identity.until_ms,
    )


def roles_to_proto(roles: RolesInForce, file: str) -> pb.RolesInForce:
    """Return what is told of the roles in force."""
    told = pb.RolesInForce(file=file, revision=roles.revision, damage=roles.damage)
    for who, grant in roles.grants:
        told.grants.add(who=who, grant=_grant_to_proto(grant))
    for is_stored, each in ((False, roles.file), (True, roles.stored or Roles())):
        for name in each.denied:
            told.denied.add(who=name, is_stored=is_stored)
        for name, at_ms in each.signed_out:
            told.signed_out.add(who=name, at_ms=at_ms, is_stored=is_stored)
    return told


def _grant_to_proto(grant: Grant) -> pb.RoleGrant:
    return pb.RoleGrant(
        role=grant.role.value, clusters=grant.clusters, tenants=grant.tenants, is_stored=grant.is_stored
    )
