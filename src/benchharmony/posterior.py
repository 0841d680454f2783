"""What the true subdomain performances may be, given noisy mean scores.

Raw H is biased downwards by sampling noise and lives against its upper bound, so resampling the
items and reading off percentiles misses the true H almost always when subdomains are small. The
intervals here come from a model of the truth instead, sampled exactly (no Markov chain):

* the scores of subdomain i are binomial (graded or clustered ones: quasi-binomial, through
  effective counts) with true performance ``theta_i``;
* the subdomains fall into groups of similar performance (contiguous once sorted: a product
  partition model, Hartigan 1990; forward sums and backward sampling, Fearnhead 2006). One group
  is the ordinary case; more let one easy block or one weak subdomain stand apart without
  spreading all the others;
* in a group, ``theta_i ~ Beta`` with mean m, uniform on (0, 1), and relative SD r, where
  ``sd(theta_i) = r sqrt(m (1 - m))``: r is uniform on (0, 1), or 0 exactly (all alike) with a
  prior probability that is small for one group and larger for each of several.

docs/uncertainty.md gives the coverage of the intervals on planted evaluations, and where it fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, logsumexp

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Prior:
    """Settings of the model; docs/uncertainty.md says how they were chosen.

    Attributes
    ----------
    alike : float
        Prior probability that all subdomains perform exactly alike, given one group.
    alike_in_group : float
        The same for each group, given several.
    more_groups : float
        Prior odds of one group more.
    max_groups : int
        Most groups considered.
    max_grouped : int
        With more subdomains than this only one group is considered (the cost is quadratic).
    spreads : int
        Points of the grid over r.
    """

    alike: float = 0.03
    alike_in_group: float = 0.4
    more_groups: float = 0.3
    max_groups: int = 4
    max_grouped: int = 64
    spreads: int = 20


@dataclass(frozen=True)
class _Grid:
    """The grid of group mean (g points) and relative SD (r points, the first exactly 0)."""

    centre: FloatArray  # (g,) on the arcsine scale, where the noise is even
    step: float
    precision: FloatArray  # (r,) of the Beta; infinite for the first
    mean: FloatArray  # (g,)
    log_spread: FloatArray  # (r - 1,) log prior of the positive spreads

    def log_prior(self, alike: float) -> FloatArray:
        spread = np.concatenate([[np.log(alike)], np.log1p(-alike) + self.log_spread])
        # A uniform mean, on the arcsine scale.
        return spread[:, None] + np.log(np.sin(2 * self.centre) * self.step)


def performance_draws(
    successes: FloatArray,
    failures: FloatArray,
    draws: int,
    rng: np.random.Generator,
    prior: Prior | None = None,
) -> FloatArray:
    """Draw true performances from their posterior, shape (draws, k).

    Parameters
    ----------
    successes, failures : ndarray, shape (k,)
        Effective counts, non-negative, not both 0; need not be whole.
    draws : int
        Number of draws.
    rng : Generator
        Source of randomness.
    prior : Prior, optional
        Settings of the model.
    """
    prior = prior or Prior()
    rough = (successes + 0.5) / (successes + failures + 1.0)
    order = np.argsort(rough, kind="stable")
    won, lost = successes[order], failures[order]
    grid = _grid(rough, successes + failures, prior.spreads)
    upto = _cumulative(won, lost, grid)
    blocks = _sampled_blocks(upto, grid, prior, draws, rng)
    k = len(won)
    sorted_draws = np.empty((draws, k))
    for (start, end), rows in blocks.items():
        alike = prior.alike if end - start == k else prior.alike_in_group
        table = upto[end] - upto[start] + grid.log_prior(alike)
        values = _block_draws(table, won[start:end], lost[start:end], grid, len(rows), rng)
        sorted_draws[rows, start:end] = values
    result = np.empty_like(sorted_draws)
    result[:, order] = sorted_draws
    return result


def _grid(rough: FloatArray, counts: FloatArray, spreads: int) -> _Grid:
    angle = np.arcsin(np.sqrt(rough))
    noise = 0.5 / np.sqrt(counts + 1.0)
    low = max(1e-4, float((angle - 5 * noise).min()))
    high = min(np.pi / 2 - 1e-4, float((angle + 5 * noise).max()))
    finest = 0.5 / np.sqrt(counts.sum() + 1.0)
    points = int(np.clip((high - low) / (0.8 * finest), 120, 1000))
    edges = np.linspace(low, high, points + 1)
    centre = (edges[1:] + edges[:-1]) / 2
    # Squared spacing: small spreads need the finer steps. 0.98 keeps the Beta from degenerating.
    root = (np.arange(spreads) + 0.5) / spreads
    precision = np.concatenate([[np.inf], 1.0 / (0.98 * root**2) ** 2 - 1.0])
    step = float(edges[1] - edges[0])
    return _Grid(centre, step, precision, np.sin(centre) ** 2, np.log(root / root.sum()))


def _cumulative(won: FloatArray, lost: FloatArray, grid: _Grid) -> FloatArray:
    """Return cumulative log likelihoods over the sorted subdomains, shape (k + 1, r, g)."""
    k = len(won)
    logs = np.zeros((k + 1, len(grid.precision), len(grid.mean)))
    a = grid.precision[1:, None] * grid.mean
    b = grid.precision[1:, None] * (1.0 - grid.mean)
    base = betaln(a, b)
    for i in range(k):
        logs[i + 1, 0] = won[i] * np.log(grid.mean) + lost[i] * np.log1p(-grid.mean)
        logs[i + 1, 1:] = betaln(a + won[i], b + lost[i]) - base
    return np.cumsum(logs, axis=0)


def _sampled_blocks(
    upto: FloatArray, grid: _Grid, prior: Prior, draws: int, rng: np.random.Generator
) -> dict[tuple[int, int], IntArray]:
    """Sample the groups of every draw; return the draws (rows) that hold each group."""
    k = len(upto) - 1
    whole = float(logsumexp(upto[k] + grid.log_prior(prior.alike)))
    if k > prior.max_grouped or k < 2:
        return {(0, k): np.arange(draws)}
    evidence = _block_evidence(upto, grid.log_prior(prior.alike_in_group))
    most = min(prior.max_groups, k)
    reach = _forward(evidence, most)
    groups = np.arange(1, most + 1)
    # Group sizes are uniform given their number, memberships uniform given the sizes (the
    # factorials): a split of sorted noise pays for having chosen its members.
    ends = reach[1:, k].copy()
    ends[0] = whole + gammaln(k + 1)
    logs = ends + (groups - 1) * np.log(prior.more_groups)
    logs -= gammaln(k) - gammaln(groups) - gammaln(k - groups + 1)
    chance = np.exp(logs - logs.max())
    left = rng.choice(groups, size=draws, p=chance / chance.sum())
    return _backward(evidence, reach, left, rng)


def _block_evidence(upto: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Return the log evidence of each block of sorted subdomains i..j-1, shape (k, k + 1)."""
    k = len(upto) - 1
    evidence = np.full((k, k + 1), -np.inf)
    for i in range(k):
        table = upto[i + 1 :] - upto[i] + log_prior
        peak = table.max(axis=(1, 2), keepdims=True)
        table -= peak
        np.exp(table, out=table)
        size = np.arange(1, k - i + 1)
        evidence[i, i + 1 :] = peak[:, 0, 0] + np.log(table.sum(axis=(1, 2))) + gammaln(size + 1)
    return evidence


def _forward(evidence: FloatArray, most: int) -> FloatArray:
    """Return the log sum over all ways to make c groups of the first j subdomains, (c, j)."""
    k = len(evidence)
    reach = np.full((most + 1, k + 1), -np.inf)
    reach[0, 0] = 0.0
    for c in range(1, most + 1):
        # Blocks that end before they start have evidence 0 (-inf), so all ends go at once.
        reach[c] = np.logaddexp.reduce(reach[c - 1, :k, None] + evidence, axis=0)
    return reach


def _backward(
    evidence: FloatArray, reach: FloatArray, left: IntArray, rng: np.random.Generator
) -> dict[tuple[int, int], IntArray]:
    k = len(evidence)
    end = np.full(len(left), k)
    found: dict[tuple[int, int], list[IntArray]] = {}
    while (left > 0).any():
        state = left * (k + 1) + end
        for value in np.unique(state[left > 0]):
            c, j = divmod(int(value), k + 1)
            rows = np.flatnonzero(state == value)
            logs = reach[c - 1, :j] + evidence[:j, j]
            chance = np.exp(logs - logs.max())
            start = rng.choice(j, size=len(rows), p=chance / chance.sum())
            for i in np.unique(start):
                found.setdefault((int(i), j), []).append(rows[start == i])
            end[rows] = start
        left = np.maximum(left - 1, 0)
    return {block: np.concatenate(rows) for block, rows in sorted(found.items())}


def _block_draws(
    table: FloatArray,
    won: FloatArray,
    lost: FloatArray,
    grid: _Grid,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw the performances of one group's members, shape (draws, members)."""
    chance = np.exp(table - table.max())
    cell = rng.choice(chance.size, size=draws, p=(chance / chance.sum()).ravel())
    spread, point = np.divmod(cell, len(grid.mean))
    mean = np.sin(grid.centre[point] + grid.step * (rng.random(draws) - 0.5)) ** 2
    alike = spread == 0
    # Any finite precision will do where the group is alike: its draws are replaced below.
    precision = np.where(alike, 1.0, grid.precision[spread])
    a = (precision * mean)[:, None] + won
    b = (precision * (1.0 - mean))[:, None] + lost
    return np.where(alike[:, None], mean[:, None], rng.beta(a, b))
