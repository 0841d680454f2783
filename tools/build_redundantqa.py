"""Place the correct option of every RedundantQA item, balanced over A to D.

The texts of the items are written by hand in the data file, which is the only source. After an
edit, run ``python tools/build_redundantqa.py`` to put the options back in their places, or with
``--check`` to see whether they are there. The order depends on the texts and the seed alone, not
on the order found in the file, so that running it twice changes nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import msgspec

from benchharmony.validation.redundantqa import DOMAINS, ROLES, RedundantItem, load_redundantqa

DATA = Path(__file__).parents[1] / "src/benchharmony/validation/data/redundantqa.jsonl"
# Chosen among the first hundred so that paraphrases and distractors share their reference's
# position equally often, close to the chance of 1 in 4.
SEED = 56


def place_options(items: list[RedundantItem], seed: int = SEED) -> list[RedundantItem]:
    """Return the items with their options shuffled and gold positions balanced.

    Within each domain and role every position occurs equally often, to within one.
    """
    rng = random.Random(seed)
    position: dict[str, int] = {}
    spare = 0
    for domain in DOMAINS:
        for role in ROLES:
            ids = sorted(i.id for i in items if i.domain == domain and i.role == role)
            # The start moves on, so that what is left over does not always fall to A and B.
            places = [(spare + n) % 4 for n in range(len(ids))]
            spare += len(ids)
            rng.shuffle(places)
            position.update(zip(ids, places, strict=True))
    return [_placed(item, position[item.id], rng) for item in sorted(items, key=_order)]


def _placed(item: RedundantItem, position: int, rng: random.Random) -> RedundantItem:
    choices = sorted(c for i, c in enumerate(item.choices) if i != item.answer)
    rng.shuffle(choices)
    choices.insert(position, item.gold)
    a, b, c, d = choices
    return msgspec.structs.replace(item, choices=(a, b, c, d), answer=position)


def _order(item: RedundantItem) -> tuple[int, str, int, str]:
    return DOMAINS.index(item.domain), item.group, list(ROLES).index(item.role), item.id


def encode(items: list[RedundantItem]) -> bytes:
    """Return the items as JSON lines."""
    return b"".join(msgspec.json.encode(item) + b"\n" for item in items)


def main() -> int:
    """Write the file, or say with the exit code whether it is as it would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    check = parser.parse_args().check
    built = encode(place_options(load_redundantqa(DATA)))
    if check:
        return int(built != DATA.read_bytes())
    DATA.write_bytes(built)
    return 0


if __name__ == "__main__":
    sys.exit(main())
