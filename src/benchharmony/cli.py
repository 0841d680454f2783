"""The command line: arguments to calls, nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchharmony._version import __version__
from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import Progress, say, stdout_console

if TYPE_CHECKING:
    from benchharmony.readers import ReadResult
    from benchharmony.report import Report, Settings

EPILOG = "Exit codes: 0 done, 1 --fail-under not met, 2 bad input or usage."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        return run(args)
    except BenchharmonyError as error:
        say(f"benchharmony: {error}")
        return 2
    except KeyboardInterrupt:
        say("benchharmony: interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output has gone (`| head`): nothing to tell it
        sys.stderr.close()
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchharmony",
        description="HARMONY: how evenly a model's performance is spread over a benchmark's "
        "subdomains, so that you know when an average score can be trusted.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"benchharmony {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_report(commands)
    _add_landscape(commands)
    _add_rebalance(commands)
    _add_check(commands)
    _add_formats(commands)
    _add_demo(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text, epilog=EPILOG)
    parser.set_defaults(run=run)
    return parser


def _add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "report", "Score, HARMONY and subdomains; one row per evaluation.", _run_report
    )
    _add_sources(parser)
    _add_settings(parser)
    _add_output(parser)
    parser.add_argument(
        "--fail-under", type=float, metavar="H",
        help="exit with 1 when any evaluation's HARMONY is under H or undefined",
    )  # fmt: skip


def _add_landscape(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from benchharmony.landscape.command import add_options

    parser = _command(
        commands, "landscape", "Benchmarks over many models: mean and variance of H; trends.",
        _run_landscape,
    )  # fmt: skip
    _add_sources(parser)
    _add_settings(parser)
    add_options(parser)


def _add_rebalance(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from benchharmony.rebalancing.command import add_options

    parser = _command(
        commands, "rebalance", "Prune what is over-represented; tested against pruning at random.",
        _run_rebalance,
    )  # fmt: skip
    _add_sources(parser)
    _add_settings(parser)
    add_options(parser)


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="file, directory (searched) or glob"
    )
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--score", metavar="METRIC", help="metric of the log to use (acc_norm, exact_match, ...)"
    )
    group.add_argument(
        "--items", metavar="FILE",
        help="JSON Lines benchmark whose questions, options and labels are joined by item id",
    )  # fmt: skip
    group.add_argument(
        "--column", action="append", default=[], metavar="ROLE=NAME",
        help="column of a table for a role, e.g. score=right, item_id=qid (repeatable)",
    )  # fmt: skip
    group.add_argument("--benchmark", metavar="NAME", help="benchmark name where a log has none")
    group.add_argument("--model-name", metavar="NAME", help="model name where a log has none")
    parser.add_argument("--quiet", action="store_true", help="no progress, no warnings on stderr")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("analysis")
    add = group.add_argument
    add(
        "--partition", default="auto", metavar="KIND",
        help="auto, predictive, declared:COLUMN or options (default: auto)",
    )  # fmt: skip
    add("--positions", metavar="NAME", help="predictive distributions to compare (item, answer)")
    add("--tau", type=_tau, default="median", help="similarity scale, or median (default)")
    add("--bandwidth", type=float, default=0.1, metavar="B", help="b of the masses (default 0.1)")
    add("--epsilon", type=float, default=1e-12, help="inside the logarithm (default 1e-12)")
    add("--k", type=int, help="fixed number of subdomains")
    add("--k-min", type=int, default=2, help="smallest k tried (default 2)")
    add("--k-max", type=int, default=20, help="largest k tried (default 20)")
    add("--k-rule", default="silhouette", choices=("silhouette", "eigengap", "stability"))
    add(
        "--min-share", type=float, default=0.02, metavar="SHARE",
        help="a chosen k has no smaller subdomain, nor one under 5 items; 0 turns this off",
    )  # fmt: skip
    add("--seed", type=int, default=0)
    add("--bootstrap", type=int, default=2000, metavar="N", help="draws for intervals; 0: none")
    add("--permutations", type=int, default=2000, metavar="N", help="draws for nulls; 0: none")
    add(
        "--refit", type=int, default=0, metavar="N",
        help="make the partition again on N subsamples and report its noise apart",
    )  # fmt: skip
    add("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (same result for any N)")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--format", default="text", choices=("text", "json", "csv", "md"))
    group.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    group.add_argument(
        "--details", action="store_true", help="subdomains and warnings of every evaluation"
    )


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "check", "What would be read: format, items, what is missing; no maths.",
        _run_check,
    )  # fmt: skip
    _add_sources(parser)


def _add_formats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _command(commands, "formats", "The log formats that can be read.", _run_formats)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "demo", "The main job on data inside the package.", _run_demo)
    parser.add_argument("-o", "--output", default="benchharmony-demo", metavar="DIR")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _run_report(args: argparse.Namespace) -> int:
    from benchharmony.report import report

    settings = _settings(args)
    result = _read(args)
    with Progress(args.quiet) as progress:
        progress.expect(len(result.evaluations), "analysing")
        made = report(result.evaluations, settings=settings, jobs=args.jobs, progress=progress.step)
    _write(made, args)
    return _judge(made, args.fail_under)


def _run_rebalance(args: argparse.Namespace) -> int:
    from benchharmony.rebalancing.command import run

    settings = _settings(args)
    return run(args, _read(args).evaluations, settings)


def _run_landscape(args: argparse.Namespace) -> int:
    from benchharmony.landscape.command import run

    settings = _settings(args)
    return run(args, _read(args).evaluations, settings)


def _run_check(args: argparse.Namespace) -> int:
    from benchharmony.report.checked import print_check

    result = _read(args, quiet=True)
    print_check(result, stdout_console())
    return 0


def _run_formats(args: argparse.Namespace) -> int:
    from benchharmony.report.checked import print_formats

    print_formats(stdout_console())
    return 0


def _run_demo(args: argparse.Namespace) -> int:
    from benchharmony.demo import run_demo

    with Progress(args.quiet) as progress:
        written = run_demo(Path(args.output), stdout_console(), progress)
    print("\nWritten:")
    for path in written:
        print(f"  {path}")
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    from benchharmony.report import Settings

    names = (
        "partition", "positions", "tau", "bandwidth", "epsilon", "k", "k_min", "k_max", "k_rule",
        "min_share", "seed", "bootstrap", "permutations", "refit", "level", "score",
    )  # fmt: skip
    return Settings(**{name: getattr(args, name) for name in names})


def _read(args: argparse.Namespace, *, quiet: bool = False) -> ReadResult:
    """Read the sources; say on stderr what could not be used."""
    from dataclasses import replace

    from benchharmony.readers import ReadOptions, read_sources

    options = ReadOptions(_columns(args.column), args.benchmark, args.model_name)
    with Progress(args.quiet) as progress:
        progress.expect(None, "reading")
        result = read_sources(args.sources, options, score=args.score, progress=progress.step)
    if not (quiet or args.quiet):
        from benchharmony.report.checked import unused_lines

        for line in unused_lines(result.unused):
            say(line if line.startswith(" ") else f"not used: {line}")
        for note in result.notes:
            say(note)
    if not result.evaluations:
        first = result.unused[0] if result.unused else "no file in the sources"
        more = f" (and {len(result.unused) - 1} more files)" if len(result.unused) > 1 else ""
        raise BenchharmonyError(f"nothing usable in the sources: {first}{more}")
    if args.items:
        from benchharmony.join import join_all, read_items

        joined, notes = join_all(result.evaluations, read_items(args.items))
        result = replace(result, evaluations=joined, notes=(*result.notes, *notes))
        if not args.quiet:
            for note in notes:
                say(note)
    return result


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    out = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role and equals and name):
            raise BenchharmonyError(f"--column takes ROLE=NAME (score=right), got {pair!r}")
        out[role] = name
    return out


def _write(made: Report, args: argparse.Namespace) -> None:
    from benchharmony.report import write_whole
    from benchharmony.report.text import print_report, to_text

    if args.output:
        text = args.format == "text"
        whole = to_text(made.record, details=True) if text else made.render(args.format)
        write_whole(args.output, whole)
        if not args.quiet:
            say(f"written: {args.output}")
    elif args.format == "text":
        print_report(made.record, stdout_console(), details=args.details or None)
    else:
        sys.stdout.write(made.render(args.format))
    sys.stdout.flush()


def _judge(made: Report, bar: float | None) -> int:
    if bar is None:
        return 0
    short = [
        e
        for e in made.record["evaluations"]
        if e["harmony"]["value"] is None or e["harmony"]["value"] < bar
    ]
    for entry in short:
        value = entry["harmony"]["value"]
        words = "undefined" if value is None else f"{value:.3f}"
        say(f"--fail-under {bar:g}: {entry['benchmark']} / {entry['model']}: HARMONY is {words}")
    return 1 if short else 0


def _tau(text: str) -> float | str:
    if text == "median":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number or 'median', not {text!r}") from None


if __name__ == "__main__":
    raise SystemExit(main())
