"""A Spark session on this machine that leaves nothing behind; on a cluster's master; or the operator's, under
spark-submit.

Small on purpose: samples become a row a replica early, so a few shuffle partitions do. Alone on this machine it listens
on loopback only. Executors elsewhere get our code, and the search as compiled here: nothing is taken from a shared
machine.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from guardian.errors import InvalidInput
from spark_analytics.jobs.shipping import archives

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAVA = 17
_LOGGING = """
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %m%n
"""


def local_session(app: str, master: str = "local[*]", is_large: bool = False) -> SparkSession:
    """The session of this process; made when there is none. The caller stops it.

    `is_large`: for windows of hours (Window.is_long), or for a session that stays.

    Raises InvalidInput when PySpark or Java is missing or too old, and says how to install it.
    """
    require_analyze_extra()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only after the extra is known to be there

    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started us, with the operator's settings
        return _supplied(SparkSession.builder.appName(app).getOrCreate(), _scratch())
    require_java()
    here = master.startswith("local")
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if here:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(app).master(master)
    if SparkSession.getActiveSession() is not None:
        return builder.getOrCreate()
    scratch = _scratch()
    for key, value in {**_configuration(scratch, is_large), **(_LOOPBACK if here else {})}.items():
        builder = builder.config(key, value)
    return _supplied(builder.getOrCreate(), scratch)


def _supplied(session: SparkSession, scratch: Path) -> SparkSession:
    """Supply the session with our code for executors that are not this process, compiled once here and not by each of
    them.
    """
    if not str(session.sparkContext.master).startswith("local"):
        from spark_analytics.planners.warming import warm  # noqa: PLC0415 - needs the extra

        warm()
        for archive in archives(scratch):
            session.sparkContext.addArchive(archive)
    return session


def require_analyze_extra() -> None:
    for module in ("numpy", "numba", "pyarrow", "pyspark"):
        if find_spec(module) is None:
            raise InvalidInput(f"planning needs the analyze extra ({module} is missing): {_INSTALL_EXTRA}")


_INSTALL_EXTRA = "pip install 'kafka-guardian[analyze]'"
_INSTALL_JAVA = f"apt-get install openjdk-{_JAVA}-jre-headless"


def require_java() -> None:
    """Raises InvalidInput unless the Java that Spark would start is there and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidInput(f"planning needs Java {_JAVA} or newer, {java} does not run: {_INSTALL_JAVA}") from error
    version = re.search(r'version "(\d+)', answer.stderr)
    if version is None or int(version[1]) < _JAVA:
        found = version[1] if version else "of an unknown version"
        raise InvalidInput(f"planning needs Java {_JAVA} or newer, {java} is {found}: {_INSTALL_JAVA}")


def _scratch() -> Path:
    """A directory for all that Spark and its JVM write, removed when the process ends."""
    directory = Path(tempfile.mkdtemp(prefix="guardian-spark-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_SMALL_HEAP_MB, _LARGE_HEAP_MB = 1024, 4096


def _heap_mb(is_large: bool) -> int:
    """Return the heap in MB: at most a quarter of the machine."""
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return max(_SMALL_HEAP_MB, min(_LARGE_HEAP_MB, memory_mb // 4)) if is_large else _SMALL_HEAP_MB


def _configuration(scratch: Path, is_large: bool) -> dict[str, str]:
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    # A job of seconds is over before the optimising compiler and the parallel collector pay: they took half its CPU.
    quick = "-XX:+UseSerialGC" if is_large else "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    java = f"{quick} -XX:-UsePerfData -Djava.io.tmpdir={scratch} -Dlog4j2.configurationFile={logging.as_uri()}"
    return {
        "spark.driver.memory": f"{_heap_mb(is_large)}m",
        "spark.driver.extraJavaOptions": java,
        "spark.local.dir": str(scratch),
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",  # noise in a page would be rows
        "spark.log.level": "FATAL",
        "spark.python.worker.reuse": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "8" if is_large else "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
