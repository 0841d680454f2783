"""The adjusted Rand index of two clusterings of weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rand_index(a: NDArray[Any], b: NDArray[Any], counts: NDArray[Any]) -> float:
    """Return the adjusted Rand index (Hubert, Arabie 1985) where row i stands for counts[i] items.

    1 for equal clusterings, 0 as expected by chance; 1 where both are trivial in the same way.
    """
    width = int(b.max()) + 1
    table = np.bincount(
        a.astype(np.int64) * width + b, counts, minlength=(int(a.max()) + 1) * width
    )
    table = table.reshape(-1, width)

    def pairs(sizes: NDArray[Any]) -> float:
        return float((sizes * (sizes - 1)).sum() / 2)

    together = pairs(table)
    in_a, in_b = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    total = pairs(np.array([table.sum()]))
    if total == 0 or in_a == in_b == together:
        return 1.0
    expected = in_a * in_b / total
    return (together - expected) / ((in_a + in_b) / 2 - expected)
