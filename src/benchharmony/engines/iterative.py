"""Eigenpairs from products with S, begun at those of a low-rank S through landmarks.

Where S is nearly of low rank, the start is so good that two products are left of six. Where it is
not, and for few items, the start is random.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchharmony.engines.eigen import largest
from benchharmony.engines.kernel import Floats, Kernel, product
from benchharmony.engines.low_rank import LowRank, NotLowRankError, factored

#: Items from which on landmarks are worth their cost, how many of them, the share of the largest
#: eigenvalue among them that counts, and the rank beyond which S is taken as it is.
_MANY, _LANDMARKS, _CUT, _RANK = 2048, 256, 1e-6, 128

Rows = Callable[[NDArray[np.int64]], Floats]


def iterated(
    kernel: Kernel, scale: Floats, shift: Floats, m: int, seed: int, similar: Rows
) -> tuple[NDArray[np.float64], Floats]:
    """Return the m largest eigenpairs of ``scale S scale + shift``.

    ``similar(places)`` gives S of some items to all, shape (l, n), with anything on the diagonal.
    """
    near = _near(kernel, scale, shift, m, seed, similar) if len(kernel) >= _MANY else None
    scale, shift = (x.astype(kernel.dtype)[:, None] for x in (scale, shift))

    def operator(block: Floats) -> Floats:
        out: Floats = scale * product(kernel, scale * block) + shift * block
        return out

    return largest(operator, len(kernel), m, seed, kernel.dtype, near)


def _near(
    kernel: Kernel, scale: Floats, shift: Floats, m: int, seed: int, similar: Rows
) -> Floats | None:
    """Return approximate eigenvectors, shape (n, j), j <= m; None where S is not low-rank."""
    places = np.arange(_LANDMARKS) * len(kernel) // _LANDMARKS  # in order of content: at random
    to_all = similar(places)
    to_all[np.arange(_LANDMARKS), places] = 1
    try:
        found = factored(to_all[:, places], _CUT, _RANK)
    except NotLowRankError:
        return None
    project, signs = (x.astype(kernel.dtype) for x in found)
    factors = to_all.T @ project
    own = np.square(factors) @ signs
    rough = LowRank(factors, signs, own, kernel.workers, error=None)
    return rough.eigenpairs(scale, shift, m, seed)[1]
