"""Kafka's jars and the broker plugin's: fetched or built by Maven once, then found on disk.

Maven's own cache is shared between clones; `target/` holds what one clone runs with, each set of jars in its own folder
and from its own pom. A folder is trusted only while its stamp holds the digest of the pom that filled it and verified
its checksums.

    libs                 a broker of Kafka 4.3           pom.xml
    kafka-3.9            a broker of Kafka 3.9           jars/kafka-3.9.xml
    tiered-storage-…     Kafka's LocalTieredStorage      jars/tiered-storage-….xml

    python -m deploy.local.distribution                the path of the broker's jars, fetched when missing
    python -m deploy.local.distribution pin [FOLDER]   writes the checksums of the present versions into its pom
    python -m deploy.local.distribution pin POM.xml    the same of another pom, which fills target/libs beside it
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.local.progress import say
from guardian.errors import InvalidInput

HERE = Path(__file__).resolve().parent
TARGET = HERE / "target"
PLUGIN = HERE.parent / "broker-plugin"
JAVA_VERSION = 17
INSTALL_JAVA = "apt-get install openjdk-17-jdk-headless"
INSTALL_MAVEN = "apt-get install maven"
CHECKPOINT = "bootstrap.checkpoint"
KAFKA = "4.3"
# By Kafka's version: the folder of a broker's jars, and that of its LocalTieredStorage.
FOLDERS = {KAFKA: ("libs", "tiered-storage-4.3"), "3.9": ("kafka-3.9", "tiered-storage-3.9")}

_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_PINNED = re.compile(r"(?P<begin> *<!-- pinned: begin -->\n)(?P<rules>.*?)(?P<end> *<!-- pinned: end -->\n)", re.DOTALL)
_RULE_FILE = re.compile(r"<file>\$\{libs\}/([^<]+)</file>")


def kafka_libs(kafka: str = KAFKA) -> Path:
    """The directory of a Kafka broker's jars; see `fetch`."""
    return _fetch(FOLDERS[kafka][0], "the broker's jars (58 MB when its cache is empty)")


def tiered_storage_libs(kafka: str = KAFKA) -> Path:
    """The directory that holds LocalTieredStorage of this Kafka, and nothing else; see `fetch`."""
    return _fetch(FOLDERS[kafka][1], "its LocalTieredStorage")


def fetch(pom: Path, libs: Path, what: str) -> Path:
    """The directory `libs`, filled by the pom; by Maven when it is missing or when the pom has changed.

    Raises InvalidInput when Java or Maven is missing or too old, or a jar is not the one that the pom pins.
    """
    require_java()
    stamp = _stamp(libs)
    wanted = hashlib.sha256(pom.read_bytes()).hexdigest()
    if _holds(stamp, wanted):
        return libs
    with locked(libs.with_name(f"{libs.name}.lock")):
        if _holds(stamp, wanted):
            return libs
        say(f"kafka: fetching {what} with Maven")
        stamp.unlink(missing_ok=True)
        shutil.rmtree(libs, ignore_errors=True)
        run_maven(pom, "verify")
        _refuse_unpinned(libs, pom)
        stamp.write_text(wanted)
    return libs


def plugin_jar() -> Path:
    """The broker plugin's shaded jar, built by Maven when missing (`make plugin` also rebuilds a stale one)."""
    jar = PLUGIN / "target" / "guardian-broker-plugin.jar"
    if jar.exists():
        return jar
    with locked(TARGET / "plugin.lock"):
        if not jar.exists():
            require_java()
            say("plugin: building the broker plugin with Maven")
            run_maven(PLUGIN / "pom.xml", "package")
    if not jar.exists():
        raise InvalidInput(f"Maven built no {jar}: look at finalName in {PLUGIN / 'pom.xml'}")
    return jar


def bootstrap_checkpoint(kafka: str = KAFKA, release: str = "") -> Path:
    """The `bootstrap.checkpoint` of a new cluster: this Kafka's feature levels, or those of an older
    `release` such as "4.1", written once by its own tool.

    It names no cluster and no node, so that one file serves all; formatting would cost a JVM's start for each node.
    """
    libs = kafka_libs(kafka)
    checkpoint = TARGET / f"{_stamp(libs).read_text()[:12]}{release and f'.{release}'}.{CHECKPOINT}"
    with locked(TARGET / "checkpoint.lock"):
        if not checkpoint.exists():
            _format_once(libs, checkpoint, release)
    return checkpoint


def require_java() -> str:
    """The path of `java`. Raises InvalidInput when it is missing or older than 17."""
    java = shutil.which("java")
    if java is None:
        raise InvalidInput(f"java is not on the PATH: install Java {JAVA_VERSION} with `{INSTALL_JAVA}`")
    found = _JAVA_VERSION.search(_said_of_itself(java))
    if found is None or int(found[1]) < JAVA_VERSION:
        version = found[1] if found else "unknown"
        raise InvalidInput(
            f"java at {java} has version {version}: Kafka needs {JAVA_VERSION} or newer, `{INSTALL_JAVA}`"
        )
    return java


@functools.cache
def _said_of_itself(java: str) -> str:
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr


def run_maven(pom: Path, *goals: str) -> None:
    """Runs goals of one pom. Raises InvalidInput when Maven is missing or fails, with its first error."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise InvalidInput(f"mvn is not on the PATH: install Maven with `{INSTALL_MAVEN}`")
    command = [mvn, "--batch-mode", "--no-transfer-progress", "-q", "-Dstyle.color=never", "-f", str(pom), *goals]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InvalidInput(f"Maven failed on {pom} (mvn {' '.join(goals)}): {_first_errors(done.stdout + done.stderr)}")


def _first_errors(output: str) -> str:
    """Return on one line what Maven says before it comes to its general advice."""
    errors = [line.removeprefix("[ERROR]").strip() for line in output.splitlines() if line.startswith("[ERROR]")]
    told = itertools.takewhile(lambda line: line and "[Help 1]" not in line, errors)
    return " ".join(told) or "it gave no reason"


def pin_checksums(pom: Path, libs: Path) -> int:
    """Fetches the jars that a pom's versions ask for into `libs` and writes their checksums into the pom; how many."""
    libs.parent.mkdir(parents=True, exist_ok=True)
    text = pom.read_text()
    if _PINNED.search(text) is None:
        raise InvalidInput(f"{pom} has no lines `pinned: begin` and `pinned: end`: put them into <rules>")
    require_java()
    with locked(libs.with_name(f"{libs.name}.lock")):
        _stamp(libs).unlink(missing_ok=True)
        shutil.rmtree(libs, ignore_errors=True)
        run_maven(pom, "package")
        jars = sorted(libs.glob("*.jar"))
    rules = render_rules((jar.name, hashlib.sha256(jar.read_bytes()).hexdigest()) for jar in jars)
    pom.write_text(_PINNED.sub(lambda m: m["begin"] + rules + m["end"], text))
    return len(jars)


def render_rules(checksums: Iterable[tuple[str, str]]) -> str:
    """The enforcer's rules for (file name, SHA-256) pairs, one line a jar."""
    return "".join(
        f"{' ' * 16}<requireFileChecksum><file>${{libs}}/{name}</file>"
        f"<checksum>{digest}</checksum><type>sha256</type></requireFileChecksum>\n"
        for name, digest in checksums
    )


def _format_once(libs: Path, checkpoint: Path, release: str) -> None:
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        properties = Path(scratch) / "server.properties"
        properties.write_text(
            "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
            "controller.listener.names=CONTROLLER\nlisteners=CONTROLLER://127.0.0.1:9093\n"
            f"listener.security.protocol.map=CONTROLLER:PLAINTEXT\nlog.dirs={scratch}/metadata\n"
        )
        tool = [require_java(), "-cp", f"{libs}/*", "kafka.tools.StorageTool", "format"]
        command = [*tool, "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", str(properties)]
        command += ["--release-version", release] if release else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InvalidInput(f"kafka.tools.StorageTool refused {properties.name}: {done.stderr.strip()[-500:]}")
        (Path(scratch) / "metadata" / CHECKPOINT).rename(checkpoint)


def _fetch(folder: str, what: str) -> Path:
    return fetch(_pom(folder), TARGET / folder, what)


def _pom(folder: str) -> Path:
    """Raises InvalidInput for a folder that no pom fills."""
    pom = HERE / "pom.xml" if folder == FOLDERS[KAFKA][0] else HERE / "jars" / f"{folder}.xml"
    if not pom.exists():
        known = sorted(name for pair in FOLDERS.values() for name in pair)
        raise InvalidInput(f"folder is {folder!r}: use one of {known}, or the path of a pom")
    return pom


def _stamp(libs: Path) -> Path:
    return libs.with_name(f"{libs.name}.stamp")


def _refuse_unpinned(libs: Path, pom: Path) -> None:
    """The enforcer checks the jars that it has a rule for; a jar without a rule is refused here."""
    pinned = set(_RULE_FILE.findall(pom.read_text()))
    extra = sorted({jar.name for jar in libs.glob("*.jar")} - pinned)
    if extra:
        which = libs.name if libs.parent == TARGET else pom
        raise InvalidInput(
            f"{extra[0]} has no checksum in {pom}: run `python -m deploy.local.distribution pin {which}`"
        )


def _holds(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time: tests and commands may ask for the jars together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print(kafka_libs())
        case ["pin"]:
            main(["pin", FOLDERS[KAFKA][0]])
        case ["pin", pom] if pom.endswith(".xml"):
            print(f"{pin_checksums(Path(pom), Path(pom).parent / 'target' / 'libs')} jars pinned in {pom}")
        case ["pin", folder]:
            print(f"{pin_checksums(_pom(folder), TARGET / folder)} jars pinned in {_pom(folder)}")
        case _:
            raise InvalidInput(f"arguments are {arguments}: use none, or `pin` and a folder or a pom")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InvalidInput as error:
        say(f"error: {error}")
        sys.exit(2)
