"""Run the command pairsmith as python -m pairsmith.cli."""

from pairsmith.cli import main

main()
