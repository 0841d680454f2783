"""The same results from one process, several, a Ray cluster and a Dask cluster."""

import importlib.util

import numpy as np
import pytest

from benchharmony import BenchharmonyError, Predictive
from benchharmony.choice import Choice
from benchharmony.induced import induce
from benchharmony.parallel import run


def tasks():
    rng = np.random.default_rng(0)
    views = [Predictive.dense(rng.dirichlet(np.ones(4), n)) for n in (60, 90, 70)]
    return [(view, "median", Choice(k_range=(2, 5), seed=i)) for i, view in enumerate(views)]


def analysed(**how):
    """Return what came out, in bytes; the function is the package's, for workers to find."""
    return [
        (made.tau, made.silhouette_by_k, made.labels.tobytes(), made.embedding.tobytes())
        for made in run(induce, tasks(), **how)
    ]


def test_local_processes_give_the_same_bytes():
    assert len({tau for tau, *_ in analysed()}) == 3
    assert analysed(jobs=2) == analysed()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bytes(backend):
    if importlib.util.find_spec("distributed" if backend == "dask" else "ray") is None:
        pytest.skip(f"{backend} is not installed")
    assert analysed(jobs=2, backend=backend) == analysed()


def test_an_unknown_backend_and_one_that_is_not_installed_are_worded(monkeypatch):
    with pytest.raises(BenchharmonyError, match="unknown backend 'spark'; choose local, ray, dask"):
        analysed(backend="spark")
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(BenchharmonyError, match=r"pip install 'benchharmony\[ray\]'"):
        analysed(backend="ray")
