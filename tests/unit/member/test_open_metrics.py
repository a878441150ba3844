"""What a scraper is told: of the clusters that he sees who shows a credential, else what the configuration says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from guardian.config import load
from guardian.errors import InvalidInput
from guardian.security.model.security_config import OpenMetrics
from tests.unit.member.guarded_web import CLUSTERS, GuardedWeb, guarded_web

pytestmark = pytest.mark.slow


@pytest.fixture(params=list(OpenMetrics), ids=str)
def web(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[OpenMetrics, GuardedWeb]]:
    with guarded_web(tmp_path, open_metrics=request.param) as web:
        yield request.param, web


def told(web: GuardedWeb, authorization: str = "") -> tuple[int, set[str], bool]:
    """Return the status, the clusters that metrics and discovery both name, and whether there are the member's own."""
    shown = {"Authorization": authorization} if authorization else {}
    page, found = (web.browser.get(path, headers=shown) for path in ("/metrics", "/sd/prometheus"))
    assert page.status_code == found.status_code
    if page.status_code != 200:
        return page.status_code, set(), False
    named = {name for name in CLUSTERS if f'cluster="{name}"' in page.text}
    assert named == set(json.loads(found.text))
    return 200, named, "own 1.0" in page.text


def test_who_shows_nothing_or_nothing_good_is_told_what_the_configuration_says(
    web: tuple[OpenMetrics, GuardedWeb],
) -> None:
    setting, served = web
    expected = {
        OpenMetrics.NO: (401, set(), False),
        OpenMetrics.MEMBER: (200, set(), True),
        OpenMetrics.ALL: (200, set(CLUSTERS), True),
    }[setting]
    assert told(served) == expected
    assert told(served, "Bearer nonsense") == expected


def test_who_says_who_he_is_is_told_of_the_clusters_that_he_sees(web: tuple[OpenMetrics, GuardedWeb]) -> None:
    _, served = web
    tokens = served.guarded.token
    assert told(served, f"Bearer {tokens['vic']}") == (200, set(CLUSTERS), True)
    assert told(served, f"Bearer {tokens['olga']}") == (200, {"other-1"}, True)


def test_true_is_no_answer_any_more(tmp_path: Path) -> None:
    file = tmp_path / "g1.toml"
    file.write_text(
        'name = "g1"\ndata = "d"\nlake = "l"\ngrpc = "127.0.0.1:1"\nhttp = "127.0.0.1:2"\nraft = "127.0.0.1:3"\n'
        '[security]\nroles = "r"\nkey_file = "k"\nopen_metrics = true\n'
    )
    with pytest.raises(InvalidInput, match=r"security.open_metrics is True: use \"no\", \"member\""):
        load(file)
