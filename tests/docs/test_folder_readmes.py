"""Each folder of guardian/ says what it is for, and what its page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy.site import links
from deploy.site.pages import ELSEWHERE, ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "guardian").glob("*/__init__.py"))
NOT_ON_THE_SITE = sorted(
    path for path in (ROOT / "guardian").rglob("README.md") if path.relative_to(ROOT).as_posix() not in ELSEWHERE
)
NAMES = [path.relative_to(ROOT).as_posix() for path in NOT_ON_THE_SITE]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_a_folder_has_a_page(folder: Path) -> None:
    assert folder.name == "model" or (folder / "README.md").exists()


@pytest.mark.parametrize("path", NOT_ON_THE_SITE, ids=NAMES)
def test_links_of_a_folders_page_lead_somewhere(path: Path) -> None:
    for target in links.links_of(path.read_text()):
        assert re.match(r"[a-z]+:", target) or (path.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", NOT_ON_THE_SITE, ids=NAMES)
def test_modules_that_a_folders_page_names_exist(path: Path) -> None:
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", path.read_text())
    modules = {each.relative_to(path.parent).as_posix() for each in path.parent.rglob("*.py")}
    modules |= {name.rpartition("/")[2] for name in modules}
    assert named
    assert [name for name in named if name not in modules and not (ROOT / name).exists()] == []
