"""Addresses of pages of the console. Pure."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def url(*path: object, **query: object) -> str:
    """Build the address of a page of the console: url("clusters", name, page=2). Empty values are left out."""
    given = {key: value for key, value in query.items() if value not in ("", None)}
    where = "/".join(quote(str(part), safe="") for part in path)
    return f"/console/{where}" + (f"?{urlencode(given)}" if given else "")
