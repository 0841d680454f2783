"""Words that tell subdomains apart: class-based TF-IDF over the texts of their items.

A word's weight in a subdomain is its frequency there times ``log(1 + A / f)``, with f its
frequency over all subdomains and A the mean number of words of a subdomain (Grootendorst 2022,
arXiv 2203.05794).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def keywords(
    texts: Sequence[str], labels: NDArray[np.int64], *, top: int = 6
) -> list[tuple[str, ...]]:
    """Return the most telling words of each subdomain, best first.

    Parameters
    ----------
    texts : sequence of str, length n
        Question and options of each item, say.
    labels : ndarray of int, shape (n,)
        Subdomains 0..k-1.
    top : int
        Words per subdomain at most.

    Returns
    -------
    list of tuple of str, length k
        Empty tuples where no text holds a word. Words in less than 2 items of a subdomain are
        passed over, so that one odd item does not name it.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    k = int(labels.max()) + 1
    counter = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b")
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no word in any text
        return [()] * k
    words = counter.get_feature_names_out()
    frequency = np.zeros((k, len(words)))
    spread = np.zeros((k, len(words)))
    for i in range(k):
        rows = counts[labels == i]
        frequency[i] = np.asarray(rows.sum(axis=0)).ravel()
        spread[i] = np.asarray((rows > 0).sum(axis=0)).ravel()
    per_class = frequency.sum(axis=1)
    share = frequency / np.maximum(per_class, 1)[:, None]
    weight = share * np.log1p(per_class.mean() / np.maximum(frequency.sum(axis=0), 1))
    weight[spread < 2] = 0
    best = np.argsort(-weight, axis=1, kind="stable")[:, :top]
    return [tuple(str(words[j]) for j in best[i] if weight[i, j] > 0) for i in range(k)]
