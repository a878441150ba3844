"""What topics and tenants move and hold, and a price list for that: TOML, in any currency."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from guardian.model.settings import Section, declared, load, read, refuse_unknown, section, setting

_GB = 10**9
_MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Prices(Section):
    """Price what a tenant moves and holds; [tenants.NAME] has other prices than [default], where given."""

    produced_gb: float = setting(0.0, "Price of a GB (10^9 bytes) written.", least=0, below=math.inf)
    fetched_gb: float = setting(0.0, "Price of a GB read.", least=0, below=math.inf)
    million_requests: float = setting(0.0, "Price of a million produce and fetch requests.", least=0, below=math.inf)
    stored_gb_month: float = setting(
        0.0,
        "Price of a GB on the brokers' disks for a month (730 h), each replica for itself.",
        least=0,
        below=math.inf,
    )
    tiered_gb_month: float = setting(0.0, "Likewise in the remote store of tiered storage.", least=0, below=math.inf)

    def cost(self, bytes_produced: int, bytes_fetched: int, requests: int) -> float:
        return (
            self.produced_gb * bytes_produced / _GB
            + self.fetched_gb * bytes_fetched / _GB
            + self.million_requests * requests / _MILLION
        )


@dataclass(frozen=True, slots=True)
class PriceList:
    """Price what tenants move, in any currency."""

    default: Prices = setting(Prices)
    tenants: Mapping[str, Prices] = setting(dict, sections=(Prices,))

    def of(self, tenant: str) -> Prices:
        return self.tenants.get(tenant, self.default)


@dataclass(frozen=True, slots=True)
class CostLine:
    """What a topic, or all topics of a tenant, moved and hold, in bytes. `has_shares`: bytes of clients with several
    topics are divided by requests; `is_least`: some replicas' sizes are missing."""

    topic: str
    tenant: str
    produced: int | None = None
    fetched: int | None = None
    requests: int | None = None
    stored: int | None = None
    tiered: int | None = None
    has_shares: bool = False
    is_least: bool = False
    topics: int = 1


def load_prices(path: Path) -> PriceList:
    """Return the prices of a file. Raises InvalidInput that names the field, the value and the fix."""
    return load(path, "price list", price_list)


def price_list(table: Mapping[str, object]) -> PriceList:
    """Return the prices of a parsed file. Raises InvalidInput."""
    refuse_unknown("", table, declared(PriceList))
    default = read(Prices, table.get("default", {}), "default")
    tenants = section("tenants", table.get("tenants", {}))
    return PriceList(
        default, {name: read(Prices, each, f"tenants.{name}", base=default) for name, each in tenants.items()}
    )
