"""A cluster whose sampling is paused: nothing is collected from it, until somebody says otherwise."""

from __future__ import annotations

import pytest

from guardian.collection.store import KnownFederation
from guardian.errors import InvalidInput, NotFound
from tests.unit.rest.service import Service


def test_a_paused_cluster_is_not_collected(service: Service) -> None:
    known = KnownFederation(service.member.store)
    assert [cluster.name for cluster in known.clusters()] == ["live"]
    assert service.client.set_sampling("live", "upgrade").sampling_paused == "upgrade"
    assert known.clusters() == ()
    again = service.client.register_cluster(service.client.list_clusters()[0])
    assert again.sampling_paused == "upgrade", "who corrects an address does not begin to collect again"
    service.client.set_sampling("live", "")
    assert [cluster.name for cluster in known.clusters()] == ["live"]


def test_mistakes_change_nothing(service: Service) -> None:
    with pytest.raises(NotFound, match="'nope' is not registered"):
        service.client.set_sampling("nope", "why")
    with pytest.raises(InvalidInput, match="say why in up to 500 characters"):
        service.client.set_sampling("live", "x" * 501)
    assert service.client.list_clusters()[0].sampling_paused == ""
