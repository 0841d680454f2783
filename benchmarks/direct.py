"""What one writes with scikit-learn: the whole matrix, one clustering and one silhouette per k."""

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import silhouette_score


def planted(n, outcomes=4, seed=0, groups=6, noise=0.8):
    """Return distributions around a centre for each group, and the groups."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, groups, n)
    logits = rng.normal(0, 2, (groups, outcomes))[truth] + rng.normal(0, noise, (n, outcomes))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True), truth


def direct_sweep(p, tau=1.0, ks=range(2, 21)):
    """Return labels and silhouettes for every k."""
    log_p = np.log(np.clip(p, 1e-12, None))
    own, cross = (p * log_p).sum(axis=1), p @ log_p.T
    j = np.maximum(own[:, None] + own - cross - cross.T, 0)
    np.fill_diagonal(j, 0)
    s = np.exp(-0.5 * tau * j)
    distance = 1 - s
    labels, silhouettes = {}, {}
    for k in ks:
        clustering = SpectralClustering(k, affinity="precomputed", random_state=0)
        labels[k] = clustering.fit_predict(s)
        silhouettes[k] = silhouette_score(distance, labels[k], metric="precomputed")
    return labels, silhouettes
