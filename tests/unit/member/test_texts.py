"""Text from others comes raw into no store by an RPC, and out of none onto a terminal or a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import grpc
import pytest
import yaml
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from typer.testing import CliRunner

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.model.plan import PartitionMove, Plan, ReplicaPlacement
from guardian.model.tasks import Balance
from guardian.model.text import is_printable
from guardian.model.topology import Broker, Cluster, TopicPartition
from guardian.model.wire.federation import cluster_to_proto
from guardian.planning.pages.plan_page import payload, plan_page
from tests.command_line import app
from tests.patience import PATIENCE_S
from tests.unit.console.site import Site, site
from tests.unit.member.guarded import Rpc, every_rpc
from tests.unit.member.member import Member

EVIL = "a\x1b[2Jb\u202ec\nFORGED\x9b8A"
OK = grpc.StatusCode.OK
APPENDS = ("/guardian.v1.Tiering/AppendSegmentEvents", "/guardian.v1.Tiering/StreamSegmentEvents")
RPCS = every_rpc()
Way = tuple[FieldDescriptor, ...]


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    member = Member()
    yield member
    member.stop()


def texts(descriptor: Descriptor, above: tuple[Descriptor, ...] = ()) -> Iterator[Way]:
    """Yield the way to each field of text, also through lists and maps."""
    for field in descriptor.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            yield (field,)
        elif field.message_type is not None and field.message_type not in (*above, descriptor):
            yield from ((field, *path) for path in texts(field.message_type, (*above, descriptor)))


def planted(message: Any, path: Way, text: str) -> None:
    """Put the text where the path leads, and nothing beside it."""
    field, *rest = path
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry: Any = message_factory.GetMessageClass(field.message_type)()
        planted(entry, tuple(rest), text)
        into = getattr(message, field.name)
        if field.message_type.fields_by_name["value"].message_type is not None:
            into[entry.key].CopyFrom(entry.value)
        else:
            into[entry.key] = entry.value
    elif rest:
        inside = getattr(message, field.name)
        inside = inside.add() if field.is_repeated else inside
        inside.SetInParent()
        planted(inside, tuple(rest), text)
    elif field.is_repeated:
        getattr(message, field.name).append(text)
    else:
        setattr(message, field.name, text)


def answer(channel: grpc.Channel, rpc: Rpc, request: Any) -> tuple[grpc.StatusCode, str]:
    kind = "_".join("stream" if is_stream else "unary" for is_stream in (
        rpc.method.client_streaming, rpc.method.server_streaming
    ))  # fmt: skip
    read = message_factory.GetMessageClass(rpc.method.output_type).FromString
    multi = getattr(channel, kind)(rpc.path, lambda message: message.SerializeToString(), read)
    try:
        reply = multi(iter([request]) if rpc.method.client_streaming else request, timeout=PATIENCE_S)
        reply = next(reply) if rpc.method.server_streaming else reply
    except grpc.RpcError as error:
        return error.code(), error.details() or ""
    return grpc.StatusCode.OK, refusal_in(reply)


def refusal_in(reply: Any) -> str:
    """Return why the partition of an append was refused: those methods answer for each."""
    appended = getattr(reply, "append", reply)
    return "; ".join(each.error for each in getattr(appended, "results", ()))


def partitions_in(request: Any) -> Any:
    """Return the parts of an append: their topics' ids are looked at before the texts are."""
    return getattr(getattr(request, "append", request), "partitions", ())


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.path.removeprefix("/guardian.v1."))
def test_no_field_of_any_request_takes_what_is_not_printable(member: Member, rpc: Rpc) -> None:
    with grpc.insecure_channel(member.endpoint) as channel:
        for path in texts(rpc.method.input_type):
            request = rpc.request
            planted(request, path, EVIL)
            for part in partitions_in(request) if rpc.path in APPENDS else ():
                part.partition.topic_id = bytes(16)
            code, sentence = answer(channel, rpc, request)
            assert code is (OK if rpc.path in APPENDS else grpc.StatusCode.INVALID_ARGUMENT), path[-1].full_name
            assert "U+001B is not printable" in sentence, path[-1].full_name
            assert is_printable(sentence)


def test_the_walk_finds_texts_in_lists_maps_and_nested_messages() -> None:
    found = {"/".join(each.name for each in path) for rpc in RPCS for path in texts(rpc.method.input_type)}
    assert {"reason", "plan/notes", "plan/moves/topic", "label_of_broker/value", "changes/put/exclusion/why"} <= found


def test_evidence_has_lines_and_nothing_worse(member: Member) -> None:
    evil = plan_of("balance")
    moves = tuple(replace(move, reason="") for move in evil.moves)
    made = replace(evil, moves=moves, notes=(), unmet=(), input="")
    with GuardianClient([member.endpoint]) as client:
        client.create_ticket(made, author="ann", evidence="broker 1 is gone\nbroker 2 is gone")
        with pytest.raises(InvalidInput, match="evidence: U\\+001B"):
            client.create_ticket(made, author="ann", evidence="gone\x1b[2J")


def plan_of(kind: str) -> Plan:
    move = PartitionMove(TopicPartition("t", 0), (), (ReplicaPlacement(2), ReplicaPlacement(1)), reason=EVIL)
    return Plan("live", kind, (move,), notes=(EVIL,), unmet=(EVIL,), input=EVIL, task=Balance())


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """Yield a console whose member stored such text before its doors refused it, or by what Kafka told."""
    with site(tmp_path_factory.mktemp("texts") / "lake") as made:
        brokers = tuple(Broker(each, EVIL, EVIL, label="gold") for each in (1, 2, 3))
        made.member.store.put_cluster(cluster_to_proto(Cluster("live", "h:9092", "fake", brokers=brokers)))
        with patch("guardian.serving.texts.require_printable_texts"):
            ticket, _ = made.client.create_ticket(
                plan_of("balance"), author="ann", submit=True, reason=EVIL, evidence=EVIL
            )
        yield made, ticket.id


@pytest.mark.parametrize(
    "command",
    [
        ["ticket", "list"], ["ticket", "show", "TICKET"], ["ticket", "show", "TICKET", "-o", "wide"],
        ["events"], ["cluster", "list", "-o", "wide"], ["status"], ["collection"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("output", [[], ["-o", "json"], ["-o", "yaml"]])
def test_a_terminal_gets_it_written_out(evil: tuple[Site, str], command: list[str], output: list[str]) -> None:
    made, ticket = evil
    words = [ticket if word == "TICKET" else word for word in command if not output or word not in ("-o", "wide")]
    result = CliRunner().invoke(app, [*words, "--endpoints", made.member.endpoint, *output])
    assert result.exit_code == 0, result.output
    assert is_printable(result.stdout, keep="\n")
    assert is_printable(result.stderr, keep="\n")
    assert not [line for line in result.stdout.splitlines() if line.startswith("FORGED")]
    if command[1:2] == ["show"]:
        assert "FORGED" in result.stdout


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_program_gets_it_as_it_is(evil: tuple[Site, str], output: str, read: Callable[[str], Any]) -> None:
    made, ticket = evil
    words = ["ticket", "show", ticket, "--endpoints", made.member.endpoint, "-o", output]
    shown = read(CliRunner().invoke(app, words).stdout)
    assert EVIL in [past["reason"] for past in shown["ticket"]["history"]]
    assert shown["ticket"]["evidence"] == EVIL


def test_a_page_gets_it_written_out(evil: tuple[Site, str]) -> None:
    made, ticket = evil
    shown = 0
    for path in (
        f"/console/tickets/{ticket}", "/console/tickets", "/console/clusters/live", "/console/clusters/live/brokers",
        "/console/clusters/live/brokers/1", "/console/audit", "/console/", "/console/machines",
    ):  # fmt: skip
        page = made.page(path)
        assert is_printable(page, keep="\n\r\t"), path
        shown += page.count(r"\x1b[2J")
    assert shown


def test_a_plan_s_own_page_gets_it_written_out() -> None:
    made = plan_of("balance")
    assert payload(made)["notes"] == [EVIL]
    page = plan_page(made)
    assert r"\\x1b[2J" in page
    assert "\\u001b" not in page
