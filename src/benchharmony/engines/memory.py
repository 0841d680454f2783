"""How much memory there is to use."""

from __future__ import annotations

import os
from pathlib import Path

#: Where the system does not say.
_ASSUMED = 4 << 30


def available() -> int:
    """Return bytes that can be had without swapping, also within a container's limit."""
    found = [_of_meminfo(), _of_container()]
    known = [x for x in found if x is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return _ASSUMED


def _of_meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_container() -> int | None:
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        return max(0, limit - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        return None
