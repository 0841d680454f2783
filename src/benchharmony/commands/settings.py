"""The parameters that every analysis takes, as flags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchharmony.commands.work import jobs

if TYPE_CHECKING:
    from benchharmony.report import Settings


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the analysis."""
    group = parser.add_argument_group("analysis")
    add = group.add_argument
    add(
        "--partition", default="auto", metavar="KIND",
        help="auto, predictive, declared:COLUMN, text, shared, responses or options (default auto)",
    )  # fmt: skip
    add("--positions", metavar="NAME", help="predictive distributions to compare (item, answer)")
    add("--tau", type=_tau, default="median", help="similarity scale, or median (default)")
    add("--bandwidth", type=float, default=0.1, metavar="B", help="b of the masses (default 0.1)")
    add("--epsilon", type=float, default=1e-12, help="inside the logarithm (default 1e-12)")
    add("--k", type=int, help="fixed number of subdomains")
    add("--k-min", type=int, default=2, help="smallest k tried (default 2)")
    add("--k-max", type=int, default=20, help="largest k tried (default 20)")
    add(
        "--k-rule", default="auto", choices=("auto", "silhouette", "eigengap", "stability"),
        help="auto: the highest silhouette (the paper's rule) where it reaches 0.25, else the "
        "finest k whose subsamples agree (default: auto)",
    )  # fmt: skip
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
    add(
        "--clusters", metavar="COLUMN",
        help="declared column of items that belong together, such as a passage, for the intervals",
    )  # fmt: skip
    add("--tree", action="store_true", help="split subdomains again while the data support it")
    add("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    add(
        "--engine", default="auto", metavar="NAME",
        help="how the similarity is reached: auto (by size and memory, the default), dense, "
        "matrix-free, low-rank; torch, torch:DEVICE or cupy hold it on an accelerator",
    )  # fmt: skip
    add("--jobs", type=jobs, metavar="N", help="processes (same result for any N; default 1)")


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the parameters that were asked for."""
    from benchharmony.report import Settings

    names = (
        "partition", "positions", "tau", "bandwidth", "epsilon", "k", "k_min", "k_max", "k_rule",
        "min_share", "seed", "engine", "bootstrap", "permutations", "refit", "level", "clusters",
        "tree", "score",
    )  # fmt: skip
    return Settings(**{name: getattr(args, name) for name in names})


def _tau(text: str) -> float | str:
    if text == "median":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number or 'median', not {text!r}") from None
