"""The error about one argument of a public function."""

from __future__ import annotations


class ArgumentError(ValueError):
    """A value that an argument of a public function cannot have.

    The message is the argument's name followed by the problem. The command line puts its option in place of the name.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)
        self.argument = argument
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.argument}{self.problem}"
