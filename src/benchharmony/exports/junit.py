"""A bar on HARMONY as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from benchharmony.report.gate import Gate, gates
from benchharmony.report.shown import number, shown


def junit(record: dict[str, Any], bar: float) -> bytes:
    """Return one test suite per benchmark and one test case per evaluation.

    A test fails where H is under the bar, and is an error where H is undefined: the exit code is
    1 for both.
    """
    suites: dict[str, list[Gate]] = {}
    held = gates(record, bar)
    for gate in held:
        suites.setdefault(gate.entry["benchmark"], []).append(gate)
    root = ET.Element("testsuites", {"name": "benchharmony", **_counts(held)})
    for benchmark, cases in suites.items():
        suite = ET.SubElement(root, "testsuite", {"name": shown(benchmark), **_counts(cases)})
        for gate in cases:
            suite.append(_case(benchmark, gate))
    ET.indent(root)
    whole: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _counts(held: list[Gate]) -> dict[str, str]:
    undefined = sum(g.entry["harmony"]["value"] is None for g in held)
    failed = sum(not g.met for g in held) - undefined
    return {"tests": str(len(held)), "failures": str(failed), "errors": str(undefined)}


def _case(benchmark: str, gate: Gate) -> ET.Element:
    entry = gate.entry
    case = ET.Element(
        "testcase",
        classname=f"benchharmony.{shown(benchmark)}",
        name=f"{shown(entry['model'])}: HARMONY at least {gate.bar:g}",
    )
    if not gate.met:
        undefined = entry["harmony"]["value"] is None
        kind = "error" if undefined else "failure"
        words = gate.words if undefined else f"{gate.words}, under {gate.bar:g}"
        why = ET.SubElement(
            case, kind, message=words, type="undefined" if undefined else "under the bar"
        )
        why.text = "\n".join(_lines(entry))
    ET.SubElement(case, "system-out").text = _figures(entry)
    return case


def _figures(entry: dict[str, Any]) -> str:
    h, score = entry["harmony"], entry["score"]
    return (
        f"{entry['n_items']} items, {shown(score['name'])} {number(score['mean'])}, HARMONY "
        f"{number(h['value'])}, noise-adjusted {number(h['adjusted'])}, agreement "
        f"{number(h['agreement'])}, k = {entry['partition']['k'] or '-'}"
    )


def _lines(entry: dict[str, Any]) -> list[str]:
    """Return why: the verdict, the subdomains that lie lowest, and the warnings."""
    lines = []
    if entry["verdict"]:
        lines.append(shown(f"{entry['verdict']['label']}. {entry['verdict']['sentence']}", 500))
    lowest = sorted(entry["subdomains"], key=lambda s: s["score"])[:5]
    if lowest:
        named = ", ".join(f"{shown(s['label'], 60)} {s['score']:.3f}" for s in lowest)
        lines.append(f"lowest subdomains: {named}")
    return [*lines, *(shown(w, 500) for w in entry["warnings"])]
