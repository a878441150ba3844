"""A Debian that has nothing yet, beside this one: made by debootstrap, with mounts and processes of its own.

It shares this machine's kernel, devices and network. Killing its first process ends all of it and removes its mounts,
in whatever state it is; then its files are deleted.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import psutil

from tests.patience import PATIENCE_S, wait_for

TREE = Path(__file__).parents[3]
THERE = "/srv/guardian"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# By what this machine reaches registries: mirrors, proxies, authorities. The new one has no other way.
_SETTINGS = (
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/pip.conf",
    "/etc/uv/uv.toml",
    "/etc/ssl/certs/ca-certificates.crt",
    "~/.config/pip/pip.conf",
    "~/.pip/pip.conf",
    "~/.config/uv/uv.toml",
    "~/.config/go/env",
    "~/.m2/settings.xml",
    "~/.npmrc",
)
_AUTHORITIES = Path("/usr/local/share/ca-certificates")
_APT = Path("/etc/apt/apt.conf.d")
_VARIABLES = {
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "GOPROXY", "GOSUMDB", "MAVEN_OPTS", "MAVEN_ARGS"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
}
_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_")
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# Its root is a mount of its own: of what /proc/mounts does not list Java knows no space, and brokers tell nothing of
# their log dirs then. The first process takes leave of the dead, as init does, and does nothing else.
_BEGIN = """
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/dev/shm"
exec chroot "$1" sh -c "$2"
"""
_WAITING = ["sh", "-c", "while :; do sleep 1; done"]
# Services of packages would listen on this machine's network.
_NO_SERVICES = "#!/bin/sh\nexit 101\n"


class FreshMachine:
    """The release of Debian that runs here, with make and nothing else, and this tree in `THERE`; a context manager.

    Raises AssertionError that shows what was said when it can't be made: it needs root and debootstrap.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.absolute() / "root"
        self._log = folder.absolute() / "machine.log"
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FreshMachine:
        try:
            self._make()
            self._hand_over()
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._holder is not None:
            for first in psutil.Process(self._holder.pid).children():
                first.kill()
            self._holder.wait(PATIENCE_S)
        if self._root.exists():
            shutil.rmtree(self._root)

    def run(self, command: str, log: Path, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Runs a shell's command in the tree there. Output and errors are one text, as people see them.

        `log` has it too, while it grows.
        """
        environment = {"PATH": _PATH, "HOME": "/root" if user == "root" else "/nonexistent", **_handed_over()}
        enter = ["nsenter", f"--target={self._first().pid}", "--mount", "--pid", "--"]
        inside = ["chroot", f"--userspec={user}", str(self._root), "sh", "-c", f"cd {THERE} && {command}"]
        with log.open("w+b") as output:
            done = subprocess.run(
                [*enter, *inside],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output.seek(0)
            return subprocess.CompletedProcess(command, done.returncode, output.read().decode())

    def packages(self) -> frozenset[str]:
        """The packages that are installed."""
        said = self.run("dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\\n'", self._log).stdout
        return frozenset(line.split()[1] for line in said.splitlines() if line.startswith("ii"))

    def wanted_packages(self) -> frozenset[str]:
        """Those of them that somebody named, not those that came along."""
        return frozenset(self.run("apt-mark showmanual", self._log).stdout.split())

    def processes(self) -> list[str]:
        """The command of each process that runs, but for the first and what it waits for."""
        first = self._first().pid
        inside, found = _namespace_of(first), []
        for each in psutil.process_iter(["cmdline", "ppid", "status"]):
            command = each.info["cmdline"] or []
            is_own = each.pid == first or (each.info["ppid"] == first and command in (["sleep", "1"], _WAITING))
            if not is_own and each.info["status"] != psutil.STATUS_ZOMBIE and _namespace_of(each.pid) == inside:
                found.append(shlex.join(command))
        return found

    def path(self, there: str) -> Path:
        """Where this machine sees a file of the other."""
        return self._root / there.lstrip("/")

    def _make(self) -> None:
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        self._root.parent.mkdir(parents=True, exist_ok=True)
        debootstrap = ["debootstrap", "--variant=minbase", "--include=make", suite, str(self._root), _mirror(suite)]
        with self._log.open("wb") as log:
            # What it mounts, and leaves when it fails, ends with it.
            command = [*_WITH_US, "unshare", "--mount", *debootstrap]
            code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
        assert code == 0, f"debootstrap ended with {code}: {self._log.read_text(errors='replace')[-2000:]}"

    def _hand_over(self) -> None:
        files = {Path(name).expanduser(): self.path(name.replace("~", "/root")) for name in _SETTINGS}
        apt = [path for path in _files_in(_APT) if "Acquire" in path.read_text(errors="replace")]
        named = [Path(value) for value in _handed_over().values() if value.startswith("/")]
        files |= {path: self.path(str(path)) for path in (*_files_in(_AUTHORITIES), *apt, *named)}
        files |= {TREE / name: self.path(f"{THERE}/{name}") for name in _names_of_the_tree()}
        for here, there in files.items():
            if here.is_file():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)
        refusal = self.path("/usr/sbin/policy-rc.d")
        refusal.write_text(_NO_SERVICES)
        refusal.chmod(0o755)

    def _begin(self) -> None:
        holding = [*_WITH_US, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _BEGIN, "sh"]
        with self._log.open("ab") as log:
            command = [*holding, str(self._root), _WAITING[-1]]
            self._holder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        wait_for("the first process waits", lambda: self._first().cmdline() == _WAITING, despite=(IndexError,))

    def _first(self) -> psutil.Process:
        """Raises IndexError when there is none yet."""
        assert self._holder is not None, "the machine is not there: use it as a context manager"
        assert self._holder.poll() is None, f"the machine has ended: {self._log.read_text(errors='replace')[-2000:]}"
        return psutil.Process(self._holder.pid).children()[0]


def _mirror(suite: str) -> str:
    """The address from which apt has this suite."""
    command = ["apt-get", "indextargets", "--format", "$(RELEASE) $(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        *names, address = line.split()
        if suite in names:
            return address
    raise AssertionError(f"apt has no mirror of {suite}: add Debian's to /etc/apt/sources.list")


def _handed_over() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name.upper() in _VARIABLES or _has_prefix(name)}


def _has_prefix(name: str) -> bool:
    return name.upper().startswith(_PREFIXES)


def _names_of_the_tree() -> Iterable[str]:
    """What a clone of it has, with what was not committed yet."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=TREE, check=True, capture_output=True, text=True)
    return filter(None, listed.stdout.split("\0"))


def _files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _namespace_of(pid: int) -> str:
    """Its namespace of processes; empty when the process has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""
