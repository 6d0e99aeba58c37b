"""python -m pairsmith.cli is the command pairsmith."""

from pairsmith.cli.commands import main

main()
