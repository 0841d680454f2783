"""``python -m benchharmony``."""

from benchharmony.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
