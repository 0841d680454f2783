"""Packed token sequences: who sees whom."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchharmony.collect.tree import pack

CHAINS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=6)


@given(CHAINS)
def test_every_chain_reads_back_its_own_tokens_in_order(chains: list[list[int]]) -> None:
    tree = pack(chains)
    for chain, nodes in zip(chains, tree.chains, strict=True):
        assert tree.tokens[nodes].tolist() == chain
        assert tree.depth[nodes].tolist() == list(range(len(chain)))


@given(CHAINS)
def test_a_node_sees_exactly_its_own_prefix(chains: list[list[int]]) -> None:
    tree = pack(chains)
    seen = tree.attends()
    for nodes in tree.chains:
        for step, node in enumerate(nodes):
            assert np.flatnonzero(seen[node]).tolist() == sorted(nodes[: step + 1].tolist())


@given(CHAINS)
def test_each_distinct_prefix_is_computed_once(chains: list[list[int]]) -> None:
    prefixes = {tuple(c[: i + 1]) for c in chains for i in range(len(c))}
    assert len(pack(chains)) == len(prefixes)
