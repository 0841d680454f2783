"""What every number of subdomains would give: the silhouette and H over k, as Vega-Lite."""

from __future__ import annotations

from typing import Any

from benchharmony.plots.naming import title_of
from benchharmony.plots.style import COLOURS, GREY, SCREEN, Size, framed, words_above

Spec = dict[str, Any]

#: Panels from the top: key of the rows, title, colour.
_PANELS = (("silhouette", "mean silhouette", COLOURS[0]), ("H", "H", COLOURS[1]))
#: Room left of the panels, in px for a px of font.
_LEFT = 5.5


def silhouette_spec(entry: dict[str, Any], size: Size = SCREEN) -> Spec | None:
    """Return the silhouette for every k that was tried, the chosen k, and H for every k below.

    None where the partition was not chosen over k (declared ones).

    Parameters
    ----------
    entry : dict
        One evaluation of a document ``benchharmony/report/1``.
    size : Size
        Of the picture.
    """
    curve = entry["partition"]["silhouette_by_k"]
    if not curve:
        return None
    by_k, chosen = entry["harmony"]["by_k"], entry["partition"]["k"]
    values = [
        {"k": int(k), "silhouette": s, "H": by_k.get(k), "chosen": int(k) == chosen}
        for k, s in sorted(curve.items(), key=lambda pair: int(pair[0]))
    ]
    panels = [
        _panel([v for v in values if v[key] is not None], key, title, colour, chosen, size)
        for key, title, colour in _PANELS
        if any(v[key] is not None for v in values)
    ]
    if not panels:
        return None
    words = "no k was chosen" if chosen is None else f"chosen (dashed): k = {chosen}"
    panels[0]["layer"].append(words_above(words))
    return framed(
        {
            "title": title_of(entry, "what each number of subdomains k gives", size),
            "data": {"values": values},
            "vconcat": panels,
            "spacing": 12,
        },
        size,
    )


def _panel(
    values: list[Spec], key: str, title: str, colour: str, chosen: int | None, size: Size
) -> Spec:
    ks = [v["k"] for v in values]
    x = {
        "field": "k", "type": "quantitative", "title": "number of subdomains k",
        "scale": {"domain": [min(ks) - 0.5, max(ks) + 0.5], "nice": False, "zero": False},
        "axis": {"format": "d", "values": _ticks(ks, size), "grid": False},
    }  # fmt: skip
    y: Spec = {
        "field": key, "type": "quantitative", "title": title, "axis": {"tickCount": 5},
        "scale": {"domain": [0, 1]} if key == "H" else {"zero": True},
    }  # fmt: skip
    tooltip = [
        {"field": "k", "type": "quantitative"},
        {"field": key, "type": "quantitative", "format": ".3f", "title": title},
    ]
    layers: list[Spec] = [
        {
            "transform": [{"filter": "datum.chosen"}],
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
            "encoding": {"x": x},
        },
        {
            "mark": {"type": "line", "color": colour, "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "point", "color": colour, "filled": True, "opacity": 1},
            "encoding": {
                "x": x, "y": y, "tooltip": tooltip,
                "size": {"condition": {"test": "datum.chosen", "value": 110}, "value": 28},
            },
        },
    ]  # fmt: skip
    return {
        "width": round(size.width - _LEFT * size.font),
        "height": 110 if size.is_narrow else 140,
        "data": {"values": values},
        "layer": layers if chosen is not None else layers[1:],
    }


def _ticks(ks: list[int], size: Size) -> list[int]:
    """Return every k, or of many every second, fifth, ... one."""
    room = size.width / (size.font * 2.2)
    for step in (1, 2, 5, 10, 20, 50, 100):
        ticks = [k for k in ks if k % step == 0]
        if len(ticks) <= room:
            return ticks
    return [ks[0], ks[-1]]
