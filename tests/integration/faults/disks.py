"""Disks that fill up, fail or are slow: a tmpfs for one member with a file that takes what is left, or an ext4."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.patience import wait_for

MIB = 1 << 20
_SOURCE = Path(__file__).parent / "shims" / "slow_disk.c"
_NS = 1_000_000_000
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, as `xfs_io -c shutdown` on XFS
_AFTER_FLUSH = 0  # EXT4_GOING_FLAGS_DEFAULT: or meta.properties, which no broker syncs, would be gone


class SmallDisk:
    """A context manager: a file system of its own at `path`, which is made, in memory. Raises AssertionError when
    it can't be mounted."""

    def __init__(self, path: Path, mib: int) -> None:
        self._path = path
        self._mib = mib
        self._ballast = path / "ballast"

    def __enter__(self) -> SmallDisk:
        self._path.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._mib}m", "none", str(self._path)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        assert mounted.returncode == 0, f"a tmpfs can't be mounted here, run this test as root: {mounted.stderr}"
        return self

    def __exit__(self, *_: object) -> None:
        # Lazily: a failed test must not leave it because somebody still looks at it.
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)

    @property
    def free_mib(self) -> float:
        return shutil.disk_usage(self._path).free / MIB

    def fill(self, leave_mib: float) -> None:
        """Take all but so much of the space, and return once no more of it is free, whoever writes meanwhile."""
        with self._ballast.open("ab") as ballast:
            while (excess := int((self.free_mib - leave_mib) * MIB)) > 0:
                try:
                    os.posix_fallocate(ballast.fileno(), os.fstat(ballast.fileno()).st_size, excess)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Gives back what `fill` took."""
        self._ballast.unlink(missing_ok=True)


class FailingDisk:
    """A context manager: an ext4 at `path`, which is made, in the file `image`. Raises AssertionError when it can't be
    mounted."""

    def __init__(self, path: Path, image: Path, mib: int) -> None:
        self._path = path
        self._image = image
        self._mib = mib

    def __enter__(self) -> FailingDisk:
        _make_ext4(self._image, self._mib)
        _mount(self._image, self._path)
        return self

    def __exit__(self, *_: object) -> None:
        # Lazily: a failed test must not leave it because somebody still looks at it.
        subprocess.run(["umount", "--lazy", str(self._path)], check=True)

    def fail(self) -> None:
        """Let all calls fail with EIO from now on; what was written before is there after `repair`."""
        folder = os.open(self._path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _AFTER_FLUSH))
        finally:
            os.close(folder)

    def repair(self) -> None:
        """Let it work again. Raises AssertionError while a process has files open there."""
        _require("the failed disk can't be unmounted", ["umount", str(self._path)])
        _mount(self._image, self._path)


class SlowDisk:
    """A context manager: an ext4 at `path`, which is made, each write to whose device may wait. Its files are in
    `folder`. Raises AssertionError when it can't be mounted.

        ext4 at `path` -> loop device -> `folder`/shown/disk of FUSE, which waits -> `folder`/image
    """

    def __init__(self, path: Path, folder: Path, mib: int) -> None:
        self._path = path
        self._folder = folder
        self._mib = mib
        self._stack = ExitStack()

    def __enter__(self) -> SlowDisk:
        image, shown = self._folder / "image", self._folder / "shown"
        shown.mkdir(parents=True)
        self._wait.write_bytes(struct.pack("q", 0))
        _make_ext4(image, self._mib)
        with ExitStack() as stack:
            command = [str(self._build()), str(image), str(self._wait), str(shown)]
            waiting = stack.enter_context(subprocess.Popen(command))
            stack.callback(waiting.terminate)  # it ends by itself, unless somebody has files open
            stack.callback(subprocess.run, ["umount", "--lazy", str(shown)], check=False)
            found = lambda: (shown / "disk").exists() or waiting.poll() is not None  # noqa: E731
            wait_for("the file system that waits", found)
            assert waiting.poll() is None, "FUSE can't be mounted here, run this test as root, with /dev/fuse"
            _mount(shown / "disk", self._path)
            stack.callback(subprocess.run, ["umount", str(self._path)], check=True)
            stack.callback(self.set, 0.0)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def set(self, seconds: float) -> None:
        """Let each write to the device take so long from now on, those that wait already as long as was said before."""
        with self._wait.open("r+b") as file, mmap.mmap(file.fileno(), 8) as mapped:
            mapped[:] = struct.pack("q", int(seconds * _NS))

    @property
    def _wait(self) -> Path:
        return self._folder / "wait"

    def _build(self) -> Path:
        program = self._folder / "slow_disk"
        flags = ("-O2", "-Wall", "-Werror", "-D_FILE_OFFSET_BITS=64", "-I/usr/include/fuse3")
        command = ["gcc", *flags, "-o", str(program), str(_SOURCE), "-lfuse3"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, f"slow_disk.c can't be built with gcc and libfuse3-dev: {built.stderr}"
        return program


def _make_ext4(image: Path, mib: int) -> None:
    with image.open("wb") as file:
        file.truncate(mib * MIB)
    _require("no ext4 can be made here", ["mkfs.ext4", "-q", str(image)])


def _mount(image: Path, path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    _require("a loop device can't be mounted here", ["mount", "-o", "loop", str(image), str(path)])
    if (found := path / "lost+found").exists():
        found.rmdir()  # Kafka takes it for a partition, and fails


def _require(otherwise: str, command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{otherwise}, run this test as root: {done.stderr}"
