"""Predictive distributions of items: dense, or the top tokens and the mass of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchharmony.errors import BenchharmonyError

#: How far a row may be from 1 before it is refused: half-precision log-probabilities of a
#: vocabulary-sized distribution are off by up to about 1e-3.
SUM_TOLERANCE = 2e-3

#: Token id of a padding entry, in rows that hold fewer tokens than the widest one.
PADDING = -1


@dataclass(frozen=True, eq=False)
class Predictive:
    """Predictive distributions of n items over a vocabulary of v outcomes, in log space.

    Build one with :meth:`dense` or :meth:`top_k`; both check and normalise. Probabilities are
    never clipped: an exact zero stays a zero (log-probability ``-inf``).

    Attributes
    ----------
    logprobs : ndarray, shape (n, K), float32 or float64
        Natural logs. Dense: column j is outcome j, K = v. Top-K: the tokens of ``token_ids``.
    token_ids : ndarray of int64, shape (n, K), or None
        None when dense; -1 marks padding (its log-probability is ``-inf``).
    rest : ndarray of float64, shape (n,)
        Probability of all unlisted outcomes together, taken as spread evenly over them; zeros
        when dense.
    vocab_size : int
        Number of outcomes v.
    """

    logprobs: NDArray[np.floating[Any]]
    token_ids: NDArray[np.int64] | None
    rest: NDArray[np.float64]
    vocab_size: int

    @classmethod
    def dense(cls, p: ArrayLike, *, log: bool = False) -> Predictive:
        """Whole distributions.

        Parameters
        ----------
        p : array_like, shape (n, v)
            Probabilities in [0, 1] with rows summing to 1 (within 2e-3, then normalised), or
            their natural logs when ``log`` is true.
        log : bool
            Whether ``p`` holds logs.

        Raises
        ------
        BenchharmonyError
            For a wrong shape, NaN, infinities, negative values or rows that do not sum to 1.
        """
        values = _float_matrix(p, "predictive")
        if values.shape[1] < 2:
            raise BenchharmonyError("predictive: at least 2 outcomes are needed, got 1 column")
        logprobs = _checked_logs(values) if log else _logs_of(values)
        total = np.exp(logprobs).sum(axis=1, dtype=np.float64)
        return cls(_normalised(logprobs, total), None, np.zeros(len(values)), int(values.shape[1]))

    @classmethod
    def top_k(
        cls, token_ids: ArrayLike, logprobs: ArrayLike, rest: ArrayLike, vocab_size: int
    ) -> Predictive:
        """Build from the most probable tokens of each item and the probability of all others.

        Parameters
        ----------
        token_ids : array_like of int, shape (n, K)
            Tokens in [0, vocab_size), without repeats in a row; -1 pads short rows.
        logprobs : array_like, shape (n, K)
            Natural logs of their probabilities; ignored where the token id is -1.
        rest : array_like, shape (n,)
            Probability left for the other tokens, in [0, 1].
        vocab_size : int
            Number of tokens of the vocabulary, at least K.

        Raises
        ------
        BenchharmonyError
            For wrong shapes, ids out of range or repeated, NaN, or rows that do not sum to 1.
        """
        ids = np.ascontiguousarray(token_ids, dtype=np.int64)
        logs = _float_matrix(logprobs, "predictive log-probabilities")
        left = np.asarray(rest, dtype=np.float64).copy()
        if ids.shape != logs.shape or left.shape != (len(ids),):
            raise BenchharmonyError(
                f"predictive: token_ids {ids.shape}, logprobs {logs.shape} and rest {left.shape} "
                "do not fit together; expected (n, K), (n, K) and (n,)"
            )
        _check_tokens(ids, vocab_size)
        padding = ids == PADDING
        if padding.any():
            logs = np.where(padding, logs.dtype.type(-np.inf), logs)
        logs = _checked_logs(logs)
        if not np.isfinite(left).all() or (left < -SUM_TOLERANCE).any() or (left > 1).any():
            row = int(np.argmax(~np.isfinite(left) | (left < -SUM_TOLERANCE) | (left > 1)))
            raise BenchharmonyError(f"predictive: rest of row {row} is {left[row]}, not in [0, 1]")
        np.clip(left, 0, None, out=left)  # rounding of 1 - sum can fall just below zero
        listed = np.count_nonzero(~padding, axis=1)
        left[listed == vocab_size] = 0.0
        total = np.exp(logs).sum(axis=1, dtype=np.float64) + left
        return cls(_normalised(logs, total), ids, left / total, int(vocab_size))

    def __post_init__(self) -> None:
        for array in (self.logprobs, self.token_ids, self.rest):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.logprobs)

    @property
    def is_dense(self) -> bool:
        """Whether every outcome is listed."""
        return self.token_ids is None

    @property
    def n_unlisted(self) -> NDArray[np.int64]:
        """Number of outcomes that share ``rest``, shape (n,)."""
        if self.token_ids is None:
            return np.zeros(len(self), dtype=np.int64)
        listed: NDArray[np.int64] = np.count_nonzero(self.token_ids != PADDING, axis=1)
        return self.vocab_size - listed

    def take(self, rows: ArrayLike) -> Predictive:
        """Return the distributions of some items, in the order given."""
        index = np.asarray(rows)
        ids = None if self.token_ids is None else self.token_ids[index]
        return Predictive(self.logprobs[index], ids, self.rest[index], self.vocab_size)


def _float_matrix(values: ArrayLike, what: str) -> NDArray[np.floating[Any]]:
    """Return a 2-d float array: single precision is kept, half is widened."""
    try:
        array = np.asarray(values)
        dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
        array = np.ascontiguousarray(array, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise BenchharmonyError(f"{what}: not a rectangular array of numbers ({error})") from error
    if array.ndim != 2 or 0 in array.shape:
        raise BenchharmonyError(f"{what}: expected shape (n, v), got {array.shape}")
    return array


def _logs_of(p: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    bad = ~np.isfinite(p) | (p < 0)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise BenchharmonyError(
            f"predictive: row {row}, outcome {column} is {p[row, column]}; "
            "probabilities must be finite and not negative"
        )
    with np.errstate(divide="ignore"):
        logs: NDArray[np.floating[Any]] = np.log(p)
    return logs


def _checked_logs(logs: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    bad = np.isnan(logs) | (logs > SUM_TOLERANCE)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise BenchharmonyError(
            f"predictive: row {row}, entry {column} is {logs[row, column]}; "
            "log-probabilities must be numbers of at most 0"
        )
    return logs


def _normalised(
    logs: NDArray[np.floating[Any]], total: NDArray[np.float64]
) -> NDArray[np.floating[Any]]:
    off = np.abs(total - 1) > SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise BenchharmonyError(
            f"predictive: row {row} sums to {total[row]:.6g}, not 1 "
            f"({int(off.sum())} of {len(total)} rows); normalise the distributions first"
        )
    scaled: NDArray[np.floating[Any]] = logs - np.log(total).astype(logs.dtype)[:, None]
    return scaled


def _check_tokens(ids: NDArray[np.int64], vocab_size: int) -> None:
    if ids.shape[1] > vocab_size:
        raise BenchharmonyError(
            f"predictive: {ids.shape[1]} tokens a row but a vocabulary of {vocab_size}"
        )
    if (ids < PADDING).any() or (ids >= vocab_size).any():
        row = int(np.argwhere((ids < PADDING) | (ids >= vocab_size))[0][0])
        raise BenchharmonyError(f"predictive: row {row} has a token id outside 0..{vocab_size - 1}")
    ordered = np.sort(ids, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PADDING)
    if repeated.any():
        row, column = (int(i) for i in np.argwhere(repeated)[0])
        raise BenchharmonyError(
            f"predictive: row {row} lists token {ordered[row, column]} more than once"
        )
