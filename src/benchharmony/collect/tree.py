"""Token sequences that share their beginnings, packed into one row.

Every distinct prefix is one node. A node attends to its ancestors and itself, and its position
is its depth, so that the model computes for each node what it would compute for the node's own
sequence alone, while a shared beginning is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tree:
    """One row of packed tokens.

    Attributes
    ----------
    tokens, depth : ndarray of int64, shape (L,)
        Token and position of each node.
    chains : tuple of ndarray of int64
        For each chain, the node of each of its tokens.
    first_new : tuple of int
        For each chain, how many of its first nodes belong to an earlier chain.
    """

    tokens: NDArray[np.int64]
    depth: NDArray[np.int64]
    chains: tuple[NDArray[np.int64], ...]
    first_new: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def attends(self) -> NDArray[np.bool_]:
        """Return who sees whom: ``[i, j]`` is true where j is i or an ancestor of i."""
        seen = np.zeros((len(self), len(self)), dtype=np.bool_)
        for nodes, shared in zip(self.chains, self.first_new, strict=True):
            if shared < len(nodes):
                start, stop = int(nodes[shared]), int(nodes[-1]) + 1
                seen[start:stop, nodes[:shared]] = True
                seen[start:stop, start:stop] = np.tri(stop - start, dtype=np.bool_)
        return seen


def pack(chains: Iterable[Sequence[int]]) -> Tree:
    """Return chains of tokens as one tree; equal beginnings become the same nodes."""
    children: dict[tuple[int, int], int] = {}
    tokens: list[int] = []
    depth: list[int] = []
    paths: list[NDArray[np.int64]] = []
    first_new: list[int] = []
    for chain in chains:
        node, path, shared = -1, [], 0
        for step, token in enumerate(chain):
            child = children.get((node, token))
            if child is None:
                child = len(tokens)
                children[node, token] = child
                tokens.append(token)
                depth.append(step)
            else:
                shared = step + 1
            path.append(child)
            node = child
        paths.append(np.array(path, dtype=np.int64))
        first_new.append(shared)
    return Tree(
        np.array(tokens, dtype=np.int64),
        np.array(depth, dtype=np.int64),
        tuple(paths),
        tuple(first_new),
    )
