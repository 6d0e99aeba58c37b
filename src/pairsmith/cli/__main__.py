"""python -m pairsmith.cli is the command pairsmith."""

from pairsmith.cli import main

main()
