"""Decoding lm-eval samples logs: json.loads a line, msgspec, and the decoder of the reader.

python benchmarks/read_speed.py LOG.jsonl[.gz] ... [--rows N]

Times are processor seconds, the best of 15 passes over the lines in memory. "Whole read" is
everything that `benchharmony report` does before its maths, and the memory is what that adds to a
fresh process that reads the log repeated to N rows: it is bounded by what is kept of each item.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import msgspec
from machine import peak_mib, words

from benchharmony.readers import read_sources, readers
from benchharmony.readers.source import SourceFile
from benchharmony.readers.typed_rows import row_decoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=14_042, metavar="N")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(whole_read(args.logs[0])))
        return
    print(words())
    print("| log | bytes a row | json.loads, MB/s | msgspec, times | typed rows, times | "
          "whole read, times | rows | MB | memory, MiB |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for path in args.logs:
        print(f"| {path.name.split('_2')[0]} | {measured(path, args.rows)} |", flush=True)


def measured(path: Path, rows: int) -> str:
    lines = [line for _, line in SourceFile(path).lines()]
    size = sum(map(len, lines))
    plain = best(json.loads, lines)
    general = best(msgspec.json.decode, lines)
    typed = best(row_decoder(), lines)
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "samples_large_2026-01-01T00-00-00.000000.jsonl"
        total = repeated(path, rows, large)
        command = [sys.executable, __file__, str(large), "--child"]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    again = plain / size * total
    return (
        f"{size / len(lines):,.0f} | {size / plain / 1e6:.0f} | {plain / general:.1f} | "
        f"{plain / typed:.1f} | {again / found['seconds']:.2f} | {rows:,} | {total / 1e6:.0f} | "
        f"{found['mib']:.0f}"
    )


def best(decode, lines: list[bytes], times: int = 15) -> float:
    spent = []
    for _ in range(times):
        start = process_time()
        for line in lines:
            decode(line)
        spent.append(process_time() - start)
    return min(spent)


def repeated(path: Path, rows: int, target: Path) -> int:
    """Write a log of so many rows by repeating one under new item ids; return its bytes."""
    found = [row for _, row in SourceFile(path).records([])]
    with target.open("wb") as stream:
        for i in range(rows):
            row = dict(found[i % len(found)], doc_id=i)
            row["doc"] = {k: v for k, v in row["doc"].items() if "id" not in k.lower()}
            stream.write(json.dumps(row).encode() + b"\n")
    return target.stat().st_size


def whole_read(path: Path) -> dict[str, float]:
    readers()  # imported, so that only reading is timed
    before, start = peak_mib(), process_time()
    (evaluation,) = read_sources([path]).evaluations
    return {
        "seconds": process_time() - start,
        "mib": peak_mib() - before,
        "items": len(evaluation),
    }


if __name__ == "__main__":
    main()
