"""One run: items through the model in batches, shards as they come, one evaluation at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchharmony.collect.encode import Encoder
from benchharmony.collect.forward import PassOptions, run_batch
from benchharmony.collect.generate import generate
from benchharmony.collect.model import LoadedModel
from benchharmony.collect.positions import ItemPlan, plan_item
from benchharmony.collect.probe import can_pack
from benchharmony.collect.progress import Progress
from benchharmony.collect.shards import ShardStore, fingerprint
from benchharmony.collect.tree import pack
from benchharmony.collect.work import Benchmark, ItemError, Outcome
from benchharmony.errors import BenchharmonyError

#: Seconds of work that a kill may cost.
SHARD_SECONDS = 20.0

_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    Attributes
    ----------
    positions : tuple of str
        Position sets to record.
    mean : {"arithmetic", "geometric"}
        How distributions are averaged.
    top_k : int
        Most probable tokens kept; 0 keeps all.
    batch_size : int
        Most items in one forward pass.
    batch_tokens : int
        Most tokens in one forward pass, padding included (one item may exceed it).
    resume : bool
        Go on with shards that are there.
    quiet : bool
        No progress.
    """

    positions: tuple[str, ...] = ("item", "answer")
    mean: str = "arithmetic"
    top_k: int = 1024
    batch_size: int = 16
    batch_tokens: int = 4096
    resume: bool = False
    quiet: bool = False


@dataclass
class _Run:
    loaded: LoadedModel
    benchmark: Benchmark
    options: RunOptions
    encoder: Encoder
    plans: dict[int, ItemPlan]
    sizes: dict[int, int]
    progress: Progress
    packed: bool = True
    batch_limit: int = 0


def run_benchmark(
    loaded: LoadedModel,
    benchmark: Benchmark,
    options: RunOptions,
    shards: Path,
    settings: Mapping[str, Any],
) -> tuple[ShardStore, dict[int, Outcome]]:
    """Run every item of a benchmark that has no outcome yet.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    benchmark : Benchmark
        The items.
    options : RunOptions
        How to run.
    shards : Path
        Directory of the shards.
    settings : mapping
        What must be equal for shards to be taken over.

    Returns
    -------
    tuple
        The store of the shards, to be removed once the result is saved, and the outcome of
        every item, by its number.
    """
    plan = {**settings, "model": loaded.facts, "items": fingerprint(benchmark.items)}
    store = ShardStore(shards, plan)
    done = store.start(resume=options.resume)
    run, failed = _prepare(loaded, benchmark, options)
    done.update({i: o for i, o in failed.items() if i not in done})
    batches = [b for b in _batches(run) if not all(i in done for i in b)]
    if batches:
        _start(run, batches)
        _run_batches(run, batches, store, done)
    return store, done


def _start(run: _Run, batches: Sequence[Sequence[int]]) -> None:
    """Set up progress, and find out whether texts can share their beginnings."""
    run.progress = Progress(
        f"{run.benchmark.name} / {run.loaded.name}",
        sum(map(len, batches)),
        sum(run.sizes[i] for b in batches for i in b),
        quiet=run.options.quiet,
    )
    longest = max(len(c) for p in run.plans.values() for c in p.chains)
    run.packed = can_pack(run.loaded, longest)
    if not run.packed:
        run.progress.note(
            "this kind of model cannot share the beginnings of texts; each is read alone"
        )


def _run_batches(
    run: _Run, batches: Sequence[Sequence[int]], store: ShardStore, done: dict[int, Outcome]
) -> None:
    """Run batches, writing shards as time passes and at the end, however it comes."""
    fresh: dict[int, Outcome] = {}
    since = time.monotonic()
    try:
        for batch in batches:
            fresh.update(_run_safely(run, batch))
            run.progress.advance(len(batch), sum(run.sizes[i] for i in batch))
            if time.monotonic() - since >= SHARD_SECONDS:
                store.write(fresh)
                done.update(fresh)
                fresh, since = {}, time.monotonic()
    finally:
        store.write(fresh)
        run.progress.close()
    done.update(fresh)


def _prepare(
    loaded: LoadedModel, benchmark: Benchmark, options: RunOptions
) -> tuple[_Run, dict[int, Outcome]]:
    """Return the planned run and the outcomes of items that cannot be planned."""
    encoder = Encoder(loaded.tokenizer, loaded.max_length)
    encoder.prepare(benchmark.items)
    plans: dict[int, ItemPlan] = {}
    failed: dict[int, Outcome] = {}
    for i, item in enumerate(benchmark.items):
        try:
            plans[i] = plan_item(item, encoder, options.positions)
        except ItemError as error:
            failed[i] = Outcome(problem=str(error))
    encoder.forget()
    sizes = {i: max(1, len(pack(plan.chains))) for i, plan in plans.items()}
    progress = Progress(benchmark.name, 0, 0, quiet=options.quiet)
    run = _Run(loaded, benchmark, options, encoder, plans, sizes, progress)
    run.batch_limit = options.batch_size
    return run, failed


def _batches(run: _Run) -> Iterator[list[int]]:
    """Yield item numbers, longest items first, so that a batch that fits means all fit.

    The composition depends on the items and options alone: a resumed run makes the same batches,
    so that its numbers are the same to the last bit.
    """
    order = sorted(run.plans, key=lambda i: (-run.sizes[i], i))
    batch: list[int] = []
    for i in order:
        full = len(batch) >= run.options.batch_size
        heavy = batch and (len(batch) + 1) * run.sizes[batch[0]] > run.options.batch_tokens
        if full or heavy:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _run_safely(run: _Run, batch: Sequence[int]) -> dict[int, Outcome]:
    """Run a batch; halve it when memory runs out, and leave out an item that fails alone."""
    if len(batch) > run.batch_limit:
        return _in_halves(run, batch)
    try:
        return _run_plain(run, batch)
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        memory = is_out_of_memory(error)
        reason = "out of memory" if memory else _reason(error)
    # Out of the handler, so that nothing keeps the failed pass's tensors alive.
    if memory:
        _free(run.loaded)
    if len(batch) == 1:
        item = run.benchmark.items[batch[0]].item_id
        run.progress.note(f"item {item} left out: {reason}")
        return {batch[0]: Outcome(problem=f"the model failed on it: {reason}")}
    if memory:
        run.batch_limit = max(1, len(batch) // 2)
        run.progress.note(f"out of memory: at most {run.batch_limit} items at once from here on")
    return _in_halves(run, batch)


def _in_halves(run: _Run, batch: Sequence[int]) -> dict[int, Outcome]:
    middle = (len(batch) + 1) // 2
    return {**_run_safely(run, batch[:middle]), **_run_safely(run, batch[middle:])}


def _run_plain(run: _Run, batch: Sequence[int]) -> dict[int, Outcome]:
    options = PassOptions(run.options.mean, run.options.top_k, run.packed)
    outcomes = run_batch(run.loaded, [run.plans[i] for i in batch], options)
    found = dict(zip(batch, outcomes, strict=True))
    asked = {i: g for i in batch if (g := run.benchmark.items[i].generation) is not None}
    texts = generate(run.loaded, run.encoder, list(asked.values())) if asked else []
    for i, text in zip(asked, texts, strict=True):
        found[i] = replace(found[i], generated=text)
    return found


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, on whatever device."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(w in str(error).lower() for w in _MEMORY_WORDS)


def _free(loaded: LoadedModel) -> None:
    if loaded.device.type == "cuda":
        torch.cuda.empty_cache()
    elif loaded.device.type == "mps":
        torch.mps.empty_cache()


def _reason(error: BaseException) -> str:
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    text = first.strip()[:200]
    return text if isinstance(error, BenchharmonyError) else f"{type(error).__name__}: {text}"


def settings_of(options: RunOptions, benchmark: Benchmark) -> dict[str, Any]:
    """Return the settings that shape the numbers, for metadata and for resuming."""
    kept = asdict(options)
    for key in ("resume", "quiet", "batch_size", "batch_tokens"):
        kept.pop(key)
    kept["positions"] = list(options.positions)
    return {"benchmark": benchmark.name, **benchmark.settings, **kept}
