"""Similarities that read the words alone: n-gram overlap, TF-IDF cosine, sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.errors import BenchharmonyError

FloatArray = NDArray[np.float64]

#: One-letter words count too, as in :func:`benchharmony.validation.redundantqa.word_overlap`.
_WORDS = r"\w+"
_LONGEST = 256


def ngram_overlap(texts: Sequence[str], n: int = 1) -> FloatArray:
    """Return the Jaccard index of the sets of word n-grams, shape (n, n), in [0, 1].

    Case does not count. Texts without any n-gram are 0 with every other and 1 with themselves.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(binary=True, ngram_range=(n, n), token_pattern=_WORDS)
    try:
        there: Any = counter.fit_transform(texts).astype(np.float64)
    except ValueError:  # no text has an n-gram
        return np.eye(len(texts))
    both = np.asarray((there @ there.T).toarray())
    size = np.asarray(there.sum(axis=1)).ravel()
    either = size[:, None] + size[None, :] - both
    out: FloatArray = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    np.fill_diagonal(out, 1.0)
    return out


def tfidf_cosine(texts: Sequence[str]) -> FloatArray:
    """Return the cosine of TF-IDF vectors of words, shape (n, n), in [0, 1]."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        vectors: Any = TfidfVectorizer(token_pattern=_WORDS).fit_transform(texts)
    except ValueError:  # no text has a word
        return np.eye(len(texts))
    out: FloatArray = np.clip(np.asarray((vectors @ vectors.T).toarray()), 0.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def embedding_cosine(texts: Sequence[str], model: str, *, batch: int = 32) -> FloatArray:
    """Return the cosine of sentence embeddings, negative values as 0, shape (n, n).

    The mean of the last hidden states over the tokens of the text, as most sentence encoders are
    trained for. ``model`` is a local directory or a hub id of an encoder.

    Raises
    ------
    BenchharmonyError
        When torch and transformers are missing or the model cannot be loaded.
    """
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise BenchharmonyError(
            "sentence embeddings need torch and transformers; "
            "install them with: pip install 'benchharmony[collect]'"
        ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
        encoder = AutoModel.from_pretrained(model).eval()
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).split("\n")[0]
        raise BenchharmonyError(f"{model}: no usable sentence encoder ({reason})") from None
    rows = []
    with torch.no_grad():
        for start in range(0, len(texts), batch):
            some = tokenizer(
                list(texts[start : start + batch]), padding=True, truncation=True,
                max_length=_LONGEST, return_tensors="pt",
            )  # fmt: skip
            hidden = encoder(**some).last_hidden_state
            mask = some["attention_mask"][..., None]
            rows.append(((hidden * mask).sum(1) / mask.sum(1)).numpy())
    vectors = np.concatenate(rows).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    out: FloatArray = np.clip(vectors @ vectors.T, 0.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out
