"""Lines over time as a PNG, in a few lines of numpy: the project has no plotting library, and needs one picture.

Letters are three pixels wide and five high: five octal digits, a row each.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

_Pixels = npt.NDArray[np.uint8]
_Color = tuple[int, int, int]

COLORS: tuple[_Color, ...] = (
    (31, 119, 180),
    (214, 39, 40),
    (44, 160, 44),
    (148, 103, 189),
    (140, 86, 75),
    (90, 90, 90),
)
_INK: _Color = (40, 40, 40)
_GRID: _Color = (225, 225, 225)
_SCALE = 2
_FONT = """
075557 126227 271747 371717 455711 574717 674757 771111 875757 975717
A25755 B65656 C34443 D65556 E74647 F74644 G34553 H55755 I72227 J11152
K55655 L44447 M57755 N65555 O25552 P65644 Q25563 R65655 S34216 T72222
U55557 V55552 W55775 X55255 Y55222 Z71247
.00002 ,00024 :02020 /11244 -00700 (24442 )21112 %51245 <12421
"""
_LETTERS = {glyph[0]: glyph[1:] for glyph in _FONT.split()}


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a value a second."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share an axis; `mark` is a second at which something happens, `limit` a level not to be exceeded."""

    title: str
    series: Sequence[Series]
    limit: float | None = None
    mark: int | None = None


def png(path: Path, panels: Sequence[Panel], width: int = 1100, height: int = 260) -> None:
    """Writes the panels below one another."""
    image = np.vstack([_panel(panel, width, height) for panel in panels])
    rows = np.hstack([np.zeros((len(image), 1), np.uint8), image.reshape(len(image), -1)]).tobytes()
    header = struct.pack(">IIBBBBB", width, len(image), 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _panel(panel: Panel, width: int, height: int) -> _Pixels:
    image = np.full((height, width, 3), 255, np.uint8)
    left, right, top, bottom = 70, width - 20, 40, height - 30
    longest = max((len(each.values) for each in panel.series), default=1)
    highest = max([panel.limit or 0.0, *(max(each.values, default=0.0) for each in panel.series)]) * 1.05 or 1.0

    def across(second: float) -> int:
        return round(left + second / max(1, longest - 1) * (right - left))

    def up(value: float) -> int:
        return round(bottom - min(1.0, value / highest) * (bottom - top))

    for part in range(5):
        level = highest * part / 4
        image[up(level), left:right] = _GRID
        _write(image, f"{level:.3g}", 8, up(level) - 5, _INK)
        second = (longest - 1) * part // 4
        _write(image, f"{second} S", across(second) - 10, bottom + 10, _INK)
    if panel.mark is not None and panel.mark < longest:
        image[top:bottom:3, across(panel.mark)] = _INK
    if panel.limit is not None:
        image[up(panel.limit), left:right:4] = COLORS[1]
    _write(image, panel.title, left, 8, _INK)
    x = left
    for each, color in zip(panel.series, COLORS * 4, strict=False):
        _write(image, each.name, x, 24, color)
        x += len(each.name) * 4 * _SCALE + 24
        points = [(across(second), up(value)) for second, value in enumerate(each.values)]
        for (x0, y0), (x1, y1) in pairwise(points):
            steps = max(abs(x1 - x0), abs(y1 - y0), 1)
            xs = np.linspace(x0, x1, steps + 1).round().astype(int)
            ys = np.linspace(y0, y1, steps + 1).round().astype(int)
            image[ys, xs] = color
            image[np.minimum(ys + 1, height - 1), xs] = color
    return image


def _write(image: _Pixels, text: str, x: int, y: int, color: _Color) -> None:
    for position, letter in enumerate(text.upper()):
        for row, digit in enumerate(_LETTERS.get(letter, "00000")):
            for column in range(3):
                if int(digit) >> (2 - column) & 1:
                    top, left = y + row * _SCALE, x + (position * 4 + column) * _SCALE
                    image[max(0, top) : top + _SCALE, max(0, left) : left + _SCALE] = color
