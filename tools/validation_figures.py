"""The tables of docs/validation.md from records that ``benchharmony validate --record`` wrote.

    python tools/validation_figures.py RECORD.json... [--into docs/validation.md]

Several records (sections run apart) are read as one. With --into, every table between the lines
``<!-- table: NAME -->`` and ``<!-- end -->`` is replaced.
"""

import argparse
import json
import re
from pathlib import Path

SHORT = {"smollm2-135m-instruct": "SmolLM2", "gemma-3-270m": "Gemma"}
POSITIONS = ("item", "answer", "question", "next")
#: How distributions were averaged or asked for, where that is not the default.
UNUSUAL = ("geometric", "chat template")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+")
    parser.add_argument("--into")
    args = parser.parse_args()
    cases, record = {}, {}
    for name in args.records:
        read = json.loads(Path(name).read_text())
        for case in read.pop("cases"):
            known = cases.setdefault((case["benchmark"], case["model"].casefold()), {})
            similarities = known.get("similarities", []) + case.get("similarities", [])
            known.update(case, similarities=similarities)
        between = record.get("between_models", []) + read.pop("between_models", [])
        record["between_models"] = between
        record.update({key: value for key, value in read.items() if value})
    made = {name: make(cases, record) for name, make in TABLES.items()}
    if not args.into:
        for name, table in made.items():
            print(f"<!-- table: {name} -->\n{table}\n<!-- end -->\n")
        return
    path = Path(args.into)
    text = path.read_text()
    for name, table in made.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, t=table: f"{m[1]}{t}\n{m[2]}", text, flags=re.DOTALL)
    path.write_text(text)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def number(value):
    return "-" if value is None else f"{value:.2f}"


def pair(values):
    return " / ".join(number(v) for v in values)


def models_of(cases, benchmark):
    return [cases[key] for key in sorted(cases, reverse=True) if key[0] == benchmark]


def by_name(case, section="similarities"):
    return {s["name"]: s for s in case.get(section, [])}


def ranking(cases, _):
    both = models_of(cases, "redundantqa")
    found = [by_name(case) for case in both]
    rows = []
    for name in filter(usual, found[0]):
        r = [f[name]["ranking"] for f in found]
        same = found[0][name]["family"] in ("words", "embeddings")
        cells = [
            [f"{number(x['all']['auc'])} [{pair(x['all']['interval']).replace(' / ', ', ')}]"
             for x in r],
            [number(x["par1"]["auc"]) for x in r], [number(x["par2"]["auc"]) for x in r],
            [number(x["others"]) for x in r], [number(x["random"]) for x in r],
        ]  # fmt: skip
        rows.append([name, *(c[0] if same else " / ".join(c) for c in cells)])
    return table(["SmolLM2 / Gemma", "AUC", "par1", "par2", "others", "roles shuffled"], rows)


def domains(cases, _):
    benchmarks = ("redundantqa", "mmlu")
    found = {b: [by_name(case) for case in models_of(cases, b)] for b in benchmarks}
    names = list(filter(usual, {**found["redundantqa"][0], **found["mmlu"][0]}))
    rows = []
    for name in names:
        row = [name]
        for b in benchmarks:
            d = [f[name]["domains"] for f in found[b] if name in f]
            same = d and found[b][0][name]["family"] in ("words", "embeddings")
            d = d[:1] if same else d
            row += [pair(x[key] for x in d) or "-" for key in ("ari", "ami")]
        row.append(
            max((abs(f[name]["domains"]["random_ami"]) for b in benchmarks for f in found[b]
                 if name in f), default=0)
        )  # fmt: skip
        row[-1] = f"{row[-1]:.3f}"
        rows.append(row)
    return table(
        ["SmolLM2 / Gemma", "RedundantQA, k = 4: ARI", "AMI", "MMLU, k = 21: ARI", "AMI",
         "largest AMI, shuffled"], rows,
    )  # fmt: skip


def usual(name):
    return not name.endswith(UNUSUAL)


def means(cases, _):
    """Positions and means side by side, on meaning and on topics."""
    both = {b: [by_name(case) for case in models_of(cases, b)] for b in ("redundantqa", "mmlu")}
    rows = []
    for positions in POSITIONS:
        for way in ("arithmetic", *UNUSUAL):
            name = positions if way == "arithmetic" else f"{positions}, {way}"
            meaning = [f.get(name) for f in both["redundantqa"]]
            topics = [f.get(name) for f in both["mmlu"]]
            if any(meaning):
                rows.append([
                    positions, way,
                    pair(s and s["ranking"]["all"]["auc"] for s in meaning),
                    pair(s and s["ranking"]["others"] for s in meaning),
                    pair(s and s["domains"]["ami"] for s in meaning),
                    pair(s and s["domains"]["ami"] for s in topics),
                ])  # fmt: skip
    return table(
        ["positions", "mean or prompt", "AUC", "others", "AMI RedundantQA", "AMI MMLU"], rows
    )


def combined(_, record):
    rows = {}
    for a in record["combined"]["attempts"]:
        rows.setdefault(a["name"], []).append(a)
    keys = ("auc", "auc_par2", "others", "ami_redundantqa", "ami_topics")
    return table(
        ["SmolLM2 / Gemma", "AUC", "par2", "others", "AMI RedundantQA", "AMI MMLU"],
        [[name, *(pair(a[key] for a in some) for key in keys)] for name, some in rows.items()],
    )


def recovery(cases, _):
    rows = []
    for benchmark in ("redundantqa", "mmlu"):
        for case in models_of(cases, benchmark):
            for r in case.get("recovery", []):
                f, c = r["fit"], r["shuffled"]
                low, high = f["r_interval"]
                rows.append([
                    benchmark, SHORT[case["model"].casefold()], r["positions"], r["scores"],
                    r["rule"], len(r["points"]),
                    f"{number(f['r'])} [{number(low)}, {number(high)}]", number(f["slope"]),
                    number(f["bias"]), number(f["error"]), pair((c["r"], c["error"])),
                    number(r["ari"]),
                ])  # fmt: skip
    return table(
        ["benchmark", "model", "positions", "scores", "k", "points", "r", "slope", "bias", "error",
         "shuffled: r / error", "ARI"], rows,
    )  # fmt: skip


def k_rules(cases, _):
    columns = [(b, c) for b in ("redundantqa", "mmlu") for c in models_of(cases, b)
               if c.get("k_rules")]  # fmt: skip
    found = [{r["rule"]: r for r in c["k_rules"] if r["positions"] == "item"} for _, c in columns]
    head = ["rule (item): k, AMI, H error"]
    head += [f"{b}, {SHORT[c['model'].casefold()]}" for b, c in columns]
    names = list({name: None for f in found for name in f})
    rows = [
        [name, *(f"{f[name]['k']}, {number(f[name]['ami'])}, {number(f[name]['h_error'])}"
                 if name in f else "-" for f in found)]
        for name in names
    ]  # fmt: skip
    return table(head, rows)


def planted_rules(_, record):
    return table(
        ["rule", "true k chosen", "mean error of k", "AMI", "H error"],
        [[r["rule"], number(r["exact"]), f"{r['k_error']:.1f}", number(r["ami"]),
          number(r["h_error"])] for r in record["planted_k_rules"]],
    )  # fmt: skip


def sensitivity(cases, _):
    rows = []
    for benchmark in ("redundantqa", "mmlu"):
        for case in models_of(cases, benchmark):
            s = case.get("sensitivity")
            if s is None:
                continue
            of = {}
            for r in s["one_at_a_time"]:
                of.setdefault(r["setting"], []).append(r["h"])
            usual = of["default"]
            spans = [
                [h for h in usual + of.get(n, []) if h is not None]
                for n in ("positions", "tau", "rule for k", "k", "bandwidth", "epsilon")
            ]
            name = f"{benchmark}, {SHORT[case['model'].casefold()]}"
            rows.append([
                name, number(usual[0]), *(f"{min(x):.2f}-{max(x):.2f}" for x in spans),
                number(of["declared"][0]), s["words"][1].split("differs from the default's in ")[1]
                .split(" settings")[0],
            ])  # fmt: skip
    return table(
        ["", "H, default", "positions", "tau", "rule for k", "k", "bandwidth", "epsilon",
         "H, declared", "other verdicts"], rows,
    )  # fmt: skip


def stability(cases, _):
    rows = []
    for benchmark in ("redundantqa", "mmlu"):
        for case in models_of(cases, benchmark):
            name = SHORT[case["model"].casefold()]
            rows += [
                [
                    benchmark, name, s["positions"], s["k"], number(s["seeds"]["mean"]),
                    number(s["subsamples"]["mean"]), number(s["subsamples"]["lowest"]),
                    number(s["random"]),
                ]
                for s in case.get("stability", [])
                if s["positions"] in POSITIONS
            ]  # fmt: skip
    return table(
        ["benchmark", "model", "positions", "k", "seeds", "80 % subsamples", "lowest", "shuffled"],
        rows,
    )


def between(_, record):
    rows = [
        [m["benchmark"], m["positions"], m["k"], number(m["ari"][0][1]),
         pair(m["ari"][i][-1] for i in range(len(m["ari"]) - 1)), number(m["random"])]
        for m in record["between_models"] if m["positions"] in POSITIONS
    ]  # fmt: skip
    return table(
        ["benchmark", "positions", "k", "between the models", "each with the declared", "shuffled"],
        rows,
    )


def planted(_, record):
    return table(
        ["k", "n", "overlap", "ARI", "H error", "k chosen", "ARI", "H error", "H error, shuffled"],
        [[c["k"], c["n"], c["overlap"], number(c["ari"]), number(c["h_error"]),
          "-" if c["chosen_k"] is None else f"{c['chosen_k']:.1f}", number(c["chosen_ari"]),
          number(c["chosen_h_error"]), number(c["shuffled_h_error"])] for c in record["planted"]],
    )  # fmt: skip


def mistakes(_, record):
    return table(
        ["mistakes", "ARI left", "r", "slope", "error"],
        [[m["mistakes"], *map(number, (m["ari"], m["fit"]["r"], m["fit"]["slope"],
                                       m["fit"]["error"]))] for m in record["mistakes"]],
    )  # fmt: skip


TABLES = {
    "ranking": ranking, "domains": domains, "means": means, "combined": combined,
    "recovery": recovery, "k-rules": k_rules, "planted-rules": planted_rules,
    "sensitivity": sensitivity,
    "stability": stability, "between-models": between, "planted": planted, "mistakes": mistakes,
}  # fmt: skip

if __name__ == "__main__":
    main()
