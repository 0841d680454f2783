"""LaTeX tables: booktabs, the record's numbers, and no name that is a command."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import benchharmony as bh
from benchharmony.cli import main
from benchharmony.landscape import landscape
from benchharmony.report.compared import compared
from benchharmony.report.compared import render as render_compared
from benchharmony.report.settings import Settings
from benchharmony.report.tex import booktabs, tex
from planted import planted
from planted_grid import planted_grid

QUICK = {"bootstrap": 50, "permutations": 20}
NASTY = (
    r"\input{/etc/passwd} & % $x$ # _ { } ~ ^ \\ \end{document}",
    "[1] a -- b ?` !` ,, `` '' <x|y> \"q\"",
    "\u6f22\u5b57 \u0627\u0644 \u00fc\u00f1\u0142\u00df\u0119\u0219 \u03b1\u03a9 \u2013\u2026",
    "\u202e\x00 *star* \U0001f389",
)
#: Commands that the escapes may use; anything else would have come from the text.
ALLOWED = re.compile(
    r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|ldots|ss|ae|AE|oe"
    r"|OE|[oOlLi]|pm|times|cdot|circ|leq|geq|rightarrow|mu|approx|infty|[a-z]+|[A-Z][a-z]+"
    r"|[{}$&#%_`'^~=.\"uvHcr])"
)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_sign_of_a_text_is_left_to_latex(text):
    plain = re.sub(r"\\[{}$&#%_]", "", tex(text, 100))  # escaped signs are letters
    plain = re.sub(r"\$(\\[A-Za-z]+|\^\\circ|-)\$", "", plain)  # mathematics of our own
    assert not re.search(r"[$&#%_]", plain)
    depth = 0
    for sign in re.findall(r"[{}]", plain):
        depth += 1 if sign == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert not set(ALLOWED.sub("", plain)) & {"\\"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a_b & 5 % of $x", r"a\_b \& 5 \% of \$x"),
        (r"{~^\#}", r"\{\textasciitilde{}\textasciicircum{}\textbackslash{}\#\}"),
        ("Llama-3.1-8B", "Llama-3.1-8B"),
        ("a--b", "a-{}-b"),
        ("[x]", "{}[x]"),
        ("\u00dc\u00f1\u0107\u00ef", '\\"{U}\\~{n}\\\'{c}\\"{\\i }'),
        ("\u03b1 \u2264 \u0392", r"$\alpha$ $\leq$ B"),
        ("\u6f22", "\u6f22"),
    ],
)
def test_signs_and_letters(text, expected):
    assert tex(text) == expected


def test_letters_of_other_scripts_are_defined_inside_the_table():
    made = booktabs(["a"], [[tex("\u6f22")]], caption="c", label="l", align="l")
    begin, define = made.index(r"\begin{table}"), made.index(r"u8:\detokenize{" + "\u6f22}")
    assert begin < define < made.index(r"\end{table}")
    assert "[6F22]" in made
    assert "detokenize" not in booktabs(["a"], [["b"]], caption="c", label="l", align="l")


@pytest.fixture(scope="module")
def report():
    return bh.report([planted()[0]], partition="declared:subject", **QUICK)


def body(table):
    return table.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()


def test_a_report_has_its_evaluations_and_for_a_few_their_subdomains(report):
    entry = report.record["evaluations"][0]
    overview, subdomains = report.render("latex").split("% Needs")[1:]
    (row,) = body(overview)
    cells = row.removesuffix(r" \\").split(" & ")
    assert cells[:3] == ["planted", "model", "270"]
    assert cells[3].startswith(f"{entry['score']['mean']:.2f} [")
    assert cells[5] == f"{entry['harmony']['adjusted']:.2f}"
    rows = body(subdomains)
    assert len(rows) == 3
    assert rows[0].startswith("topic 0 & 120 & 44\\,\\% & ")
    for rule in ("toprule", "midrule", "bottomrule"):
        assert overview.count(f"\\{rule}") == 1
    many = bh.report([planted(seed=s)[0] for s in range(5)], partition="declared:subject", **QUICK)
    assert many.render("latex").count(r"\begin{table}") == 1


def test_a_landscape_and_a_comparison_are_tables_too():
    grid = planted_grid([0.9, 0.8, 0.7], names=["Qwen2.5-1B", "Qwen2.5-3B", "Qwen2.5-7B"])
    made = landscape(grid, partition="declared:subject", bootstrap=60, repeats=3)
    plane, trends = made.render("latex").split("% Needs")[1:]
    assert len(body(plane)) == 1
    assert body(trends)[0].startswith(f"{tex(grid[0].benchmark)} & Qwen2.5 & 3 & ")
    record = compared(*grid[:2], Settings(partition="declared:subject", bootstrap=60))
    rows = body(render_compared(record, "latex"))
    assert len(rows) == 1 + len(record["subdomains"])
    assert f"{abs(record['score']['difference']):.2f}" in rows[0]


def test_the_command_writes_it(tmp_path, capsys):
    path = tmp_path / "planted.parquet"
    planted()[0].save(path)
    options = ["--partition", "declared:subject", "--bootstrap", "50", "--permutations", "0"]
    assert main(["report", str(path), *options, "--format", "latex", "--quiet"]) == 0
    assert capsys.readouterr().out.count(r"\begin{tabular}") == 2
    assert main(["landscape", str(path), *options, "--format", "latex", "--quiet"]) == 0
    assert r"\label{tab:landscape}" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_latex_takes_any_name(tmp_path):
    n = 40 * len(NASTY)
    made = bh.Evaluation.from_arrays(
        benchmark=NASTY[0], model=NASTY[1], scores=[0.0, 1.0] * (n // 2),
        groups={"g": [NASTY[i % len(NASTY)] for i in range(n)]},
    )  # fmt: skip
    tables = bh.report(made, partition="declared:g", **QUICK).render("latex")
    assert tables.count(r"\begin{table}") == 2
    source = tmp_path / "t.tex"
    source.write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        f"{tables}\\end{{document}}\n",
        encoding="utf-8",
    )
    run = subprocess.run(
        ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", source.name],
        cwd=tmp_path, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout.decode(errors="replace")[-1500:]
