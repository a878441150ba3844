"""The questions about clients in another IDC than the brokers they use, as statements and parameters. Pure.

Where a client is follows from its address by a list of networks, where a broker is from a list of brokers. ClickHouse
is given both, so that only sums come back. An IDC is its position in `Places.idcs`, -1 where it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guardian.activity.rules.database import Question
from guardian.activity.rules.questions import Span
from guardian.activity.rules.rows import TOPIC
from guardian.model.links import Network

_MAX_TOPICS = 50_000
_NOWHERE = -1
_SUMS = "sum(bytes) AS sum_bytes, sumIf(allowed, bytes = 0) AS blind"


@dataclass(frozen=True, slots=True)
class Places:
    """`brokers`: the IDC of each by id; `networks` have the longest prefixes first."""

    idcs: Sequence[str]
    brokers: Mapping[int, str]
    networks: Sequence[tuple[Network, str]]

    def name(self, position: int) -> str:
        """Empty where it is not known."""
        return self.idcs[position] if position >= 0 else ""


def by_slice(cluster: str, places: Places, span: Span) -> Question:
    """Bytes by slice of time: from_time, duration_ms, broker_idc, client_idc, operation, sum_bytes."""
    return _question(
        "SELECT from_time, duration_ms, broker_idc, client_idc, operation, sum(bytes) AS sum_bytes",
        "WHERE bytes > 0 GROUP BY from_time, duration_ms, broker_idc, client_idc, operation",
        cluster,
        places,
        span,
    )


def by_topic(cluster: str, places: Places, span: Span) -> Question:
    """Bytes, and requests without known bytes: broker_idc, client_idc, operation, resource, sum_bytes, blind."""
    return _question(
        f"SELECT broker_idc, client_idc, operation, resource, {_SUMS}",
        "GROUP BY broker_idc, client_idc, operation, resource ORDER BY sum_bytes DESC, blind DESC, resource"
        f" LIMIT {_MAX_TOPICS}",
        cluster,
        places,
        span,
    )


def crossers(cluster: str, places: Places, span: Span, most: int) -> Question:
    """The clients that cross: `most` of each pair of IDCs, those with the most bytes, then requests."""
    client = "operation, resource, principal, client_id, address"
    return _question(
        f"SELECT broker_idc, client_idc, {client}, {_SUMS}",
        "WHERE broker_idc >= 0 AND client_idc >= 0 AND broker_idc != client_idc"
        f" GROUP BY broker_idc, client_idc, {client} ORDER BY sum_bytes DESC, blind DESC, {client}"
        f" LIMIT {int(most)} BY broker_idc, client_idc",
        cluster,
        places,
        span,
    )


def _question(select: str, rest: str, cluster: str, places: Places, span: Span) -> Question:
    """Whole hours first, for they are the primary key; a slice may be an hour long."""
    place, parameters = _client_idc(places)
    sql = (
        f"{select} FROM (SELECT from_time, duration_ms, operation, resource, principal, client_id, address, allowed,"
        f" bytes_produced + bytes_fetched AS bytes, {_broker_idc(places)} AS broker_idc, {place} AS client_idc"
        " FROM activity WHERE cluster = {cluster:String}"
        " AND hour >= toStartOfHour(fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')) - INTERVAL 1 HOUR"
        " AND hour < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')"
        " AND from_time < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')"
        " AND to_time > fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')"
        f" AND resource_type = '{TOPIC}' AND operation IN ('READ', 'WRITE')) {rest}"
    )
    return Question(sql, {"cluster": cluster, "from_ms": span.from_ms, "to_ms": span.to_ms, **parameters})


def _broker_idc(places: Places) -> str:
    """Numbers only, so they may stand in the statement."""
    positions = {idc: position for position, idc in enumerate(places.idcs)}
    known = {broker: positions[idc] for broker, idc in places.brokers.items() if idc}
    if not known:
        return f"toInt32({_NOWHERE})"
    ids, idcs = (
        ", ".join(str(int(number)) for number in column) for column in zip(*sorted(known.items()), strict=True)
    )
    return f"transform(broker, [{ids}], [{idcs}], {_NOWHERE})"


def _client_idc(places: Places) -> tuple[str, dict[str, str | int]]:
    """An IPv4 address is compared as the IPv6 address that stands for it."""
    positions = {idc: position for position, idc in enumerate(places.idcs)}
    conditions: list[str] = []
    parameters: dict[str, str | int] = {}
    for number, (network, idc) in enumerate(places.networks):
        low, high = f"low{number}", f"high{number}"
        parameters[low], parameters[high] = str(network[0]), str(network[-1])
        conditions.append(
            f"toIPv6OrNull(address) BETWEEN toIPv6({{{low}:String}}) AND toIPv6({{{high}:String}}), {positions[idc]}"
        )
    if not conditions:
        return f"toInt32({_NOWHERE})", {}
    return f"multiIf({', '.join(conditions)}, {_NOWHERE})", parameters
