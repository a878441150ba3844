"""A method without a rule of who may call it does not build."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from guardian.security.model.identity import Role
from guardian.security.rules.permitting import Rule, Where, rule_at
from protos.guardian.v1 import access_pb2
from protos.guardian.v1.access_pb2 import Access


def method(access: Access | None) -> MethodDescriptor:
    pool = descriptor_pool.DescriptorPool()
    file = FileDescriptorProto(name="x.proto", package="x")
    file.message_type.add(name="M")
    rpc = file.service.add(name="S").method.add(name="Call", input_type=".x.M", output_type=".x.M")
    if access is not None:
        rpc.options.Extensions[access_pb2.access].CopyFrom(access)  # type: ignore[index]
    pool.Add(file)
    found: MethodDescriptor = pool.FindServiceByName("x.S").methods[0]
    return found


def test_a_rule_is_what_stands_at_the_method() -> None:
    access = Access(
        where=Access.CLUSTER, roles=[Access.OPERATOR, Access.BROKER], field="name", who="actor", is_cut=True
    )
    expected = Rule(Where.CLUSTER, (Role.OPERATOR, Role.BROKER), "name", "actor", is_cut=True)
    assert rule_at(method(access)) == expected
    assert rule_at(method(Access(where=Access.OPEN))) == Rule(Where.OPEN)
    assert rule_at(method(Access(where=Access.PROVEN))) == Rule(Where.PROVEN)


@pytest.mark.parametrize(
    ("access", "problem"),
    [
        (None, r"x\.S\.Call: no option \(access\)"),
        (Access(where=Access.CLUSTER), "names no role"),
        (Access(roles=[Access.VIEWER]), "WHERE_UNSPECIFIED"),
    ],
)
def test_a_method_without_a_whole_rule_does_not_build(access: Access | None, problem: str) -> None:
    with pytest.raises((TypeError, KeyError), match=problem):
        rule_at(method(access))
