"""The package version, in one place: pyproject.toml and every output read it from here."""

__version__ = "0.1.0"
