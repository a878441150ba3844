"""Where links of a page lead on the site. Pages are written for a checkout: a link there is a path to another file.

[life](../guardian/tickets/README.md) in docs/start.md ──▶ guides/tickets.md of the site, relative to the page
[code](../guardian/config.py)                   ──▶ no page: its words stay, the link goes
[gone](../guardian/none.md)                     ──▶ Broken
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_LINK = re.compile(r"(?P<words>\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL)


class Broken(Exception):
    """A link that leads nowhere."""


def rewrite(markdown: str, source: str, page: str, pages: Mapping[str, str], exists: Callable[[str], bool]) -> str:
    """`source` is the page's path in the checkout, `page` its path on the site; `pages` maps the one to the other for
    all pages. Raises Broken for a link to what `exists` does not know."""

    def linked(found: re.Match[str]) -> str:
        words, target = found["words"], found["target"]
        path, hash_mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if place in pages:
            return f"{words}({posixpath.relpath(pages[place], posixpath.dirname(page) or '.')}{hash_mark}{anchor})"
        if not exists(place):
            raise Broken(f"{source} links to {target}, and {place} does not exist")
        if place.startswith("docs/"):
            return f"{words}({posixpath.relpath(place.removeprefix('docs/'), posixpath.dirname(page) or '.')})"
        return words[1:-1]

    return outside_fences(markdown, lambda text: _LINK.sub(linked, text))


def outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    """Code blocks stay as they are."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def links_of(markdown: str) -> list[str]:
    """Every target outside of code blocks."""
    found: list[str] = []

    def note(text: str) -> str:
        found.extend(match["target"] for match in _LINK.finditer(text))
        return text

    outside_fences(markdown, note)
    return found
