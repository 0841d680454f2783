"""Reader of the Parquet files that ``Evaluation.save`` and ``benchharmony collect`` write."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from benchharmony import storage
from benchharmony.evaluation import Evaluation
from benchharmony.readers.source import Reader, ReadOptions, SourceFile

_PARQUET_MAGIC = b"PAR1"


def sniff(file: SourceFile) -> bool:
    """Whether a file is a Parquet file with our description in its schema."""
    if not file.head.startswith(_PARQUET_MAGIC):
        return False
    try:
        return storage.is_evaluation(pq.read_schema(_source(file)))
    except (pa.ArrowException, OSError, ValueError):  # ValueError: names that are not UTF-8
        return False


def read(file: SourceFile, options: ReadOptions) -> list[Evaluation]:
    """Return the one evaluation that the file holds; its distributions stay there until used."""
    if file.compression is None:
        return [storage.load(file.path, lazily=True)]
    return [storage.load_from(pa.py_buffer(file.read_bytes()), str(file))]


def _source(file: SourceFile) -> str | pa.BufferReader:
    return str(file) if file.compression is None else pa.BufferReader(file.read_bytes())


READERS: tuple[Reader, ...] = (
    Reader(
        name="benchharmony",
        description="benchharmony's own Parquet (Evaluation.save, benchharmony collect)",
        sniff=sniff,
        read=read,
        example="<benchmark>__<model>.parquet",
    ),
)
