"""Chromium, as people have it: Debian's, driven by playwright. Asked for by the fixture `chromium`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.patience import PATIENCE_S

LAPTOP = (1440, 900)
PHONE = (390, 844)
DEADLINE_MS = round(PATIENCE_S * 1000)


@contextmanager
def chromium_browser() -> Iterator[Browser]:
    """Raises FileNotFoundError that says how to get it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise FileNotFoundError("chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        # As root in a container it has no sandbox of its own; pages are on loopback, past any proxy.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--no-proxy-server"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def window(
    browser: Browser, *, dark: bool = False, scripts: bool = True, size: tuple[int, int] = LAPTOP
) -> Iterator[BrowserContext]:
    """As a laptop shows it, or what else has this width and height in px."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    context.set_default_timeout(DEADLINE_MS)
    context.set_default_navigation_timeout(DEADLINE_MS)
    try:
        yield context
    finally:
        context.close()


def complaints_of(page: Page) -> list[str]:
    """Grows by what the page's console says that is wrong: errors of scripts, refusals of the content policy."""
    said: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            said.append(f"{page.url}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
    return said


def settled(page: Page) -> None:
    """Nothing is awaited any more: parts are there, drawings are drawn."""
    page.wait_for_load_state("load")
    page.wait_for_function(
        "() => !document.querySelector('.lazy, .htmx-request, [hx-trigger*=\"delay\"]')"
        " && [...document.querySelectorAll('[data-chart]')].every((one) => one.classList.contains('drawn')"
        " || one.getBoundingClientRect().top > innerHeight + 400)"
    )
