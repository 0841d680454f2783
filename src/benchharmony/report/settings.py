"""Every parameter of a report, in one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchharmony.choice import MIN_SHARE, KRule
from benchharmony.engines.choose import Engine, check_engine
from benchharmony.errors import BenchharmonyError
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
        "auto", "silhouette", "eigengap" or "stability".
    min_share : float
        Guard against small subdomains; 0 is off.
    seed : int
        Of everything random.
    engine : str
        How the similarity is reached: "auto", "dense", "matrix-free", "low-rank", "torch",
        "torch:DEVICE" or "cupy".
    bootstrap, permutations, refit : int
        Draws for the intervals, the nulls and the partition noise; 0 leaves them out.
    level : float
        Of the intervals, in (0, 1).
    clusters : str or None
        Declared column of items that belong together (a passage), for the intervals.
    tree : bool
        Whether subdomains are split again while the data support it.
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
    k_rule: KRule = "auto"
    min_share: float = MIN_SHARE
    seed: int = 0
    engine: Engine = "auto"
    bootstrap: int = 2000
    permutations: int = 2000
    refit: int = 0
    level: float = 0.95
    clusters: str | None = None
    tree: bool = False
    score: str | None = None

    def __post_init__(self) -> None:
        """Refuse, before anything is read, what no analysis could use."""
        check_engine(self.engine)
        if self.seed < 0:
            raise BenchharmonyError(f"seed must be a whole number from 0, got {self.seed}")
        if not 0 < self.level < 1:
            raise BenchharmonyError(f"level must lie between 0 and 1 (0.95), got {self.level}")
        if min(self.bootstrap, self.permutations) < 0 or self.refit < 0 or self.refit == 1:
            raise BenchharmonyError(
                "bootstrap and permutations take a number of draws from 0, refit 0 or at least 2; "
                f"got {self.bootstrap}, {self.permutations} and {self.refit}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)


def settings_with(settings: Settings | None, options: Mapping[str, Any], caller: str) -> Settings:
    """Return the settings, or the default ones, with the keywords of a function in their place.

    Raises
    ------
    BenchharmonyError
        For a keyword that is no setting; the message names the function, ``caller``.
    """
    chosen = settings or Settings()
    if not options:
        return chosen
    try:
        return Settings(**{**chosen.to_dict(), **options})
    except TypeError as error:
        text = str(error).replace("Settings.__init__()", caller)
        raise BenchharmonyError(text) from None
