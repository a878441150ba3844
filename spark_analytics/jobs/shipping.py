"""Our packages for executors on machines where Guardian is not installed: an archive each, unpacked where workers look.

They need Python with numpy, numba, pyarrow and protobuf, and nothing else: what a worker imports of ours is in here. So
is what this machine has compiled of the search: numba takes it from beside the source, in whatever folder, where CPU,
Python and numba are the same. Elsewhere an executor compiles for itself.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import guardian
import protos
import spark_analytics

_PACKAGES = (guardian, protos, spark_analytics)
# Spark's unpacking takes a file's rights from the archive.
_READABLE = (stat.S_IFREG | 0o644) << 16


def archives(folder: Path) -> list[str]:
    """Writes an archive of each package, and says for Spark which to unpack as what; the same code, the same bytes."""
    return [_archive(package, folder) for package in _PACKAGES]


def _archive(package: ModuleType, folder: Path) -> str:
    path = folder / f"{package.__name__}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        root = _root(package)
        for source in sorted(root.rglob("*.py")):
            _add(archive, source, source.relative_to(root))
        if package is spark_analytics:
            for compiled in _compiled():
                _add(archive, compiled, Path("search", "__pycache__", compiled.name))
    return f"{path}#{package.__name__}"


def _compiled() -> Iterator[Path]:
    """numba's files of the kernels as they are now; those of earlier versions may lie beside them."""
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415 - needs the extra

    from spark_analytics.search import disks, forced, kernels  # noqa: PLC0415

    for module in (kernels, disks, forced):
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher) and kernel.stats.cache_path:
                line = kernel.py_func.__code__.co_firstlineno
                name = f"{module.__name__.rpartition('.')[2]}.{kernel.py_func.__name__}-{line}.*.nb[ci]"
                yield from sorted(Path(kernel.stats.cache_path).glob(name))


def _add(archive: zipfile.ZipFile, path: Path, name: Path) -> None:
    entry = zipfile.ZipInfo(str(name))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _READABLE
    archive.writestr(entry, path.read_bytes())


def _root(package: ModuleType) -> Path:
    return Path(next(iter(package.__path__)))
