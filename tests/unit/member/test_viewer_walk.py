"""A viewer of one cluster learns no text of another one, whatever he calls, opens or scrapes.

Every RPC, route, stream and page of metrics is asked as that viewer, with requests made of the descriptors and the
routes' signatures; no answer may hold a text of the other cluster, each of which bears a marker. An admin walks the
same way, and is shown the marker nearly everywhere: a walk on which nobody is shown anything would prove nothing.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import grpc
import pytest
from typer.testing import CliRunner

from guardian.errors import GuardianError
from guardian.model.ticket import TicketState
from guardian.rest.bodies import PlanBody
from guardian.security.model.identity import Role
from guardian.security.rules.permitting import RPCS
from protos.guardian.v1 import events_pb2, federation_pb2
from tests.command_line import app
from tests.unit.member.guarded import Rpc, headers
from tests.unit.member.two_clusters import MARKER, MINE, Texts, TwoClusters, plant_ticket, two_clusters
from tests.unit.member.walking import Answer, asked_about, walk_bodies, walk_routes, walk_rpcs

pytestmark = pytest.mark.slow

ABSENT = Texts("zqxabsent")  # of a cluster that there never was; as long as the marker
ANSWERED = ("200", "201", "303", "409")
NO_PLAN = "0" * 64
# Where an admin is shown no text of a cluster, and why.
NAMES_NO_CLUSTER = {
    "/guardian.v1.Raft/GetRaftStatus": "Guardian's own group",
    "/guardian.v1.Tiering/GetIds": "a number",
    "GET /": "leads to the console",
    "GET /api/v1/clusters/{cluster}/topics/{topic}": "numbers of brokers, of the topic that the path names",
    "GET /api/v1/openapi.json": "a description",
    "GET /api/v1/{rest:path}": "no path of the API",
    "GET /api/v1/raft": "Guardian's own group",
    "GET /api/v1/whoami": "the caller himself",
    "GET /auth/callback": "the caller himself",
    "GET /auth/login": "a form",
    "GET /auth/me": "the caller himself",
    "GET /auth/oidc": "the provider of identities",
    "GET /auth/oidc/start": "the provider of identities",
    "GET /console/clusters/{cluster}/activity": "numbers by broker, of the cluster that the path names",
    "GET /console/clusters/{cluster}/ask": "links to forms, of the cluster that the path names",
    "GET /console/clusters/{cluster}/ask/{form}": "a form, of the cluster that the path names",
    "GET /console/clusters/{cluster}/live": "that something has changed",
    "GET /console/clusters/{cluster}/topics/{topic}/configuration": "settings, of the topic that the path names",
    "GET /console/clusters/{cluster}/topics/{topic}/durability": "a rating of the topic that the path names",
    "GET /console/findings/live": "that something has changed",
    "GET /console/live": "that something has changed",
    "GET /console/members": "Guardian's own group",
    "GET /console/plans/asked/{asked_id}": "the caller's own plan",
    "GET /console/static/{name}": "files of the console",
    "GET /console/tenants/{name}/usage": "numbers, of the tenant and the cluster that the request names",
    "GET /console/theme": "light or dark",
    "GET /console/tickets/live": "that something has changed",
    "GET /console/tickets/{ticket_id}/measured": "numbers by broker, of the ticket that the path names",
    "GET /console/tickets/{ticket_id}/series": "numbers over time",
    "GET /healthz": "a word",
    "GET /livez": "a word",
    "GET /readyz": "a word",
}

PLANS = get_args(PlanBody.model_fields["kind"].annotation)
# What a whole body may be refused for by what there is, and not by its form.
REFUSED_AS_IT_IS = {
    "POST /api/v1/clusters/{cluster}/plans create-topic": "the topic exists",
    "POST /api/v1/clusters/{cluster}/plans isolate-label": "no machine has the label, so that none can be given back",
    "POST /api/v1/clusters/{cluster}/protection/release": "nothing is held",
    "POST /api/v1/federation": "the first thing that can be put is a machine, which is of no cluster",
    "POST /api/v1/raft/leader": "Guardian's own group",
    "POST /api/v1/raft/level": "Guardian's own group",
    "POST /api/v1/raft/members": "Guardian's own group",
    "POST /api/v1/tickets create-topic": "the topic exists",
    "POST /api/v1/tickets delete-topic": "the topic is read",
    "POST /auth/token": "it is nobody's token",
    "PUT /api/v1/clusters/{cluster}": "no broker listens at what is no address",
    "POST /console/plans/asked/{asked_id}/ticket": "no plan was asked for under that id",
    **{f"POST /api/v1/tickets {kind}": "nothing to move" for kind in PLANS},
    **{
        f"POST {path}/{{endpoint}} {endpoint}": why
        for path in ("/kafkacruisecontrol", "/clusters/{cluster}/kafkacruisecontrol")
        for endpoint, why in (("admin", "the broker is not excluded"), ("review", "nothing is to be reviewed"))
    },
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoClusters]:
    with two_clusters(tmp_path_factory.mktemp("both")) as both:
        yield both


def leaks(answers: Iterable[Answer]) -> dict[str, str]:
    """Return what is shown around a marker, once for each place."""
    found: dict[str, str] = {}
    for answer in answers:
        if shown := answer.shown():
            found.setdefault(answer.place, shown)
    return found


def answered(answers: Iterable[Answer]) -> set[str]:
    """Return the places that were asked for something with success, or would have been but for a ticket's state."""
    return {answer.place for answer in answers if answer.outcome in ANSWERED}


def is_looking(rpc: Rpc) -> bool:
    return Role.VIEWER in RPCS[rpc.path].roles


def test_no_rpc_and_no_stream_tells_of_another_cluster(both: TwoClusters) -> None:
    assert leaks(walk_rpcs(both, "vic")) == {}


def test_no_route_no_page_of_metrics_and_no_live_page_tells_of_another_cluster(both: TwoClusters) -> None:
    assert leaks(walk_routes(both, "vic")) == {}


def test_what_is_of_another_cluster_is_answered_as_what_does_not_exist(both: TwoClusters) -> None:
    """Nobody finds out which names, tickets, plans and ids there are by asking for them."""
    other = both.texts[1]
    of_other = asked_about(both, "vic", other, both.plans[other.cluster])
    of_none = asked_about(both, "vic", ABSENT, NO_PLAN)
    differing = {
        one.place: (one.outcome, one.said, none.outcome, none.said)
        for one, none in zip(of_other, of_none, strict=True)
        if (one.outcome, one.said) != (none.outcome, none.said)
    }
    assert differing == {}


def test_who_follows_events_hears_of_his_cluster_alone(both: TwoClusters) -> None:
    with grpc.insecure_channel(both.config.grpc) as channel:
        follow = channel.unary_stream(
            "/guardian.v1.Events/WatchEvents",
            events_pb2.WatchEventsRequest.SerializeToString,
            events_pb2.Event.FromString,
        )
        request = events_pb2.WatchEventsRequest(after=both.store.read().last_event_id, follow=True)
        heard = follow(request, metadata=(*headers(both.tokens["vic"]),), timeout=120)
        for texts in reversed(both.texts):
            plant_ticket(both, texts, TicketState.DRAFT, "followed")
        event = next(heard)
        heard.cancel()
    assert event.cluster == MINE
    assert MARKER not in str(event)


def test_a_support_bundle_holds_what_its_maker_may_see(both: TwoClusters, tmp_path: Path) -> None:
    bundles = {}
    for name in ("vic", "root"):
        archive = tmp_path / f"{name}.tar.gz"
        result = CliRunner().invoke(
            app,
            [
                "support-bundle",
                "--endpoints",
                both.config.grpc,
                "--http",
                f"http://{both.config.http}",
                "--out",
                str(archive),
            ],
            env={"GUARDIAN_TOKEN": both.tokens[name]},
        )
        assert result.exit_code == 0, result.output
        with tarfile.open(archive) as opened:
            files = {entry.name: opened.extractfile(entry) for entry in opened.getmembers()}
            bundles[name] = {path.partition("/")[2]: file.read().decode() for path, file in files.items() if file}
    assert [path for path, text in bundles["vic"].items() if MARKER in text] == []
    shown = {path for path, text in bundles["root"].items() if MARKER in text}
    assert shown >= {
        "clusters.json", "tickets.json", "events.json", "findings.json", "healing.json", "sinks.json", "approvals.json",
    }  # fmt: skip
    assert any(path.endswith("metrics.txt") for path in shown)


def test_an_admin_who_walks_the_same_way_is_shown_the_other_cluster_nearly_everywhere(both: TwoClusters) -> None:
    asked: set[str] = set()
    shown: set[str] = set()
    for answers in (
        walk_rpcs(both, "root", is_looking, of_other=True),
        walk_routes(both, "root", of_other=True),
    ):
        for answer in answers:
            asked.add(answer.place)
            if answer.shown():
                shown.add(answer.place)
    assert asked - shown == NAMES_NO_CLUSTER.keys()


def test_no_body_makes_a_route_tell_of_another_cluster(both: TwoClusters) -> None:
    """Behind those that look: what he asked for stands in lists of tasks."""
    answers = [*walk_bodies(both, "vic")]
    assert leaks(answers) == {}
    planned = {f"POST /api/v1/clusters/{{cluster}}/plans {kind}" for kind in PLANS}
    assert planned - answered(answers) <= REFUSED_AS_IT_IS.keys()


@pytest.mark.long
def test_an_admin_of_one_cluster_is_told_of_no_other_one_by_what_he_may_not_change(both: TwoClusters) -> None:
    """He changes his cluster: nothing but the next one comes behind."""
    assert leaks(walk_rpcs(both, "ada", lambda rpc: not is_looking(rpc))) == {}


@pytest.mark.long
def test_an_admin_of_one_cluster_is_told_of_no_other_one_by_any_body(both: TwoClusters) -> None:
    """Last, as he changes his cluster. He gets as far as his cluster goes: past his role and the body's form."""
    answers = [*walk_bodies(both, "ada", of_roles=True)]
    assert leaks(answers) == {}
    assert {answer.place for answer in answers} - answered(answers) <= REFUSED_AS_IT_IS.keys()


def test_lists_tell_a_cluster_that_he_may_not_see_from_none_at_all_by_nothing(both: TwoClusters) -> None:
    other = both.texts[1].cluster

    def refusals(name: str) -> list[tuple[str, str]]:
        found = []
        with both.client("vic") as client:
            for ask in (
                lambda: client.ticket_page(name),
                lambda: [*client.federation(federation_pb2.TOPICS, cluster=name)],
                lambda: [*client.federation(federation_pb2.EXCLUSIONS, cluster=name)],
                lambda: client.events(cluster=name),
                lambda: client.cordons(name),
            ):
                try:
                    ask()
                except GuardianError as error:
                    found.append((type(error).__name__, str(error).replace(name, "it")))
                else:
                    found.append(("answered", ""))
        return found

    assert refusals(other) == refusals("nowhere")
