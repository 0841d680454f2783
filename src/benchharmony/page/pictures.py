"""Pictures of a page: Vega-Lite specifications drawn once, by vl-convert, and stood in the page.

A drawing is rebuilt from an allow-list of elements and attributes, so that no text of a log can be
markup; its black, grey and white become classes, which follow the reader's light or dark theme.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree

from markupsafe import Markup, escape

from benchharmony.page.safe import line
from benchharmony.plots.style import SCREEN, Size

Spec = dict[str, Any]
#: What a picture is to its page.
Role = Literal["page", "main", "more"]

#: A picture for a narrow screen.
PHONE = Size(350, 11.0)

#: What to do where pictures cannot be drawn.
HOW = "pip install 'benchharmony[plots]'"
#: Drawing takes about a tenth of a second for each picture. Beyond so many evaluations (or
#: benchmarks) of a page, pictures are not drawn a second time for narrow screens; only the main one
#: of each is drawn; none of each is.
MOST_TWICE, MOST_WHOLE, MOST_MAIN = 12, 40, 200

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {
    "svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "clipPath",
    "linearGradient", "stop", "title", "image",
}  # fmt: skip
_ATTRIBUTES = {
    "width", "height", "viewBox", "transform", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy",
    "r", "rx", "ry", "dx", "dy", "fill", "stroke", "stroke-width", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity",
    "fill-opacity", "opacity", "text-anchor", "font-size", "font-weight", "font-style", "offset",
    "stop-color", "stop-opacity", "clip-path", "id", "pointer-events", "display",
    "gradientUnits", "dominant-baseline", "preserveAspectRatio",
}  # fmt: skip
#: Colours of the page itself; every other one carries meaning and stays.
_THEMED = {
    "#000": "ink", "#000000": "ink", "black": "ink", "#1b1b1b": "ink", "#333": "ink",
    "#888": "soft", "#5f5f5f": "soft", "#a8a8a8": "soft", "gray": "soft", "grey": "soft",
    "#ddd": "faint", "#c9c9c9": "faint", "#ececec": "faint",
}  # fmt: skip
_LINKS = ("href", "{http://www.w3.org/1999/xlink}href")
_PNG = "data:image/png;base64,"
#: Parts of a drawing that have a description but nothing to point at.
_SILENT = {"axis", "legend", "title", "header", "text mark", "rule mark", "group mark container"}
_REFERENCE = re.compile(r"^url\(#([\w-]+)\)$")


@dataclass(frozen=True)
class Picture:
    """A drawing as markup of a page, and the same in words."""

    markup: Markup
    paper: bool = False


@dataclass
class Drawer:
    """Draws pictures and knows why it draws no more.

    Attributes
    ----------
    sections : int
        Evaluations or benchmarks of the page, each with pictures of its own.
    why_not : str or None
        Why pictures are missing, in words; None where all are there.
    """

    sections: int = 1
    why_not: str | None = None
    _count: int = field(default=0, repr=False)
    _convert: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            import vl_convert
        except ImportError:
            self.why_not = f"Pictures are missing: they need the extra plots. {HOW}"
            return
        self._convert = vl_convert
        fewer = "a page of fewer has all of them."
        if self.sections > MOST_MAIN:
            self.why_not = f"Of more than {MOST_MAIN} parts none has pictures of its own; {fewer}"
        elif self.sections > MOST_WHOLE:
            self.why_not = f"Of more than {MOST_WHOLE} parts each has one picture only; {fewer}"

    def draws(self, role: Role) -> bool:
        """Return whether pictures of a role are drawn on this page."""
        most = {"page": math.inf, "main": MOST_MAIN, "more": MOST_WHOLE}[role]
        return self._convert is not None and self.sections <= most

    def draw(
        self,
        spec: Spec | None,
        words: str,
        *,
        links: Sequence[int] | None = None,
        kind: str = "",
        themed: bool = True,
        pixels: bool = False,
        role: Role = "more",
    ) -> Picture | None:
        """Return a picture, or None where there is none to draw or no more are drawn.

        Parameters
        ----------
        spec : dict or None
            Vega-Lite.
        words : str
            What it shows, for who cannot see it.
        links : sequence of int, optional
            What each mark stands for, in the order of the data: marks become links of ``kind``.
        kind : str
            Of the links.
        themed : bool
            Whether black and white follow the theme; a heat map with numbers keeps its paper.
        pixels : bool
            Whether to draw pixels: a vector of thousands of marks would outweigh the page.
        role : {"page", "main", "more"}
            Of the whole page, the main one of a section, or another: which is left out first.
        """
        if spec is None or not self.draws(role):
            return None
        spec = {k: v for k, v in spec.items() if k != "title"}  # the page has headings
        self._count += 1
        if pixels:
            return self._pixels(spec, words)
        svg = self._convert.vegalite_to_svg(spec)
        return Picture(_rebuilt(svg, words, f"p{self._count}", links, kind, themed), not themed)

    def both(
        self,
        spec: Callable[[Size], Spec | None],
        words: str,
        *,
        links: Sequence[int] | None = None,
        kind: str = "",
        role: Role = "main",
    ) -> Picture | None:
        """Return a picture that is drawn twice, for wide and for narrow screens."""
        wide = self.draw(spec(SCREEN), words, links=links, kind=kind, role=role)
        if role != "page" and self.sections > MOST_TWICE:
            return wide
        narrow = self.draw(spec(PHONE), words, links=links, kind=kind, role=role)
        if wide is None or narrow is None:
            return wide
        both = Markup('<div class="on-wide">{}</div><div class="on-narrow">{}</div>')
        return Picture(both.format(wide.markup, narrow.markup))

    def _pixels(self, spec: Spec, words: str) -> Picture:
        data = base64.b64encode(self._convert.vegalite_to_png(spec, scale=1.5)).decode()
        return Picture(
            Markup('<img alt="{}" src="data:image/png;base64,{}">').format(words, data), True
        )


def _rebuilt(
    svg: str, words: str, prefix: str, links: Sequence[int] | None, kind: str, themed: bool
) -> Markup:
    root = ElementTree.fromstring(svg)
    if links is not None:
        _link(root, links, kind)
    out: list[str] = []
    _write(root, out, prefix, themed)
    box = escape(root.get("viewBox", ""))
    head = f'<svg viewBox="{box}" width="{_number(root, "width")}" role="img" aria-label="'
    return Markup(f'{head}{escape(line(words, 400))}">{"".join(out)}</svg>')


def _number(root: ElementTree.Element, name: str) -> float:
    return float(root.get(name, "0"))


def _link(root: ElementTree.Element, links: Sequence[int], kind: str) -> None:
    """Name what each mark stands for, in the one group that has as many marks as the data."""
    for group in root.iter(f"{_SVG}g"):
        name = group.get("class", "")
        if "role-mark" not in name or not name.startswith(("mark-rect", "mark-symbol")):
            continue
        if len(group) != len(links):
            continue
        for mark, target in zip(group, links, strict=True):
            mark.set("data-link", f"{kind}:{target}")
        return


def _write(element: ElementTree.Element, out: list[str], prefix: str, themed: bool) -> None:
    """Write what is inside an element; the outermost one is the caller's."""
    if element.text and element.tag in (f"{_SVG}text", f"{_SVG}tspan", f"{_SVG}title"):
        out.append(str(escape(line(element.text, 300))))
    for child in element:
        name = child.tag.removeprefix(_SVG)
        if name not in _ELEMENTS or _is_background(element, child):
            continue
        if name == "g" and not len(child):
            continue
        out.append(f"<{name}{_attributes(child, prefix, themed)}>")
        _write(child, out, prefix, themed)
        out.append(f"</{name}>")


def _is_background(parent: ElementTree.Element, child: ElementTree.Element) -> bool:
    """Return whether this is the sheet of paper under the picture: the page has its own."""
    return (
        child.tag == f"{_SVG}rect"
        and parent.tag == f"{_SVG}svg"
        and child.get("fill") in ("white", "#ffffff", "#fff")
    )


def _attributes(element: ElementTree.Element, prefix: str, themed: bool) -> str:
    parts, classes = [], []
    for name, value in element.attrib.items():
        if name in _LINKS and element.tag == f"{_SVG}image" and value.startswith(_PNG):
            parts.append(f' href="{escape(value)}"')
            continue
        if name in ("fill", "stroke") and themed and value in _THEMED:
            classes.append(f"{name[0]}-{_THEMED[value]}")
            continue
        if name not in _ATTRIBUTES or (name == "opacity" and value == "1"):
            continue
        if name == "id":
            value = f"{prefix}-{value}"
        elif found := _REFERENCE.match(value):
            value = f"url(#{prefix}-{found[1]})"
        elif "url(" in value:
            continue
        parts.append(f' {name}="{escape(value)}"')
    tip = element.get("aria-label")
    if tip and element.get("aria-roledescription") not in _SILENT:
        parts.append(f' data-tip="{escape(line(tip, 300))}"')
    if link := element.get("data-link"):
        parts.append(f' data-link="{escape(link)}"')
    if classes:
        parts.append(f' class="{" ".join(classes)}"')
    return "".join(parts)
