"""``benchharmony collect``: its arguments, and the run they ask for."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchharmony.collect.items import ItemOptions, read_items
from benchharmony.collect.work import POSITIONS, Benchmark
from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.collect.model import LoadedModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every argument of the command."""
    add_run_arguments(parser)
    parser.add_argument("--positions", type=_positions, default=("item", "answer"), metavar="P,P",
                        help="position sets to record: item, answer, question, next "
                             "(default: item,answer)")  # fmt: skip
    parser.add_argument("-o", "--output", default="collected", metavar="DIR",
                        help="directory of the results (default: collected)")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def add_run_arguments(parser: argparse.ArgumentParser, *, shared: bool = True) -> None:
    """Add the arguments that say what to run, for ``collect`` and for ``report --model``.

    ``shared`` adds ``--items`` and ``--score`` too, which ``report`` has already.
    """
    add = parser.add_argument_group("running a model").add_argument
    add("--model", metavar="M", help="hub id, local directory or GGUF file")
    add("--gguf", metavar="FILE", help="GGUF file: a path, or a file of the model")
    add("--name", metavar="NAME", help="what outputs call the model")
    add("--revision", metavar="REV", help="branch, tag or commit of the hub repository")
    add("--dtype", default="auto", help="float32, bfloat16, ... (default: float32 on a CPU)")
    add("--device", default="auto", help="cuda, mps or cpu (default: the first there is)")
    add("--threads", type=_positive, metavar="N", help="CPU threads")
    add("--trust-remote-code", action="store_true", help="run code of the model's repository")
    if shared:
        add("--items", metavar="FILE", help="own items, JSON Lines")
        add("--score", metavar="METRIC", help="metric to use as score")
    add("--task", metavar="NAME", help="task or group of lm-evaluation-harness")
    add("--include-path", metavar="DIR", help="directory of further lm-eval YAML tasks")
    add("--num-fewshot", type=_natural, metavar="N", help="few-shot examples of a task")
    add("--prompt", choices=("cloze", "letters"), default="cloze",
        help="own items: score the options' texts or their letters (default: cloze)")  # fmt: skip
    add("--chat-template", action="store_true", help="put prompts into the chat template")
    add("--limit", type=_positive, metavar="N", help="first N items only")
    add("--max-new-tokens", type=_positive, metavar="N",
        help="longest generated answer (default: 32, or the task's own)")  # fmt: skip
    add("--mean", choices=("arithmetic", "geometric"), default="arithmetic",
        help="how distributions are averaged (default: arithmetic)")  # fmt: skip
    add("--top-k", type=_natural, default=1024, metavar="K",
        help="most probable tokens kept, 0 for all (default: 1024)")  # fmt: skip
    add("--batch-size", type=_positive, default=16, metavar="N",
        help="most items at once (default: 16)")  # fmt: skip
    add("--batch-tokens", type=_positive, default=4096, metavar="N",
        help="most tokens at once (default: 4096)")  # fmt: skip
    add("--resume", action="store_true", help="go on with an unfinished run")
    add("--overwrite", action="store_true", help="replace a result that is there")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    path = collect(args)
    print(path)
    return 0


def collect_for_report(args: argparse.Namespace, directory: str | Path) -> Path:
    """Collect what ``report --model`` needs, or return the file that is there already.

    Parameters
    ----------
    args : Namespace
        With the arguments of :func:`add_run_arguments`; ``quiet`` is used where it is there.
    directory : str or Path
        Where the result goes; a finished or unfinished run in it is taken up.
    """
    given = vars(args) | {
        "positions": ("item", "answer"),
        "output": str(directory),
        "quiet": getattr(args, "quiet", False),
        "resume": not args.overwrite,
        "items": None if args.task else args.items,
    }
    return collect(argparse.Namespace(**given))


def collect(args: argparse.Namespace) -> Path:
    """Run the model over the benchmark and return the file written.

    Raises
    ------
    BenchharmonyError
        For anything a user can mend.
    """
    _check_arguments(args)
    from benchharmony.collect.model import load_model  # torch is imported within, if there

    if args.items:
        read_items(args.items)  # a wrong file is told before the model is loaded
    loaded = load_model(
        args.model or args.gguf,
        gguf=args.gguf,
        name=args.name,
        dtype=args.dtype,
        device=args.device,
        revision=args.revision,
        trust_remote_code=args.trust_remote_code,
    )
    if args.threads:
        import torch

        torch.set_num_threads(args.threads)
    benchmark = _benchmark(args, loaded)
    path = Path(args.output) / f"{_safe(benchmark.name)}__{_safe(loaded.name)}.parquet"
    if path.exists() and not args.overwrite:
        if args.resume:
            return path
        raise BenchharmonyError(f"{path} is there already; give --overwrite, or another -o")
    return _run_and_save(args, loaded, benchmark, path)


def _run_and_save(
    args: argparse.Namespace, loaded: LoadedModel, benchmark: Benchmark, path: Path
) -> Path:
    from benchharmony.collect.result import evaluation_of
    from benchharmony.collect.run import RunOptions, run_benchmark, settings_of

    options = RunOptions(
        positions=args.positions,
        mean=args.mean,
        top_k=args.top_k,
        batch_size=args.batch_size,
        batch_tokens=args.batch_tokens,
        resume=args.resume,
        quiet=args.quiet,
    )
    settings = {**settings_of(options, benchmark), "chat_template": args.chat_template}
    batches = {"batch_size": args.batch_size, "batch_tokens": args.batch_tokens}
    path.parent.mkdir(parents=True, exist_ok=True)
    shards = path.parent / f".{path.stem}.shards"
    store, outcomes = run_benchmark(loaded, benchmark, options, shards, {**settings, **batches})
    evaluation = evaluation_of(loaded, benchmark, outcomes, settings)
    partial = path.with_name(path.name + ".partial")
    evaluation.save(partial)
    partial.replace(path)
    store.remove()
    if not args.quiet:
        _tell(evaluation)
    return path


def _tell(evaluation: Any) -> None:
    source = evaluation.source
    left_out = f", {source.items_left_out} left out" if source.items_left_out else ""
    print(
        f"{evaluation.name}: {len(evaluation)} items{left_out}, "
        f"{evaluation.score_name} {evaluation.scores.mean():.3f}",
        file=sys.stderr,
    )
    for problem in source.problems[:10]:
        print(f"  left out: {problem}", file=sys.stderr)
    if len(source.problems) > 10:
        print(f"  ... and {len(source.problems) - 10} more, all in the file", file=sys.stderr)
    for note in evaluation.notes:
        print(f"  note: {note}", file=sys.stderr)


def _benchmark(args: argparse.Namespace, loaded: LoadedModel) -> Benchmark:
    from benchharmony.collect.model import chat_template

    if args.items:
        template = chat_template(loaded.tokenizer) if args.chat_template else None
        options = ItemOptions(args.prompt, args.max_new_tokens or 32, template, args.limit)
        benchmark = read_items(args.items, options)
        return replace(benchmark, score_name=args.score) if args.score else benchmark
    from benchharmony.collect.tasks import TaskOptions, load_task

    chat = _chat(loaded) if args.chat_template else None
    return load_task(
        args.task,
        TaskOptions(
            args.include_path,
            args.num_fewshot,
            args.limit,
            args.max_new_tokens,
            chat,
            args.score,
        ),
    )


def _chat(loaded: LoadedModel) -> Any:
    from benchharmony.collect.model import chat_template

    chat_template(loaded.tokenizer)  # says so when there is none

    def fill(messages: Any, add_generation_prompt: bool = True) -> str:
        text: str = loaded.tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=not add_generation_prompt,
        )
        return text

    return fill


def _check_arguments(args: argparse.Namespace) -> None:
    if not (args.model or args.gguf):
        raise BenchharmonyError("collect needs --model: a hub id, a local directory or a GGUF file")
    if bool(args.items) == bool(args.task):
        raise BenchharmonyError("collect needs one of --items FILE and --task NAME")


def _safe(name: str) -> str:
    return re.sub(r"[^\w.@+-]+", "_", name).strip("._") or "unnamed"


def _positions(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(n.strip() for n in text.split(",") if n.strip()))
    unknown = [n for n in names if n not in POSITIONS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"{unknown[0] if unknown else text!r} is none of {', '.join(POSITIONS)}"
        )
    return names


def _positive(text: str) -> int:
    value = _natural(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
