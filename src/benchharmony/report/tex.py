"""Text and tables for LaTeX: whatever a log put into a name, it compiles and stays text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from benchharmony.report.shown import shown

#: What LaTeX reads as more than a letter, and letters that its oldest font encoding lacks.
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{''}",
    "\ufffd": "?",
    "\u2013": "--", "\u2014": "---", "\u2018": "`", "\u2019": "'", "\u201c": "``",
    "\u201d": "''", "\u2026": r"\ldots{}", "\u00a0": "~", "\u00df": r"\ss{}", "\u00e6": r"\ae{}",
    "\u00c6": r"\AE{}", "\u0153": r"\oe{}", "\u0152": r"\OE{}", "\u00f8": r"\o{}",
    "\u00d8": r"\O{}", "\u0142": r"\l{}", "\u0141": r"\L{}", "\u0131": r"\i{}",
    "\u00b1": r"$\pm$", "\u00d7": r"$\times$", "\u00b7": r"$\cdot$", "\u00b0": r"$^\circ$",
    "\u2264": r"$\leq$", "\u2265": r"$\geq$", "\u2192": r"$\rightarrow$", "\u00b5": r"$\mu$",
    "\u2212": "$-$", "\u2248": r"$\approx$", "\u221e": r"$\infty$",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
_GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon",
    "phi", "chi", "psi", "omega",
)  # fmt: skip
#: Greek capitals that are no Latin ones; the others are written as those.
_CAPITALS = frozenset(
    ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
)
_LATIN = {"Eta": "H", "Mu": "M", "Nu": "N", "Rho": "P", "Chi": "X"}
#: Signs that become another one when they stand in a row.
_JOINED = frozenset("-,'`")


def tex(text: object, limit: int = 60) -> str:
    """Return text for LaTeX: on one line, cut at a length, no command of its own.

    Accented letters become accents, Greek letters and common signs mathematics; the result is
    ASCII save letters of other scripts, which :func:`booktabs` takes care of.
    """
    line = shown(text, limit)
    out = ["{}"] if line[:1] in ("[", "*") else []  # an option of the line break before, else
    for before, letter in zip(f" {line}", line, strict=False):
        if letter in _JOINED and (before in _JOINED or before in "?!"):
            out.append("{}")
        out.append(_letter(letter))
    return "".join(out)


def _letter(letter: str) -> str:
    if letter in _SIGNS:
        return _SIGNS[letter]
    if letter.isascii():
        return letter
    greek = _greek(letter)
    if greek is not None:
        return greek
    parts = unicodedata.normalize("NFD", letter)
    base, marks = parts[0], parts[1:]
    if base.isascii() and marks and all(m in _ACCENTS for m in marks):
        out = rf"\{base} " if base in "ij" and marks != "\u0327" else base
        for mark in marks:
            out = rf"\{_ACCENTS[mark]}{{{out.strip() if len(out) == 1 else out}}}"
        return out
    return letter


def _greek(letter: str) -> str | None:
    for first, capital in ((0x3B1, False), (0x391, True)):
        place = ord(letter) - first
        if not 0 <= place < len(_GREEK):
            continue
        name = _GREEK[place]
        if not capital:
            return "o" if name == "omicron" else rf"$\{name}$"
        name = name.removeprefix("var").capitalize()
        return rf"$\{name}$" if name in _CAPITALS else _LATIN.get(name, name[0])
    return None


def booktabs(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    align: str,
    notes: Sequence[str] = (),
) -> str:
    """Return a whole ``table`` with the rules of the package booktabs.

    Parameters
    ----------
    heads : sequence of str
        LaTeX already, as everything here but ``notes``.
    rows : sequence of sequence of str
        As many cells as heads.
    caption, label : str
        Of the table.
    align : str
        A letter of ``l``, ``r``, ``c`` for each column.
    notes : sequence of str
        Lines of comment above the table; plain text.
    """
    body = "\n".join(f"{' & '.join(cells)} \\\\" for cells in rows)
    lines = [
        *(f"% {shown(note, 300)}" for note in notes),
        r"\begin{table}[tb]",
        *_guards(f"{caption}{body}{''.join(heads)}"),
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{3.5pt}",
        rf"\caption{{{caption}}}",
        rf"\label{{{re.sub(r'[^A-Za-z0-9:.-]+', '-', label)}}}",
        rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}",
        r"\toprule",
        rf"{' & '.join(heads)} \\",
        r"\midrule",
        body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _guards(text: str) -> list[str]:
    """Return definitions, for the table alone, of letters that pdfLaTeX does not know.

    pdfLaTeX looks a letter up as the command named ``u8:`` and its bytes (the kernel's utf8.def);
    the other engines set the letter itself.
    """
    letters = sorted({c for c in text if not c.isascii()})
    if not letters:
        return []
    return [
        "% Letters for LuaLaTeX or XeLaTeX and a font that has them; pdfLaTeX shows their numbers.",
        "% Delete these lines where a package of yours sets them.",
        *(
            rf"\expandafter\def\csname u8:\detokenize{{{c}}}\endcsname{{[{ord(c):04X}]}}"
            for c in letters
        ),
    ]
