"""Who does something: protobuf <-> model."""

from __future__ import annotations

from guardian.model.actor import Actor, Agent, Proof
from protos.guardian.v1 import federation_pb2, records_pb2
from protos.guardian.v1 import identity_pb2 as pb

_AGENTS: dict[Agent, pb.Agent] = {
    Agent.GUARDIAN: pb.AGENT_GUARDIAN,
    Agent.HEALING: pb.AGENT_HEALING,
    Agent.POLICY: pb.AGENT_POLICY,
    Agent.EXECUTOR: pb.AGENT_EXECUTOR,
    Agent.PLACEMENT: pb.AGENT_PLACEMENT,
}
_PROOFS: dict[Proof, pb.Proof] = {
    Proof.NONE: pb.PROOF_CLAIMED,
    Proof.CERTIFICATE: pb.PROOF_CERTIFICATE,
    Proof.TOKEN: pb.PROOF_TOKEN,
    Proof.OIDC: pb.PROOF_OIDC,
}
_OF_NUMBER: dict[int, Agent] = {number: agent for agent, number in _AGENTS.items()}


def agent_of(name: str) -> pb.Agent:
    """The number of the agent whose name this is; 0 for a name that is a person's."""
    return _AGENTS[name] if isinstance(name, Agent) else pb.AGENT_UNSPECIFIED


def proof_of(proof: Proof) -> pb.Proof:
    return _PROOFS[proof]


def name_of(name: str, agent: int) -> str:
    """The Agent of that number; else the name, which is a person's. A number that is not known here is none."""
    return _OF_NUMBER.get(agent, name)


def shown_actor(record: federation_pb2.AuditRecord) -> str:
    """Name for people who it was: a name that nobody has proven is marked so."""
    return f"{record.actor} (unproven)" if record.proof == pb.PROOF_CLAIMED else record.actor


def sign(command: records_pb2.Command, actor: Actor | Agent) -> None:
    """Write into a command who asks for it."""
    if isinstance(actor, Agent):
        command.actor, command.agent = actor, agent_of(actor)
    else:
        command.actor, command.proof = actor.name, proof_of(actor.proof)
