"""Admin connections by cluster: one each, replaced when the registration changes, closed at the end."""

from __future__ import annotations

import pytest

from guardian.errors import NotFound
from guardian.kafka.fake import FakeKafka
from guardian.model.topology import Cluster
from guardian.serving.admins import ClusterAdmins, connect_by_name


class Admin(FakeKafka):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__({1: "a"}, {1: ("/d",)})
        self.cluster = cluster
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


class Opened:
    """Connects, and remembers to what."""

    def __init__(self) -> None:
        self.admins: list[Admin] = []

    def __call__(self, cluster: Cluster) -> Admin:
        self.admins.append(Admin(cluster))
        return self.admins[-1]


def test_a_connection_is_kept_until_the_registration_changes() -> None:
    clusters = {"live": Cluster("live", "h:1")}
    opened = Opened()
    admins = ClusterAdmins(clusters.get, opened)
    first = admins("live")
    assert admins("live") is first
    clusters["live"] = Cluster("live", "h:2")
    second = admins("live")
    assert [admin.cluster.bootstrap for admin in opened.admins] == ["h:1", "h:2"]
    assert (opened.admins[0].is_closed, opened.admins[1].is_closed) == (True, False)
    assert admins("live") is second


def test_closing_closes_every_connection() -> None:
    opened = Opened()
    admins = ClusterAdmins(lambda name: Cluster(name, "h:1"), opened)
    admins("live")
    admins("bulk")
    admins.close()
    assert [admin.is_closed for admin in opened.admins] == [True, True]


def test_a_cluster_that_is_not_registered_is_not_connected_to() -> None:
    opened = Opened()
    for admin_for in (ClusterAdmins(lambda _: None, opened), connect_by_name(lambda _: None, opened)):
        with pytest.raises(NotFound, match="cluster 'nowhere' is not registered"):
            admin_for("nowhere")
    assert opened.admins == []


def test_who_opens_by_name_gets_a_new_connection_each_time() -> None:
    opened = Opened()
    admin_for = connect_by_name(lambda name: Cluster(name, "h:1"), opened)
    assert admin_for("live") is not admin_for("live")
