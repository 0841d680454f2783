"""The same results from one process, several, a Ray cluster and a Dask cluster."""

import importlib.util
import os
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from benchharmony import BenchharmonyError, Evaluation, Predictive, landscape, report
from benchharmony.cache import Cache
from benchharmony.choice import Choice
from benchharmony.errors import InputError
from benchharmony.induced import induce
from benchharmony.parallel import as_before, at_most, run
from benchharmony.partition import partition
from benchharmony.report.settings import Settings
from planted import planted

QUICK = Settings(bootstrap=60, permutations=60, k_max=5)


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


def small_grid(folder=None) -> list[Evaluation]:
    """Return 3 models on 2 benchmarks; with a folder, their distributions are left in files."""
    out = []
    for b, sizes in (("first", (40, 30)), ("second", (50, 20, 20))):
        for m in range(3):
            made, _ = planted(sizes, (0.8, 0.5, 0.4)[: len(sizes)], seed=m)
            made = replace(made, benchmark=b, model=f"Tiny-{m + 1}B")
            if folder is not None:
                path = folder / f"{b}-{m}.parquet"
                made.save(path)
                made = Evaluation.load(path, lazily=True)
            out.append(made)
    return out


def of_the_grid(evaluations, **how):
    return (
        report(evaluations, settings=QUICK, **how).render("json"),
        landscape(evaluations, settings=QUICK, repeats=3, **how).render("json"),
    )


def installed(backend):
    return importlib.util.find_spec("distributed" if backend == "dask" else "ray") is not None


def test_local_processes_give_the_same_bytes(tmp_path):
    assert len({tau for tau, *_ in analysed()}) == 3
    assert analysed(jobs=2) == analysed()
    whole, stored = small_grid(), small_grid(tmp_path)
    serial = of_the_grid(whole)
    assert of_the_grid(whole, jobs=2) == serial
    assert of_the_grid(stored) == of_the_grid(stored, jobs=2) == serial


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bytes_and_keeps_them(backend, tmp_path):
    if not installed(backend):
        pytest.skip(f"{backend} is not installed")
    stored = small_grid(tmp_path)
    serial = of_the_grid(stored)
    cache = Cache(tmp_path / "cache")
    with on_a(backend):
        assert of_the_grid(stored, jobs=2, backend=backend, cache=cache) == serial
        assert cache.made == 12  # the landscape found the report's partitions
        assert cache.found == 6
        assert analysed(backend=backend) == analysed()
    assert of_the_grid(stored, cache=cache) == serial
    assert cache.made == 12


class on_a:  # noqa: N801 - reads as "with on a cluster"
    """A local cluster that is there already, as a user's would be."""

    def __init__(self, backend):
        self.backend = backend

    def __enter__(self):
        if self.backend == "ray":
            import ray

            ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
            self.end = ray.shutdown
        else:
            from distributed import Client, LocalCluster

            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
            client = Client(cluster)

            def end():
                client.close()
                cluster.close()

            self.end = end

    def __exit__(self, *_):
        self.end()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
@pytest.mark.filterwarnings("ignore")
def test_without_a_cluster_one_is_started_and_what_a_task_raises_is_told(backend):
    if not installed(backend):
        pytest.skip(f"{backend} is not installed")
    assert analysed(jobs=2, backend=backend) == analysed()
    with pytest.raises(BenchharmonyError, match=r"^planted / model: no declared column 'nothing'"):
        run(partition, [(planted()[0], "declared:nothing")], backend=backend, jobs=1)


def test_an_unknown_backend_and_one_that_is_not_installed_are_worded(monkeypatch):
    with pytest.raises(BenchharmonyError, match="unknown backend 'spark'; choose local, ray, dask"):
        analysed(backend="spark")
    for backend, module in (("ray", "ray"), ("dask", "distributed")):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(BenchharmonyError, match=rf"pip install 'benchharmony\[{backend}\]'"):
            analysed(backend=backend)
    with pytest.raises(BenchharmonyError, match="whole number from 1, got 0"):
        analysed(jobs=0)


def test_a_ray_that_is_not_there_is_worded(monkeypatch):
    if not installed("ray"):
        pytest.skip("ray is not installed")
    for address in ("127.0.0.1:9", "ray://127.0.0.1:9"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(BenchharmonyError, match=f"no Ray cluster at {address}: .*refused"):
            analysed(backend="ray")


@pytest.mark.filterwarnings("ignore")
def test_a_dask_scheduler_that_is_not_there_is_worded(monkeypatch):
    if not installed("dask"):
        pytest.skip("dask is not installed")
    import dask

    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(BenchharmonyError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"),
    ):
        analysed(backend="dask")


# --- how results come back ---------------------------------------------------------------------


def fails(number):
    """Raise what does not survive pickling as it is."""
    if number == 2:
        raise InputError("f.parquet", "odd", 3)
    return number


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_what_a_task_raises_is_raised_and_what_was_done_is_told(jobs):
    told = []
    with pytest.raises(BenchharmonyError, match=r"^f\.parquet:3: odd$"):
        run(fails, [(0,), (1,), (2,)], jobs=jobs, done=lambda i, value: told.append((i, value)))
    assert set(told) <= {(0, 0), (1, 1)}
    if jobs != 2:
        assert told == [(0, 0), (1, 1)]


@pytest.mark.parametrize("jobs", [None, 2])
def test_every_result_is_told_once_and_they_are_in_order(jobs):
    told = []
    made = run(fails, [(i,) for i in (5, 3, 4)], jobs=jobs, done=lambda i, v: told.append(i))
    assert made == [5, 3, 4]
    assert sorted(told) == [0, 1, 2]
    assert run(fails, [], jobs=jobs) == []


@pytest.mark.filterwarnings("error")
def test_what_fails_to_be_kept_ends_the_run_without_noise():
    def done(number, value):
        raise BenchharmonyError("the disk is full")

    with pytest.raises(BenchharmonyError, match="the disk is full"):
        run(fails, [(i,) for i in range(3, 40)], jobs=2, done=done)


def test_a_process_that_ends_early_is_an_error_in_words():
    with pytest.raises(BenchharmonyError, match="ended from outside, most likely because memory"):
        run(os._exit, [(1,), (1,)], jobs=2)


# --- threads and memory ------------------------------------------------------------------------


def test_processes_times_threads_stay_within_the_processors():
    for libraries in run(threadpool_info, [(), ()], jobs=2):
        assert all(lib["num_threads"] <= max(1, (os.cpu_count() or 1) // 2) for lib in libraries)


def test_threads_are_held_and_let_go():
    def most():
        return max(lib["num_threads"] for lib in threadpool_info())

    with threadpool_limits(2):
        before = most()
        with at_most(1):
            assert most() == 1
            with as_before():
                assert most() == before
            assert most() == 1
        with at_most(64):  # never more than there were
            assert most() == before
        assert most() == before


def test_texts_give_the_same_partition_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)]
    texts = [" ".join(rng.choice(words, 25)) for _ in range(400)]
    e = Evaluation.from_arrays(
        benchmark="b", model="m", scores=(rng.random(400) < 0.5).astype(float), texts=texts
    )
    found = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.add(report(e, partition="text", bootstrap=60, permutations=60).render("json"))
    assert len(found) == 1


def seen(evaluation):
    """Return whether a worker's numbers are mapped from a file, and how much it had to hold."""
    view = evaluation.predictive["item"]
    return type(view.logprobs).__name__, float(view.logprobs.sum())


def test_large_inputs_are_mapped_and_stored_ones_stay_in_their_file(tmp_path):
    import pickle

    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(300), 2000)
    whole = Evaluation.from_arrays(benchmark="b", model="m", scores=np.zeros(2000), predictive=p)
    mapped = run(seen, [(whole,), (whole,)], jobs=2)
    assert mapped == [("memmap", seen(whole)[1])] * 2
    whole.save(tmp_path / "e.parquet")
    stored = Evaluation.load(tmp_path / "e.parquet", lazily=True)
    assert run(seen, [(stored,), (stored,)], jobs=2) == [("ndarray", seen(whole)[1])] * 2
    assert len(pickle.dumps(stored)) < len(pickle.dumps(whole)) / 20
