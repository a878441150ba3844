"""The topic directory for answers that need all of it: read in turns, so that nobody waits for the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guardian.replication.store.state import Views
from guardian.serving.turns import LISTS, Turns
from protos.guardian.v1 import federation_pb2

_PAGE = 1000
_PAGE_BYTES = 1 << 20


def stored_topics(views: Views, cluster: str = "", turns: Turns = LISTS) -> Iterator[federation_pb2.Topic]:
    """Yield what people said of topics, by cluster and name: of one cluster, or of all. Raises Overloaded."""

    def page(after: bytes) -> tuple[Sequence[federation_pb2.FederationEntry], bytes]:
        return views.federation_page(federation_pb2.TOPICS, cluster, "", after, _PAGE, _PAGE_BYTES)

    return (entry.topic for entry in turns.walk(page))
