"""Pages are made of templates here: one Jinja environment, static files named by their content, and words for numbers.

    render = Renderer(web)
    return render(request, "topic.html", title="orders", topic=...)      a page, or what htmx asked for of it

Everything that a template shows is escaped, in HTML and as text that may turn the direction of reading. A static file's
URL holds its checksum, so browsers keep it for a year and a new version of Guardian is seen at once.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from guardian.console.acts import (
    acts_of_broker,
    acts_of_cluster,
    acts_of_crossing,
    acts_of_finding,
    acts_of_log_dirs,
    acts_of_tenant,
    acts_of_topic,
)
from guardian.console.health import gravity_of, name_of, where_of
from guardian.console.urls import url
from guardian.errors import GuardianError
from guardian.model.text import escaped, escaped_tree
from guardian.model.units import human_bytes, human_duration, range_text
from guardian.web.parts import WebParts

STATIC_PATH = "/console/static"
THEMES = ("light", "dark")
THEME_COOKIE = "guardian-theme"
# What the console serves: the page of a plan is another one, which needs nothing beside itself.
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_YEAR_S = 31_536_000
_NEVER = "-"
_LAYOUT = "\n\r\t"


_ACTS = {
    act.__name__: act
    for act in (
        acts_of_broker, acts_of_cluster, acts_of_crossing, acts_of_finding, acts_of_log_dirs, acts_of_tenant,
        acts_of_topic,
    )
}  # fmt: skip


class Renderer:
    """Makes pages for one member. Raises jinja2.UndefinedError for what a template names and nobody gave."""

    def __init__(self, web: WebParts) -> None:
        self._web = web
        self._environment = Environment(
            loader=PackageLoader("guardian.console", "templates"),
            autoescape=select_autoescape(),
            undefined=StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            bytes=show_bytes,
            rate=show_rate,
            share=show_share,
            duration=human_duration,
            duration_to=range_text,
            time=show_time,
            iso=show_iso,
            ago=self._ago,
            number=show_number,
            tojson=embedded,
            path=lambda text: quote(str(text), safe=""),
        )
        self._environment.globals.update(
            static=static_url, url=url, gravity=gravity_of, kind_name=name_of, where_of=where_of, **_ACTS
        )

    def __call__(self, request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
        """The page, 200 unless told otherwise."""
        return HTMLResponse(
            self._environment.get_template(template).render(
                request=request,
                here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
                member=self._web.member,
                user=self._name(request),
                signs_in=self._web.signs_in,
                csrf=self._web.csrf_token(request),
                theme=theme_of(request),
                now_ms=self._web.now_ms(),
                is_part=is_part(request),
                **values,
            ),
            status,
        )

    def _name(self, request: Request) -> str:
        """Empty for who is not signed in: a page that needs a client has refused them already."""
        try:
            return self._web.user_of(request).name
        except GuardianError:
            return ""

    def _ago(self, at_ms: int | None) -> str:
        if not at_ms:
            return _NEVER
        return f"{human_duration(max(0, self._web.now_ms() - at_ms))} ago"


def _shown(value: Any) -> Any:
    """Return a template's value as a page shows it: without characters that are none of text. HTML stays HTML."""
    return type(value)(escaped(value, _LAYOUT)) if type(value) in (str, Markup) else value


def is_part(request: Request) -> bool:
    """htmx asks for what a page shows, not for the page."""
    return "hx-request" in request.headers and "hx-history-restore-request" not in request.headers


def theme_of(request: Request) -> str:
    """Return the theme that the person has chosen; empty: as the system has it."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


@cache
def static_url(name: str) -> str:
    """Return where browsers find a file of static/. Raises FileNotFoundError."""
    stem, dot, suffix = name.rpartition(".")
    return f"{STATIC_PATH}/{stem}.{_checksum(name)}{dot}{suffix}"


def static_answer(name: str) -> Response | None:
    """Answer with the file of the last part of a `static_url`; None when it is not one."""
    parts = name.split(".")
    if len(parts) < 3:
        return None
    plain = ".".join((*parts[:-2], parts[-1]))
    kind = _TYPES.get(f".{parts[-1]}")
    if kind is None or "/" in plain or plain.startswith("."):
        return None
    try:
        if parts[-2] != _checksum(plain):
            return None
    except FileNotFoundError:
        return None
    headers = {"Cache-Control": f"public, max-age={_YEAR_S}, immutable"}
    return Response(_content(plain), media_type=kind, headers=headers)


@cache
def _content(name: str) -> bytes:
    return (files("guardian.console") / "static" / name).read_bytes()


@cache
def _checksum(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:12]


def embedded(value: object) -> Markup:
    """JSON for a script element of type application/json: no name in it can end the element."""
    text = json.dumps(escaped_tree(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704  just made safe


def show_bytes(count: float | None) -> str:
    return _NEVER if count is None else human_bytes(count)


def show_rate(count: float | None) -> str:
    return _NEVER if count is None else f"{human_bytes(count)}/s"


def show_share(share: float | None) -> str:
    """0.123 -> 12 %."""
    if share is None or not math.isfinite(share):
        return _NEVER
    text = f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"
    return text.removeprefix("-" if text == "-0%" else "").replace("%", " %")


def show_number(value: float | None, digits: int = 0) -> str:
    """12345 -> 12 345, with thin spaces."""
    return _NEVER if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def show_time(at_ms: int | None) -> str:
    """Show the time to the second, UTC: what people of several time zones can compare."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") if at_ms else _NEVER


def show_iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def words(mapping: Mapping[int, str], value: int) -> str:
    """Return the words of an enum's value that a newer member may have sent."""
    return mapping.get(value, f"unknown ({value})")
