"""Make src/benchharmony/data/naep.parquet: figures and labels of the NAEP evaluations, no texts.

    python tools/build_demo_data.py PATH_TO_SHARED_DATA

Reads the option logits of 18 models (github.com/mainlp/llm-psychometrics) and writes, per model
and item, the log-likelihoods of the options averaged over four option orders, the key and the
declared classification.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony import read

TARGET = Path(__file__).parents[1] / "src" / "benchharmony" / "data" / "naep.parquet"
NOT_MODELS = ("OracleBaseline", "UniformBaseline")


def main() -> None:
    tables = []
    for evaluation in read(Path(sys.argv[1]) / "logs" / "llm-psychometrics"):
        if evaluation.model in NOT_MODELS:
            continue
        n = len(evaluation)
        logs = evaluation.option_logprobs.astype(np.float32)
        offsets = pa.array(np.arange(0, logs.size + 1, logs.shape[1], dtype=np.int32))
        tables.append(
            pa.table(
                {
                    "benchmark": [evaluation.benchmark] * n,
                    "model": [evaluation.model] * n,
                    "item_id": evaluation.item_ids,
                    "gold": evaluation.gold.astype(np.int8),
                    "acc": evaluation.scores.astype(np.float32),
                    "option_logprobs": pa.ListArray.from_arrays(offsets, pa.array(logs.ravel())),
                    "classification": evaluation.groups["classification"],
                    "difficulty": evaluation.groups["difficulty"],
                }
            )
        )
    pq.write_table(pa.concat_tables(tables), TARGET, compression="zstd")
    print(f"{TARGET.name}: {len(tables)} evaluations, {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
