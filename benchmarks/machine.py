"""The machine in words, and what it can do: the bounds that timings are held against."""

import os
import platform
import resource
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from threadpoolctl import threadpool_limits


def words() -> str:
    """Return processor, cores, memory and versions."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            x.split(":")[1].strip() for x in info.read_text().splitlines() if "model name" in x
        ]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB; Python {platform.python_version()}, "
        f"NumPy {np.__version__}"
    )


def rates() -> dict[str, float]:
    """Return single-thread rates: exponentials and multiply-adds a second, in 10^9."""
    x = -np.random.default_rng(0).random((512, 512), dtype=np.float32)
    a = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    block = a[:, :28].copy()
    with threadpool_limits(1):
        return {
            "exp float32": x.size / _best(lambda: np.exp(x)) / 1e9,
            "product float32": a.size * 2048 / _best(lambda: a @ a) / 1e9,
            "product float32, 28 columns": a.size * 28 / _best(lambda: a @ block) / 1e9,
            "product float64": a.size * 2048 / _best(lambda: a.astype(float) @ a) / 1e9,
        }


def _best(run, times: int = 7) -> float:
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(max(process_time() - start, 1e-9))
    return min(spent)


def peak_mib() -> float:
    """Return the largest memory of this process alone (getrusage also counts its parent's)."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def forget_peak() -> None:
    """Start :func:`peak_mib` anew, where the system allows (Linux)."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def timed(run):
    """Return the result, wall seconds and processor seconds (free of what others run)."""
    wall, cpu = perf_counter(), process_time()
    result = run()
    return result, perf_counter() - wall, process_time() - cpu
