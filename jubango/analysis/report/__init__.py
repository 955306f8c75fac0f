"""Pages of one file: a run with all of its games, and a game that was looked at move by move."""
