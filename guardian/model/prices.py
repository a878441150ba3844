"""A price list for what tenants move: TOML, in any currency.

[default]
produced_gb      = 0.02            # a GB (10^9 bytes) written
fetched_gb       = 0.01            # a GB read
million_requests = 0.10            # produce and fetch requests

[tenants.payments]                 # another price than the default, where given
fetched_gb = 0.005
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from guardian.errors import InvalidInput

_GB = 10**9
_MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Prices:
    produced_gb: float = 0.0
    fetched_gb: float = 0.0
    million_requests: float = 0.0

    def cost(self, bytes_produced: int, bytes_fetched: int, requests: int) -> float:
        return (
            self.produced_gb * bytes_produced / _GB
            + self.fetched_gb * bytes_fetched / _GB
            + self.million_requests * requests / _MILLION
        )


@dataclass(frozen=True, slots=True)
class PriceList:
    default: Prices = field(default_factory=Prices)
    tenants: Mapping[str, Prices] = field(default_factory=dict)

    def of(self, tenant: str) -> Prices:
        return self.tenants.get(tenant, self.default)


def load_prices(path: Path) -> PriceList:
    """Raises InvalidInput that names the field, the value and the fix."""
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"price list {path} can't be read: {error}") from None
    unknown = table.keys() - {"default", "tenants"}
    if unknown:
        raise InvalidInput(f"price list {path} has {sorted(unknown)[0]!r}: use [default] and [tenants.NAME]")
    default = _prices(path, "default", table.get("default", {}), Prices())
    tenants = table.get("tenants", {})
    if not isinstance(tenants, dict):
        raise InvalidInput(f"price list {path} has tenants = {tenants!r}: use sections [tenants.NAME]")
    return PriceList(
        default, {name: _prices(path, f"tenants.{name}", section, default) for name, section in tenants.items()}
    )


def _prices(path: Path, title: str, section: object, base: Prices) -> Prices:
    known = {price.name for price in fields(Prices)}
    if not isinstance(section, dict) or section.keys() - known:
        raise InvalidInput(f"price list {path}: [{title}] may have {', '.join(sorted(known))}")
    for name, value in section.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not (value >= 0 and math.isfinite(value)):
            raise InvalidInput(f"price list {path}: {title}.{name} is {value!r}: give a number from 0")
    return replace(base, **section)
