"""Every command line of the documentation is one that the parser takes."""

import re
import shlex
from pathlib import Path

import pytest

from benchharmony.cli import _parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")))


def commands(page):
    """Return the command lines of the fenced blocks of a page, continued lines joined."""
    found = []
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.M | re.S)
    for block in blocks:
        lines = re.sub(r"\\\n\s*", " ", re.sub(r">\n((?:\s{8,}.*\n)+)", _folded, block))
        for line in lines.splitlines():
            match = re.match(r"(?:\$ |\s*- (?:run: )?|\s*run: )?(benchharmony [a-z]+ .*)", line)
            if match and not re.search(r"\.\.\.|[<>|\[]", match[1].partition("#")[0]):
                found.append(match[1])
    return found


def _folded(match):
    """Return a YAML text folded by ``>`` as the one line that it is."""
    return " ".join(match[1].split()) + "\n"


ALL = [(page, line) for page in PAGES for line in commands(page)]


def test_commands_are_found_on_the_pages_that_have_them():
    assert {"README.md", "docs/ci.md", "docs/joining.md", "docs/exports.md"} <= {p for p, _ in ALL}
    assert sum("--step-summary" in line for _, line in ALL) == 1


@pytest.mark.parametrize(("page", "line"), ALL, ids=[f"{p}:{i}" for i, (p, _) in enumerate(ALL)])
def test_the_parser_takes_it(page, line):
    words = shlex.split(line, comments=True)[1:]
    args = _parser(words).parse_args(words)
    assert args.command == words[0]
