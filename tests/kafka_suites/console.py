"""Kafka's own tests, run by JUnit's console in one JVM, with the manager under test put in by `src/`.

They start clusters of their own within that JVM and know nothing of Guardian: where it is, the plugin learns from
system properties. What passed and what failed is read from the console's report, not from what it prints; what it
prints as it goes on is told to whoever watches. When the JVM ends, so do all its clusters, and it ends with us.
"""

from __future__ import annotations

import re
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from deploy.local import distribution
from tests.integration.faults.progress import tell

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
JAR = HERE / "target" / "kafka-suites.jar"
LIBS = HERE / "target" / "libs"
HEAP = "768m"

_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# A line of the feed: JUnit Jupiter > Class > method() > method [1] Type=Raft-Combined, ... :: SUCCESSFUL
_FEED = re.compile(
    r"^JUnit Jupiter > (?P<suite>\w+) > .*? > (?P<test>\S.*?)(?: Type=(?P<type>[\w-]+).*)? :: (?P<how>\w+)$"
)
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test of the report, as `RemoteLogSegmentLifecycleTest.testCacheListSegments()[1]`."""

    name: str
    seconds: float
    failure: str = ""
    """What failed, on one line; empty: nothing."""
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What the console said at its end; `log` holds all it printed."""

    exit_code: int
    outcomes: tuple[Outcome, ...]
    log: Path

    @property
    def failures(self) -> dict[str, str]:
        return {outcome.name: outcome.failure for outcome in self.outcomes if outcome.failure}

    @property
    def skipped(self) -> list[str]:
        return [outcome.name for outcome in self.outcomes if outcome.is_skipped]


def run(
    selectors: Sequence[str],
    settings: Mapping[str, str],
    home: Path,
    deadline_s: float,
    *,
    but_methods: str = "",
    class_path: Sequence[Path] = (),
) -> Report:
    """Runs what JUnit's selectors name (`class:package.Class`, `method:package.Class#method`, ...).

    `settings` are the JVM's system properties, `home` takes all files, `but_methods` is a regular expression for
    `package.Class#method` to leave out. Raises TimeoutError at the deadline, and RuntimeError when the JVM ended
    without a report; nothing of it runs on afterwards in either case.
    """
    home.mkdir(parents=True, exist_ok=True)
    (home / "tmp").mkdir(exist_ok=True)
    log, reports = home / "console.log", home / "reports"
    command = [
        *_WITH_US,
        distribution.require_java(),
        f"-Xmx{HEAP}",
        f"-Djava.io.tmpdir={home / 'tmp'}",
        "-Dlog4j2.configurationFile=log4j2-suites.properties",
        *(f"-D{name}={value}" for name, value in settings.items()),
        "-cp",
        ":".join([str(build()), f"{LIBS}/*", *map(str, class_path)]),
        "org.junit.platform.console.ConsoleLauncher",
        "execute",
        "--config=junit.jupiter.extensions.autodetection.enabled=true",
        "--details=testfeed",
        "--disable-ansi-colors",
        "--disable-banner",
        f"--reports-dir={reports}",
        *([f"--exclude-methodname={but_methods}"] if but_methods else []),
        *(f"--select={selector}" for selector in selectors),
    ]
    exit_code = _run(command, home, log, deadline_s)
    report = reports / "TEST-junit-jupiter.xml"
    if not report.exists():
        raise RuntimeError(f"JUnit's console ended with {exit_code} and no report; {log} ends with:\n{_tail(log)}")
    return Report(exit_code, tuple(read_report(report.read_text())), log)


def build() -> Path:
    """The jar of our own classes, compiled when missing or stale; `LIBS` is complete then."""
    distribution.fetch(POM, LIBS, "its test suites")
    newest = max(source.stat().st_mtime for source in (HERE / "src").rglob("*") if source.is_file())
    if not JAR.exists() or JAR.stat().st_mtime < newest:
        distribution.run_maven(POM, "package")
        JAR.touch()
    return JAR


def test_classes(package: str) -> list[str]:
    """The names of the test classes that Kafka's storage module has in a package."""
    build()
    (jar,) = LIBS.glob("kafka-storage-*-test.jar")
    folder = package.replace(".", "/")
    with zipfile.ZipFile(jar) as content:
        return sorted(
            name.removeprefix(f"{folder}/").removesuffix(".class")
            for name in content.namelist()
            if re.fullmatch(rf"{folder}/(?!Base)\w+Test\.class", name)
        )


def read_report(xml: str) -> Iterator[Outcome]:
    for case in ElementTree.fromstring(xml).iter("testcase"):  # noqa: S314  JUnit's, of the JVM that we started
        wrong = next((part for part in case if part.tag in ("failure", "error")), None)
        message = "" if wrong is None else _what_failed(wrong)
        name = f"{case.get('classname', '').rsplit('.', 1)[-1]}.{case.get('name')}"
        yield Outcome(name, float(case.get("time", "0")), message, case.find("skipped") is not None)


def _what_failed(wrong: ElementTree.Element) -> str:
    """The first line of its message, and the last cause: Kafka's tests often wrap what happened in a general remark."""
    message = (wrong.get("message") or wrong.get("type") or "failed").splitlines()[0]
    causes = [line for line in (wrong.text or "").splitlines() if line.startswith("Caused by: ")]
    return "; ".join([message, *causes[-1:]])


def _run(command: Sequence[str], home: Path, log: Path, deadline_s: float) -> int:
    deadline = time.monotonic() + deadline_s
    with log.open("wb") as output, log.open(errors="replace") as said:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=home)
        try:
            while True:
                exit_code = child.poll()
                _tell_progress(said)
                if exit_code is not None:
                    return exit_code
                if time.monotonic() > deadline:
                    raise TimeoutError(f"Kafka's tests have not ended after {deadline_s:.0f} s; {_tail(log)}")
                time.sleep(_POLL_S)
        finally:
            child.kill()
            child.wait()


def _tell_progress(said: Iterator[str]) -> None:
    for line in said:
        if (found := _FEED.match(line.rstrip())) and found["how"] != "STARTED":
            tell(f"{found['suite']}: {found['test']} {found['type'] or ''} {found['how'].lower()}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
