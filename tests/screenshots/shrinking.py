"""PNGs of few bytes: a page has few colours, so that a palette of 256 of them shows it as it is.

Chromium decodes the picture and says which colour of the palette each pixel takes; Python writes the file.
"""

from __future__ import annotations

import base64
import struct
import zlib

from playwright.sync_api import Page

# The most frequent colours; any other one becomes the nearest of them. Pixels come back as positions in the palette.
_TO_PALETTE = """async (encoded) => {
  const blob = await (await fetch(`data:image/png;base64,${encoded}`)).blob();
  const image = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  const pixels = new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256).map(([pixel]) => pixel);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const known = palette.map(parts);
  const places = new Map(palette.map((pixel, at) => [pixel, at]));
  const nearest = (pixel) => {
    const [r, g, b] = parts(pixel);
    let best = 0, least = Infinity;
    known.forEach(([x, y, z], at) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) { least = far; best = at; }
    });
    places.set(pixel, best);
    return best;
  };
  let text = '';
  for (const pixel of pixels) text += String.fromCharCode(places.has(pixel) ? places.get(pixel) : nearest(pixel));
  return { width: image.width, height: image.height, palette: known.flat(), pixels: btoa(text) };
}"""


def shrunk(page: Page, png: bytes) -> bytes:
    """The same picture. `page` is any page of a browser."""
    found = page.evaluate(_TO_PALETTE, base64.b64encode(png).decode())
    width, height = found["width"], found["height"]
    pixels = base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", bytes(found["palette"])), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, content = part
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
