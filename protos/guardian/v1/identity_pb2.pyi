from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class Agent(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_UNSPECIFIED: _ClassVar[Agent]
    AGENT_GUARDIAN: _ClassVar[Agent]
    AGENT_HEALING: _ClassVar[Agent]
    AGENT_POLICY: _ClassVar[Agent]
    AGENT_EXECUTOR: _ClassVar[Agent]
    AGENT_PLACEMENT: _ClassVar[Agent]

class Proof(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROOF_UNSPECIFIED: _ClassVar[Proof]
    PROOF_CLAIMED: _ClassVar[Proof]
    PROOF_CERTIFICATE: _ClassVar[Proof]
    PROOF_TOKEN: _ClassVar[Proof]
    PROOF_OIDC: _ClassVar[Proof]
AGENT_UNSPECIFIED: Agent
AGENT_GUARDIAN: Agent
AGENT_HEALING: Agent
AGENT_POLICY: Agent
AGENT_EXECUTOR: Agent
AGENT_PLACEMENT: Agent
PROOF_UNSPECIFIED: Proof
PROOF_CLAIMED: Proof
PROOF_CERTIFICATE: Proof
PROOF_TOKEN: Proof
PROOF_OIDC: Proof
