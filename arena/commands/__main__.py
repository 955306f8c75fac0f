"""``python -m arena.commands`` is ``jubango``."""

from arena.commands import main

main()
