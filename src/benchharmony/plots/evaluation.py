"""Every plot of one evaluation of a report: Vega-Lite specifications, made without any extra.

Names and labels are data of the specifications, made safe and short; they are never markup.
"""

from __future__ import annotations

from benchharmony.plots.by_k import silhouette_spec
from benchharmony.plots.item_map import item_map_spec
from benchharmony.plots.similarity import similarity_spec
from benchharmony.plots.subdomains import masses_spec, subdomain_spec

__all__ = ["item_map_spec", "masses_spec", "silhouette_spec", "similarity_spec", "subdomain_spec"]
