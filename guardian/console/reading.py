"""The pages that only read, and what they share: one set of kept looks."""

from __future__ import annotations

from fastapi import APIRouter

from guardian.console import broker, cluster, federation, findings, members, tenants, topic
from guardian.console.looking import Looks
from guardian.console.rendering import Renderer
from guardian.console.sections import Pages
from guardian.web.parts import WebParts


def pages(web: WebParts, render: Renderer) -> Pages:
    looks = Looks(web)
    router = APIRouter()
    for made in (
        federation.router(looks, render),
        cluster.router(looks, render),
        broker.router(looks, render),
        topic.router(looks, render),
        tenants.router(looks, render),
        findings.router(looks, render),
        members.router(web, looks, render),
    ):
        router.include_router(made)
    return Pages(router, looks.close)
