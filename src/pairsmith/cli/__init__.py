"""The command line: parse, call the library, print."""

from pairsmith.cli.commands import main

__all__ = ["main"]
