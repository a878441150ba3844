"""A file of the lake that Spark can't read: set aside where its bytes are there and no Parquet.

It is moved by the Hadoop file system that Spark reads with (guardian.lake.rules.setting_aside says where to).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from guardian.lake.rules.setting_aside import may_be_under_way, place_set_aside

_LOG = logging.getLogger(__name__)


def is_set_aside(spark: SparkSession, path: str, now_s: Callable[[], float] = time.time) -> bool:
    """Set a file aside that Spark could not read, and return whether it is out of the way. `path` as Spark tells it.

    One whose bytes the file system does not give is not damaged, and one that is new may not be whole yet: both stay.
    """
    context: Any = spark.sparkContext
    found, to = unquote(path), place_set_aside(unquote(path))
    if not to:
        return False
    source, target = (context._jvm.org.apache.hadoop.fs.Path(each) for each in (found, to))
    try:
        filesystem = source.getFileSystem(context._jsc.hadoopConfiguration())
        if not filesystem.exists(source):  # somebody else was faster
            return True
        status = filesystem.getFileStatus(source)
        if may_be_under_way(int(status.getModificationTime()), int(now_s() * 1000)):
            return False
        stream = filesystem.open(source)
        try:
            if context._jvm.org.apache.commons.io.IOUtils.consume(stream) != status.getLen():
                return False
        finally:
            stream.close()
        filesystem.mkdirs(target.getParent())
        is_moved = bool(filesystem.rename(source, target))
    except Py4JJavaError as error:
        _LOG.warning("lake file %s can't be set aside: %s", found, error.java_exception.getMessage())
        return False
    if is_moved:
        _LOG.warning("lake file %s is damaged and set aside as %s: its rows are lost", found, to)
    return is_moved
