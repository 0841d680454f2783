"""Fixtures shared by the tests."""

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of real logs and distributions beside the checkout, or skip."""
    if not _SHARED.is_dir():
        pytest.skip("../shared/data is not here")
    return _SHARED
