"""What deploy/spark holds is what Kubernetes and Spark take, as far as that can be told without either."""

from __future__ import annotations

import re
import shlex
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_analytics.jobs import shipping
from spark_analytics.jobs.shipping import archives
from spark_analytics.search import kernels
from tests.command_line import COMMAND

DEPLOY = Path(__file__).parents[3] / "deploy" / "spark"
KINDS = {
    "ServiceAccount": "v1",
    "ConfigMap": "v1",
    "Service": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "Deployment": "apps/v1",
}


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def test_every_manifest_is_of_a_known_kind_and_names_itself(manifests: dict[str, Any]) -> None:
    assert {kind: each["apiVersion"] for kind, each in manifests.items()} == KINDS
    assert all(each["metadata"]["name"] for each in manifests.values())


def test_what_they_refer_to_is_there(manifests: dict[str, Any]) -> None:
    pod = manifests["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert manifests["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    account = manifests["ServiceAccount"]["metadata"]["name"]
    assert pod["spec"]["serviceAccountName"] == account
    assert [each["name"] for each in manifests["RoleBinding"]["subjects"]] == [account]
    assert manifests["RoleBinding"]["roleRef"]["name"] == manifests["Role"]["metadata"]["name"]
    [container] = pod["spec"]["containers"]
    settings = manifests["ConfigMap"]
    for variable in container["env"]:
        if "valueFrom" in variable:
            wanted = variable["valueFrom"]["configMapKeyRef"]
            assert wanted["name"] == settings["metadata"]["name"]
            assert wanted["key"] in settings["data"]
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["spec"]["volumes"]}


def test_executors_find_the_driver_by_its_service(manifests: dict[str, Any]) -> None:
    conf = dict(line.split(None, 1) for line in manifests["ConfigMap"]["data"]["spark-defaults.conf"].splitlines())
    service = manifests["Service"]
    assert conf["spark.driver.host"] == service["metadata"]["name"]
    ports = {str(port["port"]) for port in service["spec"]["ports"]}
    assert ports == {conf["spark.driver.port"], conf["spark.blockManager.port"]}
    assert conf["spark.kubernetes.authenticate.driver.serviceAccountName"] == "guardian-analyze"


def test_the_container_runs_a_command_that_guardian_has(manifests: dict[str, Any]) -> None:
    [container] = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["command"] + container["args"]
    assert words[0] == "guardian"
    parsed(words[1:])


@pytest.mark.parametrize("line", re.findall(r"^    guardian (.*?)(?:#.*)?$", (DEPLOY / "README.md").read_text(), re.M))
def test_the_guides_commands_are_guardians(line: str) -> None:
    parsed(shlex.split(line))


def parsed(arguments: list[str]) -> None:
    """As the command line would, up to where it runs. Raises typer's errors for what is not known."""
    command = COMMAND
    context = command.make_context("guardian", list(arguments))
    while hasattr(command, "resolve_command"):
        name, command, arguments = command.resolve_command(context, arguments)
        context = command.make_context(name, list(arguments), parent=context)
    assert not arguments or arguments[0].startswith("-")


def test_spark_settings_are_a_name_and_a_value_each() -> None:
    lines = [line for line in (DEPLOY / "yarn.conf").read_text().splitlines() if line and not line.startswith("#")]
    names = [line.split()[0] for line in lines]
    assert all(len(line.split()) == 2 and line.startswith("spark.") for line in lines)
    assert len(set(names)) == len(names)


def test_what_is_shipped_is_what_workers_import_and_the_same_code_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "_compiled", lambda: iter(()))  # other tests may be compiling
    held: dict[str, set[str]] = {}
    (tmp_path / "again").mkdir()
    for one, other in zip(archives(tmp_path), archives(tmp_path / "again"), strict=True):
        path, _, package = one.partition("#")
        assert Path(path).read_bytes() == Path(other.partition("#")[0]).read_bytes()
        held[package] = set(zipfile.ZipFile(path).namelist())
    assert {"model/plan.py", "lake/rules/rollup.py"} <= held["guardian"]
    assert "guardian/v1/tickets_pb2.py" in held["protos"]
    assert "lake/reader.py" in held["spark_analytics"]


def test_what_is_shipped_may_be_read_by_whoever_runs_the_executors(tmp_path: Path) -> None:
    for each in archives(tmp_path):
        for entry in zipfile.ZipFile(each.partition("#")[0]).infolist():
            assert entry.external_attr >> 16 == stat.S_IFREG | 0o644


def test_the_search_as_compiled_here_is_shipped_and_nothing_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba's files bear the line that a kernel begins in."""
    line = kernels.put_all.py_func.__code__.co_firstlineno  # type: ignore[attr-defined]
    current, older = f"kernels.put_all-{line}.py311.1.nbc", f"kernels.put_all-{line + 1}.py311.1.nbc"
    for name in (current, older):
        (tmp_path / name).write_bytes(b"code")
    monkeypatch.setattr(kernels.put_all._cache, "_cache_path", str(tmp_path))  # type: ignore[attr-defined]
    [path] = [each.partition("#")[0] for each in archives(tmp_path) if each.endswith("#spark_analytics")]
    names = zipfile.ZipFile(path).namelist()
    assert f"search/__pycache__/{current}" in names
    assert f"search/__pycache__/{older}" not in names
