"""Every parameter of a report, in one record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchharmony.choice import MIN_SHARE, KRule
from benchharmony.engines.choose import Engine
from benchharmony.metric import BANDWIDTH, EPSILON


@dataclass(frozen=True)
class Settings:
    """Every parameter of a report, recorded in its output.

    Attributes
    ----------
    partition : str
        "auto", "predictive", "declared:COLUMN", "text", "shared", "responses" or "options".
    positions : str or None
        Which predictive distributions to compare.
    tau : float or "median"
        Scale of the similarity, per nat.
    bandwidth, epsilon : float
        b of the masses; eps inside the logarithm.
    k, k_min, k_max : int
        Fixed number of subdomains, or the range it is chosen from.
    k_rule : str
        "silhouette", "eigengap" or "stability".
    min_share : float
        Guard against small subdomains; 0 is off.
    seed : int
        Of everything random.
    engine : str
        How the similarity is reached: "auto", "dense", "matrix-free" or "low-rank".
    bootstrap, permutations, refit : int
        Draws for the intervals, the nulls and the partition noise; 0 leaves them out.
    level : float
        Of the intervals, in (0, 1).
    score : str or None
        Metric of the logs to use; each log's own default where None.
    """

    partition: str = "auto"
    positions: str | None = None
    tau: float | Literal["median"] = "median"
    bandwidth: float = BANDWIDTH
    epsilon: float = EPSILON
    k: int | None = None
    k_min: int = 2
    k_max: int = 20
    k_rule: KRule = "silhouette"
    min_share: float = MIN_SHARE
    seed: int = 0
    engine: Engine = "auto"
    bootstrap: int = 2000
    permutations: int = 2000
    refit: int = 0
    level: float = 0.95
    score: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)
