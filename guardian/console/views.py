"""What the pages that read have in common: one answer in the making, with its place in the console.

    view = views.of_cluster(request, name, "brokers")
    seen = view.part(looks.seen, name)                      None, and a note on the page, where there is no answer
    return view.shown("brokers.html", "Brokers of live", ("Brokers", ""), page=page)

A part that can't be had is said to be missing; the rest of the page is shown. A part that is still being read makes the
page ask for itself again (`is_read` in templates).

A page that is live has a feed beside it: the same looks, told by the fingerprint of what they show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from fastapi import Request
from fastapi.responses import Response

from guardian.console.live import LiveFeeds, Look, fingerprint
from guardian.console.looking import Looks
from guardian.console.rendering import Renderer
from guardian.console.urls import url
from guardian.errors import GuardianError
from guardian.model.topology import Cluster
from guardian.web.keeping import StillBeingRead

Asked = ParamSpec("Asked")
Value = TypeVar("Value")
# (words, where); the last one of a page is the page itself, and leads nowhere.
Crumb = tuple[str, str]


class View:
    """One page for one request. `shared` are values that its templates get beside their own."""

    def __init__(
        self, render: Renderer, request: Request, section: str, crumbs: tuple[Crumb, ...] = (), **shared: object
    ) -> None:
        self._render = render
        self._request = request
        self._section = section
        self._crumbs = crumbs
        self._shared = shared
        self._is_read = True
        self._notes: list[str] = []

    def part(
        self,
        look: Callable[Concatenate[Request, Asked], Value],
        /,
        *asked: Asked.args,
        **named: Asked.kwargs,
    ) -> Value | None:
        """Return what a look gives; None, and a note, where it gives nothing."""
        try:
            return look(self._request, *asked, **named)
        except StillBeingRead as waits:
            self._is_read = False
            self.say(str(waits))
        except GuardianError as error:
            self.say(str(error))
        return None

    def if_any(
        self,
        look: Callable[Concatenate[Request, Asked], Value],
        /,
        *asked: Asked.args,
        **named: Asked.kwargs,
    ) -> Value | None:
        """Return what a look gives, as `part`, of what not every cluster has: without a word where it gives nothing."""
        try:
            return look(self._request, *asked, **named)
        except StillBeingRead:
            self._is_read = False
        except GuardianError:
            pass
        return None

    def if_there(
        self,
        look: Callable[Concatenate[Request, Asked], Value],
        /,
        *asked: Asked.args,
        **named: Asked.kwargs,
    ) -> Value | None:
        """Return what a look gives, as `if_any`, of what the page does not wait for: another part of it shows it."""
        try:
            return look(self._request, *asked, **named)
        except GuardianError:
            return None

    def shown(self, template: str, title: str, *crumbs: Crumb, **values: object) -> Response:
        """The page; `crumbs` are those below where the view stands."""
        common: dict[str, Any] = {
            "section": self._section,
            "title": title,
            "crumbs": (*self._crumbs, *crumbs),
            "notes": self._notes,
            "is_read": self._is_read,
        }
        return self._render(self._request, template, **{**common, **self._shared, **values})

    def fingerprint(self, *shown: object) -> str:
        """Return a short text that is another one when the page shows something else; its notes are part of it."""
        return fingerprint((self._notes, self._is_read, shown))

    def say(self, sentence: str) -> None:
        """A note at the top of the page; once."""
        if sentence not in self._notes:
            self._notes.append(sentence)


class ClusterView(View):
    """A page of a cluster that the person may see; `tab` is which of its parts it belongs to."""

    def __init__(self, render: Renderer, request: Request, cluster: Cluster, tab: str) -> None:
        above = (("Federation", url("")), (cluster.name, url("clusters", cluster.name)))
        super().__init__(render, request, "federation", above, cluster=cluster, tab=tab)
        self.cluster = cluster


class Views:
    """Begins pages."""

    def __init__(self, looks: Looks, render: Renderer, feeds: LiveFeeds) -> None:
        self.looks = looks
        self._render = render
        self._feeds = feeds

    def of(self, request: Request, section: str, *crumbs: Crumb) -> View:
        return View(self._render, request, section, crumbs)

    def of_cluster(self, request: Request, name: str, tab: str = "") -> ClusterView:
        """Raises NotFound."""
        return ClusterView(self._render, request, self.looks.cluster(request, name), tab)

    def live(self, request: Request, name: str, look: Callable[[], dict[str, object]]) -> Response:
        """Return the stream of what a page shows: the name of each part, and the fingerprint of what is in it.

        `name` tells the page from all others of this person. `look` is called on the feed's thread, as long as somebody
        looks on; it raises GuardianErrors.
        """
        person = self.looks.person(request)
        return self._feeds.answer(f"{name} of {person!r}", lambda: Look(look()), person.name)


class ReadingPages:
    """Pages that only show what is looked at."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._looks = views.looks
