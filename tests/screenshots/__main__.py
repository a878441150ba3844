"""`make screenshots`: each page of the console, light and dark, in a laptop's window, into docs/images/console.

python -m tests.screenshots [--only fleet|ticket|demo] [--brokers N] [--clusters N] [--replicas N] [--out DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.progress import end_on_sigterm, say, teller
from tests.integration.browser import chromium_browser, complaints_of, settled, window
from tests.screenshots import scenes
from tests.screenshots.scenes import Scene
from tests.screenshots.shrinking import shrunk

_OUT = Path(__file__).parents[2] / "docs" / "images" / "console"
_SCENES = ("fleet", "ticket", "demo")


def main(arguments: Sequence[str]) -> int:
    """0: all pictures are taken; 1: a page has complained, which is printed."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=_SCENES, help="may be repeated (all)")
    parser.add_argument("--brokers", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=60, help="on each broker")
    parser.add_argument("--out", type=Path, default=_OUT)
    options = parser.parse_args(arguments)
    end_on_sigterm()
    tell = teller()
    options.out.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    for name in options.only or _SCENES:
        with (
            tempfile.TemporaryDirectory(prefix="screenshots-") as made,
            chromium_browser() as browser,
            _scene(name, Path(made), options, tell) as scene,
        ):
            said += _take(browser, scene, name, options.out)
            tell(f"{name}: {len(scene.pages)} pages, light and dark")
    for complaint in said:
        say(complaint, sys.stderr)
    return 1 if said else 0


def _scene(name: str, home: Path, options: argparse.Namespace, tell: scenes.Tell) -> AbstractContextManager[Scene]:
    if name == "fleet":
        return scenes.fleet(home, options.brokers, options.clusters, options.replicas, tell)
    return scenes.ticket(tell) if name == "ticket" else scenes.demo(home / "federation", tell)


def _take(browser: Browser, scene: Scene, prefix: str, out: Path) -> list[str]:
    """What the pages have complained of."""
    said: list[str] = []
    with window(browser) as light, window(browser, dark=True) as dark:
        opened = {"": light.new_page(), "-dark": dark.new_page()}
        heard = [complaints_of(page) for page in opened.values()]
        for name, path in scene.pages.items():
            for theme, page in opened.items():
                page.goto(f"{scene.url}/console/{path}")
                settled(page)
                png = page.screenshot()
                with window(browser) as blank:
                    small = shrunk(blank.new_page(), png)
                (out / f"{prefix}-{name}{theme}.png").write_bytes(small)
        said += [complaint for each in heard for complaint in each]
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
