"""``python -m jubango.arena.commands`` is ``jubango``."""

from jubango.arena.commands import main

main()
