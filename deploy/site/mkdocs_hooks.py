"""What mkdocs.yml calls while the site is built; mkdocs loads this file by its path."""

from __future__ import annotations

import logging

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from deploy.site import links, reference
from deploy.site.pages import ELSEWHERE, ROOT, all_pages

_log = logging.getLogger("mkdocs.hooks.guardian")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for page, make in reference.PAGES.items():
        files.append(File.generated(config, page, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001  its interface
    place = page.file.src_uri
    source = next((path for path, where in ELSEWHERE.items() if where == place), f"docs/{place}")
    try:
        return links.rewrite(markdown, source, place, all_pages(), lambda path: (ROOT / path).exists())
    except links.Broken as broken:
        _log.warning("%s", broken)  # which --strict makes an error
        return markdown
