"""The OpenID provider of tests (oidc-provider of npm, a certified one), fetched into build/oidc, and a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import httpx

from deploy.local import ports
from tests.patience import PATIENCE_S, wait_for

SOURCE = Path(__file__).parent / "oidc"
BUILD = Path("build/oidc").absolute()
SECRET = "s" * 40
_STEPS = 12


@contextmanager
def provider(redirect_uri: str) -> Iterator[str]:
    """Its issuer, for as long as it is used."""
    _fetch()
    (port,) = ports.pick(1)
    issuer = f"http://127.0.0.1:{port}"
    with (BUILD / f"provider-{port}.log").open("w") as log:
        process = subprocess.Popen(
            ["node", "provider.mjs", str(port), redirect_uri, SECRET], cwd=BUILD, stdout=log, stderr=log
        )
        try:
            _wait(issuer, process)
            yield issuer
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


class Person:
    """Somebody with a browser, who fills in what the provider shows him."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._browser = httpx.Client(timeout=PATIENCE_S, follow_redirects=False)

    def sign_in(self, url: str, until: str) -> str:
        """Follows and agrees to everything until he is sent to an address that begins like that; which one."""
        answer = self._browser.get(url)
        for _ in range(_STEPS):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["Location"])
                if target.startswith(until):
                    return target
                answer = self._browser.get(target)
                continue
            form = re.search(r"<form[^>]*action=\"([^\"]+)\"[^>]*>(.*?)</form>", answer.text, re.DOTALL)
            assert answer.status_code == 200, answer.text[:1000]
            if form is None:
                return str(answer.url)
            fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form[2]))
            fields |= {name: "x" for name in re.findall(r'<input[^>]*name="([^"]+)"', form[2]) if name not in fields}
            if "login" in fields:
                fields["login"] = self._name
            answer = self._browser.post(urljoin(str(answer.url), unescape(form[1])), data=fields)
        raise AssertionError(f"{self._name} was not sent to {until}, but is at {answer.url}")


def _fetch() -> None:
    """Once, as the lock file says."""
    lock = SOURCE / "package-lock.json"
    stamp = BUILD / ".installed"
    BUILD.mkdir(parents=True, exist_ok=True)
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, BUILD / name)
        subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=BUILD,
            check=True,
            capture_output=True,
            timeout=600,
        )
        shutil.copy(lock, stamp)
    shutil.copy(SOURCE / "provider.mjs", BUILD / "provider.mjs")


def _wait(issuer: str, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        assert process.poll() is None, "the provider has ended: see build/oidc/provider-*.log"
        return httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=30).raise_for_status().is_success

    wait_for("the provider answers", answers, despite=(httpx.HTTPError,))
