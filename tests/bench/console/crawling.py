"""Which pages there are: those that links lead to from the first one, two of each kind, and the parts that pages load.

A kind is a path without what it names: of a thousand brokers' pages two are looked at. So a page that is added later is
measured without being listed anywhere.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from html import unescape
from urllib.parse import urlsplit

_LINK = re.compile(r'(?:href|hx-get)="(/console/[^"#]*)')
_NAMED = {
    "clusters": 1,
    "brokers": 1,
    "topics": 1,
    "tickets": 1,
    "tenants": 1,
    "disks": 1,
    "machines": 1,
    "policies": 1,
}
_OF_A_KIND = 2
_LEFT_OUT = ("/console/static/", "/console/theme")


def kind_of(where: str) -> str:
    """`/console/clusters/sim-1/brokers/7?page=2` -> `/console/clusters/*/brokers/*?page`."""
    parts = urlsplit(where)
    names = parts.path.split("/")
    shown = [
        "*" if at and names[at - 1] in _NAMED and name not in _NAMED and name else name for at, name in enumerate(names)
    ]
    asked = sorted({pair.split("=")[0] for pair in parts.query.split("&") if pair})
    return "/".join(shown) + (f"?{'&'.join(asked)}" if asked else "")


def links_of(page: str) -> list[str]:
    """To pages of the console and to their parts, in their order."""
    found = (unescape(link) for link in _LINK.findall(page))
    return [link for link in dict.fromkeys(found) if not link.startswith(_LEFT_OUT)]


def crawl(get: Callable[[str], str], first: str = "/console/", most: int = 120) -> list[str]:
    """The paths, the first one first. `get` gives a page's text, "" for what has none."""
    known: Counter[str] = Counter({kind_of(first): 1})
    waiting, found = deque([first]), [first]
    while waiting:
        for link in links_of(get(waiting.popleft())):
            if link in found or known[kind_of(link)] >= _OF_A_KIND or len(found) >= most:
                continue
            known[kind_of(link)] += 1
            found.append(link)
            waiting.append(link)
    return found
