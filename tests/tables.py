"""Small tables for the tests of table readers."""

from benchharmony.readers import tables
from benchharmony.readers.source import ReadOptions, SourceFile


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return SourceFile(path)


def reader_of(file):
    """Return the table reader that claims a file, or None."""
    return next((r for r in tables.READERS if r.sniff(file)), None)


def read(folder, name, content, columns=None, **options):
    """Read a table through the reader that claims it; all its evaluations."""
    file = write(folder, name, content)
    reader = reader_of(file)
    assert reader is not None, "no reader claims it"
    return reader.read(file, ReadOptions(columns or {}, **options))


def read_one(folder, content, columns=None, name="t.csv", **options):
    (evaluation,) = read(folder, name, content, columns, **options)
    return evaluation
