"""The real cluster that the integration tests share: starting one for each test would cost minutes.

Tests keep out of each other's way by names (`new_topic`), and may break brokers: what they broke is started again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from deploy.local import ports
from deploy.local.kafka_cluster import ClusterSpec, KafkaCluster
from guardian.kafka.credentials import ENVIRONMENT
from tests.patience import CONTROL_S, wait_for

# No test depends on speed: an example may take as long as a busy machine lets it.
settings.register_profile("patient", deadline=None)
# What `make test` draws it draws again: a change is refused for what it did, not for an old defect found by luck.
settings.register_profile("same-inputs", parent=settings.get_profile("patient"), derandomize=True)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "patient")
settings.load_profile(_PROFILE)
if _PROFILE == "same-inputs":
    # Hypothesis also draws from the constants of whatever modules of ours are loaded, so the inputs changed with any
    # line of the sources, and with the files that ran before.
    assert hasattr(providers, "_get_local_constants"), "hypothesis has changed: look where it takes constants from now"
    vars(providers)["_get_local_constants"] = Constants

# Nothing of whoever runs the tests: neither contexts of theirs nor what their shell says.
for _name in [name for name in os.environ if name.startswith("GUARDIAN_")]:
    del os.environ[_name]
os.environ["GUARDIAN_CONFIG"] = "/nowhere/guardian.yaml"

_STARTED: pytest.StashKey[KafkaCluster] = pytest.StashKey()


@pytest.fixture(scope="session")
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers of three log dirs each, with the plugin, and a SASL listener beside the plaintext one."""
    spec = ClusterSpec("shared", brokers=3, sasl=True, plugin=True)
    with KafkaCluster.start(spec, tmp_path_factory.mktemp("kafka")) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(cluster.secrets_folder))
        request.config.stash[_STARTED] = cluster
        yield cluster


@pytest.fixture(autouse=True)
def _brokers_come_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test may kill or stop brokers of the shared cluster; the next one finds all of them serving."""
    yield
    cluster = request.config.stash.get(_STARTED, None)
    if cluster is None or "kafka_cluster" not in request.fixturenames:
        return
    gone = [broker.id for broker in cluster.brokers if broker.pid is None]
    for broker_id in gone:
        cluster.start_broker(broker_id)
    if gone:
        _await_that_brokers_know_each_other(cluster)


def _await_that_brokers_know_each_other(cluster: KafkaCluster) -> None:
    """A broker that came back serves before the others have heard of it."""
    wanted = {broker.id for broker in cluster.brokers}
    for broker in cluster.brokers:
        knows_all = partial(_names, f"{ports.HOST}:{broker.ports.plaintext}", wanted)
        wait_for(f"broker {broker.id} knows all of {sorted(wanted)}", knows_all, despite=(KafkaException,))


def _names(endpoint: str, wanted: set[int]) -> bool:
    """A client that is new knows no other broker that it could ask."""
    return set(AdminClient({"bootstrap.servers": endpoint}).list_topics(timeout=CONTROL_S).brokers) == wanted


@pytest.fixture
def new_topic(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes topic names that no other test and no earlier run has used: `new_topic() -> "test_name-3f9c2a"`."""
    title = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in request.node.name)[:80]
    return lambda: f"{title}-{uuid.uuid4().hex[:6]}"
