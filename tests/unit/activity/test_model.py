"""A price list says what it costs, or what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardian.activity.model import PriceList, Prices, load_prices
from guardian.errors import InvalidInput

TEXT = """
[default]
produced_gb = 0.02
fetched_gb = 0.01
million_requests = 0.5

[tenants.payments]
fetched_gb = 0.005
"""


def load(folder: Path, text: str) -> PriceList:
    file = folder / "prices.toml"
    file.write_text(text)
    return load_prices(file)


def test_a_tenant_has_its_own_price_where_given_and_the_default_otherwise(tmp_path: Path) -> None:
    prices = load(tmp_path, TEXT)
    assert prices.of("payments") == Prices(0.02, 0.005, 0.5)
    assert prices.of("anybody") == Prices(0.02, 0.01, 0.5)


def test_a_cost_is_of_gigabytes_and_millions_of_requests() -> None:
    assert Prices(0.02, 0.01, 0.5).cost(10**9, 2 * 10**9, 2 * 10**6) == pytest.approx(0.02 + 0.02 + 1.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[defaults]\n", r"prices.toml: defaults is not a setting: did you mean default\?"),
        ("[default]\nproduced = 1\n", r"default.produced is not a setting: did you mean produced_gb\?"),
        ("[default]\nproduced_gb = -1\n", "produced_gb is -1"),
        ("[default]\nproduced_gb = true\n", "produced_gb is True"),
        ("[tenants.a]\nfetched_gb = nan\n", "tenants.a.fetched_gb is nan"),
        ("tenants = 3\n", r"tenants is 3: write it as a section, \[tenants\]"),
        ("default = 3\n", r"\[default\]"),
        ("[", "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        load(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.toml"):
        load_prices(tmp_path / "nothing.toml")
