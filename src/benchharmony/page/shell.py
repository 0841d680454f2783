"""The one file: template, styles, scripts and data put together under a strict policy.

The page may load nothing and run nothing but the one script and the one style sheet that stand in
it, named by their hashes. Data stand in script elements of type ``application/json``, which no
browser runs; the script reads them when they are first needed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from benchharmony.page.safe import block, embedded, line
from benchharmony.report.shown import interval, number

if TYPE_CHECKING:
    from jinja2 import Environment

#: Parts of the script, in their order; all of them are one script element.
SCRIPTS = ("start.js", "tables.js", "pictures.js", "items.js", "map.js", "page.js")
STYLES = ("page.css",)


def render(template: str, context: Mapping[str, Any], blobs: Mapping[str, Any]) -> str:
    """Return a whole page.

    Parameters
    ----------
    template : str
        Name of a template of this package.
    context : mapping
        What the template shows; texts are escaped by the template.
    blobs : mapping of str to JSON value
        Data for the script, by the id of the element that holds them.
    """
    script, style = _joined(SCRIPTS), _joined(STYLES)
    return _environment().get_template(template).render(
        **context,
        policy=policy(script, style),
        script=Markup(script),
        style=Markup(style),
        blobs={name: Markup(embedded(data)) for name, data in blobs.items()},
    )  # fmt: skip


def policy(script: str, style: str) -> str:
    """Return the content-security policy of a page with just this script and style."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _joined(names: tuple[str, ...]) -> str:
    folder = files("benchharmony.page") / "assets"
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    # Browsers hash what lies between the tags, so it must be these very characters.
    return f"\n{text.strip()}\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("benchharmony.page", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "line": line,
        "block": block,
        "num": number,
        "interval": interval,
        "pct": lambda value: f"{value:.0%}",
        "thousands": lambda value: f"{value:,}",
    }
    return made
