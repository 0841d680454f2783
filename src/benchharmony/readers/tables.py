"""Readers of tables: CSV, TSV, JSON Lines, JSON lists, Parquet and Arrow files."""

from __future__ import annotations

from benchharmony.readers.source import Reader

READERS: tuple[Reader, ...] = ()
