"""The pages that only read, those by which plans are asked for, and what they share: one set of kept looks."""

from __future__ import annotations

from fastapi import APIRouter

from guardian.activity.pages import CostPages
from guardian.console.broker import BrokerPages
from guardian.console.cluster import ClusterPages
from guardian.console.federation import FederationPages
from guardian.console.live import LiveFeeds
from guardian.console.looking import Looks
from guardian.console.members import MemberPages
from guardian.console.rendering import Renderer
from guardian.console.sections import Pages, router_of
from guardian.console.topic import TopicPages
from guardian.console.views import Views
from guardian.federation.pages import TenantPages
from guardian.health.pages import FindingPages
from guardian.links.pages import LinkPages
from guardian.planning.pages.asked import AskPages
from guardian.web.parts import WebParts


def pages(web: WebParts, render: Renderer, feeds: LiveFeeds) -> Pages:
    looks = Looks(web)
    views = Views(looks, render, feeds)
    asks = AskPages(web, render, looks)
    router = APIRouter()
    for made in (
        FederationPages(views),
        ClusterPages(views),
        BrokerPages(views),
        TopicPages(views),
        CostPages(views),
        TenantPages(views),
        FindingPages(views),
        LinkPages(views),
        MemberPages(web, views),
        asks,
    ):
        router.include_router(router_of(made, web.form_guard))
    return Pages(router, asks.close, looks.close)
