"""What topics and tenants cost by a price list: traffic, requests, and storage for as long as was asked about.

None is what is not known, and whatever is made of it is not known either; a price of 0 asks for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from guardian.activity.model import CostLine, PriceList, Prices

_GB = 10**9
_MILLION = 10**6
_MONTH_MS = 730 * 3_600_000  # a twelfth of 365 days


def cost_of(line: CostLine, prices: PriceList | None, span_ms: int) -> float | None:
    """Return what a line costs; None without prices, or where something that has a price is not known."""
    if prices is None:
        return None
    own: Prices = prices.of(line.tenant)
    months = span_ms / _MONTH_MS
    parts = (
        (own.produced_gb / _GB, line.produced),
        (own.fetched_gb / _GB, line.fetched),
        (own.million_requests / _MILLION, line.requests),
        (own.stored_gb_month / _GB * months, line.stored),
        (own.tiered_gb_month / _GB * months, line.tiered),
    )
    priced = [(price, amount) for price, amount in parts if price]
    return (
        None if any(amount is None for _, amount in priced) else sum(price * (amount or 0) for price, amount in priced)
    )


def by_tenant(lines: Iterable[CostLine]) -> tuple[CostLine, ...]:
    """Return the sums of each tenant's topics, by name; those of nobody come first."""
    groups: dict[str, list[CostLine]] = {}
    for line in lines:
        groups.setdefault(line.tenant, []).append(line)
    return tuple(_sum(tenant, groups[tenant]) for tenant in sorted(groups))


def dearest_first(lines: Iterable[CostLine], prices: PriceList | None, span_ms: int) -> tuple[CostLine, ...]:
    """Return the lines, those of the highest cost first, then those of which it is not known, by what they hold."""

    def rank(line: CostLine) -> tuple[float, int, str]:
        cost = cost_of(line, prices, span_ms)
        return -1.0 if cost is None else cost, line.stored or 0, line.topic

    return tuple(sorted(lines, key=rank, reverse=True))


def _sum(tenant: str, lines: Sequence[CostLine]) -> CostLine:
    sums: dict[str, Any] = {
        name: None if None in (amounts := [getattr(line, name) for line in lines]) else sum(amounts)
        for name in ("produced", "fetched", "requests", "stored", "tiered")
    }
    return replace(
        CostLine("", tenant),
        **sums,
        has_shares=any(line.has_shares for line in lines),
        is_least=any(line.is_least for line in lines),
        topics=sum(bool(line.topic) for line in lines),
    )
