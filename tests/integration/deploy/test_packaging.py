"""The wheel works where nothing else is, and the chart is what Kubernetes takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from guardian import config
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "guardian"
BUILD = ROOT / "build" / "helm"
MEMBERS = ("guardian-0", "guardian-1", "guardian-2")


def run(*command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def must(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{' '.join(done.args)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    must(run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)))
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_brings_all_that_runs_and_nothing_that_was_built(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    served = [path for path in (ROOT / "guardian" / "console").rglob("*") if path.suffix in (".html", ".js", ".css")]
    assert served
    for path in served:
        assert str(path.relative_to(ROOT)) in names
    for needed in (
        "deploy/prometheus/alerts.yml",
        "deploy/grafana/dashboards/guardian.json",
        "deploy/systemd/guardian.service",
        "deploy/helm/guardian/templates/statefulset.yaml",
        "guardian/kafka/schemas/ConsumerGroupDescribeRequest.json",
        "protos/guardian/v1/tickets_pb2.py",
    ):
        assert needed in names
    assert not [name for name in names if "/target/" in name or "__pycache__" in name or name.startswith("tests/")]


def test_the_wheel_is_the_cli_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """With nothing but what requirements/cli.lock names: from uv's cache where it is there, else fetched."""
    home = tmp_path / "venv"
    must(run(sys.executable, "-m", "venv", "--without-pip", str(home)))
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--python", str(home / "bin/python")]
    locked = [*uv, "--require-hashes", "-r", "requirements/cli.lock"]
    if run(*locked, "--offline").returncode:
        must(run(*locked))
    must(run(*uv, "--offline", "--no-deps", str(wheel)))
    guardian = str(home / "bin" / "guardian")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert must(run(guardian, "version", cwd=tmp_path, PYTHONPATH="")).strip() == version
    assert "ticket" in must(run(guardian, "--help", cwd=tmp_path, PYTHONPATH=""))
    refused = run(guardian, "server", cwd=tmp_path, PYTHONPATH="")
    assert (refused.returncode, "pip install 'kafka-guardian[server]'" in refused.stderr) == (2, True), refused.stderr
    away = run(guardian, "status", "--endpoints", "127.0.0.1:1", cwd=tmp_path, PYTHONPATH="")
    assert away.returncode != 0
    assert "Traceback" not in away.stderr


@pytest.fixture(scope="module")
def render() -> Callable[..., list[dict[str, Any]]]:
    """Lints and renders with helm's own code and reads the result with Kubernetes' (tests/helm/main.go)."""
    if shutil.which("go") is None:
        pytest.fail("Go is missing, in which helm is written: install Go 1.24 or newer")
    BUILD.mkdir(parents=True, exist_ok=True)
    checker = BUILD / "helmcheck"
    must(run("go", "build", "-o", str(checker), ".", cwd=ROOT / "tests" / "helm"))

    def manifests(tmp_path: Path, **values: object) -> list[dict[str, Any]]:
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        done = run(str(checker), str(CHART), str(file))
        if done.returncode:
            raise ValueError(done.stderr)
        return [each for each in yaml.safe_load_all(done.stdout) if each]

    return manifests


LAKE = "s3://guardian/lake"
TLS: dict[str, object] = {"enabled": True, "secret": "guardian-certificates", "raftSecret": "guardian-raft"}
SECURITY: dict[str, object] = {"secret": "guardian-security"}
RAFT_FILES = Path("/etc/guardian/raft-tls")


def by_kind(manifests: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(each for each in manifests if each["kind"] == kind)


def test_the_chart_is_taken_by_helm_and_kubernetes(render: Callable[..., Any], tmp_path: Path) -> None:
    everything = {
        "config": '[healing]\nmode = "propose"\n',
        "allowFrom": [{"app": "kafka"}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "control", "operator": "Exists"}],
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "extraVolumes": [{"name": "more", "secret": {"secretName": "more"}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/etc/guardian/more", "readOnly": True}],
        "storage": {"size": "50Gi", "className": "fast"},
    }
    manifests = render(tmp_path, lake=LAKE, tls=TLS, security=SECURITY, **everything)
    kinds = sorted(each["kind"] for each in manifests)
    assert kinds == ["ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "StatefulSet"]
    pod = by_kind(manifests, "StatefulSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {each["name"] for each in container["volumeMounts"]} - {"data"}
    assert mounted == {each["name"] for each in pod["volumes"]}
    assert container["args"][-1] == "/etc/guardian/members/$(POD_NAME).toml"
    secrets = {each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    assert (secrets["tls"], secrets["raft-tls"]) == ("guardian-certificates", "guardian-raft")
    paths = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert (paths["tls"], paths["raft-tls"]) == ("/etc/guardian/tls", "/etc/guardian/raft-tls")


@pytest.mark.parametrize("is_secured", [True, False])
def test_each_member_of_the_chart_has_a_configuration_that_guardian_takes(
    render: Callable[..., Any], tmp_path: Path, is_secured: bool
) -> None:
    tls = TLS if is_secured else {"enabled": False}
    manifests = render(tmp_path, lake=LAKE, tls=tls, security=SECURITY, config="[limits]\naudit_days = 7.0\n")
    files = by_kind(manifests, "ConfigMap")["data"]
    assert sorted(files) == [f"{name}.toml" for name in MEMBERS]
    loaded = []
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        loaded.append(config.load(tmp_path / name))
    for member in loaded:
        assert dict(member.peers) == {other.name: other.raft for other in loaded if other is not member}
        assert (member.tls is not None, member.allow_plaintext) == (is_secured, not is_secured)
        assert (member.security is not None) == is_secured
        assert (member.grpc_tls is not None, member.http_tls is not None) == (is_secured, is_secured)
        if member.tls is not None and member.grpc_tls is not None:
            assert {path.parent for path in (member.tls.ca, member.tls.certificate, member.tls.key)} == {RAFT_FILES}
            assert RAFT_FILES not in (member.grpc_tls.ca.parent, member.grpc_tls.certificate.parent)
        assert member.client_address.startswith(f"{member.name}.guardian-members.kafka.svc:")
        assert member.limits.audit_days == 7


def test_a_group_of_one_has_no_peers_and_nothing_that_only_a_group_needs(
    render: Callable[..., Any], tmp_path: Path
) -> None:
    manifests = render(tmp_path, lake=LAKE, tls={"enabled": False}, members=1)
    assert "PodDisruptionBudget" not in {each["kind"] for each in manifests}
    assert "[peers]" not in by_kind(manifests, "ConfigMap")["data"]["guardian-0.toml"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lake": "/var/lib/lake", "tls": {"enabled": False}}, "lake"),
        ({"lake": LAKE, "tls": {**TLS, "secret": ""}, "security": SECURITY}, "secret"),
        ({"lake": LAKE, "tls": {**TLS, "raftSecret": ""}, "security": SECURITY}, "raftSecret"),
        ({"lake": LAKE, "tls": {"enabled": True, "secret": "s"}, "security": SECURITY}, "raftSecret"),
        ({"lake": LAKE, "tls": TLS}, "secret"),
        ({"lake": LAKE, "tls": {"enabled": False}, "members": 4}, "members"),
        ({"lake": LAKE, "tls": {"enabled": False}, "nodeSelector": {"disk": 3}}, "nodeSelector"),
    ],
)
def test_values_that_can_not_work_are_refused(
    render: Callable[..., Any], tmp_path: Path, values: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        render(tmp_path, **values)


def test_the_check_knows_kubernetes_fields(render: Callable[..., Any], tmp_path: Path) -> None:
    """The checker itself: a field that the API does not have is seen."""
    with pytest.raises(ValueError, match="unknown field"):
        render(tmp_path, lake=LAKE, tls={"enabled": False}, resources={"request": {"cpu": "1"}})
