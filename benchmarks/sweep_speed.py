"""The sweep against scikit-learn and against the dense engine, each run in a process of its own.

    python benchmarks/sweep_speed.py [--sizes 2000 5000 ...] [--direct-up-to 2000]
        [--direct-limit 600] [--repeat 3] [--write docs/performance.md]

Ours and the direct way run in turn (this one once where it takes minutes); medians are shown.
Ratios are given in wall time and in processor time: the second is steadier on a machine that does
other work as well. The direct way is stopped after ``--direct-limit`` seconds of processor time;
the ratio is then a lower bound.
Silhouettes are compared with the dense engine's, each engine with its own labels, and with exact
ones of the same labels, which leaves the approximation alone. Set OMP_NUM_THREADS: both sides use
as many threads. ``--write`` puts the table into a document, between its markers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from direct import direct_sweep, planted
from machine import peak_mib, rates, timed, words
from sklearn.metrics import adjusted_rand_score

BEGIN, END = "<!-- sweep: begin -->", "<!-- sweep: end -->"
HEAD = (
    "| n | engine | seconds | processor seconds | peak memory | faster than the direct way: "
    "wall / processor | same k | ARI with dense at that k | largest difference of a silhouette: "
    "from dense, k up to 6 / 20 | of the same labels |\n|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 14042, 100_000])
    args.add_argument("--direct-up-to", type=int, default=2000)
    args.add_argument("--direct-limit", type=int, default=600)
    args.add_argument("--repeat", type=int, default=3)
    args.add_argument("--write", type=Path)
    args.add_argument("--child", nargs=2, metavar=("ENGINE", "FILE"))
    given = args.parse_args()
    if given.child:
        _child(given.sizes[0], *given.child)
        return
    lines = [f"Measured on {words()}. Single-thread rates, 10^9 a second: "]
    lines[0] += ", ".join(f"{name} {rate:.1f}" for name, rate in rates().items()) + ".\n"
    lines.append(HEAD)
    print("\n".join(lines), flush=True)
    for n in given.sizes:
        limit = given.direct_limit if n <= given.direct_up_to else 0
        lines.append(_row(n, given.repeat, limit))
        print(lines[-1], flush=True)
    if given.write:
        text = given.write.read_text()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        given.write.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)


def _row(n: int, repeat: int, limit: int) -> str:
    runs: dict[str, list[dict]] = {"auto": [], "direct": [], "dense": []}
    stopped = False
    for _ in range(repeat):
        runs["auto"].append(_run(n, "auto"))
        if limit and not stopped and not _is_long(runs["direct"]):
            try:
                runs["direct"].append(_run(n, "direct", limit))
            except subprocess.CalledProcessError:
                stopped = True
    if n <= 20_000:
        runs["dense"].append(_run(n, "dense"))
    ours = {key: median(r[key] for r in runs["auto"]) for key in ("wall", "cpu", "peak")}
    first, ratio, same, rand, gap, near = runs["auto"][0], "-", "-", "-", "-", "-"
    if stopped:
        ratio = f"- / more than {limit / ours['cpu']:.0f}"
    elif runs["direct"]:
        wall, cpu = (median(r[key] for r in runs["direct"]) for key in ("wall", "cpu"))
        ratio = f"{wall / ours['wall']:.0f} / {cpu / ours['cpu']:.0f}"
        same = "yes" if runs["direct"][0]["k"] == first["k"] else "no"
    if runs["dense"]:
        dense, k = runs["dense"][0], str(first["k"])
        same = same if same != "-" else ("yes" if dense["k"] == first["k"] else "no")
        rand = f"{adjusted_rand_score(dense['labels'][k], first['labels'][k]):.4f}"
        far = {j: abs(s - first["silhouette"][j]) for j, s in dense["silhouette"].items()}
        gap = f"{max(x for j, x in far.items() if int(j) <= 6):.0e} / {max(far.values()):.0e}"
        exact = _exact_silhouettes(n, first["labels"])
        near = f"{max(abs(s - first['silhouette'][j]) for j, s in exact.items()):.0e}"
    return (
        f"| {n:,} | {first['engine']} | {ours['wall']:.2f} | {ours['cpu']:.2f} | "
        f"{ours['peak']:.0f} MiB | {ratio} | {same} | {rand} | {gap} | {near} |"
    )


def _is_long(runs: list[dict]) -> bool:
    """Whether one run is enough: it took minutes, and differences between runs are seconds."""
    return bool(runs) and runs[-1]["wall"] > 120


def _exact_silhouettes(n: int, labels: dict[str, list[int]]) -> dict[str, float]:
    """Return the silhouettes of given labels from S held whole."""
    from benchharmony import Predictive
    from benchharmony.engines.canonical import canonical
    from benchharmony.engines.choose import reach
    from benchharmony.engines.silhouettes import mean_silhouettes
    from benchharmony.engines.workers import Workers

    view = Predictive.dense(planted(n)[0])
    items = canonical(view)
    own = {k: np.asarray(some)[items.first] for k, some in labels.items()}
    with Workers() as workers:
        kernel = reach(view.take(items.first), items.counts, 1.0, "dense", workers).kernel
        return mean_silhouettes(kernel, items.counts, own)


def _run(n: int, engine: str, limit: int = 0) -> dict:
    """Return what a process of its own measured; ``limit`` seconds of processor time end it."""

    def limited() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        me = [sys.executable, __file__, "--sizes", str(n), "--child", engine, str(out)]
        subprocess.run(me, check=True, preexec_fn=limited)
        return json.loads(out.read_text())


def _child(n: int, engine: str, out: str) -> None:
    p, _ = planted(n)
    if engine == "direct":
        (labels, silhouette), wall, cpu = timed(lambda: direct_sweep(p))
        name = "direct"
    else:
        from benchharmony import Predictive
        from benchharmony.choice import Choice
        from benchharmony.induced import induce

        induce(
            Predictive.dense(planted(1100)[0]), 1.0, Choice()
        )  # the imports, as on the other side
        found, wall, cpu = timed(
            lambda: induce(Predictive.dense(p), 1.0, Choice(min_share=0), engine)
        )
        labels, silhouette, name = found.labels_by_k, found.silhouette_by_k, found.engine
    kept = {k: np.asarray(lab).tolist() for k, lab in labels.items()} if n <= 20_000 else {}
    made = {
        "wall": wall, "cpu": cpu, "peak": peak_mib(), "engine": name, "labels": kept,
        "k": max(silhouette, key=silhouette.get), "silhouette": silhouette,
    }  # fmt: skip
    Path(out).write_text(json.dumps(made))


if __name__ == "__main__":
    main()
