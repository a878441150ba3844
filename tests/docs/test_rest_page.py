"""docs/rest.md lists what only the command line has as commands and routes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.member.commands import rest_page
from guardian.security.rules.permitting import RPCS

PAGE = Path("docs/rest.md")


def test_the_page_is_as_commands_and_routes_are() -> None:
    text = PAGE.read_text()
    assert text == rest_page.with_block(text), "run guardian docs rest --out docs/rest.md"


@pytest.mark.parametrize(
    ("command", "rpcs"),
    [
        ("plan isolate", {"Planning/MakePlan", "Tickets/CreateTicket"}),
        ("ticket amend", {"Tickets/AmendTicket", "Tickets/GetTicket"}),
        ("ticket resume", {"Tickets/ResumeTicket"}),
        ("apply apply", {"Federation/ChangeFederation", "Federation/RegisterCluster"}),
        ("disk release", {"Protection/ReleaseProtection"}),
        ("durability", {"Insight/GetDurability"}),
        ("tiering import", {"Tiering/AppendSegmentEvents", "Tiering/ListPartitions", "Tiering/PullSegmentEvents"}),
        ("certs show", set()),
        ("version", set()),
    ],
)
def test_what_a_command_calls_is_found(command: str, rpcs: set[str]) -> None:
    found = rest_page.calls_of_commands()[command]
    assert rpcs <= found
    assert bool(found) is bool(rpcs)


def test_routes_offer_what_commands_offer_but_for_what_is_done_where_they_run() -> None:
    """A command whose RPC has no route is told here: give it one (guardian/rest/forwarded.py), or say why not."""
    commands = rest_page.calls_of_commands()
    assert rest_page.lacking(commands, rest_page.calls_of_routes()).keys() == rest_page.LOCAL_RPCS.keys()
    assert rest_page.local_groups(commands) == sorted(rest_page.LOCAL_COMMANDS)


def test_a_command_that_nothing_is_said_of_is_named() -> None:
    assert rest_page.local_groups({"certs show": [], "new one": [], "ticket list": ["A/B"]}) == ["certs", "new one"]


def test_what_routes_call_is_found() -> None:
    found = rest_page.calls_of_routes()
    assert found >= {"Planning/MakePlan", "Tickets/CreateTicket", "Tickets/RejectTicket", "Raft/GetRaftStatus"}
    assert found >= {"Federation/ChangeFederation", "Tiering/DeletePartitions", "Tickets/WatchTicket"}
    assert not found & {"Tiering/AppendSegmentEvents", "Tiering/AllocateIds", "Federation/RegisterReporter"}
    assert {f"/guardian.v1.{rpc}" for rpc in found} <= RPCS.keys()


def test_a_call_counts_where_it_is_asked_of_a_client() -> None:
    def command(client: GuardianClient) -> None:
        client.list_clusters()

    def other(process: GuardianClient) -> None:
        process.list_clusters()

    assert rest_page.rpcs_of(command) == {"Federation/ListClusters"}
    assert rest_page.rpcs_of(other) == frozenset()


def test_only_what_no_route_calls_is_lacking() -> None:
    assert rest_page.lacking({"b": ["Z/Y", "A/B"], "a": ["A/B", "C/D"]}, ["C/D"]) == {"A/B": ["a", "b"], "Z/Y": ["b"]}


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a page without the place for the list"):
        rest_page.with_block("# The REST API\n")
