"""The commands: each module has ``add_options(parser)`` and ``run(args) -> exit code``."""

#: Name, what it does in a line, and the module, imported only when the command is asked for.
COMMANDS: dict[str, tuple[str, str]] = {
    "report": ("score, HARMONY and subdomains; one row per evaluation", "report"),
    "landscape": ("benchmarks over many models: mean and variance of H; trends", "landscape"),
    "rebalance": ("prune what is over-represented, tested against random pruning", "rebalance"),
    "compare": ("two models on one benchmark, item by item", "compare"),
    "collect": ("run a model over a benchmark and record what a report needs", "collect"),
    "grid": ("a whole study from one YAML file: collect, report, landscape", "grid"),
    "validate": ("RedundantQA and planted partitions: what do subdomains mean?", "validate"),
    "power": ("what spread between subdomains some number of items can show", "power"),
    "check": ("what would be read: format, items, what is missing; no maths", "check"),
    "formats": ("the log formats that can be read", "formats"),
    "demo": ("the main job on data inside the package", "demo"),
}
