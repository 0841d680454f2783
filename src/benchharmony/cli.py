"""The command line: which command was asked for, and the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from benchharmony._version import __version__
from benchharmony.commands import COMMANDS
from benchharmony.errors import BenchharmonyError
from benchharmony.terminal import discard_stdout, prepare_streams, say

EPILOG = "Exit codes: 0 done, 1 --fail-under not met, 2 bad input or usage."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = _parser(given).parse_args(given)
    args.given = given  # pages say what made them
    prepare_streams(machine_readable=getattr(args, "format", "text") != "text")
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        return run(args)
    except BenchharmonyError as error:
        say(f"benchharmony: {error}")
        return 2
    except KeyboardInterrupt:
        say("benchharmony: interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output has gone (`| head`): nothing to tell it
        discard_stdout()
        return 0
    except OSError as error:  # a full disk, say; readers word their own
        say(f"benchharmony: {error}")
        return 2


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; only the command asked for loads its options."""
    parser = argparse.ArgumentParser(
        prog="benchharmony",
        description="HARMONY: how evenly a model's performance is spread over a benchmark's "
        "subdomains, so that you know when an average score can be trusted.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"benchharmony {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in given if not word.startswith("-")), None)
    for name, (text, module) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text}.", epilog=EPILOG)
        if name == asked:
            found = import_module(f"benchharmony.commands.{module}")
            found.add_options(command)
            command.set_defaults(run=found.run)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
