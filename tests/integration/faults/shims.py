"""Libraries preloaded into a member, from the C beside this: an fsync that fails, a clock that jumps, a power cut."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
from pathlib import Path

_SOURCES = Path(__file__).parent / "shims"
_NS = 1_000_000_000


class FailingFsync:
    """fsync and fdatasync of files under `under` fail with EIO between `break_disk` and `repair_disk`."""

    def __init__(self, directory: Path, under: Path) -> None:
        self._trigger = directory / "fsync-fails"
        self.environment = {
            "LD_PRELOAD": str(_build("fsync_fails", directory)),
            "FAULT_FSYNC_TRIGGER": str(self._trigger),
            "FAULT_FSYNC_UNDER": str(under.resolve()),
        }

    def break_disk(self) -> None:
        self._trigger.touch()

    def repair_disk(self) -> None:
        self._trigger.unlink(missing_ok=True)


class JumpingClock:
    """The wall clock of the processes that are started with `environment` is off by `set` seconds, at once."""

    def __init__(self, directory: Path, name: str) -> None:
        self._offset = directory / f"clock-{name}"
        self._offset.write_bytes(struct.pack("q", 0))
        self.environment = {
            "LD_PRELOAD": str(_build("clock_jumps", directory)),
            "FAULT_CLOCK_OFFSET": str(self._offset),
        }

    def set(self, seconds: float) -> None:
        with self._offset.open("r+b") as file, mmap.mmap(file.fileno(), 8) as mapped:
            mapped[:] = struct.pack("q", int(seconds * _NS))


class PowerCut:
    """What a power cut leaves of the processes that were started with `environment` and are killed: of each file what
    was there at its last fsync.

    The files must be on a tmpfs, whose inode numbers are not used again. Writes into the middle of a file, and names
    that were given without an fsync of the folder, are not taken back.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._notes = directory / f"synced-{name}"
        self._notes.touch()
        self.environment = {"LD_PRELOAD": str(_build("power_cut", directory)), "FAULT_SYNCED": str(self._notes)}

    def cut(self, under: Path) -> int:
        """Takes away what was not made durable; returns how many bytes that were."""
        synced = dict(struct.iter_unpack("QQ", self._notes.read_bytes()))
        lost = 0
        for path in under.rglob("*"):
            if not path.is_file() or path.is_symlink():
                continue
            found = path.stat()
            kept = synced.get(found.st_ino, 0)
            if kept < found.st_size:
                lost += found.st_size - kept
                os.truncate(path, kept)
        return lost


def _build(name: str, directory: Path) -> Path:
    library = directory / f"{name}.so"
    if not library.exists():
        command = [
            "gcc",
            "-O2",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(_SOURCES / f"{name}.c"),
        ]
        built = subprocess.run([*command, "-ldl"], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise AssertionError(f"{name}.c could not be built with gcc: {built.stderr}")
    return library
