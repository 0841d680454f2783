"""Run a study: collect what is missing, then the report and the landscape of what is there.

Each cell is a process of its own: a model that runs out of memory takes nothing else with it, and
what it used is free again. A cell is done when its evaluation is there, and partitions and records
are kept in the results directory as they come, so a run that was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Event
from typing import Any, Literal

from benchharmony.cache import Cache, cache_of
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.grid.plan import EVALUATIONS, Cell, cells, collect_arguments
from benchharmony.grid.spec import Study
from benchharmony.parallel import Backend
from benchharmony.work import Work
from benchharmony.writing import write_whole

#: Runs one cell; returns why it failed, or None.
RunCell = Callable[[Study, Cell], str | None]
_STATE = "study.json"
#: Where partitions and records are kept in the results directory.
CACHE = "cache"
#: Processes that collect a cell now.
_RUNNING: set[subprocess.Popen[str]] = set()


@dataclass(frozen=True)
class StudyResult:
    """What became of a study.

    Attributes
    ----------
    collected, done_before : int
        Cells collected now, and found done.
    failed : dict of str to str
        Cells that failed, each with the reason.
    files : tuple of Path
        What was written: report, landscape, plots.
    unchanged : bool
        Whether report and landscape were there for the same evaluations and settings.
    """

    collected: int
    done_before: int
    failed: dict[str, str]
    files: tuple[Path, ...]
    unchanged: bool = False


def run_study(
    study: Study,
    out: str | Path,
    *,
    jobs: int | None = None,
    backend: Backend = "local",
    cache: Cache | str | Path | Literal[False] | None = None,
    collect_jobs: int = 1,
    run_cell: RunCell | None = None,
    progress: Callable[[str], None] | None = None,
    stage: Callable[[int, str], None] | None = None,
) -> StudyResult:
    """Collect what is missing, then write report and landscape.

    Parameters
    ----------
    study : Study
        What to do.
    out : str or Path
        Results directory.
    jobs, backend
        Of report and landscape: see :func:`benchharmony.report.report`.
    cache : path, Cache or False, optional
        Where partitions and records are kept; ``cache`` in the results directory by default, False
        for nowhere.
    collect_jobs : int
        Cells collected at once; each loads its model.
    run_cell : callable, optional
        Another way to run a cell (a cluster's, say): takes study and cell, leaves one or more
        ``.parquet`` files in ``cell.folder``, returns None or why it failed.
    progress : callable, optional
        Called with the name of each cell, partition or record that is done.
    stage : callable, optional
        Called when a stage begins, with how many of these it has and what it does.

    Raises
    ------
    BenchharmonyError
        When there is no evaluation at all in the end.
    """
    folder = Path(out)
    every = cells(study, folder)
    todo = [c for c in every if not c.done]
    began = stage or (lambda steps, what: None)
    began(len(todo), "collecting")
    failed = _collect(study, todo, run_cell or collect_cell, collect_jobs, progress)
    evaluations = _evaluations(study, folder, every)
    if not evaluations:
        first = next(iter(failed.items()), ("", "nothing was collected"))
        raise BenchharmonyError(f"no evaluation was collected: {': '.join(filter(None, first))}")
    state = _state(study, folder)
    kept = None if cache is False else cache_of(folder / CACHE if cache is None else cache)
    work = Work(jobs, backend, kept, progress)
    files, unchanged = _results(study, folder, evaluations, state, work, began)
    return StudyResult(
        len(todo) - len(failed), len(every) - len(todo), failed, tuple(files), unchanged
    )


def _collect(
    study: Study,
    todo: Sequence[Cell],
    run_cell: RunCell,
    jobs: int,
    progress: Callable[[str], None] | None,
) -> dict[str, str]:
    failed = {}
    stop = Event()

    def one(cell: Cell) -> tuple[Cell, str | None]:
        if stop.is_set():
            return cell, "interrupted"
        try:
            cell.folder.mkdir(parents=True, exist_ok=True)
            return cell, run_cell(study, cell)
        except BaseException:  # before this thread takes its next cell
            stop.set()
            raise

    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        try:
            for cell, why in pool.map(one, todo):
                if progress is not None:
                    progress(cell.name)
                if why is None and not cell.done:
                    why = "it left no evaluation"
                if why is not None:
                    failed[cell.name] = why
        except BaseException:  # interrupted: no cell may go on alone and meet the next run
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(_RUNNING):
                process.terminate()
            raise
    return failed


def collect_cell(study: Study, cell: Cell) -> str | None:
    """Run ``benchharmony collect`` for a cell in a process of its own."""
    command = [sys.executable, "-m", "benchharmony", "collect", "--quiet"]
    command += collect_arguments(study, cell)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        _RUNNING.add(process)
        try:
            _, said = process.communicate()
        finally:
            _RUNNING.discard(process)
    if process.returncode == 0:
        return None
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else f"collect ended with {process.returncode}"


def _evaluations(study: Study, folder: Path, every: Sequence[Cell]) -> list[Evaluation]:
    """Return the evaluations that are there, called as the study calls models and benchmarks."""
    out = []
    for cell in every:
        files = sorted(cell.folder.glob("*.parquet"))
        for path in files:
            e = Evaluation.load(path, lazily=True)
            # A group of tasks leaves a file each; one file is the benchmark itself.
            benchmark = cell.benchmark.name if len(files) == 1 else e.benchmark
            out.append(replace(e, model=cell.model.name, benchmark=benchmark))
    return out


def _state(study: Study, folder: Path) -> dict[str, Any]:
    """Return what report and landscape depend on: settings, models, evaluations, version."""
    from benchharmony._version import __version__

    files = sorted((folder / EVALUATIONS).rglob("*.parquet"))
    digest = hashlib.sha256()
    for path in files:
        stat = path.stat()
        digest.update(f"{path.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return {
        "schema": "benchharmony/study/1",
        "version": __version__,
        "name": study.name,
        "settings": study.settings.to_dict(),
        "landscape": dict(study.landscape),
        "models": [m.info.to_dict() for m in study.models],
        "benchmarks": [b.name for b in study.benchmarks],
        "evaluations": [str(p.relative_to(folder)) for p in files],
        "content": digest.hexdigest(),
    }


def _results(
    study: Study,
    folder: Path,
    evaluations: list[Evaluation],
    state: dict[str, Any],
    work: Work,
    began: Callable[[int, str], None],
) -> tuple[list[Path], bool]:
    """Write report and landscape, or find that they are there for the same state."""
    targets = [folder / name for name in ("report.json", "landscape.json", "landscape.txt")]
    if _read_state(folder) == state and all(path.exists() for path in targets):
        return targets, True
    from benchharmony.landscape import landscape
    from benchharmony.report import report
    from benchharmony.splits import MANY_MODEL_KINDS

    how = {f.name: getattr(work, f.name) for f in fields(work)}
    written = []
    if study.settings.partition not in MANY_MODEL_KINDS:
        began(2 * len(evaluations), "report")
        made = report(evaluations, settings=study.settings, **how)
        write_whole(targets[0], made.render("json"))
        written.append(targets[0])
    facts = {m.name: m.info for m in study.models}
    began(len(evaluations), "landscape")
    over = landscape(evaluations, settings=study.settings, models=facts, **how, **study.landscape)
    write_whole(targets[1], over.render("json"))
    write_whole(targets[2], over.render("text"))
    written += [targets[1], targets[2], *_plots(over.record, folder)]
    write_whole(folder / _STATE, json.dumps(state, indent=1) + "\n")
    return written, False


def _plots(record: dict[str, Any], folder: Path) -> list[Path]:
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return []
    from benchharmony.plots import save_landscape

    return save_landscape(record, folder / "plots")


def _read_state(folder: Path) -> Any:
    try:
        return json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
