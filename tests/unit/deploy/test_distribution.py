import hashlib
import re
from pathlib import Path

import pytest

from deploy.local import distribution
from guardian.errors import InvalidInput

HERE = distribution.HERE


def fake_tool(directory: Path, name: str, script: str) -> None:
    directory.mkdir(exist_ok=True)
    tool = directory / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone that never fetched anything, on a machine with neither Java nor Maven."""
    monkeypatch.setattr(distribution, "TARGET", tmp_path / "target")
    monkeypatch.setattr(distribution, "HERE", tmp_path)
    (tmp_path / "pom.xml").write_text(HERE.joinpath("pom.xml").read_text())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/nowhere")
    return tmp_path


def test_without_java_the_sentence_names_the_command_that_installs_it(clone: Path) -> None:
    with pytest.raises(InvalidInput, match=r"java is not on the PATH.*`apt-get install openjdk-17-jdk-headless`"):
        distribution.kafka_libs()


@pytest.mark.parametrize(("answer", "version"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_292"', "8")])
def test_a_java_older_than_17_is_refused_with_its_version(clone: Path, answer: str, version: str) -> None:
    fake_tool(clone / "bin", "java", f"echo '{answer}' >&2")
    with pytest.raises(InvalidInput, match=f"has version {version}: Kafka needs 17.*openjdk-17-jdk-headless"):
        distribution.kafka_libs()


def test_without_maven_the_sentence_names_the_command_that_installs_it(clone: Path) -> None:
    fake_tool(clone / "bin", "java", "echo 'openjdk version \"17.0.15\"' >&2")
    with pytest.raises(InvalidInput, match=r"mvn is not on the PATH.*`apt-get install maven`"):
        distribution.kafka_libs()


def test_a_failing_maven_is_quoted_and_nothing_counts_as_fetched(clone: Path) -> None:
    fake_tool(clone / "bin", "java", "echo 'openjdk version \"21\"' >&2")
    fake_tool(
        clone / "bin", "mvn", "echo '[ERROR] goal failed:'; echo '[ERROR] no route'; echo '[ERROR] -> [Help 1]'; exit 1"
    )
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"goal failed: no route$"):
            distribution.kafka_libs()


def test_jars_are_fetched_once_and_again_when_the_pom_changes(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def maven(pom: Path, *goals: str) -> None:
        runs.append(goals)
        (clone / "target" / "libs").mkdir(parents=True)

    monkeypatch.setattr(distribution, "require_java", lambda: "java")
    monkeypatch.setattr(distribution, "run_maven", maven)
    assert distribution.kafka_libs() == distribution.kafka_libs() == clone / "target" / "libs"
    assert runs == [("verify",)]
    with (clone / "pom.xml").open("a") as pom:
        pom.write("<!-- changed -->\n")
    distribution.kafka_libs()
    assert runs == [("verify",), ("verify",)]


def test_a_jar_without_a_checksum_in_the_pom_is_refused(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def maven(pom: Path, *goals: str) -> None:
        libs = clone / "target" / "libs"
        libs.mkdir(parents=True)
        (libs / "stowaway-1.0.jar").write_bytes(b"")

    monkeypatch.setattr(distribution, "require_java", lambda: "java")
    monkeypatch.setattr(distribution, "run_maven", maven)
    with pytest.raises(InvalidInput, match=r"stowaway-1\.0\.jar has no checksum"):
        distribution.kafka_libs()


def test_pinning_writes_the_checksum_of_every_jar_into_the_pom(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def maven(pom: Path, *goals: str) -> None:
        libs = clone / "target" / "libs"
        libs.mkdir(parents=True)
        (libs / "one-1.0.jar").write_bytes(b"one")

    monkeypatch.setattr(distribution, "require_java", lambda: "java")
    monkeypatch.setattr(distribution, "run_maven", maven)
    assert distribution.pin_checksums(clone / "pom.xml", clone / "target" / "libs") == 1
    text = (clone / "pom.xml").read_text()
    assert text.count("<requireFileChecksum>") == 1
    assert f"one-1.0.jar</file><checksum>{hashlib.sha256(b'one').hexdigest()}</checksum>" in text


def test_each_set_of_jars_has_a_pom_and_a_folder_of_its_own(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "jars").mkdir()
    filled = []

    def maven(pom: Path, *_: str) -> None:
        filled.append(pom.name)
        (clone / "target" / pom.stem).mkdir(parents=True)

    monkeypatch.setattr(distribution, "require_java", lambda: "java")
    monkeypatch.setattr(distribution, "run_maven", maven)
    for name in ("kafka-3.9", "tiered-storage-4.3", "tiered-storage-3.9"):
        (clone / "jars" / f"{name}.xml").write_text((HERE / "jars" / f"{name}.xml").read_text())
    assert distribution.kafka_libs("3.9") == clone / "target" / "kafka-3.9"
    assert distribution.tiered_storage_libs() == clone / "target" / "tiered-storage-4.3"
    assert distribution.tiered_storage_libs("3.9") == distribution.tiered_storage_libs("3.9")
    assert filled == ["kafka-3.9.xml", "tiered-storage-4.3.xml", "tiered-storage-3.9.xml"]


def test_a_folder_that_no_pom_fills_is_refused_with_those_that_are(clone: Path) -> None:
    with pytest.raises(InvalidInput, match=r"folder is 'kafka-2\.8': use one of .*'kafka-3\.9'"):
        distribution.main(["pin", "kafka-2.8"])


@pytest.mark.parametrize(
    ("pom", "jar"),
    [
        ("kafka-3.9", "kafka_2.13-3.9.1.jar"),
        ("tiered-storage-4.3", "kafka-storage-4.3.0-test.jar"),
        ("tiered-storage-3.9", "kafka-storage-3.9.1-test.jar"),
    ],
)
def test_other_poms_pin_their_jars_too(pom: str, jar: str) -> None:
    text = (HERE / "jars" / f"{pom}.xml").read_text()
    assert re.search(rf"\{{libs\}}/{re.escape(jar)}</file><checksum>[0-9a-f]{{64}}</checksum>", text)


def test_the_pom_pins_kafka_its_logging_and_every_plugin() -> None:
    text = HERE.joinpath("pom.xml").read_text()
    for jar in (
        "kafka_2.13-4.3.0.jar",
        "kafka-clients-4.3.0.jar",
        "kafka-tools-4.3.0.jar",
        "log4j-slf4j-impl-2.25.4.jar",
    ):
        assert re.search(rf"\{{libs\}}/{re.escape(jar)}</file><checksum>[0-9a-f]{{64}}</checksum>", text)
    plugins = re.findall(r"<plugin>.*?</plugin>", text, re.DOTALL)
    assert plugins
    assert all(re.search(r"<version>\d[\d.]+</version>", plugin) for plugin in plugins)
