"""A real member with [security]: refuses, lets in, records, and appends its audit to a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from deploy.local import ports
from guardian.client import GuardianClient
from guardian.client.bearing import bearer
from guardian.errors import GuardianError, NotAllowed, NotSignedIn
from guardian.security.rules.audit_chain import check_lines
from guardian.security.rules.tokens import make_token, write_tokens
from protos.guardian.v1 import federation_pb2
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True)
class Served:
    grpc: str
    http: str
    folder: Path
    tokens: dict[str, str]

    def client(self, name: str) -> GuardianClient:
        return GuardianClient([self.grpc], 60.0, bearing=bearer(self.tokens[name]))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("secured")
    grpc, http, raft = (f"{ports.HOST}:{port}" for port in ports.pick(3))
    made = {
        name: make_token(name, os.urandom(4), os.urandom(32), time.time_ns() // 1_000_000) for name in ("root", "vic")
    }
    (folder / "tokens.toml").write_text(write_tokens(token for _, token in made.values()))
    (folder / "roles.toml").write_text(
        '[[grants]]\nwho = ["root"]\nrole = "admin"\n[[grants]]\nwho = ["vic"]\nrole = "viewer"\n'
    )
    (folder / "members.key").write_text("5" * 64)
    (folder / "members.key").chmod(0o600)
    (folder / "g1.toml").write_text(
        f'name = "g1"\ndata = "{folder}/data"\nlake = "{folder}/lake"\n'
        f'grpc = "{grpc}"\nhttp = "{http}"\nraft = "{raft}"\n[audit]\nurl = ""\n'
        f'[security]\nroles = "{folder}/roles.toml"\ntokens = "{folder}/tokens.toml"\n'
        f'key_file = "{folder}/members.key"\naudit_file = "{folder}/audit.jsonl"\n'
    )
    command = [sys.executable, "-m", "guardian.cli.main", "server", "--config", str(folder / "g1.toml")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:

            def is_ready() -> bool:
                assert process.poll() is None, (folder / "log").read_text()[-3000:]
                try:
                    return httpx.get(f"http://{http}/readyz", timeout=30).status_code == 200
                except httpx.HTTPError:
                    return False

            until(is_ready)
            yield Served(grpc, http, folder, {name: text for name, (text, _) in made.items()})
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def test_who_may_changes_and_is_recorded_and_who_may_not_is_recorded_too(served: Served) -> None:
    tenant = federation_pb2.FederationEntry(tenant=federation_pb2.Tenant(name="payments"))
    change = federation_pb2.FederationChange(put=tenant)
    with served.client("root") as root, served.client("vic") as vic:
        root.change_federation([change])
        with pytest.raises(NotAllowed, match="vic is not operator"):
            vic.change_federation([change])
        with pytest.raises(NotSignedIn), GuardianClient([served.grpc], 60.0) as nobody:
            nobody.tickets()

        def told() -> set[tuple[str, str]]:
            return {(record.actor, record.action) for record in root.audit()}

        until(lambda: told() >= {("root", "change_federation"), ("vic", "refused"), ("nobody", "refused")})
    audit = served.folder / "audit.jsonl"

    def is_appended() -> bool:
        return audit.exists() and '"actor":"nobody"' in audit.read_text()

    until(is_appended)
    assert check_lines(audit.read_text().splitlines()).lines >= 3
    log = (served.folder / "log").read_text()
    assert not any(token in log for token in served.tokens.values())


def test_pages_ask_who_it_is_and_speak_for_him(served: Served) -> None:
    with httpx.Client(base_url=f"http://{served.http}", timeout=PATIENCE_S) as browser:
        assert browser.get("/metrics").status_code == 401
        assert browser.get("/console/", headers={"Accept": "text/html"}).headers["Location"].startswith("/auth/login")
        shown = {"Authorization": f"Bearer {served.tokens['vic']}"}
        assert browser.get("/metrics", headers=shown).status_code == 200
        assert browser.get("/console/tickets", headers=shown).status_code == 200
        assert browser.get("/api/v1/clusters", headers=shown).status_code == 200
        form = {"token": served.tokens["vic"], "next": "/console/members"}
        answer = browser.post("/auth/token", data=form, headers={"Origin": f"http://{served.http}"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/console/members")
        assert browser.get("/console/members").status_code == 200


def test_a_roles_file_that_breaks_lets_nobody_in_until_it_is_mended(served: Served) -> None:
    roles = served.folder / "roles.toml"
    good = roles.read_text()
    with served.client("root") as root:
        roles.write_text("[[grants")
        with pytest.raises(GuardianError, match="can't be used, so that nobody is let in"):
            root.tickets()
        roles.write_text(good)
        assert root.tickets() == ()
