"""A KDC of MIT Kerberos in a process of its own, on loopback, with a realm that ends with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.local import ports

REALM = "GUARDIAN.TEST"
_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Kdc:
    """`config` is krb5.conf."""

    folder: Path
    config: Path
    environment: dict[str, str]

    def principal(self, name: str) -> None:
        """Make a principal with a new random key."""
        self._admin(f"addprinc -randkey {name}@{REALM}")

    def keytab(self, name: str, file: Path) -> None:
        """Write the key of a principal; earlier keytabs of it are of no use from then on."""
        file.unlink(missing_ok=True)
        self._admin(f"ktadd -k {file} {name}@{REALM}")

    def _admin(self, query: str) -> None:
        run("kadmin.local", "-r", REALM, "-q", query, environment=self.environment)


@contextmanager
def running(folder: Path) -> Iterator[Kdc]:
    """Start a KDC whose files are in the folder."""
    (port,) = ports.pick(1)
    config, profile = folder / "krb5.conf", folder / "kdc.conf"
    config.write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
        f" rdns = false\n dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
        f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        f"[domain_realm]\n localhost = {REALM}\n"
    )
    profile.write_text(
        f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
        f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
        f"  acl_file = {folder}/acl\n  max_life = 10h\n }}\n"
        f"[logging]\n kdc = FILE:{folder}/kdc.log\n"
    )
    environment = {**os.environ, "KRB5_CONFIG": str(config), "KRB5_KDC_PROFILE": str(profile)}
    run("kdb5_util", "-r", REALM, "-P", "of the test", "create", "-s", environment=environment)
    process = subprocess.Popen([program("krb5kdc"), "-n", "-r", REALM], env=environment)
    try:
        deadline = time.monotonic() + _START_S
        while not _listens(port):
            assert process.poll() is None, "the KDC has ended"
            assert time.monotonic() < deadline, "the KDC does not listen"
            time.sleep(0.05)
        yield Kdc(folder, config, environment)
    finally:
        process.terminate()
        process.wait()


def program(name: str) -> str:
    """Return where a program of krb5-kdc is, which Debian has in /usr/sbin."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert found is not None, f"{name} is missing: apt-get install krb5-kdc krb5-admin-server"
    return found


def run(name: str, *arguments: str, environment: dict[str, str]) -> None:
    subprocess.run([program(name), *arguments], env=environment, check=True, capture_output=True)


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
