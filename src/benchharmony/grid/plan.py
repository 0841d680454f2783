"""What a study would do: its cells, what is done, how long the rest may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchharmony.grid.spec import Study, StudyBenchmark, StudyModel
from benchharmony.landscape.growth import size_words
from benchharmony.report.shown import shown

#: Bytes of a recorded token of a distribution (id and log-probability) before compression, and
#: bytes a second at which weights of 2 bytes a parameter come from disk.
_BYTES, _LOADING = 8, 1e9
#: Where the evaluations of a study lie in its results directory.
EVALUATIONS = "evaluations"


@dataclass(frozen=True)
class Cell:
    """One model on one benchmark, and the directory its evaluation goes to."""

    model: StudyModel
    benchmark: StudyBenchmark
    folder: Path

    @property
    def name(self) -> str:
        """Model and benchmark, for messages."""
        return f"{self.model.name} on {self.benchmark.name}"

    @property
    def done(self) -> bool:
        """Whether its evaluation is there (it is written whole or not at all)."""
        return any(self.folder.glob("*.parquet"))


def cells(study: Study, out: Path) -> list[Cell]:
    """Return every cell, all benchmarks of a model after each other."""
    return [
        Cell(m, b, out / EVALUATIONS / _safe(m.name) / _safe(b.name))
        for m in study.models
        for b in study.benchmarks
    ]


def options_of(study: Study, cell: Cell) -> dict[str, Any]:
    """Return the options of ``collect`` for a cell; the benchmark's win over the model's."""
    return {**study.collect, **cell.model.options, **cell.benchmark.options}


def collect_arguments(study: Study, cell: Cell) -> list[str]:
    """Return the arguments of ``benchharmony collect`` for a cell."""
    out = ["--model", cell.model.model, "--name", cell.model.name, "--resume"]
    pairs: dict[str, Any] = {
        "gguf": cell.model.gguf,
        "revision": cell.model.revision,
        "task": cell.benchmark.task,
        "items": cell.benchmark.items,
        "include_path": cell.benchmark.include_path,
        **options_of(study, cell),
    }
    for key, value in pairs.items():
        flag = f"--{key.replace('_', '-')}"
        if value is True:
            out.append(flag)
        elif isinstance(value, list):
            out += [flag, ",".join(map(str, value))]
        elif value is not None and value is not False:
            out += [flag, str(value)]
    return [*out, "-o", str(cell.folder)]


def seconds(study: Study, cell: Cell) -> float | None:
    """Return how long a cell may take: 2 operations per parameter and token, and loading.

    None where the model's or the benchmark's size is unknown.
    """
    parameters, items = cell.model.info.parameters, items_of(study, cell)
    if parameters is None or items is None:
        return None
    tokens = items * cell.benchmark.tokens_per_item
    return 2 * parameters * tokens / study.flops + 2 * parameters / _LOADING


def items_of(study: Study, cell: Cell) -> int | None:
    """Return the items of a cell, under the limit if there is one; None where unknown."""
    limit = options_of(study, cell).get("limit")
    if cell.benchmark.size is None:
        return None if limit is None else int(limit)
    return cell.benchmark.size if limit is None else min(int(limit), cell.benchmark.size)


def disk_bytes(study: Study, cell: Cell) -> int | None:
    """Return about how large the recorded distributions of a cell are at most."""
    items = items_of(study, cell)
    if items is None:
        return None
    options = options_of(study, cell)
    positions = options.get("positions", "item,answer")
    count = len(positions if isinstance(positions, list) else str(positions).split(","))
    return items * count * int(options.get("top_k") or 1024) * _BYTES


def describe_study(study: Study, out: Path) -> str:
    """Return in words what a run would do."""
    todo = cells(study, out)
    left = [c for c in todo if not c.done]
    lines = [
        f"{shown(study.name)}: {len(study.models)} models x {len(study.benchmarks)} benchmarks = "
        f"{len(todo)} cells, {len(todo) - len(left)} done, {len(left)} to collect",
        f"results: {out}",
        "",
        f"{'model':<40} {'family':<16} {'parameters':>10} {'to do':>6} {'time':>9}",
    ]
    for model in study.models:
        mine = [c for c in left if c.model is model]
        lines.append(
            f"{shown(model.name, 40):<40} {shown(model.info.family or '-', 16):<16} "
            f"{size_words(model.info.parameters) or '?':>10} {len(mine):>6} {_time(study, mine):>9}"
        )
    lines += ["", f"{'benchmark':<40} {'items':>10} {'tokens/item':>12} {'to do':>6} {'time':>9}"]
    for benchmark in study.benchmarks:
        mine = [c for c in left if c.benchmark is benchmark]
        size = items_of(study, Cell(study.models[0], benchmark, out))
        lines.append(
            f"{shown(benchmark.name, 40):<40} {'?' if size is None else size:>10} "
            f"{benchmark.tokens_per_item:>12.0f} {len(mine):>6} {_time(study, mine):>9}"
        )
    disk = [disk_bytes(study, c) for c in left]
    unknown = sum(seconds(study, c) is None for c in left)
    lines += [
        "",
        f"about {_time(study, left)} at {study.flops:.2g} floating point operations a second "
        f"(estimate.flops), 2 per parameter and token"
        + (f"; {unknown} cells of unknown size not counted" if unknown else ""),
        f"about {sum(d or 0 for d in disk) / 1e9:.1f} GB of distributions before compression",
        f"then: report and landscape with {_settings(study)}",
    ]
    return "\n".join(lines)


def _settings(study: Study) -> str:
    from benchharmony.report.settings import Settings

    standard = Settings().to_dict()
    given: Mapping[str, Any] = {
        k: v for k, v in study.settings.to_dict().items() if v != standard[k]
    }
    words = ", ".join(f"{k} {v}" for k, v in {**given, **study.landscape}.items())
    return words or "the standard settings"


def _time(study: Study, some: list[Cell]) -> str:
    if not some:
        return "-"
    total = sum(seconds(study, c) or 0.0 for c in some)
    if total == 0:
        return "?"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if total >= size:
            return f"{total / size:.1f} {unit}"
    return f"{total:.0f} s"


def _safe(name: str) -> str:
    return re.sub(r"[^\w.@+-]+", "_", name).strip("._") or "unnamed"
