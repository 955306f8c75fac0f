"""``python -m jubango``: the command, where its folder is not on the path."""

from jubango.arena.commands import main

if __name__ == "__main__":
    main()
