"""A job on a Spark master with two workers, processes of their own: what a plan needs comes to them by Spark alone.

The workers start elsewhere and their Python sees no Guardian; what they answer is what one process answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyspark
import pytest
from google.protobuf.json_format import MessageToDict

from deploy.local.ports import pick
from guardian.lake.model.window import Window
from guardian.model.tasks import Balance
from guardian.model.wire.plans import plan_to_proto
from spark_analytics.jobs.documents import document_of
from spark_analytics.jobs.measure import measure
from spark_analytics.jobs.plans import plans
from spark_analytics.jobs.session import local_session
from spark_analytics.jobs.shipping import archives
from tests.integration.synthetic_lake import TO, skewed
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
SPARK = Path(pyspark.__file__).parent
# Nothing begins before both workers' executors are there.
BOTH = "spark.scheduler.minRegisteredResourcesRatio 1.0\nspark.scheduler.maxRegisteredResourcesWaitingTime 120s"


def python_without_guardian(directory: Path) -> Path:
    """Without `site` no editable install is seen: not the code that runs the test."""
    libraries = sysconfig.get_paths()["purelib"]
    program = directory / "python"
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH="{libraries}:$PYTHONPATH"\nexec "{sys.executable}" -S "$@"\n')
    program.chmod(0o755)
    return program


def start(stack: ExitStack, log: Path, *arguments: str, cwd: Path) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    env |= {"SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(cwd)}
    env |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOG_DIR": str(cwd)}
    output = stack.enter_context(log.open("wb"))
    command = [str(SPARK / "bin" / "spark-class"), *arguments]
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=output, stderr=subprocess.STDOUT)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def wait_until_said(log: Path, text: str, process: subprocess.Popen[bytes]) -> None:
    def said() -> str:
        return log.read_text(errors="replace")

    def is_said() -> bool:
        assert text in said() or process.poll() is None, said()
        return text in said()

    wait_for(f"{log.name} says {text}", is_said, story=said)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with two workers, each with a core and its own directory."""
    with ExitStack() as stack:
        port, *pages = pick(4)
        url = f"spark://127.0.0.1:{port}"
        home = tmp_path / "master"
        home.mkdir()
        here = ("--host", "127.0.0.1")
        ports = ("--port", str(port), "--webui-port", str(pages[0]))
        log = tmp_path / "master.log"
        process = start(stack, log, "org.apache.spark.deploy.master.Master", *here, *ports, cwd=home)
        wait_until_said(log, "Starting Spark master at", process)
        workers = []
        for number, page in enumerate(pages[1:]):
            work = tmp_path / f"worker-{number}"
            work.mkdir()
            holds = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), "--webui-port", str(page))
            log = tmp_path / f"worker-{number}.log"
            process = start(stack, log, "org.apache.spark.deploy.worker.Worker", *here, *holds, url, cwd=work)
            workers.append((log, process))
        for log, process in workers:
            wait_until_said(log, "Successfully registered with master", process)
        yield url


def environment(python: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}


def answer(command: Sequence[str], env: Mapping[str, str], lake: Path, clusters: Sequence[str], *more: str) -> Any:
    """What a job says of these clusters, as it is started by `command`."""
    out = lake.with_name("answer.json")
    finished = subprocess.run(
        [
            *(*command, "--lake", str(lake), "--window", "2m", "--until", str(TO + 1), "--out", str(out), *more),
            *(word for cluster in clusters for word in ("--cluster", cluster)),
        ],
        cwd=out.parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(out.read_text())


def compiled_of(search: Path) -> set[str]:
    return {path.name for path in (search / "__pycache__").glob("*.nb[ci]")}


@pytest.mark.long
def test_what_two_workers_answer_is_what_one_process_answers(master: str, tmp_path: Path) -> None:
    """Plans of several clusters, by a search that no worker has to compile; and loads, by spark-submit."""
    lake, programs, settings = tmp_path / "lake", tmp_path / "programs", tmp_path / "settings"
    programs.mkdir()
    settings.mkdir()
    clusters = ["bulk", "live", "logs", "pay"]
    for name in clusters:
        skewed(name).sample_all().write(lake)
    env = environment(python_without_guardian(programs))
    both = f"{BOTH}\n"
    (settings / "spark-defaults.conf").write_text(both)
    (settings / "submit.conf").write_text(f"{both}spark.master {master}\n")

    here = local_session("tests")
    window = Window(TO + 1 - 120_000, TO + 1)
    plan_job = [sys.executable, "-m", "spark_analytics.jobs.plans", "--master", master]
    made = plans(here, str(lake), dict.fromkeys(clusters, Balance()), window)
    documents = {
        name: MessageToDict(plan_to_proto(plan), preserving_proto_field_name=True) for name, plan in made.items()
    }
    assert answer(plan_job, env | {"SPARK_CONF_DIR": str(settings)}, lake, clusters) == documents

    submit = [str(SPARK / "bin" / "spark-submit"), "--properties-file", str(settings / "submit.conf")]
    job = str(ROOT / "spark_analytics" / "jobs" / "measure.py")
    loads = document_of(measure(here, str(lake), clusters[:1], window))
    assert answer([*submit, job], env | {"PYSPARK_DRIVER_PYTHON": sys.executable}, lake, clusters[:1]) == loads

    shipped = [name.partition("#")[0] for name in archives(programs)]
    sent = {Path(name).name for path in shipped for name in zipfile.ZipFile(path).namelist() if ".nb" in name}
    assert any(name.startswith("kernels.sweep") for name in sent)
    for number in range(2):
        kernels = list((tmp_path / f"worker-{number}").rglob("spark_analytics/search/kernels.py"))
        assert kernels, "no executor ran there"
        for path in kernels:
            assert compiled_of(path.parent) <= sent, "a worker has compiled the search itself"
