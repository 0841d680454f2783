"""Partitions from the texts of the items, for logs that hold texts and nothing better.

Words are weighted (TF-IDF), reduced to 50 dimensions (latent semantic analysis; Deerwester et al.
1990) and set to length 1; S = exp(-tau/2 d^2) of their distances, tau by the median rule of
predictive similarity. Plain cosines of word counts leave most pairs at 0 and give partitions of
one large and many tiny subdomains. With the extra ``embeddings``, "text:MODEL" takes a sentence
embedding model instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.choice import Choice
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.from_similarity import partition_of
from benchharmony.parallel import at_most
from benchharmony.similarity import median_tau
from benchharmony.subdomains import Partition

FloatArray = NDArray[np.float64]
Embed = Callable[[list[str]], Any]

#: Dimensions that word weights are reduced to.
DIMENSIONS = 50
#: A word in fewer items than this says nothing about groups of items.
_FEWEST_ITEMS = 2


def text_partition(
    evaluation: Evaluation,
    choice: Choice,
    *,
    embedding: str | None = None,
    embed: Embed | None = None,
    tau: float | str = "median",
) -> Partition:
    """Cluster the items by what their questions and options say.

    Parameters
    ----------
    evaluation : Evaluation
        With texts.
    choice : Choice
        How k is chosen.
    embedding : str, optional
        Name or path of a sentence-transformers model; TF-IDF otherwise.
    embed : callable, optional
        Any other function from texts to vectors, shape (n, d).
    tau : float or "median"
        Scale of the similarity, per squared distance of unit vectors.

    Raises
    ------
    BenchharmonyError
        When there are no texts, no words, or the embedding model cannot be had.
    """
    texts = words_of(evaluation)
    if embed is not None or embedding is not None:
        vectors = _embedded(texts, embed or _sentence_model(str(embedding)))
        made_by = embedding or "a function given in Python"
    else:
        with at_most(1):
            vectors = tfidf(texts, evaluation.name)
        made_by = f"TF-IDF, {vectors.shape[1]} dimensions"
    keys = [hashlib.blake2b(t.encode(), digest_size=16).digest() for t in texts]
    with at_most(1):  # the same bits for any number of threads
        similarity, used = similarity_of_vectors(vectors, tau)
        return partition_of(
            similarity,
            keys,
            choice,
            kind="text" if embedding is None else f"text:{embedding}",
            settings={"text": made_by, "tau": tau, "tau_used": used},
            notes=(
                f"made from the texts of the items ({made_by}): which words they share, not what "
                "the model does with them",
            ),
        )


def words_of(evaluation: Evaluation) -> list[str]:
    """Return the question and options of every item as one text.

    Raises
    ------
    BenchharmonyError
        When there are no texts.
    """
    texts = evaluation.texts
    if texts is None or not any(t.strip() for t in texts):
        raise BenchharmonyError(
            f"{evaluation.name}: no texts in this source; join them with --items FILE"
        )
    if evaluation.choices is None:
        return list(texts)
    return [f"{t}\n{' '.join(c)}" for t, c in zip(texts, evaluation.choices, strict=True)]


def tfidf(texts: Sequence[str], name: str = "texts") -> FloatArray:
    """Return unit vectors of word weights in at most 50 dimensions, shape (n, d).

    Items without any word that another item has are the zero vector.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weigh = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=_FEWEST_ITEMS)
    try:
        weights = weigh.fit_transform(texts)
    except ValueError:
        raise BenchharmonyError(
            f"{name}: no word occurs in two items; the texts cannot be compared"
        ) from None
    size = min(DIMENSIONS, min(weights.shape) - 1)
    if size < 1:
        return np.ascontiguousarray(_unit(weights.toarray()))
    # A fixed start: the partition's own seed is for k-means.
    return _unit(TruncatedSVD(size, random_state=0).fit_transform(weights))


def similarity_of_vectors(
    vectors: FloatArray, tau: float | str = "median"
) -> tuple[FloatArray, float]:
    """Return exp(-tau/2 d^2) of all pairs of vectors, shape (n, n), and the tau used."""
    own = (vectors**2).sum(axis=1)
    squared = own[:, None] + own - 2 * (vectors @ vectors.T)
    np.maximum(squared, 0.0, out=squared)
    np.fill_diagonal(squared, 0.0)
    used = median_tau(squared).value if tau == "median" else float(tau)
    squared *= -0.5 * used
    return np.exp(squared, out=squared), used


def _embedded(texts: list[str], embed: Embed) -> FloatArray:
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise BenchharmonyError(
            f"the embedding gave an array of shape {vectors.shape} for {len(texts)} texts, or "
            "numbers that are not finite"
        )
    return _unit(vectors)


def _sentence_model(name: str) -> Embed:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise BenchharmonyError(
            "sentence embeddings need an extra: pip install 'benchharmony[embeddings]'; "
            "--partition text works without"
        ) from None
    try:
        model = SentenceTransformer(name)
    except Exception as error:
        reason = str(error).split("\n")[0]
        raise BenchharmonyError(f"embedding model {name!r} cannot be loaded ({reason})") from None
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-12)
    return unit
