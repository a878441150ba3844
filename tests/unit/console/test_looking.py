"""What pages keep for a person is kept for him as he is now: for his name alone, another one would be shown it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from fastapi import Request

from guardian.console.looking import Looks
from guardian.model.actor import Proof
from guardian.model.topology import Cluster
from guardian.security.model.identity import Grant, Identity, Role
from guardian.web.parts import WebParts


class Client:
    """Of a person: what it is asked for holds his grants."""

    def __init__(self, person: Identity) -> None:
        self._person = person

    def list_clusters(self) -> tuple[Cluster, ...]:
        return tuple(Cluster(name, "h:1", name) for name in ("mine", "theirs") if self._person.sees(name))

    def findings(self, cluster: str = "") -> str:
        assert not cluster
        return f"findings of {[grant.clusters for grant in self._person.grants]}"


def test_one_of_the_same_name_who_may_see_something_else_is_another_person() -> None:
    asking: list[Identity] = []
    client: Any = Client
    web = WebParts("g1", client, lambda: 0, user_of=lambda _: asking[-1])
    request = Request({"type": "http"})
    everybody = Identity("vic", (Grant(Role.ADMIN),), Proof.CERTIFICATE)
    limited = Identity("vic", (Grant(Role.VIEWER, ("mine",)),), Proof.TOKEN)
    with closing(Looks(web)) as looks:
        for person, seen in ((everybody, "*"), (limited, "mine"), (everybody, "*")):
            asking.append(person)
            assert looks.findings(request) == f"findings of {[(seen,)]}"
        assert [cluster.name for cluster in looks.clusters(request)] == ["mine", "theirs"]
        asking.append(limited)
        assert [cluster.name for cluster in looks.clusters(request)] == ["mine"]
