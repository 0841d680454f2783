"""A matrix of numbers as a PNG in a data URL: thousands of cells in a few kilobytes.

One rectangle per cell would put megabytes of markup into a page or a paper.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

#: Smith and van der Walt's viridis at equal steps, dark to light.
_VIRIDIS = (
    "440154", "481567", "482677", "453781", "404788", "39568c", "33638d", "2d708e", "287d8e",
    "238a8d", "1f968b", "20a387", "29af7f", "3cbb75", "55c667", "73d055", "95d840", "b8de29",
    "dce319", "fde725",
)  # fmt: skip
#: Side of a picture at least, in px, so that a viewer that smooths shows sharp cells all the same.
_SIDE = 960


def data_url(matrix: NDArray[np.floating], low: float, high: float) -> str:
    """Return a matrix as ``data:image/png;base64,...``, a block of px for each cell.

    Parameters
    ----------
    matrix : ndarray, shape (n, m)
        Finite.
    low, high : float
        Values of the darkest and the lightest colour; what lies outside takes those.
    """
    steps = len(_VIRIDIS) * 8
    scaled = np.clip((matrix - low) / max(high - low, 1e-12), 0.0, 1.0)
    index = np.round(scaled * (steps - 1)).astype(np.uint8)
    block = max(_SIDE // max(matrix.shape), 1)
    pixels = np.repeat(np.repeat(index, block, axis=0), block, axis=1)
    return "data:image/png;base64," + base64.b64encode(_png(pixels, _palette(steps))).decode()


def _palette(steps: int) -> bytes:
    stops = np.array([[int(c[i : i + 2], 16) for i in (0, 2, 4)] for c in _VIRIDIS])
    places = np.linspace(0, len(stops) - 1, steps)
    mixed = [np.interp(places, np.arange(len(stops)), stops[:, i]) for i in range(3)]
    return np.round(np.stack(mixed, axis=1)).astype(np.uint8).tobytes()


def _png(pixels: NDArray[np.uint8], palette: bytes) -> bytes:
    """Return a PNG with a palette (ISO/IEC 15948): each row a filter byte 0 and its indices."""
    height, width = pixels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)
    rows[:, 1:] = pixels
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [_chunk(b"IHDR", head), _chunk(b"PLTE", palette)]
    parts += [_chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))
